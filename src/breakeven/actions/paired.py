"""Two runs of the same work against each other: is the dearer GPU worth its price, or is it too early to say?"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from breakeven.actions.job_files import load_job
from breakeven.actions.replay_costs import prices_of
from breakeven.actions.runs import about_of, find_run, kind_of
from breakeven.actions.training_runs import train_report
from breakeven.bench.report import Arm, Machine, Paired
from breakeven.bench.step_files import read_steps
from breakeven.bench.training import losses_apart
from breakeven.errors import InputError
from breakeven.jobs.train_plan import FOLLOWED
from breakeven.prediction.setups import work_of
from breakeven.stats.sequential import settle

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from breakeven.bench.report import TrainReport

_SECONDS_PER_HOUR = 3600.0
_LOSS_TOLERANCE = 0.05
_UNCOMPARED_VERSIONS = frozenset({"python"})
_LOOK_AT_MOST = 0.05
"""Share of its own time that a live comparison may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """What two runs are held against, and how.

    break_even : the ratio of A's time over B's at which both cost the same (default: from the prices of their GPUs);
    usd_per_h : what each machine costs; work_usd : what all work to come costs on A; warm_up : first steps of each to
    leave out; accepts : differences that are known and accepted, by name; runs : where runs are kept; job : the job of
    both, for a run that was copied here without its own.
    """

    break_even: float | None = None
    usd_per_h: tuple[float, float] | None = None
    work_usd: float | None = None
    warm_up: int | None = None
    accepts: Sequence[str] = ()
    runs: str | None = None
    job: str | None = None
    offers: Sequence[str | Path] = ()
    store: str | None = None


def is_pair_of_steps(first: str, second: str, runs: str | None = None) -> bool:
    """Whether both are step times: CSV files, or recorded trainings; replays are compared step by step of a ladder."""
    return all(name.endswith(".csv") or kind_of(about_of(find_run(name, runs))) == "train" for name in (first, second))


def compare_pair(first: str, second: str, against: Against) -> Paired:
    """Whether B is worth its price, from the step times of both so far; the ratio is A's time over B's.

    first, second : CSV files with a column `step_s`, or recorded trainings, running ones too.

    Raises: InputError; `plans-differ`, `trainings-differ` or `losses-differ` where the work is not the same and that
    is not accepted; `no-break-even` where prices are not known.
    """
    arms = tuple(_arm(name, place, against) for place, name in enumerate((first, second)))
    return paired(arms[0], arms[1], against)


def paired(a: Arm, b: Arm, against: Against) -> Paired:
    """Hold two arms against each other (see `compare_pair`)."""
    differences = _differences(a, b)
    refused = [name for name in differences if name not in against.accepts]
    if refused:
        raise InputError("trainings-differ", key="--accept", names=tuple(refused), text=b.name)
    apart = losses_apart(a.losses, b.losses)
    tolerance = a.loss_tolerance or b.loss_tolerance or _LOSS_TOLERANCE
    if apart is not None and apart > tolerance and "loss" not in against.accepts:
        raise InputError("losses-differ", key="--accept", apart_pct=100 * apart, most_pct=100 * tolerance, text=b.name)
    break_even = _break_even(a, b, against)
    work_usd = against.work_usd if against.work_usd is not None else a.work_usd
    step_usd = _step_usd([arm for arm in (a, b) if arm.is_running] or [a, b])
    share = step_usd / work_usd if step_usd is not None and work_usd else 0.0
    found = settle(a.steps, b.steps, break_even, step_share=share)
    is_priced = a.usd_per_h is not None and b.usd_per_h is not None
    spent = sum((arm.wall_s * (arm.usd_per_h or 0.0)) for arm in (a, b)) / _SECONDS_PER_HOUR
    return Paired(
        found, break_even, spent if is_priced else None, None if step_usd is None else step_usd * found.block_steps,
        first=a, second=b, loss_apart=apart, accepted=tuple(differences),
        is_price_told=against.break_even is None, work_usd=work_usd,
    )  # fmt: skip


def _step_usd(arms: Sequence[Arm]) -> float | None:
    """What one more step on each costs [USD]; one that has ended costs no more while the other goes on."""
    if any(arm.usd_per_h is None or not arm.steps for arm in arms):
        return None
    return sum((arm.usd_per_h or 0.0) * sum(arm.steps) / len(arm.steps) for arm in arms) / _SECONDS_PER_HOUR


def _break_even(a: Arm, b: Arm, against: Against) -> float:
    if against.break_even is not None:
        if not 0 < against.break_even < 1e6:
            raise InputError(
                "out-of-range", key="--break-even", text=str(against.break_even), minimum=0, maximum=1e6, is_open=True
            )
        return against.break_even
    if a.usd_per_h is None or b.usd_per_h is None:
        raise InputError("no-break-even", key="--break-even")
    return b.usd_per_h / a.usd_per_h


def _differences(a: Arm, b: Arm) -> list[str]:
    """What differs between two arms beside the GPU, by name; what one of them does not say is no difference."""
    found = ["plan"] if a.digest is not None and b.digest is not None and a.digest != b.digest else []
    pairs = (
        *((name, a.settings.get(name), b.settings.get(name)) for name in FOLLOWED),
        *((name, a.versions.get(name), b.versions.get(name)) for name in {*a.versions, *b.versions}),
    )
    told = sorted(
        name
        for name, one, two in pairs
        if one is not None and two is not None and one != two and name not in _UNCOMPARED_VERSIONS
    )
    return found + told


