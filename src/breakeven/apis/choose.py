"""Which API prices a name means, and which compete as of a day."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    from breakeven.apis.price import ApiPrice


def newest_prices(own: Iterable[ApiPrice], shipped: Iterable[ApiPrice], as_of: date) -> list[ApiPrice]:
    """The newest price per provider and model up to that day; the user's own stand in place of shipped ones."""
    found: dict[str, ApiPrice] = {}
    for price in own:
        if price.seen_at is not None and price.seen_at > as_of:
            continue
        key = price.id.lower()
        known = found.get(key)
        if known is None or _is_newer(price, known):
            found[key] = price
    for price in shipped:
        found.setdefault(price.id.lower(), price)
    return list(found.values())


def _is_newer(price: ApiPrice, known: ApiPrice) -> bool:
    """Whether a price is newer; one without a date counts as the oldest."""
    if price.seen_at is None:
        return False
    return known.seen_at is None or price.seen_at > known.seen_at


def find_api(name: str, prices: Sequence[ApiPrice]) -> ApiPrice:
    """The price that `name` means: provider/model, the model as the API calls it or its id in the catalog.

    Raises: InputError `ambiguous-api` where the name fits several models of the provider, `unknown-api` with the
    nearest.
    """
    provider, _, model = name.strip().partition("/")
    own = [price for price in prices if price.provider.lower() == provider.lower()]
    if not own:
        raise InputError("unknown-api", text=name, candidates=_nearest_providers(name, prices))
    for spelled in (_is_called, _is_called_last, _is_llm):
        found = [price for price in own if spelled(price, model.lower())]
        if len(found) == 1:
            return found[0]
        if found:
            raise InputError("ambiguous-api", text=name, candidates=tuple(price.id for price in found))
    near = nearest(name, (price.id for price in own))
    raise InputError("unknown-api", text=name, candidates=near or _with_same_end(model, prices))


def _is_called(price: ApiPrice, model: str) -> bool:
    return price.model.lower() == model


def _is_called_last(price: ApiPrice, model: str) -> bool:
    return price.model.lower().rpartition("/")[2] == model


def _is_llm(price: ApiPrice, model: str) -> bool:
    return price.llm is not None and price.llm == model


def _nearest_providers(name: str, prices: Sequence[ApiPrice]) -> tuple[str, ...]:
    """Names whose provider was written nearly so, or left out."""
    provider, _, model = name.strip().partition("/")
    providers = nearest(provider, {price.provider for price in prices})
    rest = model or provider
    found = [price.id for price in prices if price.provider in providers and _is_called_last(price, rest.lower())]
    if found:
        return tuple(dict.fromkeys(found))[:3]
    ends = _with_same_end(name, prices)
    return ends or tuple(f"{one}/MODEL" for one in providers)


def _with_same_end(name: str, prices: Sequence[ApiPrice]) -> tuple[str, ...]:
    last = name.lower().rpartition("/")[2]
    return tuple(dict.fromkeys(price.id for price in prices if _is_called_last(price, last)))[:3]
