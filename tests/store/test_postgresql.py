from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.decisions.market import A100, H100, offer

from breakeven.errors import BreakevenError, ExternalError, InputError
from breakeven.store.postgresql import _MIGRATIONS, SCHEMA_VERSION, PostgresqlRepository, shown_url
from breakeven.store.repository import Added, Repository
from breakeven.store.rows import row_of

Opener = Callable[[str], Repository]
SECRET = "hunter2-secret"


def run(url: str, *statements: str) -> list[tuple[object, ...]]:
    import psycopg

    with psycopg.connect(url) as connection:
        for statement in statements:
            cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1"


def test_reading_never_makes_the_tables(database_url: str, opened: Opener) -> None:
    repository = opened(database_url)
    assert repository.offers() == []
    assert repository.facts("x") == []
    assert run(database_url, TABLES) == []
    repository.add_offers([], importer="a")
    assert run(database_url, TABLES) == [("breakeven_version",), ("fact",), ("measurement",), ("observation",)]
    assert repository.offers() == []


def test_a_store_of_the_first_version_is_read_and_brought_up_to_date_by_writing(
    database_url: str, opened: Opener
) -> None:
    run(database_url, _MIGRATIONS[0], "UPDATE breakeven_version SET version = 1")
    row = row_of(offer(A100, 1.0))
    columns = "offer, gpu, provider, tier, market, kind, usd_per_gpu_h, last_seen, cells, importer, first_seen"
    run(database_url, f"INSERT INTO observation ({columns}) VALUES {(*row, 'a', row.seen)}")  # noqa: S608
    repository = opened(database_url)
    assert len(repository.offers()) == 1
    assert repository.facts("x") == []
    assert run(database_url, "SELECT version FROM breakeven_version") == [(1,)]
    repository.add_facts("x", [("sku", "SXM", "page", "2026-11-01")])
    assert run(database_url, "SELECT version FROM breakeven_version") == [(SCHEMA_VERSION,)]
    assert len(repository.facts("x")) == len(repository.offers()) == 1


def test_a_store_of_a_later_version_is_left_alone(database_url: str, opened: Opener) -> None:
    opened(database_url).add_offers([offer(A100, 1.0)], importer="a")
    run(database_url, f"UPDATE breakeven_version SET version = {SCHEMA_VERSION + 1}")  # noqa: S608
    for use in (lambda: opened(database_url).offers(), lambda: opened(database_url).add_offers([], importer="a")):
        with pytest.raises(ExternalError, match="later version"):
            use()


def test_tables_of_somebody_else_are_a_clear_error(database_url: str, opened: Opener) -> None:
    run(database_url, "CREATE TABLE observation (mine text)")
    with pytest.raises(ExternalError, match='"observation" already exists'):
        opened(database_url).add_offers([offer(A100, 1.0)], importer="a")
    assert run(database_url, TABLES) == [("observation",)]


def test_a_lost_connection_is_an_error_and_made_again(database_url: str, opened: Opener) -> None:
    repository = opened(database_url)
    repository.add_offers([offer(A100, 1.0)], importer="a")
    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"

    def cut() -> object:
        yield offer(H100, 1.0)
        run(database_url, f"{others} AND pid <> pg_backend_pid()")
        for number in range(20_000):
            yield offer(H100, 1.0 + number)

    with pytest.raises(ExternalError) as caught:
        repository.add_offers(cut(), importer="b")  # type: ignore[arg-type]
    assert caught.value.code == "store-failed"
    assert SECRET not in str(caught.value)
    assert len(repository.offers()) == 1


def test_a_wrong_password_or_no_server_is_an_error_without_the_password(server: Path, tmp_path: Path) -> None:
    urls = (
        f"postgresql://breakeven:{SECRET}-wrong@/postgres?host={server}",
        f"postgresql://breakeven:{SECRET}@/none?host={server}",
        f"postgres://breakeven:{SECRET}@/postgres?host={tmp_path}",
        f"postgres://breakeven@/{SECRET.upper()}?host={server}&password={SECRET}",
        f"postgresql://breakeven@127.0.0.1:1/postgres?password={SECRET}",
    )
    for url in urls:
        with pytest.raises(ExternalError) as caught:
            PostgresqlRepository(url).offers()
        assert caught.value.code == "store-failed"
        assert SECRET not in f"{caught.value} {caught.value.values} {caught.value.file} {caught.value.__cause__}"


@pytest.mark.parametrize(
    "rest",
    [
        "ann:se@cret@host/db",
        "ann:se/cret@host/db",
        "ann:secret",
        "ann:secret/db",
        "ann:%zzsecret@host/db",
        "ann:s%00ecret@host/db",
        "ann@host/db?passwort=secret",
        "host/db?secret",
        "host/db?password=%zzsecret",
    ],
)
def test_a_url_that_cannot_be_read_tells_no_password(rest: str) -> None:
    pytest.importorskip("psycopg", exc_type=ImportError)
    with pytest.raises(InputError) as caught:
        PostgresqlRepository(f"postgresql://{rest}").offers()
    assert caught.value.code == "bad-store-url"
    assert "cret" not in f"{caught.value} {caught.value.values} {caught.value.file}"


def test_the_shown_url_has_no_password() -> None:
    assert shown_url("postgres://a:s@h:1,[::1]:2/d?password=s") == "postgres://a@h:1,[::1]:2/d"
    assert shown_url("postgresql://a:s?s@h/d") == "postgresql://a@h/d"
    assert shown_url("postgresql:///d?host=/tmp/x&options=a@b") == "postgresql:///d"
    assert shown_url("postgresql://") == "postgresql://"


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ExternalError, match="postgresql") as caught:
        PostgresqlRepository("postgresql://host/db").offers()
    assert caught.value.code == "missing-extra"


def test_readers_do_not_wait_for_a_writer(database_url: str, opened: Opener) -> None:
    opened(database_url).add_offers([offer(A100, 1.0)], importer="a")
    seen: list[int] = []

    def slow() -> object:
        yield offer(A100, 2.0)
        seen.append(len(opened(database_url).offers()))

    assert opened(database_url).add_offers(slow(), importer="b") == Added(1, 0)  # type: ignore[arg-type]
    assert seen == [1]
    assert [one.usd_per_gpu_h for one in opened(database_url).offers()] == [1.0, 2.0]


def test_processes_that_make_the_tables_at_once_make_them_once(database_url: str) -> None:
    failures: list[BreakevenError] = []
    start = threading.Barrier(4)

    def write(number: int) -> None:
        repository = PostgresqlRepository(database_url)
        repository.offers()
        start.wait()
        try:
            repository.add_offers([offer(A100, 1.0 + number)], importer="a")
        except BreakevenError as error:
            failures.append(error)
        repository.close()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert run(database_url, "SELECT count(*) FROM observation") == [(4,)]
