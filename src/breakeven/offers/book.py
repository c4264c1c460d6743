"""The offers book: CSV or YAML, one line per offer, parsed once into `Offer` records.

A book is read whole or not at all: the first line that cannot be read is an error naming file, line and column.
"""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from breakeven.documents import (
    Mapping,
    Node,
    Scalar,
    Sequence,
    describe_kind,
    read_lines,
    read_text,
    read_yaml,
)
from breakeven.errors import BreakevenError, InputError, nearest
from breakeven.gpus import catalog
from breakeven.offers.amounts import Convention, parse_amount, parse_currency
from breakeven.offers.offer import (
    AVAILABILITIES,
    MARKETS,
    PERIODS,
    PRICE_STATUSES,
    EgressTier,
    Offer,
    Price,
    offer_id,
    price_per_gpu_h,
)
from breakeven.units import parse_number, parse_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

SHIPPED_BOOK = Path(__file__).parent / "data" / "book.csv"
REQUIRED_COLUMNS = ("gpu", "provider", "price", "unit", "period")
MAX_YAML_BYTES = 16 * 2**20
MAX_USD_PER_GPU_H = 10_000.0
"""Above this a price per GPU and hour is a mistake of unit or period, not a price."""

_DOLLARS = frozenset({"USD", "CAD", "AUD", "NZD", "SGD", "HKD", "TWD", "MXN", "ARS", "CLP", "COP"})
YEARS = range(2000, 2101)


def load_shipped_book() -> list[Offer]:
    """The offers that come with the package."""
    return load_book(SHIPPED_BOOK, amounts="en", name="book.csv")


def load_book(path: str | Path, *, amounts: Convention | None = None, name: str | None = None) -> list[Offer]:
    """Every offer of a CSV or YAML book, in file order.

    Text amounts are read under `amounts` ("en", "fr"; None: an amount that both read differently is an error).

    Raises: InputError with file, line and column; ExternalError when the file system fails.
    """
    file = name or str(path)
    try:
        if Path(path).suffix.lower() in {".yaml", ".yml", ".json"}:
            rows = _yaml_rows(read_yaml(read_text(path, max_bytes=MAX_YAML_BYTES), file=file), file)
            return [_RowReader(file, amounts, keys).read(cells, line) for keys, cells, line in rows]
        return _read_csv(path, file, amounts)
    except BreakevenError as error:
        raise error.at(file=file) from None


def _read_csv(path: str | Path, file: str, amounts: Convention | None) -> list[Offer]:
    try:
        return list(_csv_offers(path, file, amounts))
    except InputError as error:
        error.place = "column"
        raise


def _csv_offers(path: str | Path, file: str, amounts: Convention | None) -> Iterator[Offer]:
    lines = read_lines(path)
    first = next(lines, None)
    if first is None:
        raise InputError("file-empty", file=file)
    rows = csv.reader(chain([first], lines), delimiter=max(",;\t", key=first.count), strict=True)
    try:
        reader = _RowReader(file, amounts, [column.strip() for column in next(rows)])
        for cells in rows:
            if not any(cells):
                continue
            if len(cells) != reader.width:
                raise InputError("wrong-cell-count", line=rows.line_num, found=len(cells), expected=reader.width)
            yield reader.read(cells, rows.line_num)
    except csv.Error as error:
        if "new-line character" in str(error):
            raise InputError("bare-carriage-returns", line=max(rows.line_num, 1)) from None
        raise InputError("csv-syntax", line=max(rows.line_num, 1), problem=str(error)) from None


def _yaml_rows(root: Node, file: str) -> Iterator[tuple[list[str], list[str | _Number], int]]:
    listed = root.entries.get("offers") if isinstance(root, Mapping) else root
    if isinstance(root, Mapping):
        for key in root.entries:
            if key != "offers":
                raise InputError("unknown-key", file=file, line=root.key_lines[key], key=key, candidates=("offers",))
    if not isinstance(listed, Sequence):
        raise InputError("book-not-a-list", file=file, line=root.line)
    for item in listed.items:
        if not isinstance(item, Mapping):
            raise InputError("wrong-kind", file=file, line=item.line, found=describe_kind(item), expected="mapping")
        cells = [_yaml_cell(key, value, item) for key, value in item.entries.items()]
        yield list(item.entries), cells, item.line


class _Number(str):
    """A YAML number: its text does not depend on the number format of amounts."""

    __slots__ = ()


