"""The buyer guides' advice, each rule held against the numbers of this job and this market.

A rule is agreed or contradicted by the numbers, or it cannot be decided because the job does not say what it hangs on,
or because what it compares is not for rent. Rules that say nothing of the job are left out.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from breakeven.decisions.claims import A100, BUYER, CLAIMS, FINE_TUNING, H100, params_b
from breakeven.decisions.options import billed_gpus, mean_cost
from breakeven.decisions.rank import compare_options, contenders
from breakeven.decisions.waste import WASTE_SHARE, is_wasteful, wasted
from breakeven.units import HOURS_PER_MONTH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from breakeven.decisions.decision import BreakEven, Decision, Option
    from breakeven.gpus.catalog import Gpu

Verdict = Literal["agreed", "contradicted", "undecidable"]

MODERATE_PREMIUM = 1.5
"""Price ratio up to which the H100's premium counts as moderate; the guide's own example of a small one is 1.43."""
DEEP_DISCOUNT = 0.7
"""Share of the median price up to which a price counts as deeply discounted."""
FP8_GAINS = (0.8, 1.15, 1.44)
"""FP8 over BF16 on the same H100: least, median and most of what is published. Source: formula 8."""
_FEWEST_PRICES = 3
_FP8 = frozenset({"fp8", "mxfp8"})
_SIXTEEN_BITS = frozenset({"bf16", "fp16"})
_SERVING = frozenset({"inference", "batch-inference", "embedding"})
_SHARDED = frozenset({"fsdp", "zero-1", "zero-2", "zero-3", "tp", "pp"})
_TUNED_ENGINES = frozenset({"vllm", "tensorrt-llm", "sglang", "nim"})


class Advice(NamedTuple):
    """One rule of a guide, whether today's numbers bear it out, and the numbers."""

    rule: str
    source: str
    verdict: Verdict
    values: Mapping[str, Any]


class _Case(NamedTuple):
    """What the rules are held against."""

    decision: Decision
    choice: Option
    able: list[Option]
    gpus: Mapping[str, Gpu]

    def best(self, gpus: Iterable[str]) -> Option | None:
        """The cheapest option on one of these GPUs."""
        wanted = frozenset(gpus)
        return next((option for option in self.able if option.offer.gpu in wanted), None)

    @property
    def pair(self) -> BreakEven | None:
        """The cheapest H100 and the cheapest A100 of one market: the choice's, else any."""
        markets = dict.fromkeys((self.choice.offer.market, *(option.offer.market for option in self.able)))
        for market in markets:
            lines = [option for option in self.able if option.offer.market == market]
            new = next((option for option in lines if option.offer.gpu in H100), None)
            old = next((option for option in lines if option.offer.gpu in A100), None)
            if new is not None and old is not None:
                return compare_options(new, old, market)
        return None

    @property
    def is_wasteful(self) -> bool:
        """Whether the choice is dear because GPUs idle or attempts fail."""
        return is_wasteful(self.choice)


_Found = tuple[Verdict, dict[str, Any]]
_NOT_SAID: _Found = ("undecidable", {"why": "not-said"})
_NOT_COMPARED: _Found = ("undecidable", {"why": "not-compared"})


def advice(decision: Decision, gpus: Mapping[str, Gpu]) -> tuple[Advice, ...]:
    """Every rule of the guides that speaks of this job, with its verdict; empty where there is nothing to rent."""
    if decision.choice is None:
        return ()
    case = _Case(decision, decision.choice, contenders(decision.options, decision.as_of), gpus)
    claims = [claim for claim in CLAIMS if claim.holds_for(decision.job)]
    found: list[tuple[str, str, _Found | None]] = [
        (claim.code, claim.source, _cheaper(case.best(claim.prefer), case.best(claim.over))) for claim in claims
    ]
    found.extend((code, source, check(case)) for code, source, check in _RULES)
    return tuple(Advice(code, source, *one) for code, source, one in found if one is not None)


def _cheaper(preferred: Option | None, other: Option | None) -> _Found:
    """Whether the option that a rule prefers costs no more than the one it advises against."""
    if preferred is None or other is None or preferred.usd_mean is None or other.usd_mean is None:
        return _NOT_COMPARED
    values = {
        "prefers": preferred.offer.gpu,
        "over": other.offer.gpu,
        "prefers_usd": preferred.usd_mean,
        "over_usd": other.usd_mean,
    }
    return _by(preferred.usd_mean <= other.usd_mean, values)