def _arm(name: str, place: int, against: Against) -> Arm:
    usd_per_h = None if against.usd_per_h is None else against.usd_per_h[place]
    if name.endswith(".csv"):
        skipped = 1 if against.warm_up is None else against.warm_up
        steps = read_steps(name)
        return Arm(name=name, steps=steps[skipped:], usd_per_h=usd_per_h, wall_s=sum(steps))
    report = train_report(find_run(name, against.runs), runs=against.runs)
    return arm_of(report, against, usd_per_h)


def arm_of(report: TrainReport, against: Against, usd_per_h: float | None = None) -> Arm:
    """A recorded training as one side of a comparison."""
    training, attempts = report.training, report.training.attempts
    machine = Machine(**report.about["machine"])
    offer = None
    if usd_per_h is None and (machine.gpu is not None or machine.usd_per_h is not None):
        prices = prices_of(machine, against.offers, against.store)
        if prices:
            usd_per_h, offer = prices[0].usd_per_h, prices[0].offer
    steps: list[float] = []
    if attempts is not None:
        kept = attempts.measured if against.warm_up is None else attempts.kept[against.warm_up :]
        steps = [step.step_s for step in kept]
    return Arm(
        name=report.run, steps=steps, usd_per_h=usd_per_h,
        wall_s=0.0 if training.times is None else training.times.wall_s, gpu=machine.gpu, gpus=machine.gpus,
        offer=offer, digest=report.about.get("plan_digest"), settings=training.settings, versions=training.versions,
        losses=training.losses, loss_tolerance=None if report.plan is None else report.plan.loss_tolerance,
        work_usd=_work_usd(report, machine, usd_per_h, against), is_running=report.is_running,
        stopped_by=report.stopped_by, has_ended=attempts is not None and attempts.has_end,
    )  # fmt: skip


def _work_usd(report: TrainReport, machine: Machine, usd_per_h: float | None, against: Against) -> float | None:
    """What all runs to come of the job cost at the speed that was measured [USD]."""
    speed = report.training.speed
    path = next((one for one in (machine.job, against.job) if one is not None and Path(one).is_file()), None)
    if path is None or usd_per_h is None or speed is None or not speed.tokens_per_s:
        return None  # a run may have been copied here without its job: then what is at stake is not known
    job = load_job(path)
    tokens = work_of(job).tokens
    return None if tokens is None else job.runs * usd_per_h * tokens / speed.tokens_per_s / _SECONDS_PER_HOUR


def follow_pair(
    first: str, second: str, against: Against, show: Callable[[Paired], None] | None = None, *, every_s: float = 2.0
) -> Paired:
    """Compare two runs again and again while they grow, until it is settled or both have ended.

    show : is given how it stands.

    Raises: as `compare_pair`.
    """
    while True:
        began = time.monotonic()
        found = compare_pair(first, second, against)
        if show is not None:
            show(found)
        is_over = not (found.first.is_running or found.second.is_running)
        if found.settlement.verdict != "not-settled" or is_over:
            return found
        time.sleep(max(every_s, (time.monotonic() - began) / _LOOK_AT_MOST))


class Settling:
    """Asks, as a training runs, whether its comparison with an earlier run is settled."""

    def __init__(self, other: Path, against: Against) -> None:
        self._other, self._against = other, against
        self._next = 0.0
        self.last: Paired | None = None
        self.refused: InputError | None = None

    def check(self, machine: Machine) -> None:
        """Refuse, before anything is paid for, what could never be settled.

        machine : what the new run runs on.

        Raises: InputError `not-a-training`, `no-break-even`.
        """
        about = about_of(self._other)
        if kind_of(about) != "train":
            raise InputError("not-a-training", text=self._other.name, key="--until-settled")
        if self._against.break_even is None:
            for one in (Machine(**about["machine"]), machine):
                has_gpu = one.gpu is not None or one.usd_per_h is not None
                if not has_gpu or not prices_of(one, self._against.offers, self._against.store):
                    raise InputError("no-break-even", key="--break-even")

    def why_over(self, run: Path) -> str | None:
        """Why a run needs to go no further: `settled`, or `unpaired` once the other, ended, has no more steps to pair.

        None while it may still be settled. Takes a small share of the time at most.
        """
        now = time.monotonic()
        if now < self._next or self.refused is not None:
            return None
        try:
            self.last = paired(
                arm_of(train_report(self._other, is_whole=False), self._against),
                arm_of(train_report(run, is_whole=False), self._against),
                self._against,
            )  # fmt: skip
        except InputError as error:
            if error.code != "losses-differ":  # two losses may still come together
                self.refused = error
            return None
        finally:
            after = time.monotonic()
            self._next = after + max(1.0, (after - now) / _LOOK_AT_MOST)
        if self.last.settlement.verdict != "not-settled":
            return "settled"
        is_all = not self.last.first.is_running and len(self.last.second.steps) >= len(self.last.first.steps)
        return "unpaired" if is_all else None
