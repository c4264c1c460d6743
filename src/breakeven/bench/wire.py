"""The hot path: send, receive, stamp and append; what the bytes mean is asked afterwards.

One thread, one poll. A read costs one `recvmsg` with its stamp and one append; whether an answer is over is told by
the last bytes of a read, and settled by the framing of the whole answer only when those look like an end.
"""

from __future__ import annotations

import contextlib
import gc
import heapq
import select
import socket
import time
from array import array
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from breakeven.bench.clock import ANCILLARY_BYTES, WallClock, has_kernel_stamps, sent_stamp
from breakeven.bench.framing import Framing
from breakeven.bench.recording import Exchange, Reads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from ssl import SSLContext

    from breakeven.bench.origin import Origin

_READ_BYTES = 65_536
_MAX_ANSWER_BYTES = 64 * 2**20
_TICK_NS = 100_000_000
_NS = 1_000_000_000
_IN, _OUT, _ERR, _HANG_UP = 1, 4, 8, 16
_CHUNKED_END = b"\r\n0\r\n\r\n"


class Asked(NamedTuple):
    """A request to be sent: the bytes, and what they are.

    due_ns : when [monotonic]; 0 as soon as a connection is free.
    """

    step: int
    number: int
    prompt: str
    is_warm_up: bool
    request: bytes
    due_ns: int = 0


class Waits(NamedTuple):
    """How long is waited, at most [ns]: for a connection, the first byte, the next byte, the whole answer."""

    connect_ns: int = 10 * _NS
    first_ns: int = 300 * _NS
    stall_ns: int = 60 * _NS
    request_ns: int = 1800 * _NS


class _Stream:
    """One connection and the request on it."""

    __slots__ = (
        "asked", "attempt", "due", "framing", "is_hot", "is_open", "mark", "opened", "pending", "reads", "recvmsg",
        "sent", "sock", "tls", "was_connected", "weighed", "weight", "wire", "writes",
    )  # fmt: skip

    def __init__(self) -> None:
        self.sock: socket.socket | None = None
        self.recvmsg: Any = None
        self.reads: list[tuple[bytes, Any, int, int]] = []
        self.asked: Asked | None = None
        self.framing: Framing | None = None
        self.tls: _Tls | None = None
        self.pending = b""
        self.is_open = self.is_hot = self.writes = self.was_connected = False
        self.due = self.opened = self.sent = self.wire = self.mark = self.weighed = self.weight = 0
        self.attempt = 1


class _Tls:
    """Encryption beside the socket, so that the stamps are those of the encrypted bytes."""

    def __init__(self, context: SSLContext, host: str) -> None:
        import ssl  # noqa: PLC0415 - plain http does without

        self._wants = (ssl.SSLWantReadError, ssl.SSLWantWriteError)
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object = context.wrap_bio(self._in, self._out, server_hostname=host)
        self._has_shaken = False

    def is_ready(self) -> bool:
        """Whether the handshake is over."""
        return self._has_shaken

    def shake(self, received: bytes = b"") -> bytes:
        """Go on with the handshake; what is to be sent for it."""
        self._in.write(received)
        try:
            self._object.do_handshake()
            self._has_shaken = True
        except self._wants:
            pass
        return self._out.read()

    def sealed(self, text: bytes) -> bytes:
        """The bytes to send for a text."""
        self._object.write(text)
        return self._out.read()

    def opened(self, received: bytes) -> bytes:
        """The text in what was received, as far as it is whole."""
        import ssl  # noqa: PLC0415

        self._in.write(received)
        parts = []
        while True:
            try:
                part = self._object.read(_READ_BYTES)
            except self._wants:
                break
            except ssl.SSLZeroReturnError:
                break
            if not part:
                break
            parts.append(part)
        return b"".join(parts)


