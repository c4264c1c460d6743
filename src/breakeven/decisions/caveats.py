"""What a reader must know beside the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.decisions.claims import contradicted_claims
from breakeven.decisions.options import ASSUMED_INTERRUPTIONS_PER_MACHINE_H, is_interruption_rate_assumed
from breakeven.decisions.standing import FIRM, standing
from breakeven.decisions.waste import WASTE_SHARE
from breakeven.errors import Caveat
from breakeven.offers.observing import DAYS_UNTIL_OLD

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from breakeven.decisions.decision import BreakEven, Option
    from breakeven.gpus.catalog import Gpu
    from breakeven.jobs.job import Job
    from breakeven.offers.offer import Offer

DAYS_UNTIL_STALE = 7
"""Prices older than this are to be checked before renting: buyers' guides re-verify them weekly."""
_FP8 = frozenset({"fp8", "mxfp8"})


def caveats(
    job: Job,
    choice: Option | None,
    options: Sequence[Option],
    pairs: Sequence[BreakEven],
    *,
    gpus: Mapping[str, Gpu],
    as_of: date,
    conflicts: Sequence[tuple[Offer, Offer]],
    stale_days: int = DAYS_UNTIL_STALE,
) -> tuple[Caveat, ...]:
    """Every caveat of a decision: claims first, then what was compared, then the prices."""
    feasible = [option for option in options if option.infeasible is None]
    of_choice = [
        pair for pair in pairs if choice is None or choice.offer.gpu in {pair.dear.offer.gpu, pair.cheap.offer.gpu}
    ]
    found = [
        *_claims(job, choice, feasible, pairs),
        *_open_pairs(of_choice),
        *_sku_mixes(of_choice, gpus),
        *_precision(job, feasible, gpus),
        *_waiting(feasible),
        *_recorded_failures(job, feasible),
        *_memory_doubts(choice, feasible),
        *_predictions(choice, feasible),
        *_interruptions(job, feasible),
        *_model_doubts(feasible),
        *_spread(feasible),
        *_unknown_costs(feasible),
        *_passed_over(choice, feasible, as_of),
        *price_caveats(
            [option.offer for option in feasible],
            as_of,
            unpriced={code: _barred_by(options, code) for code in ("unknown-price", "no-exchange-rate")},
            stale_days=stale_days,
        ),
    ]
    shown = {option.offer.id for option in options}
    disputed = tuple(kept.id for kept, _ in conflicts if kept.id in shown)
    if disputed:
        found.append(Caveat("conflicting-prices", offers=disputed))
    return tuple(found)


def _waiting(feasible: Sequence[Option]) -> list[Caveat]:
    """GPUs that were measured to wait: a faster one waits longer, and gains less than is predicted."""
    found = {option.offer.gpu: option.waiting_share for option in feasible if option.waiting_share > WASTE_SHARE}
    return [Caveat("bottleneck-not-gpu", gpu=gpu, share_pct=100 * share) for gpu, share in found.items()]


def _recorded_failures(job: Job, feasible: Sequence[Option]) -> list[Caveat]:
    """Recorded runs that failed, of a job that counts on all of them to succeed."""
    if float(job.success_rate) != 1.0:
        return []
    told = {option.offer.gpu: option.recorded for option in feasible if option.recorded is not None}
    return [
        Caveat("runs-failed", gpu=gpu, accepted=one.accepted, attempts=one.attempts)
        for gpu, one in told.items()
        if one.accepted < one.attempts
    ]


def _claims(job: Job, choice: Option | None, feasible: Sequence[Option], pairs: Sequence[BreakEven]) -> list[Caveat]:
    if choice is None:
        return []
    found = []
    for claim in contradicted_claims(job, choice.offer.gpu, {option.offer.gpu for option in feasible}):
        pair = next((one for one in pairs if {one.dear.offer.gpu, one.cheap.offer.gpu} & set(claim.prefer)
                     and choice.offer.gpu in {one.dear.offer.gpu, one.cheap.offer.gpu}), None)  # fmt: skip
        preferred = next(option for option in feasible if option.offer.gpu in claim.prefer)
        found.append(
            Caveat(
                "claim-contradicted",
                claim=claim.code,
                source=claim.source,
                prefers=preferred.offer.gpu,
                choice=choice.offer.gpu,
                speedup=None if pair is None else pair.speedup.median,
                needed_speedup=None if pair is None else pair.needed_speedup,
                saving_pct=preferred.saving_pct,
            )
        )
    return found


def _open_pairs(pairs: Sequence[BreakEven]) -> list[Caveat]:
    return [
        Caveat(
            "not-settled",
            gpu=pair.dear.offer.gpu,
            over=pair.cheap.offer.gpu,
            market=pair.market,
            low=pair.speedup.low,
            high=pair.speedup.high,
            needed_speedup=pair.needed_speedup,
        )
        for pair in pairs
        if pair.is_open
    ]  # fmt: skip


def sku_mix(one: Gpu, other: Gpu) -> Caveat | None:
    """The caveat of comparing products that differ in form factor or memory."""
    pairs = (
        ("form_factor", one.form_factor, other.form_factor),
        ("memory_gb", one.memory_gb, other.memory_gb),
    )
    differs = tuple(name for name, first, second in pairs if first != second)
    return Caveat("sku-mix", gpus=(one.id, other.id), differs=differs) if differs else None


