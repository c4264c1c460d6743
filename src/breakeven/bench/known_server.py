"""A small server that writes down when it sent each token: what `bench calibrate` measures the client against.

`python -m breakeven.bench.known_server TTFT_MS GAP_MS` listens on loopback and prints its port. Each event carries the
monotonic time [ns] at which it was handed to the kernel. It ends with its standard input.
"""

from __future__ import annotations

import contextlib
import heapq
import json
import select
import socket
import sys
import time

_NS, _MS = 1_000_000_000, 1_000_000
_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
    b"transfer-encoding: chunked\r\nconnection: keep-alive\r\n\r\n"
)
_EVENT = b'data: {"choices":[{"index":0,"delta":{"content":" of"}}],"send_ns":%d}\n\n'
_LAST = (
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}],'
    b'"usage":{"prompt_tokens":1,"completion_tokens":%d}}\n\ndata: [DONE]\n\n'
)


def _chunk(text: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(text), text)


class KnownServer:
    """Answers every request with its `max_tokens` tokens on an absolute schedule."""

    def __init__(self, ttft_ms: float, gap_ms: float) -> None:
        self._first_ns, self._gap_ns = int(ttft_ms * _MS), int(gap_ms * _MS)
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(4096)
        self._listener.settimeout(0)
        self.port: int = self._listener.getsockname()[1]
        self._open: dict[int, tuple[socket.socket, bytearray]] = {}
        self._due: list[tuple[int, int, int, int]] = []

    def serve(self, until: int) -> None:
        """Serve until that descriptor ends."""
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        poll.register(until, select.POLLIN)
        while True:
            wait_ns = self._due[0][0] - time.monotonic_ns() if self._due else _NS
            for descriptor, _ in poll.poll(max(0.0, wait_ns / _MS)):
                if descriptor == until:
                    return
                if descriptor == self._listener.fileno():
                    with contextlib.suppress(OSError):
                        one, _ = self._listener.accept()
                        one.settimeout(0)
                        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                        self._open[one.fileno()] = (one, bytearray())
                        poll.register(one, select.POLLIN)
                    continue
                if not self._hear(descriptor):
                    poll.unregister(descriptor)
                    self._open.pop(descriptor)[0].close()
            self._send()

    def _hear(self, descriptor: int) -> bool:
        one, buffer = self._open[descriptor]
        try:
            got = one.recv(1 << 20)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if not got:
            return False
        buffer += got
        head, mark, rest = bytes(buffer).partition(b"\r\n\r\n")
        if mark:
            length = next(
                int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
            )
            if len(rest) >= length:
                tokens = int(json.loads(rest[:length]).get("max_tokens", 1))
                buffer.clear()
                heapq.heappush(self._due, (time.monotonic_ns() + self._first_ns, descriptor, 0, tokens))
        return True

    def _send(self) -> None:
        now = time.monotonic_ns()
        while self._due and self._due[0][0] <= now:
            due, descriptor, place, tokens = heapq.heappop(self._due)
            found = self._open.get(descriptor)
            if found is None:
                continue
            text = b"" if place else _HEAD
            text += _chunk(_EVENT % time.monotonic_ns())
            if place + 1 == tokens:
                text += _chunk(_LAST % tokens) + b"0\r\n\r\n"
            else:
                heapq.heappush(self._due, (due + self._gap_ns, descriptor, place + 1, tokens))
            with contextlib.suppress(OSError):
                found[0].send(text)


def main() -> None:
    """Serve until standard input ends."""
    server = KnownServer(float(sys.argv[1]), float(sys.argv[2]))
    sys.stdout.write(f"{server.port}\n")
    sys.stdout.flush()
    server.serve(sys.stdin.fileno())


if __name__ == "__main__":
    main()
