"""A server on loopback that answers as a test scripts it, one function per request."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import struct
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


def chunk(text: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(text), text)


def event(content: str | None = " of", finish: str | None = None, **more: Any) -> bytes:
    delta = {} if content is None else {"content": content}
    document = {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}
    return b"data: " + json.dumps(document).encode() + b"\n\n"


def whole(tokens: int, *, usage: bool = True) -> list[bytes]:
    """The chunks of a right answer."""
    events = [event() for _ in range(tokens)]
    more = {"usage": {"prompt_tokens": 7, "completion_tokens": tokens}} if usage else {}
    return [*map(chunk, events), chunk(event(None, "length", **more)), chunk(b"data: [DONE]\n\n"), END]


OPEN: list[Scripted] = []
"""Servers that a test has started; the fixture `_ended` closes them."""


class Scripted:
    """Answers request k with `script(connection, k, body)`; the default is a right answer with a pause between tokens."""

    def __init__(self, script: Callable[[Any, int, dict[str, Any]], None] | None = None, *, family: int = socket.AF_INET,
                 context: ssl.SSLContext | None = None, pause_s: float = 0.002) -> None:  # fmt: skip
        self.script, self.pause_s, self._context = script or self.right, pause_s, context
        self._listener = socket.socket(family, socket.SOCK_STREAM)
        self._listener.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0))
        self._listener.listen(1024)
        self.port: int = self._listener.getsockname()[1]
        self.requests: list[tuple[bytes, dict[str, Any]]] = []
        self.connections = 0
        self._lock = threading.Lock()
        OPEN.append(self)
        threading.Thread(target=self._accept, daemon=True).start()

    def right(self, connection: Any, number: int, body: dict[str, Any]) -> None:
        connection.sendall(HEAD)
        for part in whole(body["max_tokens"]):
            connection.sendall(part)
            time.sleep(self.pause_s)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: Any) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            if self._context is not None:
                connection = self._context.wrap_socket(connection, server_side=True)
            with self._lock:
                self.connections += 1
            with contextlib.suppress(OSError, ValueError):
                self._answer(connection)
        except OSError:
            pass
        finally:
            connection.close()

    def _answer(self, connection: Any) -> None:
        buffer = b""
        while True:
            while b"\r\n\r\n" not in buffer:
                got = connection.recv(65536)
                if not got:
                    return
                buffer += got
            head, _, buffer = buffer.partition(b"\r\n\r\n")
            [length] = [int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.startswith(b"content-length")]
            while len(buffer) < length:
                buffer += connection.recv(65536)
            body, buffer = json.loads(buffer[:length]), buffer[length:]
            with self._lock:
                number = len(self.requests)
                self.requests.append((head, body))
            self.script(connection, number, body)


def reset(connection: Any) -> None:
    """Close with RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
