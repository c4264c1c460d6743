"""Several jobs in one month: what each line costs for all of them, and when reserved machines beat it."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from breakeven.errors import InputError
from breakeven.units import HOURS_PER_MONTH

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from breakeven.decisions.decision import Decision, Option
    from breakeven.offers.offer import Offer

_Key = tuple[str, str | None, str, str]
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Reservation:
    """Machines held all month in place of a line: how many, how busy, and the price at which they break even.

    `offer` is the cheapest reserved line of that GPU in the book, None where there is none.
    """

    machines: int
    gpus_per_machine: int
    utilisation: float
    break_even_usd_per_gpu_h: float
    offer: Offer | None
    usd: float | None

    @property
    def wins(self) -> bool | None:
        """Whether reserving costs less; None without a reserved line in the book."""
        if self.offer is None or self.offer.usd_per_gpu_h is None:
            return None
        return self.offer.usd_per_gpu_h < self.break_even_usd_per_gpu_h


@dataclass(frozen=True, slots=True)
class MonthOption:
    """One line for all jobs: USD and GPU-hours of the month."""

    provider: str
    tier: str | None
    gpu: str
    market: str
    usd: float
    rent_usd: float
    gpu_hours: float
    reservation: Reservation


@dataclass(frozen=True, slots=True)
class Month:
    """All jobs with their runs, by line; only lines that can run every job."""

    runs: dict[str, float]
    options: tuple[MonthOption, ...]


def month_of(decisions: Sequence[Decision], reserved: Iterable[Offer]) -> Month:
    """The month of these jobs: each is run `runs` times.

    GPU-hours are those billed, a slice's as its share. A reservation of N machines is paid for all 730 hours; N is the
    fewest that hold the month's GPU-hours (and the largest job). It beats the line when its price per GPU-hour is below
    the line's rent, idle hours included, over all those hours.

    Raises: InputError `duplicate-job`.

    Source: formula 3.
    """
    runs: dict[str, float] = {}
    for decision in decisions:
        if decision.job.job in runs:
            raise InputError("duplicate-job", text=decision.job.job)
        runs[decision.job.job] = decision.job.runs
    lines: dict[_Key, list[tuple[Option, float]]] = {}
    for decision in decisions:
        for key, option in _cheapest(decision).items():
            lines.setdefault(key, []).append((option, decision.job.runs))
    best: dict[str, Offer] = {}
    for offer in reserved:
        rate = offer.usd_per_gpu_h
        if offer.is_slice or rate is None:
            continue
        if offer.gpu not in best or rate < (best[offer.gpu].usd_per_gpu_h or 0.0):
            best[offer.gpu] = offer
    made = [_option(key, used, best.get(key[2])) for key, used in lines.items() if len(used) == len(decisions)]
    return Month(runs, tuple(sorted(made, key=lambda option: (option.usd, option.gpu, option.provider))))


def _cheapest(decision: Decision) -> dict[_Key, Option]:
    found: dict[_Key, Option] = {}
    for option in decision.options:
        if option.infeasible is None and option.offer.market != "reserved":
            offer = option.offer
            found.setdefault((offer.provider, offer.tier, offer.gpu, offer.market), option)
    return found


def _per_machine(option: Option) -> int:
    """GPUs of a machine of the line; where any size is to be had, one that holds the whole job."""
    return option.offer.gpus or ceil(option.gpus_billed - _ROUNDING)


def _option(key: _Key, used: Sequence[tuple[Option, float]], reserved: Offer | None) -> MonthOption:
    usd = sum((option.usd_mean or 0.0) * runs for option, runs in used)
    rent = sum((option.mean.rent + option.mean.idle) * runs for option, runs in used if option.mean is not None)
    gpu_hours = sum((option.gpu_hours or 0.0) * runs for option, runs in used)
    per_machine = (reserved.gpus if reserved is not None else None) or max(_per_machine(option) for option, _ in used)
    largest = max(ceil(option.gpus_billed / per_machine - _ROUNDING) for option, _ in used)
    machines = max(largest, ceil(gpu_hours / (per_machine * HOURS_PER_MONTH) - _ROUNDING))
    held = machines * per_machine * HOURS_PER_MONTH
    rate = None if reserved is None else reserved.usd_per_gpu_h
    reservation = Reservation(
        machines=machines,
        gpus_per_machine=per_machine,
        utilisation=gpu_hours / held,
        break_even_usd_per_gpu_h=rent / held,
        offer=reserved,
        usd=None if rate is None else rate * held + usd - rent,
    )
    return MonthOption(*key, usd=usd, rent_usd=rent, gpu_hours=gpu_hours, reservation=reservation)
