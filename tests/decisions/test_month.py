from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from breakeven.decisions.month import month_of
from breakeven.decisions.rank import rank
from breakeven.errors import InputError
from breakeven.gpus import catalog
from breakeven.jobs.read import read_job
from tests.decisions.market import A100, AS_OF, H100, decide, offer

if TYPE_CHECKING:
    from breakeven.decisions.month import Month
    from breakeven.offers.offer import Offer

BOOK = [offer(A100, 1.0), offer(H100, 3.0), offer(A100, 0.5, "spot", market="interruptible")]


def test_totals_and_the_reservation_that_would_beat_them() -> None:
    jobs = [
        decide(BOOK, "runs: 20", hours="10", speedup="2"),
        decide(BOOK, "runs: 100\ngpus: 8", hours="6", speedup="2"),
    ]
    object.__setattr__(jobs[1].job, "job", "other")
    reserved = offer(A100, 0.6, "r", market="reserved", gpus=8, term_months=1.0)
    month = month_of(jobs, [reserved])
    line = next(option for option in month.options if option.gpu == A100 and option.market == "on-demand")
    assert line.usd == pytest.approx(20 * 10 + 100 * 8 * 6)
    assert line.gpu_hours == pytest.approx(20 * 10 + 100 * 8 * 6)
    reservation = line.reservation
    # 5000 GPU-hours fit one machine of 8 (5840 GPU-hours)
    assert (reservation.machines, reservation.gpus_per_machine) == (1, 8)
    assert reservation.utilisation == pytest.approx(5000 / 5840)
    assert reservation.break_even_usd_per_gpu_h == pytest.approx(5000 / 5840)
    assert reservation.usd == pytest.approx(0.6 * 5840)
    assert reservation.wins
    dear = next(option for option in month.options if option.gpu == H100)
    assert dear.reservation.offer is None
    assert dear.reservation.wins is None


def test_only_lines_that_can_run_every_job_are_listed() -> None:
    jobs = [decide(BOOK), decide([offer(A100, 1.0)])]
    object.__setattr__(jobs[1].job, "job", "other")
    assert [(option.gpu, option.market) for option in month_of(jobs, []).options] == [(A100, "on-demand")]


def two_jobs(*offers: Offer, runs: int = 1, job: str = "") -> Month:
    """A job of 500 GPU-hours, and a notebook for ten users."""
    texts = (
        f"job: j1\nruns: 100\nknown: {{{A100}: {{hours: 5}}}}\n{job}",
        f"job: n\ntask: notebook\nusers: {{count: 10, hours_per_day: 4}}\nruns: {runs}",
    )
    made = [rank(read_job(text), offers, gpus=catalog.catalog(), as_of=AS_OF) for text in texts]
    return month_of(made, [])


def test_a_slice_counts_as_its_share_of_a_gpu_hour() -> None:
    [line] = two_jobs(offer(A100, 1.0), offer(A100, 2.1, fraction=1 / 7)).options
    assert line.usd == pytest.approx(500 + 0.3)
    assert line.gpu_hours == pytest.approx(500 + 1 / 7)
    # ten slices of a seventh need two GPUs at once
    assert (line.reservation.machines, line.reservation.gpus_per_machine) == (1, 2)


def test_whole_machines_count_the_gpus_that_are_billed() -> None:
    [line] = two_jobs(offer("nvidia-l4-pcie-24gb", 9.0), offer(A100, 1.5, gpus=8), runs=101).options
    # the job holds eight GPUs; ten users hold sixteen, 1.6 GPU-hours per user-hour
    assert line.gpu_hours == pytest.approx(100 * 5 * 8 + 101 * 1.6)
    assert line.usd == pytest.approx(1.5 * line.gpu_hours)
    assert (line.reservation.machines, line.reservation.gpus_per_machine) == (2, 8)


def test_gpu_hours_are_those_billed_idle_ones_in_and_unpaid_waiting_out() -> None:
    job = "wait_h: 3\noverheads: {idle_hours: 0.5}\nsuccess_rate: 0.5"
    [line] = two_jobs(offer(A100, 2.0, billing_increment_s=3600), job=job).options
    assert line.gpu_hours == pytest.approx(100 * (5 / 0.5 + 0.5) + 1)
    assert line.usd == pytest.approx(2 * line.gpu_hours)
    assert line.rent_usd == pytest.approx(line.usd)


def test_slices_cannot_be_reserved_in_place_of_whole_gpus() -> None:
    jobs = [decide(BOOK), decide(BOOK)]
    object.__setattr__(jobs[1].job, "job", "other")
    part = offer(A100, 0.01, "r", market="reserved", fraction=0.5, term_months=1.0)
    assert all(option.reservation.offer is None for option in month_of(jobs, [part]).options)


def test_two_jobs_of_one_id_are_refused() -> None:
    with pytest.raises(InputError, match="two jobs have the id 'test'") as caught:
        month_of([decide(BOOK, "runs: 100"), decide(BOOK, "runs: 7")], [])
    assert caught.value.code == "duplicate-job"
