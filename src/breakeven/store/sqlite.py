"""The store in one SQLite file: WAL, so that readers and a writer do not wait, and a kill loses nothing."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from breakeven.errors import BreakevenError, ExternalError
from breakeven.store.merging import Changes, merge_all
from breakeven.store.rows import NARROWED, sightings_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from breakeven.evidence.record import Measurement
    from breakeven.offers.offer import Offer
    from breakeven.store.repository import Added, Cheapest

_WAIT_S = 10.0
_MIGRATIONS = (
    """
    CREATE TABLE observation (
        number INTEGER PRIMARY KEY,
        offer TEXT NOT NULL,
        gpu TEXT NOT NULL,
        provider TEXT NOT NULL,
        tier TEXT NOT NULL,
        market TEXT NOT NULL,
        kind TEXT NOT NULL,
        usd_per_gpu_h REAL,
        first_seen TEXT,
        last_seen TEXT,
        importer TEXT NOT NULL,
        cells TEXT NOT NULL
    ) STRICT;
    CREATE INDEX observation_offer ON observation (offer, number);
    CREATE INDEX observation_line ON observation (gpu, provider, tier, market, number);
    """,
    """
    CREATE TABLE fact (
        number INTEGER PRIMARY KEY,
        provider TEXT NOT NULL,
        question TEXT NOT NULL,
        answer TEXT NOT NULL,
        source TEXT NOT NULL,
        seen_at TEXT NOT NULL,
        UNIQUE (provider, question, answer, source, seen_at)
    ) STRICT;
    """,
    """
    CREATE TABLE measurement (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL,
        source TEXT NOT NULL,
        document TEXT NOT NULL,
        UNIQUE (id, source)
    ) STRICT;
    """,
)
"""Each brings the schema from its index to the next version; old ones are never changed."""
SCHEMA_VERSION = len(_MIGRATIONS)


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging; SQLite does not wait by itself where another process does the same."""
    end = time.monotonic() + _WAIT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)
        else:
            return


