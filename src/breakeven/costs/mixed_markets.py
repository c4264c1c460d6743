"""A deadline met with two markets: interruptible capacity while there is time, on-demand when there is not.

Source: formula 4, the policy of Wu et al., "Can't Be Late: Optimizing Spot Instance Savings under Deadlines" (NSDI
2024), https://www.usenix.org/conference/nsdi24/presentation/wu-zhanghao.
"""

from __future__ import annotations

from math import ceil, floor, fsum, inf, log, sqrt
from typing import TYPE_CHECKING, NamedTuple

from breakeven.costs.interruptible import HIGH, Hours
from breakeven.costs.interruptions import plan_attempt
from breakeven.stats.draws import GENERATORS, SplitMix64, even_count, even_order

if TYPE_CHECKING:
    from collections.abc import Callable

DRAWS = 1024
_FEWEST_DRAWS = 64
_MOST_SESSIONS = 12_000
_MOST_SESSIONS_OF_A_RUN = 2_000
_ROUNDING = 1e-9


class Mixture(NamedTuple):
    """What the policy comes to, on average over its runs.

    `interruptible_h` and `on_demand_h` : paid on each market [h]; `changeovers` : moves from one market to the other;
    `draws` : the runs that were simulated.
    """

    p_in_time: float
    wall: Hours
    interruptible_h: float
    on_demand_h: float
    changeovers: float
    interruptions: float
    draws: int

    def mean_usd(self, interruptible_usd_per_h: float, on_demand_usd_per_h: float) -> float:
        """Mean rent at these rates of all billed GPUs [USD].

        >>> Mixture(1.0, Hours(9.0, 0.0, 9.0), 6.0, 2.0, 1.0, 1.0, 1).mean_usd(1.0, 3.0)
        12.0
        """
        return self.interruptible_h * interruptible_usd_per_h + self.on_demand_h * on_demand_usd_per_h


class _Job(NamedTuple):
    """The job as one run sees it; without checkpoints `interval_h` is the work and `can_move` is false."""

    work_h: float
    deadline_h: float
    rate_per_h: float
    interval_h: float
    write_h: float
    restart_h: float
    wait_h: float
    can_move: bool


class _Run(NamedTuple):
    wall_h: float
    interruptible_h: float
    on_demand_h: float
    changeovers: int
    interruptions: int


def mix_markets(  # noqa: PLR0913 - the terms of interruptible capacity, as in plan_attempt
    work_h: float,
    deadline_h: float,
    *,
    rate_per_h: float,
    write_h: float,
    restart_h: float,
    wait_h: float = 0.0,
    interval_h: float | str = "auto",
    draws: int = DRAWS,
    seed: int = 0,
) -> Mixture:
    """What one attempt under the policy comes to, simulated on evenly spread points from a fixed seed.

    work_h : W; deadline_h : wall hours from the start; rate_per_h : λ of the whole job; write_h : δ; restart_h : R,
    paid, to come up after an interruption or on the other market (a changeover); wait_h : w, until interruptible
    capacity is to be had again after an interruption; interval_h : τ [h], "auto" or "none"; draws : at least that many
    runs, fewer where interruptions are many.

    1. It starts on interruptible capacity, and stays there until it is interrupted.
    2. While it waits for new capacity it goes on-demand as soon as its progress falls behind the uniform line
       W·t/deadline, and comes back once capacity is to be had and progress is ahead by two changeovers.
    3. When the time left is less than the work left and two changeovers, while it waits or after a checkpoint, it goes
       on-demand to the end.

    On-demand is always to be had, and writes no checkpoints but the one before moving. Without checkpoints a job never
    moves away while it runs.

    Source: formula 4.

    >>> mix_markets(10, 8, rate_per_h=0.1, write_h=0.02, restart_h=0.1).p_in_time
    0.0
    >>> mixture = mix_markets(10, 20, rate_per_h=0.0, write_h=0.02, restart_h=0.1)
    >>> mixture.interruptible_h, mixture.on_demand_h, mixture.p_in_time
    (10.0, 0.0, 1.0)
    """
    plan = plan_attempt(work_h, rate_per_h=rate_per_h, write_h=write_h, restart_h=restart_h, interval_h=interval_h)
    job = _Job(
        work_h=work_h,
        deadline_h=deadline_h,
        rate_per_h=rate_per_h,
        interval_h=work_h if plan.interval_h is None else plan.interval_h,
        write_h=0.0 if plan.interval_h is None else write_h,
        restart_h=restart_h,
        wait_h=wait_h,
        can_move=plan.interval_h is not None,
    )
    count = even_count(draws)
    sessions = 1 + rate_per_h * min(plan.paid_h, deadline_h)
    while count > _FEWEST_DRAWS and count * sessions > _MOST_SESSIONS:
        count //= 2
    if work_h <= 0:
        return _summed([_Run(0.0, 0.0, 0.0, 0, 0)], deadline_h)
    if rate_per_h == 0:
        return _summed([_run(job, lambda _: inf)], deadline_h)
    waits = _Waits(rate_per_h, count, seed)
    return _summed([_run(job, waits.of(point)) for point in range(count)], deadline_h)


