from __future__ import annotations

import io
import time
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from breakeven.errors import ExternalError, InputError
from breakeven.offers.fetching import RETRIES, _Guard, check_address, fetch, is_url, shown
from tests.offers.importers.serving import Server, serving, status


@pytest.fixture
def server(socket_enabled: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serving() as running:
        yield running


def fetched(url: str, **options: Any) -> bytes:
    return fetch(url, allows_private=True, pause=lambda _: None, **options)


def failure(url: str, **options: Any) -> ExternalError:
    with pytest.raises(ExternalError) as caught:
        fetched(url, **options)
    return caught.value


def resolving(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    found = [(2, 1, 6, "", (address, 443)) for address in addresses]
    monkeypatch.setattr("breakeven.offers.fetching.socket.getaddrinfo", lambda *_, **__: found)


def test_an_answer_is_read_whole(server: Server) -> None:
    server.answers["/a"] = b"x" * 300_000
    server.answers["/html"] = b"<!DOCTYPE html>"
    server.answers["/empty"] = b""
    assert fetched(f"{server.url}/a") == b"x" * 300_000
    assert fetched(f"{server.url}/html") == b"<!DOCTYPE html>"  # whose content it is judges its reader
    assert fetched(f"{server.url}/empty") == b""
    assert server.headers[0]["user-agent"] == "breakeven"


def test_what_is_a_url() -> None:
    assert is_url("https://example.org/x")
    assert not any(is_url(place) for place in ("file:///etc/passwd", "ftp://x/y", "catalog/aws.csv", "C:\\x"))


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 504])
def test_a_passing_failure_is_tried_again(server: Server, code: int) -> None:
    server.answers["/a"] = status(code)
    pauses: list[float] = []
    with pytest.raises(ExternalError) as caught:
        fetch(f"{server.url}/a", allows_private=True, pause=pauses.append)
    assert (caught.value.code, caught.value.values["status"]) == ("fetch-status", code)
    assert len(server.asked) == RETRIES + 1
    assert len(pauses) == RETRIES
    assert pauses == sorted(pauses)


@pytest.mark.parametrize("code", [400, 401, 403, 404, 410, 501])
def test_a_lasting_failure_is_not(server: Server, code: int) -> None:
    server.answers["/a"] = status(code)
    assert failure(f"{server.url}/a").values["status"] == code
    assert len(server.asked) == 1


def test_the_second_try_may_succeed(server: Server) -> None:
    def once(handler: BaseHTTPRequestHandler) -> None:
        server.answers["/a"] = b"well"
        status(503)(handler)

    server.answers["/a"] = once
    assert fetched(f"{server.url}/a") == b"well"


