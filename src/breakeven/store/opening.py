"""The store that a URL names; each kind is imported only where it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.store.locations import postgresql_url, store_path

if TYPE_CHECKING:
    from breakeven.store.repository import Repository


def open_store(url: str | None = None) -> Repository:
    """The store that is named, by `BREAKEVEN_STORE` without a URL; nothing is connected to or made before it is used.

    Raises: InputError `bad-store-url`.
    """
    server = postgresql_url(url)
    if server is not None:
        from breakeven.store.postgresql import PostgresqlRepository  # noqa: PLC0415 - an extra

        return PostgresqlRepository(server)
    path = store_path(url)
    from breakeven.store.sqlite import SqliteRepository  # noqa: PLC0415 - only where there is a store

    return SqliteRepository(path)


def store_exists(url: str | None = None) -> bool:
    """Whether there is something to open: a file that is there, or a server, which is not asked.

    Raises: InputError `bad-store-url`.
    """
    return postgresql_url(url) is not None or store_path(url).exists()