def _yaml_cell(key: str, node: Node, row: Mapping) -> str | _Number:
    if isinstance(node, Sequence) and all(isinstance(item, Scalar) for item in node.items):
        return ";".join(item.text for item in node.items if isinstance(item, Scalar))
    if not isinstance(node, Scalar):
        raise InputError("wrong-kind", line=row.key_lines[key], key=key, found=describe_kind(node), expected="text")
    if node.is_null:
        return ""
    return node.text if node.is_quoted or "," in node.text else _Number(node.text)


class _RowReader:
    """Reads cells under one header; equal cells are parsed once."""

    def __init__(self, file: str, amounts: Convention | None, header: list[str]) -> None:
        self.width = len(header)
        self._file = file
        self._amounts: Convention | None = amounts
        for column in header:
            if column not in _CELL_READERS and column not in _PRICE_COLUMNS:
                candidates = nearest(column, (*_CELL_READERS, *_PRICE_COLUMNS))
                raise InputError("unknown-column", line=1, key=column, candidates=candidates)
            if header.count(column) > 1:
                raise InputError("duplicate-column", line=1, key=column)
        for column in REQUIRED_COLUMNS:
            if column not in header:
                raise InputError("missing-column", line=1, key=column, required=REQUIRED_COLUMNS)
        self._price_indexes = [header.index(column) if column in header else None for column in _PRICE_COLUMNS]
        self._plain = [
            (index, column, *_CELL_READERS[column]) for index, column in enumerate(header) if column in _CELL_READERS
        ]
        self._cells: list[dict[str, Any]] = [{} for _ in header]
        self._prices: dict[tuple[str, ...], Price] = {}

    def read(self, cells: list[str | _Number], line: int) -> Offer:
        """The offer of one row."""
        key: str | None = None
        try:
            values: dict[str, Any] = {}
            for index, column, field, reader in self._plain:
                cell = cells[index]
                if not cell:
                    continue
                known = self._cells[index]
                if cell not in known:
                    key = column
                    stripped = cell.strip()
                    if not stripped:
                        continue
                    known[cell] = reader(stripped, None if isinstance(cell, _Number) else self._amounts)
                values[field] = known[cell]
            key = None
            return self._finish(values, self._price(cells), line)
        except InputError as error:
            raise error.at(file=self._file, line=line, key=key) from None

    def _price(self, cells: list[str | _Number]) -> Price:
        key = tuple("" if index is None else cells[index] for index in self._price_indexes)
        price = self._prices.get(key)
        if price is None:
            price = self._prices[key] = _read_price(key, self._amounts)
        return price

    def _finish(self, values: dict[str, Any], price: Price, line: int) -> Offer:
        for column in ("gpu", "provider"):
            if column not in values:
                raise InputError("missing-cell", key=column)
        market = values.setdefault("market", "on-demand")
        if price.unit == "node" and "gpus" not in values:
            raise InputError("node-without-gpus", key="gpus")
        own = price_per_gpu_h(
            price,
            gpus=values.get("gpus"),
            fraction=values.get("fraction", 1.0),
            term_months=values.get("term_months"),
        )
        if own is not None and own > MAX_USD_PER_GPU_H:
            raise InputError("absurd-price", key="price", text=price.text, per_gpu_h=own, currency=price.currency)
        identifier = offer_id(
            provider=values["provider"],
            gpu=values["gpu"],
            market=market,
            tier=values.get("tier"),
            instance=values.get("instance"),
            gpus=values.get("gpus"),
            region=values.get("region"),
            fraction=values.get("fraction", 1.0),
            mig=values.get("mig"),
            term_months=values.get("term_months"),
            is_private=values.get("is_private", False),
        )
        return Offer(
            id=identifier,
            price=price,
            usd_per_gpu_h=own if price.currency == "USD" else None,
            file=self._file,
            line=line,
            **values,
        )


_PRICE_COLUMNS = ("price", "unit", "period", "currency", "price_status")


