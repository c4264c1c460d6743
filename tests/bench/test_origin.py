from __future__ import annotations

import pytest

from breakeven.bench.origin import head_of, read_origin
from breakeven.errors import InputError


@pytest.mark.parametrize(
    ("url", "told", "authority"),
    [
        ("http://h:8000/v1", "http://h:8000", "h:8000"),
        ("https://api.example.com/openai/v1/", "https://api.example.com/openai", "api.example.com"),
        ("http://[::1]:80", "http://[::1]", "[::1]"),
    ],
)
def test_origins(url: str, told: str, authority: str) -> None:
    origin = read_origin(url)
    assert (str(origin), origin.authority) == (told, authority)
    before, after = head_of(origin, "chat", "sk-1")
    assert before.startswith(f"POST {origin.prefix}/v1/chat/completions HTTP/1.1\r\nhost: {authority}\r\n".encode())
    assert b"authorization: Bearer sk-1\r\n" in before
    assert after == b"\r\n\r\n"


@pytest.mark.parametrize(
    "url", ["", "h:80", "ftp://h", "http://", "http://user:secret@h", "http://h:x", "http://h/?a=1", "http://h\r\nx: y"]
)
def test_what_is_no_server_is_refused_and_no_secret_is_told(url: str) -> None:
    with pytest.raises(InputError) as caught:
        read_origin(url)
    assert caught.value.code == "bad-url"
    assert "secret" not in str(caught.value.values)
