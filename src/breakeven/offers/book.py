"""The offers book: CSV or YAML, one line per offer, parsed once into `Offer` records.

A book is read whole or not at all: the first line that cannot be read is an error naming file, line and column.
"""

from __future__ import annotations

import csv
import gc
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from itertools import chain, pairwise
from operator import itemgetter
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from breakeven.documents import (
    Given,
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
    HOURS_PER_PERIOD,
    MARKETS,
    PERIODS,
    PRICE_STATUSES,
    EgressTier,
    Offer,
    Price,
    escaped,
    offer_id,
    price_per_gpu_h,
)
from breakeven.units import parse_number, parse_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from collections.abc import Sequence as Row

    Cells = Row[str]

SHIPPED_BOOK = Path(__file__).parent / "data" / "book.csv"
REQUIRED_COLUMNS = ("gpu", "provider", "price", "unit", "period")
MAX_YAML_BYTES = 16 * 2**20
MAX_USD_PER_GPU_H = 10_000.0
"""Above this a price per GPU and hour is a mistake of unit or period, not a price."""

_DOLLARS = frozenset({"USD", "CAD", "AUD", "NZD", "SGD", "HKD", "TWD", "MXN", "ARS", "CLP", "COP"})
YEARS = range(2000, 2101)
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the start of a formula."""


def load_shipped_book() -> list[Offer]:
    """The offers that come with the package."""
    return list(_shipped_book())


@cache
def _shipped_book() -> tuple[Offer, ...]:
    return tuple(load_book(SHIPPED_BOOK, amounts="en", name="book.csv"))


def load_book(path: str | Path | Given, *, amounts: Convention | None = None, name: str | None = None) -> list[Offer]:
    """Every offer of a CSV or YAML book, in file order.

    Text amounts are read under `amounts` ("en", "fr"; None: an amount that both read differently is an error).

    Raises: InputError with file, line and column; ExternalError when the file system fails.
    """
    file = name or str(path)
    try:
        if PurePath(str(path)).suffix.lower() in {".yaml", ".yml", ".json"}:
            rows = _yaml_rows(read_yaml(read_text(path, max_bytes=MAX_YAML_BYTES), file=file), file)
            return [RowReader(file, amounts, keys).read(cells, line) for keys, cells, line in rows]
        return _read_csv(path, file, amounts)
    except BreakevenError as error:
        raise error.at(file=file) from None


def _read_csv(path: str | Path | Given, file: str, amounts: Convention | None) -> list[Offer]:
    had_collector = gc.isenabled()
    gc.disable()  # a million records without a cycle among them: collecting would take half the time
    try:
        return list(_csv_offers(path, file, amounts))
    except InputError as error:
        error.place = "column"
        raise
    finally:
        if had_collector:
            gc.enable()


def _csv_offers(path: str | Path | Given, file: str, amounts: Convention | None) -> Iterator[Offer]:
    lines = read_lines(path)
    first = next(lines, None)
    if first is None:
        raise InputError("file-empty", file=file)
    rows = csv.reader(chain([first], lines), delimiter=max(",;\t", key=first.count), strict=True)
    line = 0
    try:
        header = [column.strip() for column in next(rows)]
        reader = RowReader(file, amounts, header, is_defused=True, is_trusted=path == SHIPPED_BOOK)
        line = rows.line_num
        for cells in rows:
            line = rows.line_num
            if not any(cells):
                continue
            if len(cells) != reader.width:
                raise InputError("wrong-cell-count", line=line, found=len(cells), expected=reader.width)
            yield reader.read(cells, line)
    except csv.Error as error:
        raise csv_error(error, line + 1) from None


def csv_error(error: csv.Error, line: int) -> InputError:
    """What is wrong with the CSV row that starts at this line."""
    if "new-line character" in str(error):
        return InputError("bare-carriage-returns", line=line)
    return InputError("csv-syntax", line=line, problem=str(error))


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


class RowReader:
    """Reads rows under one header of book columns.

    What many rows share (all but price, place, day and note) is parsed once and copied. `is_defused`: an apostrophe
    before a formula is the export's; `is_trusted`: days are not held against today's clock.
    """

    def __init__(
        self,
        file: str,
        amounts: Convention | None,
        header: list[str],
        *,
        is_defused: bool = False,
        is_trusted: bool = False,
    ) -> None:
        self.width = len(header)
        self._is_defused = is_defused
        self._file = file
        self._amounts: Convention | None = amounts
        self._check(header)
        self._price_indexes = [header.index(column) if column in header else None for column in _PRICE_COLUMNS]
        plain = [(index, column) for index, column in enumerate(header) if column in _CELL_READERS]
        self._shared = [place for place in plain if place[1] not in _OWN_COLUMNS]
        self._own = [
            (
                index,
                column,
                _SLOTS[_CELL_READERS[column][0]],
                _when if is_trusted and column == "seen_at" else _CELL_READERS[column][1],
            )
            for index, column in plain
            if column in _OWN_COLUMNS
        ]
        self._shared_key = itemgetter(*(index for index, _ in self._shared))
        self._templates: dict[Any, tuple[list[Any], str, float, str]] = {}
        self._shared_cells: dict[tuple[int, str], Any] = {}
        self._own_cells: list[dict[str, Any]] = [{"": None} for _ in self._own]
        self._prices: dict[tuple[str, ...], tuple[Price, float | None]] = {}
        self._price_words: dict[tuple[str, ...], tuple[str, str, str | None, str, float | None]] = {}

    @staticmethod
    def _check(header: list[str]) -> None:
        known = (*_CELL_READERS, *_PRICE_COLUMNS)
        for column in header:
            if column not in known:
                raise InputError("unknown-column", line=1, key=column, candidates=nearest(column, known))
            if header.count(column) > 1:
                raise InputError("duplicate-column", line=1, key=column)
        for column in REQUIRED_COLUMNS:
            if column not in header:
                raise InputError("missing-column", line=1, key=column, required=REQUIRED_COLUMNS)

    def read(self, cells: Cells, line: int) -> Offer:
        """The offer of one row.

        Raises: InputError with file, line and column.
        """
        try:
            shared = self._shared_key(cells)
            template = self._templates.get(shared)
            if template is None:
                template = self._templates[shared] = self._template(cells)
            values, prefix, divisor, suffix = template
            values = values.copy()
            own = self._own_cells
            for place, (index, column, slot, reader) in enumerate(self._own):
                cell = cells[index]
                known = own[place]
                if cell not in known:
                    known[cell] = self._parsed(cell, column, reader)
                values[slot] = known[cell]
            price, per_hour = self._price(cells)
            rate = self._rate(price, per_hour, values, divisor)
        except InputError as error:
            raise error.at(file=self._file, line=line) from None
        instance, region = values[_INSTANCE], values[_REGION]
        if instance is not None:
            if values[_PROVIDER] == "azure" and not instance.startswith("Standard_"):
                instance = values[_INSTANCE] = _azure_size(instance)
            prefix = f"{prefix}/instance={escaped(instance)}"
        if region is not None:
            prefix = f"{prefix}/region={escaped(region)}"
        values[0] = prefix + suffix
        values[_PRICE] = price
        values[_RATE] = rate
        values[_FILE] = self._file
        values[_LINE] = line
        return Offer._make(values)

    def _parsed(self, cell: str, column: str, reader: Callable[[str, Convention | None], Any]) -> Any:
        stripped = cell.strip()
        if not stripped:
            return None
        if self._is_defused and stripped[0] == "'":
            stripped = undefused(stripped).strip()
        try:
            return reader(stripped, None if isinstance(cell, _Number) else self._amounts)
        except InputError as error:
            raise error.at(key=column) from None

    def _template(self, cells: Cells) -> tuple[list[Any], str, float, str]:
        """What rows share: values by slot, the start and the end of the id, and the GPUs that a price is divided by."""
        values = _DEFAULTS.copy()
        for index, column in self._shared:
            cell = cells[index]
            if not cell:
                continue
            field, reader = _CELL_READERS[column]
            place = (index, cell)
            if place not in self._shared_cells:
                self._shared_cells[place] = self._parsed(cell, column, reader)
            value = self._shared_cells[place]
            if value is not None:
                values[_SLOTS[field]] = value
        for column in ("gpu", "provider"):
            if values[_SLOTS[column]] is None:
                raise InputError("missing-cell", key=column)
        named = {
            name: values[_SLOTS[name]]
            for name in ("provider", "gpu", "market", "tier", "gpus", "fraction", "mig", "term_months")
        }
        prefix = offer_id(**named)
        return values, prefix, float(values[_SLOTS["fraction"]]), "/private" if values[_SLOTS["is_private"]] else ""

    def _rate(self, price: Price, per_hour: float | None, values: list[Any], divisor: float) -> float | None:
        """The price per whole GPU and hour [USD]."""
        if price.unit == "node" and values[_GPUS] is None:
            raise InputError("node-without-gpus", key="gpus")
        if price.period == "term":
            term = values[_SLOTS["term_months"]]
            own = price_per_gpu_h(price, gpus=values[_GPUS], fraction=divisor, term_months=term)
        elif per_hour is None:
            return None
        else:
            own = per_hour / divisor / (values[_GPUS] if price.unit == "node" else 1)
        if own is not None and own > MAX_USD_PER_GPU_H:
            raise InputError("absurd-price", key="price", text=price.text, per_gpu_h=own, currency=price.currency)
        return own if price.currency == "USD" else None

    def _price(self, cells: Cells) -> tuple[Price, float | None]:
        key = tuple("" if index is None else cells[index] for index in self._price_indexes)
        known = self._prices.get(key)
        if known is None:
            known = self._plain_price(key) or self._any_price(key)
            if len(self._prices) < _MOST_CACHED:
                self._prices[key] = known
        return known

    def _plain_price(self, key: tuple[str, ...]) -> tuple[Price, float | None] | None:
        """A price written as a machine writes it, with its currency in the column: the way of long books."""
        text = key[0]
        if self._amounts == "fr" or not key[3] or not _PLAIN_PRICE.fullmatch(text):
            return None
        words = self._price_words.get(key[1:])
        if words is None:
            unit, period, currency, status = _price_words(*key[1:])
            words = self._price_words[key[1:]] = (unit, period, currency, status, HOURS_PER_PERIOD.get(period))
        unit, period, currency, status, hours = words
        value = float(text)
        if status == "unknown" or not value:
            return None
        return Price(Decimal(text), currency, unit, period, text, status), None if hours is None else value / hours

    def _any_price(self, key: tuple[str, ...]) -> tuple[Price, float | None]:
        price = _read_price(key, self._amounts)
        return price, price_per_gpu_h(price._replace(unit="gpu"), gpus=None, fraction=1.0, term_months=None)


_DEFAULTS: list[Any] = [Offer._field_defaults.get(name) for name in Offer._fields]
_SLOTS = {name: index for index, name in enumerate(Offer._fields)}
_GPUS, _INSTANCE, _REGION, _PROVIDER = (_SLOTS[name] for name in ("gpus", "instance", "region", "provider"))
_PRICE, _RATE, _FILE, _LINE = (_SLOTS[name] for name in ("price", "usd_per_gpu_h", "file", "line"))
_PLAIN_PRICE = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,12})?", re.ASCII)
_AZURE_SIZE = re.compile(r"(?:standard_)?(n[a-z]*[0-9][\w-]*)", re.ASCII | re.IGNORECASE)
_MOST_CACHED = 100_000
_OWN_COLUMNS = frozenset({"region", "instance", "note", "seen_at", "source", "vcpu", "ram_gb"})
_PRICE_COLUMNS = ("price", "unit", "period", "currency", "price_status")


def undefused(cell: str) -> str:
    """The cell without the apostrophe that an export put before a formula.

    >>> undefused("'-2+3"), undefused("'s")
    ('-2+3', "'s")
    """
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(FORMULA_STARTS) else cell


def _azure_size(instance: str) -> str:
    """The one name of an Azure GPU machine, which lists write with and without `Standard_`."""
    found = _AZURE_SIZE.fullmatch(instance)
    return instance if found is None else f"Standard_{found[1]}"


def check_cell(column: str, text: str) -> None:
    """Refuse a text that no cell of this column can hold, whatever the number format of amounts.

    Raises: InputError.
    """
    try:
        if column in _CELL_READERS:
            if text.strip():
                _CELL_READERS[column][1](text.strip(), None)
        elif column == "price":
            if text.strip():
                parse_amount(text, None)
        else:
            words = {"unit": "gpu", "period": "h", "currency": "", "price_status": "", column: text}
            _price_words(*words.values())
    except InputError as error:
        if error.code not in {"ambiguous-amount", "ambiguous-dot"}:
            raise


def _price_words(unit: str, period: str, currency: str, status: str) -> tuple[str, str, str | None, str]:
    """The columns beside the amount."""
    try:
        code = parse_currency(currency) if currency.strip() else None
    except InputError as error:
        raise error.at(key="currency") from None
    return (
        _read_choice(unit.strip(), ("gpu", "node"), "unit"),
        _read_choice(period.strip(), PERIODS, "period"),
        code,
        _read_choice(status.strip(), PRICE_STATUSES, "price_status") if status.strip() else "known",
    )


def _read_price(cells: tuple[str, ...], amounts: Convention | None) -> Price:
    text = cells[0].strip()
    unit, period, currency, status = _price_words(*cells[1:])
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


def _seen(text: str, _amounts: Convention | None) -> datetime:
    """A moment up to tomorrow, which it may be already where the price was seen."""
    moment = _when(text, None)
    if moment.date() > (datetime.now(UTC) + timedelta(days=1)).date():
        raise InputError("seen-in-future", text=text)
    return moment


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
    "seen_at": ("seen_at", _seen),
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