def _read_price(cells: tuple[str, ...], amounts: Convention | None) -> Price:
    text, unit_text, period_text, currency_text, status_text = (cell.strip() for cell in cells)
    unit = _read_choice(unit_text, ("gpu", "node"), "unit")
    period = _read_choice(period_text, PERIODS, "period")
    status = _read_choice(status_text, PRICE_STATUSES, "price_status") if status_text else "known"
    try:
        currency = parse_currency(currency_text) if currency_text else None
    except InputError as error:
        raise error.at(key="currency") from None
    if not text:
        return Price(None, currency, unit, period, text, "unknown")
    try:
        amount = parse_amount(text, None if isinstance(cells[0], _Number) else amounts)
    except InputError as error:
        raise error.at(key="price") from None
    for column, said, found in (("unit", unit, amount.unit), ("period", period, amount.period)):
        if found is not None and found != said:
            raise InputError("price-contradicts-column", key="price", text=text, column=column, said=said, found=found)
    if currency and amount.currency and currency != amount.currency and not ("$" in text and currency in _DOLLARS):
        raise InputError(
            "price-contradicts-column",
            key="price",
            text=text,
            column="currency",
            said=currency,
            found=amount.currency,
        )
    currency = currency or amount.currency
    if amount.value == 0 or status == "unknown":
        return Price(None, currency, unit, period, text, "unknown")
    if currency is None:
        raise InputError("no-currency", key="price", text=text)
    return Price(amount.value, currency, unit, period, text, status)


def _read_choice(text: str, choices: tuple[str, ...], column: str) -> str:
    if not text:
        raise InputError("missing-cell", key=column)
    if text not in choices:
        raise InputError(
            "not-a-choice", key=column, text=text, choices=choices, candidates=nearest(text, choices, count=1)
        )
    return text


def _choice(*choices: str) -> Callable[[str, Convention | None], str]:
    def read(text: str, _amounts: Convention | None) -> str:
        if text not in choices:
            raise InputError("not-a-choice", text=text, choices=choices, candidates=nearest(text, choices, count=1))
        return text

    return read


def _number(
    minimum: float, maximum: float, *, is_open: bool = False, is_whole: bool = False
) -> Callable[[str, Convention | None], float]:
    def read(text: str, _amounts: Convention | None) -> float:
        value = parse_number(text)
        if not minimum <= value <= maximum or (is_open and value == minimum):
            raise InputError("out-of-range", text=text, minimum=minimum, maximum=maximum, is_open=is_open)
        if is_whole and value != int(value):
            raise InputError("not-whole", text=text)
        return int(value) if is_whole else value

    return read


def _seconds(text: str, _amounts: Convention | None) -> float:
    value = parse_seconds(text, plain="s")
    if not 0 <= value <= 10 * 365 * 86400:
        raise InputError("out-of-range", text=text, minimum=0, maximum=10 * 365 * 86400, is_open=False)
    return value


def _text(text: str, _amounts: Convention | None) -> str:
    if not text.isprintable():
        raise InputError("unprintable-text", text=text)
    return text


def _identifier(text: str, _amounts: Convention | None) -> str:
    return _text(text, None).lower()


def _gpu(text: str, _amounts: Convention | None) -> str:
    return catalog.find(text).id


def _boolean(text: str, _amounts: Convention | None) -> bool:
    lowered = text.lower()
    if lowered not in {"true", "false", "yes", "no", "1", "0"}:
        raise InputError("not-a-choice", text=text, choices=("true", "false"), candidates=())
    return lowered in {"true", "yes", "1"}