def _sku_mixes(pairs: Sequence[BreakEven], gpus: Mapping[str, Gpu]) -> list[Caveat]:
    """All GPUs that differ from the choice in one caveat."""
    mixes = [sku_mix(gpus[pair.dear.offer.gpu], gpus[pair.cheap.offer.gpu]) for pair in pairs]
    named = dict.fromkeys(gpu for mix in mixes if mix for gpu in mix.values["gpus"])
    differs = dict.fromkeys(name for mix in mixes if mix for name in mix.values["differs"])
    return [Caveat("sku-mix", gpus=tuple(named), differs=tuple(sorted(differs)))] if named else []


def _precision(job: Job, feasible: Sequence[Option], gpus: Mapping[str, Gpu]) -> list[Caveat]:
    if job.precision not in _FP8:
        return []
    without = tuple(
        dict.fromkeys(
            option.offer.gpu for option in feasible if gpus[option.offer.gpu].values.get("fp8_dense_flop_per_s") is None
        )
    )
    return [Caveat("fp8-unproven", precision=job.precision, gpus_without=without)]


def _memory_doubts(choice: Option | None, feasible: Sequence[Option]) -> list[Caveat]:
    """Where memory is predicted too small for a job that competes, and where it may be for the choice."""
    found: dict[tuple[str, float], Caveat] = {}
    for option in feasible:
        expected = option.forecast
        is_vague = option is choice and option.basis not in {"stated", "measured"}
        doubted = {"no", "maybe"} if is_vague else {"no"}
        if expected is None or expected.memory is None or expected.fits not in doubted:
            continue
        need = expected.memory
        found.setdefault(
            (option.offer.gpu, option.gpus),
            Caveat("memory-doubt", gpu=option.offer.gpu, gpus=expected.gpus, fits=expected.fits, low_gb=need.low_gb,
                   need_gb=need.median_gb, high_gb=need.high_gb),
        )  # fmt: skip
    return list(found.values())


def _predictions(choice: Option | None, feasible: Sequence[Option]) -> list[Caveat]:
    """What the predictions of the choice and of what it is held against had to assume, or reach beyond."""
    found: dict[tuple[str, object, object], list[str]] = {}
    for option in feasible:
        if option.forecast is None or option.basis == "stated":
            continue
        for caveat in option.forecast.caveats:
            gpus = found.setdefault((caveat.code, caveat.values.get("what"), caveat.values.get("value")), [])
            if option.offer.gpu not in gpus:
                gpus.append(option.offer.gpu)
    if choice is None:
        return []
    return [Caveat(code, what=what, value=value, gpus=tuple(gpus)) for (code, what, value), gpus in found.items()]


def _interruptions(job: Job, feasible: Sequence[Option]) -> list[Caveat]:
    if not any(is_interruption_rate_assumed(job, option.offer) for option in feasible):
        return []
    return [Caveat("interruption-rate-assumed", per_machine_hour=ASSUMED_INTERRUPTIONS_PER_MACHINE_H)]


def _model_doubts(feasible: Sequence[Option]) -> list[Caveat]:
    """Interruptible offers whose interruptions come otherwise than one by one at random."""
    outbid = tuple(
        option.offer.id
        for option in feasible
        if option.offer.market == "interruptible" and option.offer.price.status in {"variable", "floor"}
    )
    return [Caveat("interruption-model-invalid", why=("outbid",), offers=outbid)] if outbid else []


def _spread(feasible: Sequence[Option]) -> list[Caveat]:
    spread = tuple(option.offer.id for option in feasible if option.machines > 1 and option.sharing is None)
    return [Caveat("several-machines", offers=spread)] if spread else []


def _passed_over(choice: Option | None, feasible: Sequence[Option], as_of: date) -> list[Caveat]:
    """Cheaper options that were not chosen because their price is old."""
    if choice is None:
        return []
    offers = tuple(
        option.offer.id
        for option in feasible
        if standing(option.offer, as_of) != FIRM and (option.usd_mean or 0.0) < (choice.usd_mean or 0.0)
    )
    return [Caveat("old-price-passed-over", offers=offers, limit_days=DAYS_UNTIL_OLD)] if offers else []


def _unknown_costs(feasible: Sequence[Option]) -> list[Caveat]:
    found = []
    for part in ("storage", "egress"):
        offers = tuple(option.offer.id for option in feasible if part in option.unknown_parts)
        if offers:
            found.append(Caveat(f"unknown-{part}-price", offers=offers))
    return found


def price_caveats(
    offers: Sequence[Offer],
    as_of: date,
    *,
    unpriced: Mapping[str, tuple[str, ...]] | None = None,
    stale_days: int = DAYS_UNTIL_STALE,
) -> list[Caveat]:
    """What a reader must know about the prices of these offers; `unpriced`: ids of others by why they have none."""
    found = []
    ages = {offer.id: offer.age_days(as_of) for offer in offers}
    stale = {offer: age for offer, age in ages.items() if age is not None and age > stale_days}
    if stale:
        found.append(
            Caveat("stale-price", offers=tuple(stale), oldest_days=max(stale.values()), newest_days=min(stale.values()),
                   limit_days=stale_days)
        )  # fmt: skip
    for code, listed in (
        ("undated-price", tuple(offer for offer, age in ages.items() if age is None)),
        ("unsourced", tuple(offer.id for offer in offers if offer.source is None)),
        ("price-not-firm", tuple(offer.id for offer in offers if offer.price.status != "known")),
        *(unpriced or {}).items(),
        ("converted-price", tuple(offer.id for offer in offers if offer.exchange_rate is not None)),
        ("private-quote", tuple(offer.id for offer in offers if offer.is_private)),
    ):
        if listed:
            found.append(Caveat(code, offers=tuple(dict.fromkeys(listed))))
    return found


def _barred_by(options: Sequence[Option], code: str) -> tuple[str, ...]:
    return tuple(
        option.offer.id for option in options if option.infeasible is not None and option.infeasible.code == code
    )
