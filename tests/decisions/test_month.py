import pytest

from breakeven.decisions.month import month_of
from tests.decisions.market import A100, H100, decide, offer

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