def _by(is_so: bool, values: dict[str, Any]) -> _Found:  # noqa: FBT001 - the one thing it is about
    return ("agreed" if is_so else "contradicted"), values


def _price_ratio(case: _Case) -> _Found | None:
    """Rent the H100 only where it is faster than it is dearer: the rule of rent alone, against the whole cost."""
    if case.choice.sharing is not None:
        return None
    pair = case.pair
    if pair is None:
        return _NOT_COMPARED
    is_advised = pair.speedup.median > pair.price_ratio
    values = {"price_ratio": pair.price_ratio, "speedup": pair.speedup.median, "dearer": pair.dear.offer.gpu}
    return _by(is_advised == pair.wins, values)


def _it_depends(case: _Case) -> _Found | None:
    size_b = params_b(case.decision.job) if case.decision.job.task == "finetune" else None
    if size_b is None or not 6.5 <= size_b <= 75:
        return None
    both = (set(H100), set(A100))
    pairs = [
        pair
        for pair in case.decision.break_even
        if all({pair.dear.offer.gpu, pair.cheap.offer.gpu} & gpus for gpus in both)
    ]
    if not pairs:
        return _NOT_COMPARED
    winners = tuple(dict.fromkeys((pair.dear if pair.wins else pair.cheap).offer.gpu for pair in pairs))
    is_open = any(pair.is_open for pair in pairs)
    kinds = {gpu in H100 for gpu in winners}
    return _by(is_open or len(kinds) > 1, {"winners": winners, "open": is_open})


def _memory_bound(case: _Case) -> _Found | None:
    """Measure both where memory bandwidth decides: serving, and adapters on a 4-bit base."""
    job = case.decision.job
    if job.task not in _SERVING and not (job.base_bits == 4 and job.method in {"lora", "qlora"}):
        return None
    return _measured_first(case)


def _measured_first(case: _Case) -> _Found:
    """Whether a benchmark of the H100 is worth its price."""
    step = case.decision.next
    if step is None or step.pair is None or step.do not in {"rent", "benchmark"}:
        return _NOT_COMPARED
    values = {"worth_usd": step.worth_usd, "costs_usd": step.costs_usd}
    gpus = {option.offer.gpu for option in step.pair}
    if not gpus & set(H100):
        return _NOT_COMPARED if case.best(H100) is None else ("contradicted", {**values, "gpus": tuple(sorted(gpus))})
    return _by(step.do == "benchmark", values)


def _long_run(case: _Case) -> _Found | None:
    return None if case.is_wasteful or case.choice.sharing is not None else _measured_first(case)


def _raise_utilisation(case: _Case) -> _Found | None:
    """Mend idle time and failures before paying for an H100: the A100 without them against the H100 with them."""
    if not case.is_wasteful:
        return None
    old, new = case.best(A100), case.best(H100)
    if old is None or new is None or old.terms is None or old.hours is None or new.usd_mean is None:
        return _NOT_COMPARED
    hours = old.hours.times(1 - old.waiting_share)
    usd = mean_cost(replace(old.terms, idle_hours=0.0, success_rate=1.0), hours).usd
    return _by(usd <= new.usd_mean, {"waste_usd": wasted(case.choice).usd, "mended_usd": usd, "over_usd": new.usd_mean})


def _two_of_six(case: _Case) -> _Found | None:
    """The H100 is worth it when at least two of six conditions hold."""
    if case.choice.sharing is not None:
        return None
    told = _conditions(case)
    met = tuple(code for code, holds in told.items() if holds)
    unknown = tuple(code for code, holds in told.items() if holds is None)
    values: dict[str, Any] = {"met": met, "unknown": unknown}
    if len(met) < 2:
        return ("undecidable", {"why": "not-said", **values}) if len(met) + len(unknown) >= 2 else None
    verdict, costs = _cheaper(case.best(H100), case.best(A100))
    return verdict, {**values, **costs}


