"""Listen and serve, in this process, until interrupted."""

from __future__ import annotations

import socket
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING

import uvicorn

from breakeven.errors import ExternalError
from breakeven.web.app import make_app

if TYPE_CHECKING:
    from collections.abc import Callable

    from breakeven.web.settings import Settings

_MOST_CONNECTIONS = 500
_LARGEST_HEAD_BYTES = 2**16
_BACKLOG = 256


def serve(settings: Settings, bind: str, port: int, *, workers: int, on_ready: Callable[[str], None]) -> None:
    """Serve at an address; `on_ready` is told the URL once connections are taken.

    Raises: InputError where a book is wrong; ExternalError `bad-address` where the address cannot be listened at.
    """
    settings.all_offers()  # a wrong book is said now, not to the first visitor
    app = make_app(settings, workers=workers)
    listening = _listen(bind, port)
    host = f"[{bind}]" if ":" in bind else bind
    server = _Server(
        uvicorn.Config(
            app,
            http="h11",
            loop="asyncio",
            ws="none",
            lifespan="on",
            access_log=False,
            log_level="warning",
            server_header=False,
            limit_concurrency=_MOST_CONNECTIONS,
            h11_max_incomplete_event_size=_LARGEST_HEAD_BYTES,
            timeout_keep_alive=15,
            timeout_graceful_shutdown=3,
        )
    )
    server.tell = partial(on_ready, f"http://{host}:{listening.getsockname()[1]}/")
    try:
        server.run(sockets=[listening])
    finally:
        listening.close()


class _Server(uvicorn.Server):
    """A server that says when it is ready."""

    tell: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then tell."""
        await super().startup(sockets)
        if not self.should_exit:
            self.tell()


def _listen(bind: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in bind and ip_address(bind).version == 6 else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((bind, port))
        listening.listen(_BACKLOG)
    except (OSError, ValueError) as error:
        raise ExternalError("bad-address", text=f"{bind}:{port}", problem=str(error)) from None
    return listening
