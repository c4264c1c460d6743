"""Which API a name means, and which price of it holds on a day."""

from __future__ import annotations

from datetime import date

import pytest

from breakeven.apis.choose import find_api, newest_prices
from breakeven.apis.price import ApiPrice, Rates
from breakeven.errors import InputError

DAY = date(2026, 10, 19)
PRICES = [
    ApiPrice("acme", "meta/Llama-8B", Rates(1.0), llm="llama-3.1-8b"),
    ApiPrice("acme", "big", Rates(2.0)),
    ApiPrice("other", "meta/llama-8b-fp8", Rates(1.0), llm="llama-3.1-8b"),
    ApiPrice("other", "meta/llama-8b-turbo", Rates(1.0), llm="llama-3.1-8b"),
]


@pytest.mark.parametrize("name", ["acme/meta/Llama-8B", "ACME/meta/llama-8b", "acme/llama-8b", "acme/llama-3.1-8b"])
def test_a_name_is_the_api_s_own_its_last_part_or_the_catalog_s(name: str) -> None:
    assert find_api(name, PRICES).id == "acme/meta/Llama-8B"


@pytest.mark.parametrize(
    ("name", "code", "candidates"),
    [
        ("other/llama-3.1-8b", "ambiguous-api", ("other/meta/llama-8b-fp8", "other/meta/llama-8b-turbo")),
        ("acmee/big", "unknown-api", ("acme/big",)),
        ("acme/bigg", "unknown-api", ("acme/big",)),
        ("acmee/huge", "unknown-api", ("acme/MODEL",)),
        ("nobody/big", "unknown-api", ("acme/big",)),
        ("nobody/nothing", "unknown-api", ()),
    ],
)
def test_no_guess_is_made(name: str, code: str, candidates: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as raised:
        find_api(name, PRICES)
    assert (raised.value.code, raised.value.values["candidates"]) == (code, candidates)


def test_the_user_s_newest_price_up_to_the_day_stands_in_place_of_the_shipped() -> None:
    shipped = [ApiPrice("acme", "big", Rates(2.0), seen_at=DAY), ApiPrice("acme", "small", Rates(1.0), seen_at=DAY)]
    own = [
        ApiPrice("acme", "Big", Rates(1.5), seen_at=None),
        ApiPrice("acme", "Big", Rates(1.7), seen_at=date(2026, 9, 1)),
        ApiPrice("acme", "Big", Rates(1.6), seen_at=date(2026, 10, 1)),
        ApiPrice("acme", "Big", Rates(9.0), seen_at=date(2026, 11, 1)),
    ]
    for order in (own, own[::-1]):
        found = {price.id: price.rates.input for price in newest_prices(order, shipped, DAY)}
        assert found == {"acme/Big": 1.6, "acme/small": 1.0}
    assert newest_prices(own[3:], shipped, DAY) == shipped