def _conditions(case: _Case) -> dict[str, bool | None]:
    """The six conditions: met, not met, or not said (None)."""
    job, pair = case.decision.job, case.pair
    targets = job.targets
    is_timed = any(one is not None for one in (targets.ttft_p95_ms, targets.itl_p95_ms, targets.e2e_p95_ms))
    is_spread = case.choice.gpus > 1
    premium = None if pair is None else pair.price_ratio if pair.dear.offer.gpu in H100 else 1 / pair.price_ratio
    return {
        "fp8-validated": None if job.precision is None else job.precision in _FP8,
        "time-blocks": True if job.delay_usd_per_h > 0 or job.limits.deadline_h is not None else None,
        "latency-matters": (True if is_timed else None) if job.task == "inference" else False,
        "heavy-communication": (None if job.parallelism is None else job.parallelism in _SHARDED)
        if is_spread
        else False,
        "moderate-premium": None if premium is None else premium <= MODERATE_PREMIUM,
        "high-utilisation": False if case.is_wasteful else None,
    }


def _while_idle(case: _Case) -> _Found | None:
    return _cheaper(case.best(A100), case.best(H100)) if case.is_wasteful else None


def _waits_for_data(case: _Case) -> _Found | None:
    """No H100 while GPUs wait for data: whether the A100 is the cheaper one where a run of one's own measured that."""
    measured = [one for one in case.able if one.recorded is not None and one.recorded.waiting_share is not None]
    if not measured:
        return _NOT_SAID
    most = max(measured, key=lambda option: option.waiting_share)
    if most.waiting_share <= WASTE_SHARE:
        return None
    verdict, values = _cheaper(case.best(A100), case.best(H100))
    return verdict, {**values, "gpu": most.offer.gpu, "waiting_pct": 100 * most.waiting_share}


def _untuned_stack(case: _Case) -> _Found | None:
    job = case.decision.job
    is_tuned = (job.stack.framework or "").lower() in _TUNED_ENGINES
    return _NOT_SAID if job.task in _SERVING and not is_tuned else None


def _small_model(case: _Case) -> _Found | None:
    """Where the model fits a smaller card, that one against the H100."""
    smaller = [gpu for gpu in case.gpus if gpu.startswith(("nvidia-l40s-", "nvidia-rtx-pro-"))]
    found = case.best(smaller)
    too_large = any(
        option.infeasible is not None and option.infeasible.code == "does-not-fit" and option.offer.gpu in smaller
        for option in case.decision.options
    )
    return None if found is None and too_large else _cheaper(found, case.best(H100))


def _discounted(case: _Case) -> _Found | None:
    """Where the A100 is far below the median of its prices, it against the H100."""
    old = case.best(A100)
    if old is None or old.offer.usd_per_gpu_h is None:
        return _NOT_COMPARED
    rates = {
        option.offer.provider: option.offer.usd_per_gpu_h
        for option in reversed(case.decision.options)
        if (option.offer.gpu, option.offer.market) == (old.offer.gpu, old.offer.market) and option.offer.usd_per_gpu_h
    }
    if len(rates) < _FEWEST_PRICES:
        return _NOT_COMPARED
    share = old.offer.usd_per_gpu_h / median(rates.values())
    if share > DEEP_DISCOUNT:
        return None
    verdict, values = _cheaper(old, case.best(H100))
    return verdict, {"share_of_median": share, **values}


def _interruptible(case: _Case) -> _Found:
    """Interruptible capacity with checkpoints on the choice's GPU, interruptions paid for."""
    best: dict[str, float] = {}
    for option in case.able:
        if (option.offer.gpu, option.gpus) == (case.choice.offer.gpu, case.choice.gpus) and option.usd_mean is not None:
            best.setdefault(option.offer.market, option.usd_mean)
    if "interruptible" not in best or "on-demand" not in best:
        return _NOT_COMPARED
    usd, firm = best["interruptible"], best["on-demand"]
    saving_pct = 100 * (1 - usd / firm) if firm else 0.0
    return _by(usd < firm, {"interruptible_usd": usd, "on_demand_usd": firm, "saving_pct": saving_pct})


