"""When is a paired benchmark settled? An interval that holds however often one looks, on blocks that forget each other.

Step times are correlated, so single steps say less than they seem to: what is compared is the logarithm of the mean
step time of blocks longer than their memory. Source: formula 7.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, inf, log, sqrt
from operator import mul
from typing import TYPE_CHECKING, Literal

from breakeven.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

FEWEST_BLOCKS = 10
_FEWEST_STEPS = 20
_MEMORIES = 3
_MERGE_ABOVE = 0.2
_WINDOWS = 5
_GRID = 1.5
ALPHA = 0.05

Verdict = Literal["a", "b", "either", "not-settled"]


def t_sequence_half_width(count: int, sd: float, *, alpha: float = ALPHA, phi: float = 1.0) -> float:
    """Half the width of the interval for a mean that holds at every count at once; infinite for too few.

    count : observations; sd : their standard deviation; alpha : chance that the mean is ever outside.
    Source: formula 7 (normal mixture over mean and unknown variance).

    >>> round(t_sequence_half_width(10, 1.0), 6)
    1.223734
    >>> t_sequence_half_width(3, 1.0)
    inf
    """
    if count < 2:
        return inf
    c = ((phi + count) / (phi * alpha * alpha)) ** (1 / count)
    rest = 1 - c * phi / (phi + count)
    if rest <= 0:
        return inf
    return sd * sqrt((count - 1) / count * (c - 1) / rest)


def e_value(count: int, mean: float, sd: float, against: float, *, phi: float = 1.0) -> float:
    """How strongly the observations speak against a mean: the interval leaves it out once this exceeds 1/alpha."""
    if count < 2 or not sd:
        return 1.0 if mean == against else inf
    u = count * (mean - against) ** 2 / ((count - 1) * sd * sd)
    share = phi / (phi + count)
    return float(sqrt(share) * ((1 + u) / (1 + share * u)) ** (count / 2))


def autocorrelation_time(values: Sequence[float]) -> float:
    """The integrated autocorrelation time, 1 + 2·Σρ_k [steps], at least 1.

    The sum ends at the first lag of at least five times itself. Source: Sokal (1997), doi 10.1007/978-1-4899-0319-8_6.

    >>> autocorrelation_time([1.0, 2.0] * 50)
    1.0
    """
    count = len(values)
    if count < 4:
        return 1.0
    mean = sum(values) / count
    moved = [value - mean for value in values]
    variance = sum(map(mul, moved, moved))
    if variance <= 0:
        return 1.0
    tau = 1.0
    for lag in range(1, count // 2):
        tau += 2 * sum(map(mul, moved, moved[lag:])) / variance
        if lag >= _WINDOWS * tau:
            break
    return max(1.0, tau)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """How a comparison stands.

    low, estimate, high : A's time over B's; blocks : pairs compared; block_steps : steps in each; memory_steps : the
    integrated autocorrelation time; verdict : `b` where B is worth its price, for the ratio exceeds break-even.
    """

    verdict: Verdict
    low: float
    estimate: float
    high: float
    blocks: int
    block_steps: int
    memory_steps: float
    steps: int


def settle(
    a: Sequence[float], b: Sequence[float], break_even: float, *, alpha: float = ALPHA, step_share: float = 0.0
) -> Settlement:
    """How two runs of the same work stand, from all steps so far: `a` and `b` are step times, warm-up left out.

    break_even : ratio of A's time over B's at which both cost the same; step_share : what one more step of each costs,
    over what all work to come costs on A: where the worst regret inside the interval is below the price of the next
    block, either will do (0: never). May be asked after every step.

    Raises: InputError `not-positive` for times or a break-even that are not.
    """
    if any(not 0 < value < inf for value in (*a, *b)) or not 0 < break_even < inf:
        raise InputError("not-positive")
    steps = min(len(a), len(b))
    memory = max(autocorrelation_time(a[:steps]), autocorrelation_time(b[:steps]))
    length = _block_length(memory)
    gaps = _block_gaps(a, b, length)
    while len(gaps) >= 2 * FEWEST_BLOCKS and _lag_one(gaps) > _MERGE_ABOVE:
        length *= 2
        gaps = _block_gaps(a, b, length)
    count = len(gaps)
    if count < 2:
        return Settlement(
            verdict="not-settled", low=0.0, estimate=sum(a[:steps]) / sum(b[:steps]) if steps else 1.0, high=inf,
            blocks=count, block_steps=length, memory_steps=memory, steps=steps,
        )  # fmt: skip
    mean = sum(gaps) / count
    sd = sqrt(sum((gap - mean) ** 2 for gap in gaps) / (count - 1))
    half = t_sequence_half_width(count, sd, alpha=alpha)
    low, high = (exp(mean - half), exp(mean + half)) if half < 700 else (0.0, inf)
    verdict: Verdict = "not-settled"
    if count >= FEWEST_BLOCKS:
        if low > break_even:
            verdict = "b"
        elif high < break_even:
            verdict = "a"
        elif worst_regret(low, exp(mean), high, break_even) < step_share * length:
            verdict = "either"
    return Settlement(
        verdict=verdict, low=low, estimate=exp(mean), high=high, blocks=count, block_steps=length,
        memory_steps=memory, steps=steps,
    )  # fmt: skip


def course(a: Sequence[float], b: Sequence[float], break_even: float, *, looks: int = 40) -> list[Settlement]:
    """How a comparison stood after each of some looks, evenly apart, that already had an interval; to be drawn.

    a, b, break_even : as in `settle`.
    """
    most = min(len(a), len(b))
    counts = dict.fromkeys(most * place // looks for place in range(1, looks + 1))
    stood = (settle(a[:count], b[:count], break_even) for count in counts if count)
    return [one for one in stood if one.high < inf]


def _block_length(memory: float) -> int:
    """Steps of a block: at least three memories and at least twenty, rounded up to a coarse grid.

    Each length cuts the same steps into other blocks, and each such cut is one more chance to be wrong: on a grid there
    are few, however often the memory is estimated anew.
    """
    length = _FEWEST_STEPS
    while length < _MEMORIES * memory:
        length = ceil(length * _GRID)
    return length


def worst_regret(low: float, estimate: float, high: float, break_even: float) -> float:
    """The most that choosing by the estimate loses inside an interval, over what the work costs on A.

    At a ratio r the work costs 1 on A and break_even/r on B.

    >>> worst_regret(1.0, 1.9, 2.5, 2.0), worst_regret(1.0, 2.1, 3.0, 2.0)
    (0.2, 1.0)
    """
    if estimate > break_even:
        return max(0.0, (break_even - low) / low) if low > 0 else inf
    return max(0.0, (high - break_even) / high)


def _block_gaps(a: Sequence[float], b: Sequence[float], length: int) -> list[float]:
    """Of each pair of blocks, the logarithm of A's mean step time over B's."""
    count = min(len(a), len(b)) // length
    return [
        log(sum(a[place * length : (place + 1) * length]) / sum(b[place * length : (place + 1) * length]))
        for place in range(count)
    ]


def _lag_one(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    moved = [value - mean for value in values]
    variance = sum(value * value for value in moved)
    return sum(map(mul, moved, moved[1:])) / variance if variance else 0.0