class SqliteRepository:
    """A `Repository` in one file, made at the first write; a missing file reads as empty and is not made by reading."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._is_writing = False

    @contextmanager
    def _open(self, *, writes: bool) -> Iterator[sqlite3.Connection | None]:
        try:
            if writes and self._connection is not None and not self._is_writing:
                self.close()
            if self._connection is None and (writes or self._path.exists()):
                self._connection = self._connect(writes=writes)
                self._is_writing = writes
            yield self._connection
        except sqlite3.Error as error:
            raise ExternalError("store-failed", file=str(self._path), problem=str(error)) from None
        except BreakevenError:
            raise
        except OSError as error:
            raise ExternalError("store-failed", file=str(self._path), problem=error.strerror or str(error)) from None

    def _connect(self, *, writes: bool) -> sqlite3.Connection | None:
        """The file, made and brought up to date for writing; None where reading finds no store in it yet."""
        if writes:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        connection = self._opened(writes=writes)
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables and "observation" not in tables:
            connection.close()
            raise ExternalError("not-a-store", file=str(self._path))
        if version > SCHEMA_VERSION:
            connection.close()
            raise ExternalError("store-too-new", file=str(self._path), version=version, known=SCHEMA_VERSION)
        if not writes and not tables:
            connection.close()
            return None
        if writes and version < SCHEMA_VERSION:
            _use_wal(connection)
            self._migrate(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection

    def _opened(self, *, writes: bool) -> sqlite3.Connection:
        """A connection; one that only reads never writes, and reads where nobody may write."""
        if writes:
            return sqlite3.connect(self._path, timeout=_WAIT_S, isolation_level=None)
        is_frozen = not os.access(self._path.parent, os.W_OK) and not Path(f"{self._path}-wal").exists()
        place = f"{self._path.absolute().as_uri()}?mode=ro{'&immutable=1' if is_frozen else ''}"
        return sqlite3.connect(place, timeout=_WAIT_S, isolation_level=None, uri=True)

    @staticmethod
    def _migrate(connection: sqlite3.Connection) -> None:
        """Bring the schema up to date in one transaction; another process may have done it meanwhile."""
        connection.execute("BEGIN IMMEDIATE")
        try:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            for migration in _MIGRATIONS[version:]:
                for statement in migration.split(";"):
                    if statement.strip():
                        connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION:d}")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise

    def add_offers(self, offers: Iterable[Offer], *, importer: str) -> Added:
        """Record observations in one transaction, all or none."""
        with self._transaction() as connection:
            return self._add(connection, offers, importer)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """The file for writing, all or none."""
        with self._open(writes=True) as connection:
            if connection is None:
                raise ExternalError("store-failed", file=str(self._path), problem="closed")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @staticmethod
    def _add(connection: sqlite3.Connection, offers: Iterable[Offer], importer: str) -> Added:
        insert = (
            "INSERT INTO observation (offer, gpu, provider, tier, market, kind, usd_per_gpu_h, first_seen, last_seen,"
            " importer, cells) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        )

        def known_of(ids: Sequence[str]) -> sqlite3.Cursor:
            query = (  # without an order, for which every row would be read
                "SELECT offer, number, first_seen, last_seen, cells FROM observation"  # noqa: S608 - place holders
                f" WHERE offer IN ({', '.join('?' * len(ids))})"
            )
            return connection.execute(query, ids)

        def write(changes: Changes) -> None:
            connection.executemany(
                insert,
                (
                    (*one.row[:7], one.first, one.last, importer, one.cells)
                    for one in changes.new
                    if one.row is not None
                ),
            )
            connection.executemany(
                "UPDATE observation SET first_seen = ?, last_seen = ? WHERE number = ?",
                ((one.first, one.last, one.number) for one in changes.moved),
            )

        return merge_all(offers, known_of, write)

    def offers(self, gpus: Collection[str] | None = None, cheapest: Cheapest | None = None) -> list[Offer]:
        """Every price of these GPUs (None: of all), oldest first: as it was first seen, and as it was last."""
        listed = sorted(gpus or ())
        where = "TRUE" if gpus is None else f"gpu IN ({', '.join('?' * len(listed))})"
        if cheapest is None:
            query = f"SELECT number, first_seen, last_seen, cells FROM observation WHERE {where} ORDER BY number"  # noqa: S608
            return self._sightings(query, listed)
        whole = sorted(cheapest.whole)
        query = NARROWED.format(end="?", gpus=where, fresh="?", whole=f"offer IN ({', '.join('?' * len(whole))})")
        return self._sightings(query, [cheapest.end, *listed, cheapest.end, cheapest.fresh, *whole])

    def other_lines(self, gpus: Collection[str]) -> list[Offer]:
        """One price for each provider, tier and market of every GPU but these."""
        query = (
            "SELECT number, first_seen, last_seen, cells FROM observation WHERE number IN (SELECT max(number)"  # noqa: S608
            f" FROM observation WHERE gpu NOT IN ({', '.join('?' * len(gpus))}) GROUP BY gpu, provider, tier, market)"
            " ORDER BY number"
        )
        return self._sightings(query, sorted(gpus))

    def _sightings(self, query: str, values: Sequence[str]) -> list[Offer]:
        with self._open(writes=False) as connection:
            if connection is None:
                return []
            return list(sightings_of(connection.execute(query, values), str(self._path)))

    def add_facts(self, provider: str, facts: Iterable[tuple[str, str, str, str]]) -> None:
        """Record answers about a provider (question, answer, source, day), all or none; a known one stays."""
        with self._transaction() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO fact (provider, question, answer, source, seen_at) VALUES (?, ?, ?, ?, ?)",
                [(provider, *fact) for fact in facts],
            )

    def facts(self, provider: str) -> list[tuple[str, str, str, str]]:
        """Answers about a provider: question, answer, source, day; newest first."""
        with self._open(writes=False) as connection:
            if connection is None or connection.execute("PRAGMA user_version").fetchone()[0] < 2:
                return []
            query = (
                "SELECT question, answer, source, seen_at FROM fact WHERE provider = ? ORDER BY seen_at DESC, number"
            )
            return connection.execute(query, (provider,)).fetchall()

    def add_measurements(self, rows: Iterable[Measurement]) -> int:
        """Record measurements, all or none; returns how many were not known yet."""
        from breakeven.store.measurements import new_rows  # noqa: PLC0415 - offers do without

        with self._transaction() as connection:
            known = {
                (row[0], row[1]): row[2] for row in connection.execute("SELECT id, source, document FROM measurement")
            }
            new = new_rows(rows, known)
            connection.executemany("INSERT INTO measurement (id, source, document) VALUES (?, ?, ?)", new)
        return len(new)

    def remove_measurement(self, row_id: str) -> bool:
        """Take back the measurement with this id; whether there was one."""
        with self._transaction() as connection:
            return connection.execute("DELETE FROM measurement WHERE id = ?", (row_id,)).rowcount > 0

    def measurements(self) -> list[Measurement]:
        """Every recorded measurement, oldest first."""
        from breakeven.store.measurements import measurement_of  # noqa: PLC0415 - offers do without

        with self._open(writes=False) as connection:
            if connection is None or connection.execute("PRAGMA user_version").fetchone()[0] < 3:
                return []
            rows = connection.execute("SELECT id, source, document FROM measurement ORDER BY number").fetchall()
        return [measurement_of(row[0], row[1], row[2], str(self._path)) for row in rows]

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
