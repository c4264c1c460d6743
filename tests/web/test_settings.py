from __future__ import annotations

from pathlib import Path

import pytest

from breakeven.cli.main import main
from breakeven.errors import InputError
from breakeven.web.settings import Settings, check_token, is_loopback


@pytest.mark.parametrize("bind", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_loopback_needs_no_token(bind: str) -> None:
    assert is_loopback(bind)
    assert check_token(None, "T", bind) is None


@pytest.mark.parametrize("bind", ["0.0.0.0", "::", "10.0.0.1", "example.org", "", "127.0.0.1.example.org"])
def test_anything_else_does(bind: str) -> None:
    with pytest.raises(InputError) as caught:
        check_token(None, "T", bind)
    assert caught.value.code == "token-missing"
    assert check_token("0123456789abcdef", "T", bind) == "0123456789abcdef"


@pytest.mark.parametrize("token", ["short", "0123456789 abcdef", "é" * 20, "a\nb" * 10])
def test_a_weak_token_is_refused_everywhere(token: str) -> None:
    for bind in ("127.0.0.1", "0.0.0.0"):
        with pytest.raises(InputError) as caught:
            check_token(token, "T", bind)
        assert caught.value.code == "token-short"


def test_the_command_refuses_to_serve_others_without_a_token(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BREAKEVEN_WEB_TOKEN", raising=False)
    assert main(["web", "--bind", "0.0.0.0"]) == 2
    assert "BREAKEVEN_WEB_TOKEN" in capsys.readouterr().err
    monkeypatch.setenv("MINE", "short")
    assert main(["web", "--bind", "0.0.0.0", "--token-from", "MINE", "--locale", "fr"]) == 2
    assert "jeton" in capsys.readouterr().err
    for wrong in ("x", "-1", "70000"):
        assert main(["web", f"--port={wrong}"]) == 2


def test_a_wrong_book_is_said_before_anybody_asks(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    book = tmp_path / "book.csv"
    book.write_text("gpu,provider\n", encoding="utf-8")
    assert main(["web", "--offers", str(book)]) == 2
    assert "book.csv" in capsys.readouterr().err


def test_the_version_moves_with_what_answers_rest_on(tmp_path: Path) -> None:
    book = tmp_path / "book.csv"
    book.write_text("gpu,provider,price,unit,period\nnvidia-h100-sxm-80gb,acme,$1,gpu,h\n", encoding="utf-8")
    settings = Settings(books=(str(book),), store=f"sqlite:///{tmp_path}/s.sqlite")
    first = settings.version()
    assert settings.version() == first
    assert [offer.usd_per_gpu_h for offer in settings.all_offers()] == [1.0]
    book.write_text("gpu,provider,price,unit,period\nnvidia-h100-sxm-80gb,acme,$12,gpu,h\n", encoding="utf-8")
    assert settings.version() != first
    assert [offer.usd_per_gpu_h for offer in settings.all_offers()] == [12.0]
    (tmp_path / "s.sqlite").write_bytes(b"")
    assert settings.version() not in {first, None}
    assert Settings(store="postgresql://user@host/db").version() is None