class _Waits:
    """Times to the next interruption: those of the first sessions of a run evenly spread over the runs."""

    def __init__(self, rate_per_h: float, count: int, seed: int) -> None:
        self._cells = [-log((cell + 0.5) / count) / rate_per_h for cell in range(count)]
        self._orders: list[list[int]] = []
        self._later = SplitMix64(~seed)
        self._rate, self._count, self._seed = rate_per_h, count, seed

    def of(self, point: int) -> Callable[[int], float]:
        """The time to the interruption of each session of this run, by its number."""

        def wait(session: int) -> float:
            if session >= len(GENERATORS):
                return self._later.exponential(self._rate)
            while session >= len(self._orders):
                self._orders.append(even_order(len(self._orders), self._count, self._seed))
            return self._cells[self._orders[session][point]]

        return wait


def _summed(runs: list[_Run], deadline_h: float) -> Mixture:
    count = len(runs)
    walls = sorted(run.wall_h for run in runs)
    mean = fsum(walls) / count
    return Mixture(
        p_in_time=sum(wall <= deadline_h * (1 + _ROUNDING) for wall in walls) / count,
        wall=Hours(mean, sqrt(fsum((wall - mean) ** 2 for wall in walls) / count), walls[ceil(HIGH * count) - 1]),
        interruptible_h=fsum(run.interruptible_h for run in runs) / count,
        on_demand_h=fsum(run.on_demand_h for run in runs) / count,
        changeovers=sum(run.changeovers for run in runs) / count,
        interruptions=sum(run.interruptions for run in runs) / count,
        draws=count,
    )


class _State:
    """Where a run stands: the time, the work that is safe, when interruptible capacity is to be had, and the bills."""

    __slots__ = ("changeovers", "done_h", "free_at_h", "interruptible_h", "now_h", "on_demand_h", "sessions")

    def __init__(self) -> None:
        self.now_h = self.done_h = self.free_at_h = self.interruptible_h = self.on_demand_h = 0.0
        self.changeovers = self.sessions = 0


def _run(job: _Job, time_to_interruption: Callable[[int], float]) -> _Run:
    """One course of events under the policy."""
    state = _State()
    start_h = 0.0
    if job.deadline_h - job.work_h < 2 * job.restart_h - _ROUNDING:
        return _Run(job.work_h, 0.0, job.work_h, 0, 0)
    while True:
        is_interrupted = _session(job, state, start_h, time_to_interruption(state.sessions))
        if not is_interrupted:
            break
        state.sessions += 1
        start_h = job.restart_h
        if not _wait(job, state) and not _catch_up(job, state):
            break
    if state.done_h < job.work_h:
        left_h = job.restart_h + job.work_h - state.done_h
        state.on_demand_h += left_h
        state.now_h += left_h
        state.changeovers += 1
    return _Run(state.now_h, state.interruptible_h, state.on_demand_h, state.changeovers, state.sessions)


def _slack_h(job: _Job, state: _State) -> float:
    """Time left beyond the work left and two changeovers."""
    return job.deadline_h - state.now_h - (job.work_h - state.done_h) - 2 * job.restart_h


def _session(job: _Job, state: _State, start_h: float, until_h: float) -> bool:
    """Interruptible capacity from now on, until it is interrupted (true), the work is done, or time has become short.

    until_h : time to the interruption.
    """
    left_h, cycle_h = job.work_h - state.done_h, job.interval_h + job.write_h
    segments = ceil(left_h / job.interval_h - _ROUNDING)
    end_h = start_h + left_h + segments * job.write_h
    leaving_after = _checkpoints_until_short(job, _slack_h(job, state) - start_h)
    leaves = leaving_after < segments
    if leaves:
        end_h = start_h + leaving_after * cycle_h
    ran_h = min(end_h, until_h)
    state.interruptible_h += ran_h
    state.now_h += ran_h
    if until_h < end_h:
        state.done_h += max(0, floor((until_h - start_h) / cycle_h)) * job.interval_h
        state.free_at_h = state.now_h + job.wait_h
        return True
    state.done_h = state.done_h + leaving_after * job.interval_h if leaves else job.work_h
    return False


def _checkpoints_until_short(job: _Job, slack_h: float) -> float:
    """After how many checkpoints too little time is left; infinite where there is always enough."""
    if not job.can_move:
        return inf
    if slack_h < job.write_h:
        return 1
    return floor(slack_h / job.write_h + _ROUNDING) + 1 if job.write_h else inf


def _wait(job: _Job, state: _State) -> bool:
    """Wait for interruptible capacity; false when progress falls behind or time runs short before it is to be had."""
    behind_at_h = state.done_h * job.deadline_h / job.work_h
    short_at_h = state.now_h + _slack_h(job, state)
    state.now_h = max(state.now_h, min(state.free_at_h, behind_at_h, short_at_h))
    return state.free_at_h <= min(behind_at_h, short_at_h) and state.sessions < _MOST_SESSIONS_OF_A_RUN


def _catch_up(job: _Job, state: _State) -> bool:
    """On-demand until progress is ahead by two changeovers; false when it has to stay there to the end."""
    spare_h = _slack_h(job, state) - job.restart_h - job.write_h
    speed = 1 - job.work_h / job.deadline_h
    if not job.can_move or spare_h < 0 or speed <= 0 or state.sessions >= _MOST_SESSIONS_OF_A_RUN:
        return False
    up_h = state.now_h + job.restart_h
    line_h = up_h - state.done_h + 2 * job.restart_h * (1 - speed)
    back_h = max(line_h / speed, state.free_at_h, up_h)
    done_h = state.done_h + back_h - up_h
    if done_h >= job.work_h:
        return False
    state.on_demand_h += back_h + job.write_h - state.now_h
    state.now_h, state.done_h = back_h + job.write_h, done_h
    state.changeovers += 2
    return True