def _fp8_first(case: _Case) -> _Found | None:
    """FP8 before an H100: whether what FP8 is known to gain would make the H100 the cheaper one."""
    job, pair = case.decision.job, case.pair
    if job.precision not in _SIXTEEN_BITS or job.task == "notebook":
        return None
    if pair is None or pair.dear.offer.gpu not in H100:
        return _NOT_COMPARED
    gain = None if pair.needed_speedup is None else pair.needed_speedup / pair.speedup.median
    values = {"needed_gain": gain, "published_gains": FP8_GAINS}
    if pair.wins or gain is None or gain > FP8_GAINS[2]:
        return "contradicted", values
    return ("agreed", values) if gain <= FP8_GAINS[1] else ("undecidable", {"why": "within-published-gains", **values})


def _debug_on_one(case: _Case) -> _Found | None:
    """Debug on one GPU, then train on all: what an hour of each costs, where one can be rented alone."""
    choice = case.choice
    if choice.gpus <= 1 or choice.sharing is not None or case.decision.job.task in _SERVING:
        return None
    rates = [
        option.offer.usd_per_gpu_h * billed_gpus(option.offer, 1)[0]
        for option in case.able
        if option.offer.gpu == choice.offer.gpu and option.offer.usd_per_gpu_h is not None
    ]
    usd_per_h = choice.usd_per_h or 0.0
    if min(rates) >= usd_per_h:  # a smaller machine may be for rent all the same: only the cheapest lines are here
        return _NOT_COMPARED
    saving_usd = (usd_per_h - min(rates)) * case.decision.job.debug.hours
    return "agreed", {
        "usd_per_h": min(rates),
        "all_usd_per_h": usd_per_h,
        "gpus": choice.gpus,
        "saving_usd": saving_usd or None,
    }


def _volume(case: _Case) -> _Found | None:
    """A volume for data and checkpoints, against holding the machine that has them on its disk."""
    terms = case.choice.terms
    if terms is None or not terms.storage_gb:
        return None
    if terms.storage_usd_per_gb_month is None:
        return _NOT_COMPARED
    usd_per_h = terms.storage_gb * terms.storage_usd_per_gb_month / HOURS_PER_MONTH
    held = case.choice.usd_per_h or 0.0
    return _by(usd_per_h < held, {"volume_usd_per_h": usd_per_h, "machine_usd_per_h": held})


def _neighbours(case: _Case) -> _Found:
    """Other form factors and memories of the choice's model: whether comparing them changes the price of a result."""
    choice, model = case.choice, case.gpus[case.choice.offer.gpu].model
    other = case.best(gpu for gpu, known in case.gpus.items() if known.model == model and gpu != choice.offer.gpu)
    if other is None or other.usd_mean is None or choice.usd_mean is None:
        return _NOT_COMPARED
    saving_pct = 100 * (1 - choice.usd_mean / other.usd_mean) if other.usd_mean else 0.0
    return _by(saving_pct >= 1.0, {"gpu": other.offer.gpu, "usd": other.usd_mean, "saving_pct": saving_pct})


def _tuned_for_ampere(_case: _Case) -> _Found:
    return _NOT_SAID


_RULES: tuple[tuple[str, str, Callable[[_Case], _Found | None]], ...] = (
    ("price-ratio", FINE_TUNING, _price_ratio),
    ("finetune-depends", BUYER, _it_depends),
    ("memory-bound-measure-both", BUYER, _memory_bound),
    ("tuned-for-ampere", BUYER, _tuned_for_ampere),
    ("long-run-benchmark-first", BUYER, _long_run),
    ("raise-utilisation-first", BUYER, _raise_utilisation),
    ("two-of-six", BUYER, _two_of_six),
    ("not-while-idle", BUYER, _while_idle),
    ("not-while-waiting-for-data", BUYER, _waits_for_data),
    ("not-with-an-untuned-stack", BUYER, _untuned_stack),
    ("not-for-a-small-model", BUYER, _small_model),
    ("not-against-a-discount", BUYER, _discounted),
    ("cheaper-interruptible", FINE_TUNING, _interruptible),
    ("fp8-first", FINE_TUNING, _fp8_first),
    ("debug-on-one", FINE_TUNING, _debug_on_one),
    ("data-on-a-volume", FINE_TUNING, _volume),
    ("compare-neighbours", FINE_TUNING, _neighbours),
)
"""The rules that are more than one GPU rather than another: code, guide, and what holds it against the numbers."""

RULES = (*(claim.code for claim in CLAIMS), *(code for code, _, _ in _RULES))
"""The code of every rule that is checked."""
