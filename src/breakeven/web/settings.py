"""What one server serves, and to whom."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

from breakeven.actions.market import load_offers, load_offers_for
from breakeven.actions.records import records_folder
from breakeven.actions.runs import runs_folder
from breakeven.errors import InputError
from breakeven.offers.book import load_book
from breakeven.store.locations import postgresql_url, store_path

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from breakeven.jobs.job import Job
    from breakeven.offers.amounts import Convention
    from breakeven.offers.offer import Offer
    from breakeven.reporting.translations import Locale

LEAST_TOKEN = 16
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The books and the store that are served; the token that visitors must know; the names the server goes by."""

    books: tuple[str, ...] = ()
    store: str | None = None
    amounts: Convention | None = None
    token: str | None = None
    hosts: frozenset[str] = frozenset()
    locale: Locale = "en"
    runs: str | None = None
    records: str | None = None

    def allows_host(self, host: str) -> bool:
        """Whether a Host header may be answered: the names that were given, loopback, and addresses.

        A page elsewhere can point a name of its own at this machine, but not an address.
        """
        name = _host_name(host)
        if name in _LOOPBACK or name in self.hosts:
            return True
        try:
            ip_address(name)
        except ValueError:
            return False
        return True

    def runs_folder(self) -> Path:
        """Where runs are kept."""
        return runs_folder(self.runs)

    def records_folder(self) -> Path:
        """Where records are kept."""
        return records_folder(self.records)

    def version(self) -> tuple[Any, ...] | None:
        """What answers rest on beside the question: equal while no book and no store changed; None: nobody can tell."""
        if postgresql_url(self.store) is not None:
            return None
        path = store_path(self.store)
        files = [path, path.with_name(f"{path.name}-wal"), *map(Path, self.books)]
        return (today(), *(_stamp(file) for file in files))

    def offers_for(self, jobs: Sequence[Job], day: date, *, all_lines: bool = False) -> list[Offer]:
        """The offers that can decide these jobs."""
        if self.books:
            return self.all_offers()
        return load_offers_for(jobs, day, amounts=self.amounts, store=self.store, all_lines=all_lines)

    def all_offers(self) -> list[Offer]:
        """Every offer of the books, or of the shipped book and the store."""
        if not self.books:
            return load_offers(amounts=self.amounts, store=self.store)
        return [one for book in self.books for one in _book(book, _stamp(Path(book)), self.amounts)]


def today() -> date:
    """The day it is (UTC)."""
    return datetime.now(UTC).date()


def is_loopback(bind: str) -> bool:
    """Whether an address is reached from this machine alone."""
    if bind == "localhost":
        return True
    try:
        return ip_address(bind).is_loopback
    except ValueError:
        return False


def check_token(token: str | None, variable: str, bind: str) -> str | None:
    """The token that visitors must know; None on loopback where none was set.

    Raises: InputError `token-missing` for any other address without one, `token-short`.
    """
    if not token:
        if is_loopback(bind):
            return None
        raise InputError("token-missing", text=bind, variable=variable)
    if len(token) < LEAST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise InputError("token-short", variable=variable, least=LEAST_TOKEN)
    return token


def _host_name(host: str) -> str:
    """A Host header without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0].lower() if host.count(":") == 1 else host.lower()


def _stamp(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=4)
def _book(path: str, _stamp: tuple[int, int] | None, amounts: Convention | None) -> tuple[Offer, ...]:
    return tuple(load_book(path, amounts=amounts))
