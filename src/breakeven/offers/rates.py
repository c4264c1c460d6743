"""Exchange rates that the user gives: no price is converted without one, and a converted price says so."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from breakeven.documents import Mapping, Node, Scalar, describe_kind, read_text, read_yaml
from breakeven.errors import InputError
from breakeven.offers.amounts import parse_currency
from breakeven.offers.offer import price_per_gpu_h

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from breakeven.offers.offer import Offer

MAX_RATES_BYTES = 2**16
_KEYS = ("seen_at", "source", "rates")


class Rates(NamedTuple):
    """US dollars per unit of each currency, of a day (None: not said)."""

    usd_per: dict[str, float]
    seen_at: date | None = None
    source: str | None = None


def read_rates(text: str) -> Rates:
    """Rates written as `EUR=1.08,GBP=1.27`, or of a YAML file with `seen_at`, `source` and `rates: {EUR: 1.08}`.

    Raises: InputError `bad-rates` and others that name the place.

    >>> read_rates("EUR=1.08,GBP=1.27").usd_per
    {'EUR': 1.08, 'GBP': 1.27}
    """
    if not text.strip():
        raise InputError("bad-rates", key="--rates", text=text)
    if "=" not in text:
        return _of_file(text)
    found: dict[str, float] = {}
    for part in text.split(","):
        currency, equals, value = part.partition("=")
        if not equals or currency.strip() in found:
            raise InputError("bad-rates", key="--rates", text=text)
        found[currency.strip()] = _rate(currency.strip(), value.strip(), key="--rates", line=None)
    return Rates(found)


def _of_file(path: str) -> Rates:
    try:
        node = read_yaml(read_text(Path(path), max_bytes=MAX_RATES_BYTES), file=path)
        return _of_node(node)
    except InputError as error:
        raise error.at(file=path) from None


def _of_node(node: Node) -> Rates:
    if not isinstance(node, Mapping):
        raise InputError("wrong-kind", line=node.line, found=describe_kind(node), expected="mapping")
    for key in node.entries:
        if key not in _KEYS:
            raise InputError("unknown-key", line=node.key_lines[key], key=key, candidates=(), known=_KEYS)
    rates = node.entries.get("rates")
    if not isinstance(rates, Mapping) or not rates.entries:
        raise InputError("missing-key", line=node.line, key="rates")
    seen = node.entries.get("seen_at")
    if seen is None:
        raise InputError("missing-key", line=node.line, key="seen_at")
    try:
        day = date.fromisoformat(seen.text if isinstance(seen, Scalar) else "")
    except ValueError:
        raise InputError("not-a-date", line=seen.line, key="seen_at", text=getattr(seen, "text", "")) from None
    source = node.entries.get("source")
    usd_per = {
        currency: _rate(currency, getattr(value, "text", ""), key=f"rates.{currency}", line=value.line)
        for currency, value in rates.entries.items()
    }
    return Rates(usd_per, day, source.text if isinstance(source, Scalar) and not source.is_null else None)


def _rate(currency: str, text: str, *, key: str, line: int | None) -> float:
    if parse_currency(currency) != currency or currency == "USD":
        raise InputError("unknown-currency", key=key, line=line, text=currency)
    try:
        value = float(text)
    except ValueError:
        raise InputError("not-a-number", key=key, line=line, text=text) from None
    if not 1e-6 < value < 1e4:
        raise InputError("out-of-range", key=key, line=line, text=text, minimum=1e-6, maximum=1e4, is_open=True)
    return value


def converted(offers: Iterable[Offer], rates: Rates) -> Iterator[Offer]:
    """The offers, those in a currency with a rate priced in US dollars too; the price as quoted stays beside it."""
    for offer in offers:
        usd = rates.usd_per.get(offer.price.currency or "")
        if usd is None or offer.usd_per_gpu_h is not None:
            yield offer
            continue
        own = price_per_gpu_h(offer.price, gpus=offer.gpus, fraction=offer.fraction, term_months=offer.term_months)
        yield offer if own is None else offer._replace(usd_per_gpu_h=own * usd, exchange_rate=usd)
