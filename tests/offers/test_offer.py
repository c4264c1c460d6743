from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from breakeven.offers.offer import Price, offer_id, price_per_gpu_h


def price(amount: str | None, unit: str = "gpu", period: str = "h") -> Price:
    return Price(None if amount is None else Decimal(amount), "USD", unit, period, amount or "", "known")


def test_units_and_periods() -> None:
    def per_gpu(
        quoted: Price, gpus: int | None = None, fraction: float = 1.0, months: float | None = None
    ) -> float | None:
        return price_per_gpu_h(quoted, gpus=gpus, fraction=fraction, term_months=months)

    assert per_gpu(price("2")) == 2
    assert per_gpu(price("16", "node"), gpus=8) == 2
    assert per_gpu(price("1460", period="month")) == 2
    assert per_gpu(price("48", period="day")) == 2
    assert per_gpu(price("17520", period="term"), months=12) == 2
    assert per_gpu(price("17520", period="term")) is None
    assert per_gpu(price("1", "node"), gpus=1, fraction=0.5) == 2
    assert per_gpu(price(None)) is None


KEYS = st.fixed_dictionaries(
    {
        "provider": st.text("ab/=% x", min_size=1, max_size=4),
        "gpu": st.just("nvidia-h100-sxm-80gb"),
        "market": st.sampled_from(["on-demand", "interruptible", "reserved"]),
        "tier": st.none() | st.text("ab/=%", min_size=1, max_size=3),
        "instance": st.none() | st.text("ab/=%", min_size=1, max_size=3),
        "gpus": st.none() | st.integers(1, 9),
        "region": st.none() | st.text("ab/=%", min_size=1, max_size=3),
        "is_private": st.booleans(),
    }
)


@given(KEYS, KEYS)
def test_two_keys_never_share_an_id(one: dict[str, object], other: dict[str, object]) -> None:
    assert (offer_id(**one) == offer_id(**other)) == (one == other)  # type: ignore[arg-type]
