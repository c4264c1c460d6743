from __future__ import annotations

import struct

from breakeven.bench.clock import WallClock, stamp_of

S = 1_000_000_000


class Clocks:
    """A monotonic clock and a wall clock that somebody sets."""

    def __init__(self) -> None:
        self.now, self.ahead = 100 * S, 1_700_000_000 * S

    def monotonic(self) -> int:
        return self.now

    def wall(self) -> int:
        return self.now + self.ahead


def message(wall: int) -> list[tuple[int, int, bytes]]:
    return [(1, 37, struct.pack("qq", wall // S, wall % S) + bytes(32))]


def test_stamps_are_told_in_monotonic_time() -> None:
    clocks = Clocks()
    clock = WallClock(clocks.monotonic, clocks.wall)
    stamp = stamp_of(message(clocks.wall()))
    assert stamp == clocks.wall()
    assert clock.monotonic(stamp, clocks.now + 5000) == clocks.now
    assert stamp_of([]) == 0
    assert clock.monotonic(0, 7) == 7


def test_a_step_of_the_wall_clock_becomes_no_latency() -> None:
    clocks = Clocks()
    clock = WallClock(clocks.monotonic, clocks.wall)
    first, before = clocks.wall(), clocks.now
    clocks.now += S
    clocks.ahead -= 3600 * S  # somebody sets the clock back an hour
    clock.look()
    assert clock.steps == 1
    clocks.now += S
    second, after = clocks.wall(), clocks.now
    assert clock.monotonic(first, before + 1000) == before
    assert clock.monotonic(second, after + 1000) == after
    assert clock.all_monotonic([message(second)], [after + 1000]) == [after]
    assert clock.all_monotonic([message(first), message(second)], [before + 1000, after + 1000]) == [before, after]


def test_an_impossible_stamp_is_not_believed() -> None:
    clocks = Clocks()
    clock = WallClock(clocks.monotonic, clocks.wall)
    ahead = clocks.wall() + 10 * S
    assert clock.monotonic(ahead, clocks.now) == clocks.now
    assert clock.all_monotonic([message(ahead), []], [clocks.now, clocks.now]) == [clocks.now, clocks.now]