class Poller:
    """epoll, or poll where there is none."""

    def __init__(self) -> None:
        one: Any = select.epoll() if hasattr(select, "epoll") else select.poll()
        self.register, self.modify, self.unregister = one.register, one.modify, one.unregister
        self.wait: Callable[[float], list[tuple[int, int]]] = one.poll
        """The descriptors that are ready within some seconds, and for what."""
        if not hasattr(select, "epoll"):
            self.wait = lambda seconds: one.poll(seconds * 1000)


class Wire:
    """Sends requests over many connections and hands over what came back.

    done : takes each exchange as it ends; context : for https; is_stamped : ask the kernel for stamps.
    """

    def __init__(
        self,
        origin: Origin,
        address: tuple[Any, ...],
        done: Callable[[Exchange], None],
        *,
        waits: Waits,
        context: SSLContext | None = None,
        worker: int = 0,
        is_stamped: bool = True,
    ) -> None:
        self._origin, self._family, self._address = origin, address[0], address[1]
        self._done, self._waits, self._context, self._worker = done, waits, context, worker
        self._is_stamped = is_stamped
        self.has_stamps = False
        self._wall = WallClock()
        self._poller = Poller()
        self._streams: dict[int, _Stream] = {}
        self._others: dict[int, Callable[[], None]] = {}
        self.is_stopped = False
        self.is_over = False

    @property
    def clock_steps(self) -> int:
        """How often the wall clock was set meanwhile."""
        return self._wall.steps

    def watch(self, descriptor: int, heard: Callable[[], None]) -> None:
        """Call back whenever something can be read there."""
        self._others[descriptor] = heard
        self._poller.register(descriptor, _IN)

    def stop(self) -> None:
        """Give up: what is in flight is cancelled at the next look."""
        self.is_stopped = True

    # ---------------------------------------------------------------- running

    def run_closed(
        self,
        streams: int,
        warm_up: Iterator[Asked],
        measured: Iterable[Asked],
        *,
        least_warm: int,
        ramp_ns: int,
    ) -> None:
        """Keep that many requests in flight until all have been sent and answered.

        Streams begin one after the other over the ramp, with warm-up requests: at least so many, and until every stream
        has begun, so that all measured ones meet the whole load; none where `least_warm` is 0.
        """
        rest = iter(measured)
        warmed = 0
        start = time.monotonic_ns()
        begins = [(start + ramp_ns * place // max(streams, 1), place) for place in range(streams)]
        heapq.heapify(begins)
        active = 0

        def take() -> Asked | None:
            nonlocal warmed
            if least_warm and (warmed < least_warm or begins):
                warmed += 1
                return next(warm_up)
            return next(rest, None)

        def free(stream: _Stream, at: int) -> None:
            nonlocal active
            asked = None if self.is_stopped else take()
            if asked is None:
                active -= 1
                self._close(stream)
            else:
                self._send(stream, asked, at)

        def tick(now: int) -> int:
            nonlocal active
            while begins and begins[0][0] <= now and not self.is_stopped:
                asked = take()
                heapq.heappop(begins)
                if asked is None:
                    begins.clear()
                    break
                active += 1
                self._send(_Stream(), asked, now)
            if self.is_stopped:
                begins.clear()
            return begins[0][0] if begins else 0

        self._loop(tick, free, lambda: bool(begins) or active > 0)

    def run_open(self, measured: Iterable[Asked], *, most: int) -> None:
        """Send each request when it is due, over at most that many connections; later ones wait, and that counts."""
        rest = iter(measured)
        coming = next(rest, None)
        late: deque[Asked] = deque()
        idle: list[_Stream] = []
        active = 0

        def free(stream: _Stream, _at: int) -> None:
            nonlocal active
            if late and not self.is_stopped:
                asked = late.popleft()
                self._send(stream, asked, asked.due_ns)
                return
            active -= 1
            idle.append(stream)

        def tick(now: int) -> int:
            nonlocal coming, active
            while coming is not None and coming.due_ns <= now and not self.is_stopped:
                if active < most:
                    active += 1
                    self._send(idle.pop() if idle else _Stream(), coming, coming.due_ns)
                else:
                    late.append(coming)
                coming = next(rest, None)
            if self.is_stopped:
                coming = None
                late.clear()
            return coming.due_ns if coming is not None else 0

        self._loop(tick, free, lambda: coming is not None or active > 0)
        for stream in idle:
            self._close(stream)

    def _loop(
        self, tick: Callable[[int], int], free: Callable[[_Stream, int], None], is_going: Callable[[], bool]
    ) -> None:
        """Until nothing is in flight and nothing is to come; every wait is bounded."""
        self._free = free
        self._is_going = is_going
        clock = time.monotonic_ns
        streams, others, wait = self._streams, self._others, self._poller.wait
        looked = before = clock()
        due = tick(before)
        gc.collect()
        gc.freeze()
        gc.disable()
        try:
            self.is_over = not is_going()
            while not self.is_over:
                limit = looked + _TICK_NS
                if due and due < limit:
                    limit = due
                ready = wait((limit - before) / _NS if limit > before else 0.0)
                seen = clock()
                for descriptor, mask in ready:
                    stream = streams.get(descriptor)
                    if stream is None:
                        if descriptor in others:
                            others[descriptor]()
                        continue
                    if mask == _IN and stream.is_hot:  # a chunked answer under way: the hot path
                        try:
                            data, ancillary, _, _ = stream.recvmsg(_READ_BYTES, ANCILLARY_BYTES)
                        except (BlockingIOError, ConnectionError):
                            self._ready(stream, mask, seen, before)
                            continue
                        if data:
                            stream.reads.append((data, ancillary, seen, before))
                            if data[-5:] == b"0\r\n\r\n" or len(data) < 7:
                                self._perhaps_ended(stream)
                            continue
                        self._lost(stream, "closed", seen)
                        continue
                    self._ready(stream, mask, seen, before)
                before = seen
                if due and due <= seen:
                    due = tick(seen)
                    self.is_over = not is_going()
                if seen - looked >= _TICK_NS:
                    looked = seen
                    self._look(seen)
                    due = tick(seen)
                    self.is_over = not is_going()
        finally:
            gc.enable()
            gc.unfreeze()

    # ------------------------------------------------------------- connections

    def _connect(self, stream: _Stream) -> None:
        sock = socket.socket(self._family, socket.SOCK_STREAM)
        sock.settimeout(0)
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream.sock, stream.recvmsg = sock, sock.recvmsg
        stream.is_open = stream.was_connected = False
        stream.tls = None if self._context is None else _Tls(self._context, self._origin.host)
        stream.opened = time.monotonic_ns()
        code = sock.connect_ex(self._address)
        self._streams[sock.fileno()] = stream
        self._poller.register(sock.fileno(), _IN | _OUT)
        stream.writes = True
        if code == 0:
            self._connected(stream)

    def _close(self, stream: _Stream) -> None:
        if stream.sock is not None:
            self._streams.pop(stream.sock.fileno(), None)
            with contextlib.suppress(OSError, KeyError, ValueError):
                self._poller.unregister(stream.sock.fileno())
            stream.sock.close()
            stream.sock = None
        stream.is_open = False

    def _connected(self, stream: _Stream) -> None:
        stream.is_open = True
        if self._is_stamped and stream.sock is not None:
            self.has_stamps = has_kernel_stamps(stream.sock)
        if stream.tls is not None:
            stream.pending = stream.tls.shake()
            self._write(stream)
        else:
            self._begin(stream)

    def _send(self, stream: _Stream, asked: Asked, due: int) -> None:
        """Send a request, on the connection if there is one."""
        stream.asked, stream.due, stream.attempt = asked, due, 1
        self._ask(stream)

    def _ask(self, stream: _Stream) -> None:
        stream.reads = []
        stream.framing = None
        stream.is_hot = False
        stream.wire = stream.mark = stream.weighed = stream.weight = 0
        stream.sent = time.monotonic_ns()
        if stream.is_open:
            stream.was_connected = True
            self._begin(stream)
        elif stream.sock is None:
            try:
                self._connect(stream)
            except OSError:
                self._lost(stream, "connect", time.monotonic_ns())

    def _begin(self, stream: _Stream) -> None:
        """Hand the request to the kernel."""
        if stream.asked is None:
            return
        request = stream.asked.request
        stream.sent = time.monotonic_ns()
        try:
            stream.pending = request if stream.tls is None else stream.tls.sealed(request)
        except (OSError, ValueError):  # what ssl raises is one or the other
            self._lost(stream, "tls", stream.sent)
            return
        self._write(stream)

    def _write(self, stream: _Stream) -> None:
        sock = stream.sock
        if sock is None:
            return
        try:
            while stream.pending:
                stream.pending = stream.pending[sock.send(stream.pending) :]
        except BlockingIOError:
            pass
        except OSError:
            self._lost(stream, "reset", time.monotonic_ns())
            return
        if bool(stream.pending) != stream.writes:
            stream.writes = bool(stream.pending)
            self._poller.modify(sock.fileno(), _IN | (_OUT if stream.writes else 0))

    def _ready(self, stream: _Stream, mask: int, seen: int, before: int) -> None:
        """What the hot path leaves: connecting, writing, stamps of what was sent, first reads, encrypted ones, ends."""
        sock = stream.sock
        if sock is None:
            return
        if not stream.is_open:
            code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                self._lost(stream, "connect", seen)
            elif mask & _OUT:
                self._connected(stream)
            return
        if mask & _ERR:
            wall = sent_stamp(sock)
            if wall and stream.asked is not None and not (stream.tls is not None and not stream.tls.is_ready()):
                stream.wire = self._wall.monotonic(wall, time.monotonic_ns())
        if mask & _OUT and stream.writes:
            self._write(stream)
        if mask & (_IN | _HANG_UP) or (mask & _ERR and mask & ~(_ERR | _OUT)):
            self._read(stream, seen, before)

    def _read(self, stream: _Stream, seen: int, before: int) -> None:
        try:
            data, ancillary, _, _ = stream.recvmsg(_READ_BYTES, ANCILLARY_BYTES)
        except BlockingIOError:
            return
        except OSError:
            self._lost(stream, "reset", seen)
            return
        if not data:
            self._lost(stream, "closed", seen)
            return
        if stream.tls is not None:
            data = self._opened(stream, stream.tls, data, seen)
            if not data:
                return
        if stream.asked is None:  # nobody asked: a server that speaks unasked is closed
            self._close(stream)
            return
        stream.reads.append((data, ancillary, seen, before))
        framing = stream.framing
        if framing is None:
            framing = stream.framing = Framing(keeps=False)
        if not stream.is_hot:
            framing.feed(data)
            if framing.is_broken:
                self._lost(stream, "broken", seen)
            elif framing.is_complete:
                self._ended(stream)
            elif framing.is_chunked and stream.tls is None:
                stream.is_hot = (
                    True  # the hot path takes it from here; the framing is fed again when it looks like an end
                )
                stream.mark = len(stream.reads)
        else:
            self._perhaps_ended(stream)

    def _opened(self, stream: _Stream, tls: _Tls, data: bytes, seen: int) -> bytes:
        """What encrypted bytes say; nothing while hands are shaken."""
        try:
            if tls.is_ready():
                return tls.opened(data)
            stream.pending += tls.shake(data)
            self._write(stream)
            if not tls.is_ready():
                return b""
            if stream.sock is not None:
                self._begin(stream)
            return tls.opened(b"")
        except (OSError, ValueError):  # what ssl raises is one or the other
            self._lost(stream, "tls", seen)
            return b""

    def _perhaps_ended(self, stream: _Stream) -> None:
        """Whether the answer is complete, where the last bytes look so."""
        reads = stream.reads
        data = reads[-1][0]
        if len(data) < 7:
            data = b"".join([one[0] for one in reads[-8:]])
        if data[-7:] != _CHUNKED_END:
            return
        framing = stream.framing
        if framing is None:
            return
        framing.feed(b"".join([one[0] for one in reads[stream.mark :]]))
        stream.mark = len(reads)
        if framing.is_broken:
            self._lost(stream, "broken", reads[-1][2])
        elif framing.is_complete:
            self._ended(stream)

    def _ended(self, stream: _Stream) -> None:
        framing = stream.framing
        stays = framing is not None and framing.stays_open
        end = self._finish(stream, "complete", stream.reads[-1][2])
        if not stays:
            self._close(stream)
        self._free(stream, end)
        self.is_over = not self._is_going()

    def _lost(self, stream: _Stream, ending: str, seen: int) -> None:
        """The connection is gone, or given up."""
        asked, framing = stream.asked, stream.framing
        if ending == "closed" and framing is not None and stream.reads:
            framing.feed(b"".join([one[0] for one in stream.reads[stream.mark :]]) if stream.is_hot else b"")
            framing.end()
            if framing.is_complete:
                ending = "complete"
        is_stale = stream.was_connected and not stream.reads and ending in {"closed", "reset"} and stream.attempt == 1
        self._close(stream)
        if asked is None:
            return
        if is_stale and not self.is_stopped:
            stream.attempt = 2
            self._ask(stream)
            return
        end = self._finish(stream, ending, seen)
        self._free(stream, end)
        self.is_over = not self._is_going()

    def _finish(self, stream: _Stream, ending: str, seen: int) -> int:
        """Hand over the exchange; when its last byte arrived."""
        asked = stream.asked
        if asked is None:
            return seen
        reads = stream.reads
        if stream.sock is not None and not stream.wire and self.has_stamps:
            wall = sent_stamp(stream.sock)
            if wall:
                stream.wire = self._wall.monotonic(wall, time.monotonic_ns())
        pieces, ancillary, seen_ns, before_ns = zip(*reads, strict=True) if reads else ((), (), (), ())
        stamps = array("q", self._wall.all_monotonic(ancillary, seen_ns))
        kept = Reads(stamps, array("q", seen_ns), array("q", before_ns), array("I", map(len, pieces)), b"".join(pieces))
        end = stamps[-1] if stamps else seen
        exchange = Exchange(
            asked.step, asked.number, asked.prompt, stream.due, stream.sent, stream.wire, end, ending, self._worker,
            asked.is_warm_up, stream.was_connected, stream.attempt, kept,
        )  # fmt: skip
        stream.asked, stream.reads = None, []
        self._done(exchange)
        return end

    def _look(self, now: int) -> None:
        """Ten times a second: the clocks, and who waits too long."""
        self._wall.look()
        waits = self._waits
        for stream in list(self._streams.values()):
            if stream.asked is None:
                continue
            if self.is_stopped:
                self._lost(stream, "cancelled", now)
            elif not stream.is_open:
                if now - stream.opened > waits.connect_ns:
                    self._lost(stream, "connect", now)
            elif not stream.reads:
                if now - stream.sent > waits.first_ns:
                    self._lost(stream, "timeout", now)
            elif now - stream.sent > waits.request_ns:
                self._lost(stream, "timeout", now)
            elif now - stream.reads[-1][2] > waits.stall_ns:
                self._lost(stream, "stalled", now)
            else:
                stream.weight += sum(len(one[0]) for one in stream.reads[stream.weighed :])
                stream.weighed = len(stream.reads)
                if stream.weight > _MAX_ANSWER_BYTES:
                    self._lost(stream, "too-long", now)
