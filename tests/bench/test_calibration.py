from __future__ import annotations

from breakeven.bench.calibration import calibrate


def test_our_stamps_are_held_against_known_times(socket_enabled: None) -> None:
    found = calibrate(8, gap_ms=10.0, seconds=1.0)
    assert found.events > 100
    assert found.why_void is None
    assert -0.5 < found.stamp_error_ms["p50"] < 5
    other = calibrate(4, gap_ms=10.0, seconds=0.6, is_stamped=False)
    assert other.stamps == "clock"
