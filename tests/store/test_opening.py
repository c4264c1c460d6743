"""What every store does alike, and which one a URL opens."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from datetime import date, timedelta
from pathlib import Path

import pytest
from tests.decisions.market import A100, H100, H100_PCIE, offer

from breakeven.actions.days import end_of
from breakeven.errors import InputError
from breakeven.evidence.record import Measurement, ServeSetup, TrainSetup
from breakeven.offers.book import load_shipped_book
from breakeven.offers.observing import DAYS_UNTIL_OLD, cheapest_of_class, class_of, newest_observations
from breakeven.offers.offer import Offer
from breakeven.store.opening import open_store, store_exists
from breakeven.store.repository import Added, Cheapest, Repository

Opener = Callable[[str], Repository]


def test_a_url_opens_its_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.sqlite"
    assert not store_exists(f"sqlite:///{path}")
    path.touch()
    assert store_exists(f"sqlite:///{path}")
    for url in ("postgresql://host/prices", "postgres://ann:secret@host/prices"):
        assert store_exists(url)
        assert type(open_store(url)).__name__ == "PostgresqlRepository"
    monkeypatch.setenv("BREAKEVEN_STORE", "postgres://host/prices")
    assert type(open_store()).__name__ == "PostgresqlRepository"
    assert type(open_store(f"sqlite:///{path}")).__name__ == "SqliteRepository"


@pytest.mark.parametrize("url", ["mysql://ann:secret@host/prices", "sqlite://secret", "mysql://host/a?password=secret"])
def test_another_url_is_an_error_that_keeps_the_password(url: str) -> None:
    for use in (open_store, store_exists):
        with pytest.raises(InputError) as caught:
            use(url)
        assert caught.value.code == "bad-store-url"
        assert "secret" not in f"{caught.value} {caught.value.values}"


def test_looking_for_a_store_imports_no_database(tmp_path: Path) -> None:
    script = (
        "import sys; from breakeven.store.opening import *; store_exists(sys.argv[1]); open_store('postgres://h/d'); "
        "print([name for name in ('sqlite3', 'psycopg') if name in sys.modules])"
    )
    told = subprocess.check_output([sys.executable, "-c", script, f"sqlite:///{tmp_path / 'none'}"], text=True)
    assert told.strip() == "[]"


def test_reading_finds_nothing_in_a_new_store(store_url: str, opened: Opener) -> None:
    repository = opened(store_url)
    for _ in range(2):
        assert repository.offers() == repository.offers([A100]) == repository.other_lines([A100]) == []
        assert repository.facts("x") == []


def test_the_whole_book_is_read_back(store_url: str, opened: Opener) -> None:
    book = load_shipped_book()
    assert opened(store_url).add_offers(book, importer="book") == Added(len(book), 0)
    back = opened(store_url).offers()
    assert [_plain(one) for one in back] == [_plain(one) for one in book]
    assert opened(store_url).add_offers(book, importer="book") == Added(0, len(book))


def test_observations_are_appended_and_a_price_seen_again_moves_its_last_seen(store_url: str, opened: Opener) -> None:
    repository = opened(store_url)
    assert repository.add_offers([offer(A100, 1.0, seen="2026-10-01")], importer="a") == Added(1, 0)
    assert repository.add_offers([offer(A100, 1.0, seen="2026-10-05")], importer="a") == Added(0, 1)
    assert repository.add_offers([offer(A100, 1.0, seen="2026-10-03")], importer="a") == Added(0, 1)
    assert repository.add_offers([offer(A100, 2.0, seen="2026-10-06")], importer="a") == Added(1, 0)
    assert repository.add_offers([offer(A100, 1.0, seen="2026-10-07")], importer="a") == Added(1, 0)
    assert _seen(repository) == [(1.0, "2026-10-01"), (1.0, "2026-10-05"), (2.0, "2026-10-06"), (1.0, "2026-10-07")]


def test_one_import_may_observe_an_offer_often(store_url: str, opened: Opener) -> None:
    days = [(1.0, "2026-10-05"), (1.0, None), (1.0, "2026-10-04"), (2.0, None), (2.0, "2026-10-01"), (1.0, None)]
    repository = opened(store_url)
    assert repository.add_offers([offer(A100, usd, seen=day) for usd, day in days], importer="a") == Added(3, 3)
    undated = [(2.0, None), (2.0, "2026-10-01")]
    assert _seen(repository) == [(1.0, "2026-10-04"), (1.0, "2026-10-05"), *undated]
    assert repository.add_offers([offer(A100, 1.0, seen="2026-10-09")], importer="a") == Added(0, 1)
    assert _seen(repository) == [(1.0, "2026-10-04"), (1.0, "2026-10-09"), *undated]


def test_an_import_repeated_adds_nothing(store_url: str, opened: Opener) -> None:
    book = load_shipped_book()
    two_prices = [offer(A100, usd, seen="2026-10-01") for usd in (9.0, 2.0)]
    first = opened(store_url).add_offers([*book, *two_prices], importer="a")
    assert opened(store_url).add_offers([*book, *two_prices], importer="a") == Added(0, sum(first))
    later = [offer(A100, usd, seen="2026-10-02") for usd in (9.0, 2.0)]
    assert opened(store_url).add_offers(later, importer="a") == Added(0, 2)


def test_an_earlier_sighting_of_a_price_is_kept(store_url: str, opened: Opener) -> None:
    repository = opened(store_url)
    for day in ("2026-11-01", "2026-10-01"):
        repository.add_offers([offer(A100, 2.0, seen=day)], importer="a")
    assert _seen(repository) == [(2.0, "2026-10-01"), (2.0, "2026-11-01")]
    repository.add_offers([offer(A100, 3.0, seen="2026-09-15")], importer="a")
    repository.add_offers([offer(A100, 2.0, seen="2026-09-01")], importer="a")
    assert sorted(_seen(repository), key=str) == [
        (2.0, "2026-09-01"), (2.0, "2026-10-01"), (2.0, "2026-11-01"), (3.0, "2026-09-15"),
    ]  # fmt: skip


def _seen(repository: Repository) -> list[tuple[float | None, str | None]]:
    """Price and day of every sighting."""
    return [
        (one.usd_per_gpu_h, None if one.seen_at is None else one.seen_at.date().isoformat())
        for one in repository.offers([A100])
    ]


def test_a_failed_import_changes_nothing(store_url: str, opened: Opener) -> None:
    repository = opened(store_url)
    repository.add_offers([offer(A100, 1.0)], importer="a")

    def broken() -> object:
        yield offer(H100, 2.0)
        raise InputError("not-a-number", text="x")

    with pytest.raises(InputError, match="not a number"):
        repository.add_offers(broken(), importer="b")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="not a number"):
        repository.add_facts("x", broken())  # type: ignore[arg-type]
    assert len(repository.offers()) == 1
    assert repository.facts("x") == []
    assert repository.add_offers([offer(H100, 2.0)], importer="b") == Added(1, 0)


def test_writers_at_once_lose_nothing(store_url: str, opened: Opener) -> None:
    def write(repository: Repository, name: str) -> None:
        start.wait()
        for number in range(10):
            added = repository.add_offers([offer(A100, 1.0, "all"), offer(A100, 1.0, f"{name}{number}")], importer=name)
            new.append(added.new)
            repository.add_facts("x", [("sku", f"{number}", "page", "2026-11-01")])
        repository.close()

    opened(store_url).add_offers([], importer="a")
    start, new = threading.Barrier(3), list[int]()
    threads = [threading.Thread(target=write, args=(open_store(store_url), name)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    repository = opened(store_url)
    assert sum(new) == len(repository.offers()) == 31
    assert len(repository.facts("x")) == 10


def test_a_kill_during_an_import_leaves_the_old_data_whole(store_url: str, opened: Opener) -> None:
    opened(store_url).add_offers([offer(A100, 1.0)], importer="a")
    script = (
        "import os, sys; from breakeven.store.opening import open_store; "
        "from breakeven.offers.book import load_shipped_book\n"
        "def lines():\n"
        "    for number, one in enumerate(load_shipped_book()):\n"
        "        if number == 500: os.kill(os.getpid(), 9)\n"
        "        yield one\n"
        "open_store(sys.argv[1]).add_offers(lines(), importer='b')"
    )
    assert subprocess.run([sys.executable, "-c", script, store_url], check=False).returncode == -9
    repository = opened(store_url)
    assert len(repository.offers()) == 1
    assert repository.add_offers([offer(A100, 2.0)], importer="c") == Added(1, 0)


def test_facts_are_kept_once_and_told_newest_first(store_url: str, opened: Opener) -> None:
    repository = opened(store_url)
    long = "".join(random.Random(1).choices("abcdefghij é\n", k=20_000))
    repository.add_facts("x", [("sku", "SXM", "page", "2026-11-01")])
    repository.add_facts("x", [("sku", "SXM", "page", "2026-11-01"), ("sku", "NVL", "mail", "2026-11-02")])
    repository.add_facts("x", [("sku", long, "", "")] * 2)
    assert repository.facts("x") == [
        ("sku", "NVL", "mail", "2026-11-02"),
        ("sku", "SXM", "page", "2026-11-01"),
        ("sku", long, "", ""),
    ]
    assert repository.facts("y") == []


@pytest.mark.parametrize("seed", range(4))
def test_both_stores_tell_the_same(seed: int, database_url: str, tmp_path: Path, opened: Opener) -> None:
    chance = random.Random(seed)
    stores = [opened(f"sqlite:///{tmp_path / 'store.sqlite'}"), opened(database_url)]
    for _ in range(5):
        batch = [_any_offer(chance) for _ in range(chance.choice((0, 1, 40, 200)))]
        facts = [("sku", chance.choice("aBé"), "", chance.choice(("", "2026-11-01", "2026-11-02"))) for _ in range(3)]
        first, second = (store.add_offers(iter(batch), importer="x") for store in stores)
        assert first == second
        for store in stores:
            store.add_facts("p", facts)
        assert stores[0].facts("p") == stores[1].facts("p")
    for gpus in (None, [], [A100], [A100, H100], [H100, "none"]):
        one, two = (_placeless(store.offers(gpus)) for store in stores)
        assert one == two
        one, two = (sorted(_placeless(store.other_lines(gpus or [])), key=_line) for store in stores)
        assert one == two


@pytest.mark.parametrize("seed", range(6))
def test_what_can_win_is_the_same_from_the_whole_and_from_the_narrowed_store(
    seed: int, store_url: str, opened: Opener
) -> None:
    chance = random.Random(seed)
    book = [_dated_offer(chance) for _ in range(6)]
    store = opened(store_url)
    for _ in range(8):
        store.add_offers([_dated_offer(chance) for _ in range(50)], importer="x")
    for day in (date(2026, 6, 10), date(2026, 10, 1), date(2026, 11, 30)):
        fresh = (day - timedelta(days=DAYS_UNTIL_OLD)).isoformat()
        cheapest = Cheapest(f"{day.isoformat()}~", fresh, {one.id for one in book})
        whole, narrow = (
            _winners([*book, *offers], day)
            for offers in (store.offers([A100, H100]), store.offers([A100, H100], cheapest))
        )
        assert whole == narrow
        assert len(store.offers([A100, H100], cheapest)) < len(store.offers([A100, H100]))


def _winners(offers: Iterable[Offer], day: date) -> list[tuple[object, ...]]:
    """The price of the cheapest of each class, and of the cheapest fresh one."""
    newest, _ = newest_observations(offers, end_of(day))
    found = cheapest_of_class(newest, day)
    priced = [one for one in found if one.usd_per_gpu_h is not None and one.gpu in {A100, H100}]
    return sorted((class_of(one)[:2], one.usd_per_gpu_h, one.id, one.seen_at) for one in priced)


def _dated_offer(chance: random.Random) -> Offer:
    return offer(
        chance.choice((A100, H100, H100_PCIE)),
        chance.choice((1.0, 1.5, 2.0, 3.0, 4.0, None)),
        chance.choice(("p", "q")),
        seen=f"2026-{chance.choice((2, 6, 9, 10)):02}-{chance.randint(1, 28):02}",
        region=chance.choice("abcdefgh"),
    )


def _placeless(offers: Iterable[Offer]) -> list[Offer]:
    return [one._replace(file=None) for one in offers]


def _line(one: Offer) -> int:
    return one.line or 0


def _any_offer(chance: random.Random) -> Offer:
    return offer(
        chance.choice((A100, H100, H100_PCIE)),
        chance.choice((1.0, 2.0, None)),
        chance.choice(("p", "É", "q z", "P")),
        seen=chance.choice((None, "2026-10-01", "2026-10-02", "2026-10-01T10:00")),
        tier=chance.choice((None, "marketplace")),
        note=chance.choice((None, "a\\tb\\N", 'quote " é')),
    )


def _plain(one: Offer) -> tuple[object, ...]:
    return (one.id, one.usd_per_gpu_h, one.seen_at, one.price.amount, one.source, one.note)


def test_measurements_are_kept_once_and_never_overwritten(store_url: str, opened: Opener) -> None:
    first = Measurement(
        id="own-1",
        kind="train",
        setup=TrainSetup(gpu=A100, n_gpus=8, micro_batch=0.5, tags=("packed",)),
        results={"tokens_per_s_per_gpu": 1234.5},
        source="own",
    )
    second = Measurement(id="own-2", kind="serve", setup=ServeSetup(gpu=A100), results={}, source="own", fits="oom")
    store = opened(store_url)
    assert store.measurements() == []
    assert store.add_measurements([first, second, first]) == 2
    assert store.add_measurements([second]) == 0
    read = store.measurements()
    assert [(row.id, row.setup, dict(row.results), row.fits, row.is_own) for row in read] == [
        ("own-1", first.setup, {"tokens_per_s_per_gpu": 1234.5}, None, True),
        ("own-2", second.setup, {}, "oom", True),
    ]
    changed = Measurement(id="own-1", kind="train", setup=first.setup, results={}, source="own")
    third = Measurement(id="own-3", kind="train", setup=first.setup, results={}, source="own")
    with pytest.raises(InputError) as caught:
        store.add_measurements([third, changed])
    assert caught.value.code == "measurement-conflict"
    assert len(store.measurements()) == 2
