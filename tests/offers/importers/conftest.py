from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.offers.importers.serving import Server, serving


@pytest.fixture
def server(socket_enabled: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr("breakeven.offers.fetching.time.sleep", lambda _: None)
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serving() as running:
        yield running
