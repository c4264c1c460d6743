from __future__ import annotations

from breakeven.decisions.watching import compared
from tests.decisions.market import A100, H100, decide, offer


def test_a_decision_that_has_an_answer_again_has_flipped() -> None:
    now = decide([offer(A100, 1.0), offer(H100, 9.0)])
    watched = compared("2026-10-01", {"job": "test", "choice": None, "options": []}, now)
    assert watched.is_flipped
    assert [(change.what, change.before, change.now) for change in watched.changes] == [
        ("usd_per_gpu_h", None, 1.0),
        ("usd_mean", None, 1.5),
    ]
