"""What a managed API charges for a model: prices per million tokens, of batches too, seen at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from datetime import date


class Rates(NamedTuple):
    """Prices per million tokens [USD].

    `cached` None: tokens read from a cache cost what others do. `output` None: the API gives no text back.
    """

    input: float
    cached: float | None = None
    output: float | None = None


class Step(NamedTuple):
    """What a request costs, all its tokens, when its prompt is longer than that."""

    above_input_tokens: float
    rates: Rates


class Latency(NamedTuple):
    """What the API keeps to at its 95th percentile [ms]; None: nobody said."""

    ttft_p95_ms: float | None = None
    itl_p95_ms: float | None = None
    e2e_p95_ms: float | None = None


class ApiPrice(NamedTuple):
    """The price of one model at one API.

    `batch` are the prices of requests that may wait, None where there are none; `llm` the id of the model in the
    catalog, None where it is not known to be one; `compliance` and `regions` what is known of where and how requests
    are handled: nothing known is an empty tuple. `seen_at` is the day somebody saw the price.
    """

    provider: str
    model: str
    rates: Rates
    batch: Rates | None = None
    steps: tuple[Step, ...] = ()
    llm: str | None = None
    cache_write: float | None = None
    seen_at: date | None = None
    source: str | None = None
    is_private: bool = False
    compliance: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    latency: Latency = Latency()
    note: str | None = None

    @property
    def id(self) -> str:
        """How a job names it: provider/model."""
        return f"{self.provider}/{self.model}"

    @property
    def has_price(self) -> bool:
        """Whether it costs something: a price of 0 is a trial, or not sold that way, and never for free."""
        return self.rates.input > 0 or bool(self.rates.output)

    def age_days(self, as_of: date) -> int | None:
        """Days between the day the price was seen and `as_of`; None where unknown."""
        return None if self.seen_at is None else (as_of - self.seen_at).days

    def rates_at(self, input_tokens: float | None) -> Rates:
        """The prices of requests with prompts of that many tokens (None: short ones).

        >>> price = ApiPrice("p", "m", Rates(1.0, None, 4.0), steps=(Step(200_000, Rates(2.0, None, 6.0)),))
        >>> price.rates_at(1000).input, price.rates_at(300_000).input
        (1.0, 2.0)
        """
        found = self.rates
        for step in self.steps:
            if input_tokens is not None and input_tokens > step.above_input_tokens:
                found = step.rates
        return found

    def batch_rates_at(self, input_tokens: float | None) -> Rates | None:
        """The batch prices of such requests: a long prompt raises them as it raises the others."""
        own, standard, batch = self.rates_at(input_tokens), self.rates, self.batch
        if batch is None or own == standard:
            return batch
        return Rates(
            _scaled(batch.input, own.input, standard.input) or 0.0,
            _scaled(batch.cached, own.cached, standard.cached),
            _scaled(batch.output, own.output, standard.output),
        )


def _scaled(batch: float | None, own: float | None, standard: float | None) -> float | None:
    return batch if not standard or batch is None or own is None else batch * own / standard


def discounted(rates: Rates, discount: float) -> Rates:
    """Rates with a share taken off.

    >>> discounted(Rates(2.0, None, 8.0), 0.5)
    Rates(input=1.0, cached=None, output=4.0)
    """
    cached, output = (None if price is None else price * (1 - discount) for price in rates[1:])
    return Rates(rates.input * (1 - discount), cached, output)