def body(content: bytes, **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(content)

    return answer


def test_a_body_cut_short_is_an_error(server: Server) -> None:
    server.answers["/length"] = body(b"half", Content_Length="8")
    server.answers["/chunks"] = body(b"8\r\nhalf", Transfer_Encoding="chunked")
    error = failure(f"{server.url}/length")
    assert (error.code, error.values["found"], error.values["expected"]) == ("fetch-truncated", 4, 8)
    assert len(server.asked) == RETRIES + 1
    assert failure(f"{server.url}/chunks").code == "fetch-failed"


def test_what_is_no_http(server: Server) -> None:
    def other(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"SSH-2.0\r\n\r\n")

    server.answers["/a"] = other
    server.answers["/b"] = lambda handler: None
    assert failure(f"{server.url}/a").code == "fetch-failed"
    assert failure(f"{server.url}/b").code == "fetch-failed"


def endless(server: Server, pause_s: float) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not server.stopping.wait(pause_s):
            handler.wfile.write(b"x" * 1000)

    return answer


def test_too_much_is_refused(server: Server) -> None:
    server.answers["/a"] = b"x" * 1001
    server.answers["/endless"] = endless(server, 0.0)
    assert len(fetched(f"{server.url}/a", max_bytes=1001)) == 1001
    assert failure(f"{server.url}/a", max_bytes=1000).code == "fetch-too-large"
    assert failure(f"{server.url}/endless", max_bytes=100_000).code == "fetch-too-large"
    assert len(server.asked) == 3


def test_too_slow_is_refused(server: Server) -> None:
    server.answers["/a"] = endless(server, 0.02)
    started = time.monotonic()
    error = failure(f"{server.url}/a", deadline_s=0.1)
    assert (error.code, error.values["seconds"]) == ("fetch-too-slow", 0.1)
    assert time.monotonic() - started < 2


def test_a_server_that_never_answers(server: Server) -> None:
    def silence(handler: BaseHTTPRequestHandler) -> None:
        server.stopping.wait(5)

    server.answers["/a"] = silence
    started = time.monotonic()
    assert failure(f"{server.url}/a", timeout_s=0.05).code == "fetch-failed"
    assert time.monotonic() - started < 2
    assert len(server.asked) == RETRIES + 1


def test_nobody_there(server: Server) -> None:
    server.answers["/a"] = b""
    url = server.url
    with serving() as gone:
        url = gone.url
    assert failure(f"{url}/a").code == "fetch-failed"


def redirect(place: str) -> Callable[[BaseHTTPRequestHandler], None]:
    return status(302, {"Location": place})


def test_a_redirect_is_followed(server: Server) -> None:
    server.answers["/a"] = redirect(f"{server.url}/b")
    server.answers["/b"] = b"there"
    assert fetched(f"{server.url}/a", headers={"X-Key": "secret"}) == b"there"
    assert server.headers[1]["x-key"] == "secret"


@pytest.mark.parametrize("place", ["file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://x/", "data:text/plain,x"])
def test_a_redirect_to_something_else_is_refused(server: Server, place: str) -> None:
    server.answers["/a"] = redirect(place)
    with pytest.raises((InputError, ExternalError)) as caught:
        fetched(f"{server.url}/a")
    assert caught.value.code in {"refused-address", "fetch-status"}
    assert len(server.asked) == 1


def test_redirects_in_a_circle(server: Server) -> None:
    server.answers["/a"] = redirect("/b")
    server.answers["/b"] = redirect("/a")
    assert failure(f"{server.url}/a").code == "fetch-status"
    assert len(server.asked) < 30


def test_a_redirect_into_a_private_network_is_refused(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    request = urllib.request.Request("https://example.org/a")
    guard = _Guard(allows_private=False)
    resolving(monkeypatch, "10.0.0.1")
    with pytest.raises(InputError) as caught:
        guard.redirect_request(request, io.BytesIO(), 302, "Found", {}, "http://inside.example/?key=secret")
    assert caught.value.code == "refused-address"
    assert "secret" not in str(caught.value.values)
    resolving(monkeypatch, "93.184.216.34")
    followed = guard.redirect_request(request, io.BytesIO(), 302, "Found", {}, "https://example.org/b")
    assert followed.full_url == "https://example.org/b"


@pytest.mark.parametrize("place", ["https://example.org:8443/b", "http://example.org/b", "https://other.example/b"])
def test_headers_are_not_carried_to_another_server(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    resolving(monkeypatch, "93.184.216.34")
    headers = {"User-Agent": "breakeven", "Authorization": "Bearer secret", "X-Api-Key": "secret"}
    request = urllib.request.Request("https://example.org/a", headers=headers)
    guard = _Guard(allows_private=False)
    assert guard.redirect_request(request, io.BytesIO(), 302, "Found", {}, place).headers == {"User-agent": "breakeven"}
    same = guard.redirect_request(request, io.BytesIO(), 302, "Found", {}, "https://example.org/b")
    assert same.headers["Authorization"] == "Bearer secret"


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
        "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1%eth0", "fd00::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
    ],
)  # fmt: skip
def test_private_addresses_are_refused(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    resolving(monkeypatch, "93.184.216.34", address)  # one of several is enough
    with pytest.raises(InputError) as caught:
        check_address("https://user:secret@rebound.example/x?key=secret", allows_private=False)
    assert caught.value.code == "refused-address"
    assert caught.value.values["text"] == "https://rebound.example/x"
    check_address("https://rebound.example/x", allows_private=True)


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::1"])
def test_public_addresses_pass(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    resolving(monkeypatch, address)
    check_address("https://example.org/x", allows_private=False)


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd", "ftp://example.org/x", "https://", "https:///x", "//example.org/x", "x", "",
        "http://[::1", "http://example.org:port/", "http://example.org:99999/", "http://example.org/a b",
        "http://example.org/\r\nX: y", "http://example.org/\x00",
    ],
)  # fmt: skip
@pytest.mark.parametrize("allows_private", [True, False])
def test_what_is_no_web_address_is_refused(url: str, allows_private: bool) -> None:
    with pytest.raises(InputError) as caught:
        fetch(url, allows_private=allows_private)
    assert caught.value.code == "refused-address"


@pytest.mark.parametrize("error", [OSError("no such name"), UnicodeError("label too long")])
def test_a_name_without_an_address(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr("breakeven.offers.fetching.socket.getaddrinfo", fails)
    with pytest.raises(ExternalError) as caught:
        check_address("https://nowhere.example/?key=secret", allows_private=False)
    assert caught.value.code == "fetch-failed"
    assert "secret" not in str(caught.value.values)


def test_secrets_are_not_shown(server: Server) -> None:
    place = server.url.replace("http://", "http://user:secret@") + "/a?key=secret#secret"
    server.answers["/a?key=secret"] = b"xx"
    port = server.url.rpartition(":")[2]
    assert shown(place) == f"http://127.0.0.1:{port}/a"
    for options in ({"max_bytes": 1}, {"deadline_s": -1.0}):
        error = failure(server.url + "/a?key=secret", **options)
        assert error.values["text"] == f"{server.url}/a"
        assert "secret" not in str(error.values)
    for answer in (status(404), status(500), body(b"", Content_Length="3"), lambda _: None):
        server.answers["/a?key=secret"] = answer
        error = failure(server.url + "/a?key=secret", headers={"Authorization": "secret"})
        assert "secret" not in str(error.values)
        assert "secret" not in str(error)