def _when(text: str, _amounts: Convention | None) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputError("not-a-date", text=text) from None
    if moment.year not in YEARS:
        raise InputError("not-a-date", text=text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _words(text: str, _amounts: Convention | None) -> tuple[str, ...]:
    return tuple(word.strip().lower() for word in _text(text, None).split(";") if word.strip())


def _usd(text: str, amounts: Convention | None) -> float:
    amount = parse_amount(text, amounts)
    if amount.currency not in {None, "USD"}:
        raise InputError("not-usd", text=text)
    return float(amount.value)


def read_egress(text: str, amounts: Convention | None = None) -> tuple[EgressTier, ...]:
    """Egress prices [USD/GB]: a number, or `from_gb:usd_per_gb` tiers separated by semicolons.

    Raises: InputError `bad-egress` when the tiers do not start at 0 or do not rise.

    >>> read_egress("0:0;100:0.09")
    (EgressTier(from_gb=0.0, usd_per_gb=0.0), EgressTier(from_gb=100.0, usd_per_gb=0.09))
    """
    tiers = []
    for part in text.split(";"):
        start, colon, price = part.rpartition(":")
        tiers.append(EgressTier(parse_number(start) if colon else 0.0, _usd(price.strip(), amounts)))
    starts = [tier.from_gb for tier in tiers]
    if starts[0] != 0 or any(later <= earlier for earlier, later in pairwise(starts)):
        raise InputError("bad-egress", text=text)
    return tuple(tiers)


_CELL_READERS: dict[str, tuple[str, Callable[[str, Convention | None], Any]]] = {
    "gpu": ("gpu", _gpu),
    "provider": ("provider", _identifier),
    "market": ("market", _choice(*MARKETS)),
    "tier": ("tier", _identifier),
    "gpus": ("gpus", _number(1, 100_000, is_whole=True)),
    "fraction": ("fraction", _number(0, 1, is_open=True)),
    "mig": ("mig", _identifier),
    "instance": ("instance", _text),
    "region": ("region", _identifier),
    "country": ("country", _identifier),
    "interconnect": ("interconnect", _text),
    "fabric": ("fabric", _text),
    "vcpu": ("vcpu", _number(0, 1e6)),
    "ram_gb": ("ram_gb", _number(0, 1e7)),
    "nvme_gb": ("nvme_gb", _number(0, 1e9)),
    "network_gbps": ("network_gbps", _number(0, 1e6)),
    "storage_usd_per_gb_month": ("storage_usd_per_gb_month", _usd),
    "egress_usd_per_gb": ("egress", read_egress),
    "billing_increment_s": ("billing_increment_s", _seconds),
    "billing_minimum_s": ("billing_minimum_s", _seconds),
    "interruption_notice_s": ("interruption_notice_s", _seconds),
    "term_months": ("term_months", _number(0, 240, is_open=True)),
    "upfront": ("upfront_usd", _usd),
    "min_gpus": ("min_gpus", _number(1, 1_000_000, is_whole=True)),
    "sla_pct": ("sla_pct", _number(0, 100)),
    "compliance": ("compliance", _words),
    "availability": ("availability", _choice(*AVAILABILITIES)),
    "seen_at": ("seen_at", _when),
    "valid_until": ("valid_until", _when),
    "source": ("source", _text),
    "private": ("is_private", _boolean),
    "note": ("note", _text),
}
"""Column -> field of `Offer` and how its cell is read."""

COLUMNS = (
    *REQUIRED_COLUMNS,
    *(column for column in ("currency", "price_status", *_CELL_READERS) if column not in REQUIRED_COLUMNS),
)
"""Every column a book may have."""


def newest_observations(offers: Iterable[Offer], as_of: datetime) -> tuple[list[Offer], list[tuple[Offer, Offer]]]:
    """The newest observation of each key seen up to `as_of`, and the pairs that contradict each other.

    A line without a date counts as the oldest. Where one key has two prices of the same moment, the dearer one is
    kept and the
    pair (kept, other) is reported.
    """
    kept: dict[str, Offer] = {}
    conflicts: dict[str, tuple[Offer, Offer]] = {}
    for offer in offers:
        if offer.seen_at is not None and offer.seen_at > as_of:
            continue
        known = kept.get(offer.id)
        if known is None:
            kept[offer.id] = offer
            continue
        rank, known_rank = _moment(offer), _moment(known)
        if rank > known_rank:
            kept[offer.id] = offer
            conflicts.pop(offer.id, None)
        elif rank == known_rank and _differs(offer, known):
            dearer, other = (offer, known) if _dearness(offer) > _dearness(known) else (known, offer)
            kept[offer.id] = dearer
            conflicts[offer.id] = (dearer, other)
    return list(kept.values()), list(conflicts.values())


def _differs(one: Offer, other: Offer) -> bool:
    """Whether two lines of one key give different prices, whatever unit and period they are quoted in."""
    if one.usd_per_gpu_h is not None and other.usd_per_gpu_h is not None:
        return abs(one.usd_per_gpu_h - other.usd_per_gpu_h) > 1e-9 * other.usd_per_gpu_h
    return (one.price.amount, one.price.currency, one.price.unit, one.price.period) != (
        other.price.amount, other.price.currency, other.price.unit, other.price.period,
    )  # fmt: skip


def _dearness(offer: Offer) -> float:
    """The price per GPU and hour [USD]; what cannot be priced ranks below what can."""
    return -1.0 if offer.usd_per_gpu_h is None else offer.usd_per_gpu_h


_NEVER = datetime.min.replace(tzinfo=UTC)


def _moment(offer: Offer) -> datetime:
    return _NEVER if offer.seen_at is None else offer.seen_at
