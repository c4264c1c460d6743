from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.decisions.market import A100, H100, offer

from breakeven.errors import ExternalError, InputError
from breakeven.offers.book import load_shipped_book
from breakeven.store.locations import data_folder, store_path
from breakeven.store.repository import Added
from breakeven.store.sqlite import SCHEMA_VERSION, SqliteRepository


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "store.sqlite"


def test_reading_never_makes_a_store(path: Path) -> None:
    repository = SqliteRepository(path)
    assert repository.offers() == []
    assert repository.facts("x") == []
    assert not path.parent.exists()


def test_what_is_written_is_read_back(path: Path) -> None:
    offers = load_shipped_book()
    repository = SqliteRepository(path)
    assert repository.add_offers(offers, importer="book").new == len(offers)
    back = repository.offers()
    assert [(one.id, one.usd_per_gpu_h, one.seen_at, one.price.amount, one.source) for one in back] == [
        (one.id, one.usd_per_gpu_h, one.seen_at, one.price.amount, one.source) for one in offers
    ]
    repository.close()


def test_observations_are_appended_and_a_price_seen_again_moves_its_last_seen(path: Path) -> None:
    repository = SqliteRepository(path)
    assert repository.add_offers([offer(A100, 1.0, seen="2026-10-01")], importer="a") == Added(1, 0)
    assert repository.add_offers([offer(A100, 1.0, seen="2026-10-05")], importer="a") == Added(0, 1)
    assert repository.add_offers([offer(A100, 2.0, seen="2026-10-06")], importer="a") == Added(1, 0)
    assert repository.add_offers([offer(A100, 1.0, seen="2026-10-07")], importer="a") == Added(1, 0)
    seen = [(one.usd_per_gpu_h, None if one.seen_at is None else one.seen_at.day) for one in repository.offers()]
    assert seen == [(1.0, 1), (1.0, 5), (2.0, 6), (1.0, 7)]


def test_a_failed_import_changes_nothing(path: Path) -> None:
    repository = SqliteRepository(path)
    repository.add_offers([offer(A100, 1.0)], importer="a")

    def broken() -> object:
        yield offer(H100, 2.0)
        raise InputError("not-a-number", text="x")

    with pytest.raises(InputError):
        repository.add_offers(broken(), importer="b")  # type: ignore[arg-type]
    assert len(repository.offers()) == 1


def test_two_writers_at_once_lose_nothing(path: Path) -> None:
    def write(name: str) -> None:
        repository = SqliteRepository(path)
        for number in range(20):
            repository.add_offers([offer(A100, 1.0 + number, f"{name}{number}")], importer=name)
        repository.close()

    threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(SqliteRepository(path).offers()) == 60


def test_a_kill_during_an_import_leaves_the_old_data_whole(path: Path) -> None:
    SqliteRepository(path).add_offers([offer(A100, 1.0)], importer="a")
    script = (
        "import os, sys; from pathlib import Path; from breakeven.store.sqlite import SqliteRepository; "
        "from breakeven.offers.book import load_shipped_book\n"
        "def lines():\n"
        "    for number, one in enumerate(load_shipped_book()):\n"
        "        if number == 500: os.kill(os.getpid(), 9)\n"
        "        yield one\n"
        "SqliteRepository(Path(sys.argv[1])).add_offers(lines(), importer='b')"
    )
    assert subprocess.run([sys.executable, "-c", script, str(path)], check=False).returncode == -9
    assert len(SqliteRepository(path).offers()) == 1


def test_a_file_that_is_no_store_is_a_clear_error(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("not a database, certainly not a database of ours", encoding="utf-8")
    with pytest.raises(ExternalError, match="the store failed"):
        SqliteRepository(path).offers()
    path.unlink()
    path.mkdir()
    with pytest.raises(ExternalError):
        SqliteRepository(path).add_offers([offer(A100, 1.0)], importer="a")


def test_a_store_of_a_later_version_is_left_alone(path: Path) -> None:
    SqliteRepository(path).add_offers([offer(A100, 1.0)], importer="a")
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.close()
    with pytest.raises(ExternalError, match="later version"):
        SqliteRepository(path).offers()


def test_a_store_of_the_first_version_is_brought_up_to_date(path: Path) -> None:
    SqliteRepository(path).add_offers([offer(A100, 1.0)], importer="a")
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE fact")
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    repository = SqliteRepository(path)
    repository.add_facts("x", [("sku", "SXM", "page", "2026-11-01")])
    repository.add_facts("x", [("sku", "SXM", "page", "2026-11-01"), ("sku", "NVL", "mail", "2026-11-02")])
    assert repository.facts("x") == [("sku", "NVL", "mail", "2026-11-02"), ("sku", "SXM", "page", "2026-11-01")]
    assert len(repository.offers()) == 1


def test_where_the_store_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert store_path("sqlite:////a/b.sqlite") == Path("/a/b.sqlite")
    monkeypatch.setenv("BREAKEVEN_STORE", "sqlite:////c/d")
    assert store_path() == Path("/c/d")
    monkeypatch.delenv("BREAKEVEN_STORE")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert store_path() == data_folder() / "store.sqlite"
    for url in ("postgresql://user:secret@host/db", "sqlite://relative", "nonsense"):
        with pytest.raises(InputError) as caught:
            store_path(url)
        assert "secret" not in str(caught.value)
