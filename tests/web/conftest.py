"""A server in this process, without a network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from breakeven.web.app import make_app
from breakeven.web.settings import Settings

DAY = "2026-10-25"
HOST = "http://127.0.0.1:8642"
Serve = Callable[..., TestClient]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        store=f"sqlite:///{tmp_path}/store.sqlite", runs=str(tmp_path / "runs"), records=str(tmp_path / "records")
    )


@pytest.fixture
def serve(socket_enabled: None, settings: Settings) -> Iterator[Serve]:
    """What makes a browser of a server with these settings changed; the event loop needs a pair of sockets."""
    with ExitStack() as stack:

        def made(**changes: Any) -> TestClient:
            app = make_app(replace(settings, **changes))
            client = TestClient(app, base_url=HOST, follow_redirects=False, raise_server_exceptions=False)
            return stack.enter_context(client)

        yield made


@pytest.fixture
def browser(serve: Serve) -> TestClient:
    """A browser on loopback that accepts English."""
    return serve()
