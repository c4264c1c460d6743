from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests.decisions.market import A100, offer

from breakeven.errors import ExternalError, InputError
from breakeven.store.locations import data_folder, store_path
from breakeven.store.sqlite import SCHEMA_VERSION, SqliteRepository


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "store.sqlite"


def test_reading_never_makes_a_store(path: Path) -> None:
    repository = SqliteRepository(path)
    assert repository.offers() == []
    assert repository.facts("x") == []
    assert not path.parent.exists()


def test_a_file_that_is_no_store_is_a_clear_error(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("not a database, certainly not a database of ours", encoding="utf-8")
    with pytest.raises(ExternalError, match="the store failed"):
        SqliteRepository(path).offers()
    path.unlink()
    path.mkdir()
    with pytest.raises(ExternalError):
        SqliteRepository(path).add_offers([offer(A100, 1.0)], importer="a")


def test_a_locked_store_is_a_clear_error_after_a_wait(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SqliteRepository(path).add_offers([offer(A100, 1.0)], importer="a")
    monkeypatch.setattr("breakeven.store.sqlite._WAIT_S", 0.2)
    with sqlite3.connect(path, isolation_level=None) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(ExternalError, match="locked"):
            SqliteRepository(path).add_offers([offer(A100, 2.0)], importer="b")
        assert len(SqliteRepository(path).offers()) == 1
        holder.execute("ROLLBACK")
    holder.close()
    assert SqliteRepository(path).add_offers([offer(A100, 2.0)], importer="b").new == 1


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of files")
def test_a_full_disk_loses_nothing(path: Path) -> None:
    SqliteRepository(path).add_offers([offer(A100, 1.0)], importer="a")
    script = (
        "import resource, sys; from breakeven.cli.main import main; from breakeven.offers.book import SHIPPED_BOOK; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)); "
        "sys.exit(main(['offers', 'import', 'book', str(SHIPPED_BOOK), '--store', f'sqlite:///{sys.argv[1]}']))"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "the store failed" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(SqliteRepository(path).offers()) == 1


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ExternalError, match="the store failed"):
        SqliteRepository(tmp_path / "file" / "store.sqlite").add_offers([offer(A100, 1.0)], importer="a")


def test_the_database_of_something_else_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE notes (text TEXT)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(ExternalError, match="something else"):
        SqliteRepository(path).offers()
    with pytest.raises(ExternalError, match="something else"):
        SqliteRepository(path).add_offers([offer(A100, 1.0)], importer="a")
    assert path.read_bytes() == before


def test_reading_changes_nothing_in_the_file(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    assert SqliteRepository(path).offers() == []
    assert path.read_bytes() == b""


def test_a_store_where_nobody_may_write_is_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = SqliteRepository(path)
    repository.add_offers([offer(A100, 1.0)], importer="a")
    repository.close()
    monkeypatch.setattr("breakeven.store.sqlite.os.access", lambda *_words: False)
    assert len(SqliteRepository(path).offers()) == 1


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
        connection.execute("DROP TABLE measurement")
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
