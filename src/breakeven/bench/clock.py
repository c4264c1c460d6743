"""When did the bytes arrive? The kernel's stamps on a socket, told in this process's monotonic clock.

The kernel stamps a segment as it enters the machine, whatever the reader is doing then; a clock read after `recv` only
says when the reader came round to it. Stamps are of the wall clock, so the distance to the monotonic clock is kept,
and looked at again and again: a step of the wall clock must not become a latency.
"""

from __future__ import annotations

import socket
import struct
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_SO_TIMESTAMPING = 37
_TX_SOFTWARE, _RX_SOFTWARE, _SOFTWARE, _OPT_ID, _OPT_TSONLY = 2, 8, 16, 128, 2048
_FLAGS = _TX_SOFTWARE | _RX_SOFTWARE | _SOFTWARE | _OPT_ID | _OPT_TSONLY
"""Source: Documentation/networking/timestamping.rst of the Linux kernel."""

ANCILLARY_BYTES = 128
"""Room for the control messages of one read."""
_ERROR_BYTES = 512
_TIMESPEC = struct.Struct("qq")
_IS_64_BIT = struct.calcsize("l") == 8
_NS = 1_000_000_000
_STEP_NS = 200_000
_READABLE_WITHIN_NS = 20_000


def has_kernel_stamps(sock: socket.socket) -> bool:
    """Ask the kernel to stamp what a socket receives and sends; whether it will."""
    if not (_IS_64_BIT and hasattr(socket, "MSG_ERRQUEUE")):
        return False
    try:
        sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPING, _FLAGS)
    except OSError:
        return False
    return True


def stamp_of(ancillary: list[tuple[int, int, bytes]]) -> int:
    """The wall clock [ns] in the control messages of a read; 0 where they hold no stamp."""
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPING and len(content) >= 16:
            seconds, nanoseconds = _TIMESPEC.unpack_from(content)
            return int(seconds * _NS + nanoseconds)
    return 0


def sent_stamp(sock: socket.socket) -> int:
    """The wall clock [ns] at which what was sent last left; 0 where nothing waits. Empties the queue of stamps."""
    found = 0
    while True:
        try:
            _, ancillary, _, _ = sock.recvmsg(0, _ERROR_BYTES, socket.MSG_ERRQUEUE)
        except OSError:
            return found
        found = max(found, stamp_of(ancillary))


class WallClock:
    """How far the wall clock is ahead of the monotonic one, over time [ns].

    monotonic_ns, wall_ns : the clocks, for tests.
    """

    def __init__(
        self, monotonic_ns: Callable[[], int] = time.monotonic_ns, wall_ns: Callable[[], int] = time.time_ns
    ) -> None:
        self._monotonic_ns, self._wall_ns = monotonic_ns, wall_ns
        self._ahead: list[tuple[int, int]] = []
        while not self._ahead:
            self.look()

    @property
    def steps(self) -> int:
        """How often the wall clock was set while this looked."""
        return len(self._ahead) - 1

    def look(self) -> None:
        """Compare the clocks; a look that was interrupted half-way counts for nothing."""
        before = self._monotonic_ns()
        wall = self._wall_ns()
        after = self._monotonic_ns()
        if after - before > _READABLE_WITHIN_NS:
            return
        ahead = wall - (before + after) // 2
        if not self._ahead or abs(ahead - self._ahead[-1][1]) > _STEP_NS:
            self._ahead.append((before, ahead))

    def all_monotonic(self, ancillary: Sequence[Any], seen: Sequence[int]) -> list[int]:
        """The stamps in the control messages of many reads, in monotonic time (see `monotonic`)."""
        start, ahead = self._ahead[-1]
        if seen and seen[0] >= start:  # nearly always: one message each, and no step of the clock since
            try:
                both = struct.unpack(f"{2 * len(seen)}q", b"".join([one[0][2][:16] for one in ancillary]))
            except (IndexError, struct.error):
                both = ()
            stamps = [seconds * _NS + rest - ahead for seconds, rest in zip(both[::2], both[1::2], strict=True)]
            if both and all(0 <= read - stamp < _NS for stamp, read in zip(stamps, seen, strict=True)):
                return stamps
        return [self.monotonic(stamp_of(one), read) for one, read in zip(ancillary, seen, strict=True)]

    def monotonic(self, wall: int, seen: int) -> int:
        """A stamp of the wall clock in monotonic time, given when the bytes were seen; `seen` where it cannot be so."""
        if not wall:
            return seen
        for start, ahead in reversed(self._ahead):
            if seen >= start:
                stamp = wall - ahead
                return stamp if seen - 60 * _NS < stamp <= seen else seen
        return seen
