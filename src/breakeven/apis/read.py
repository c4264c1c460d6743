"""The user's own API prices: negotiated ones, batch prices, and what is known of where requests are handled.

CSV with a header, or YAML: a list, or `apis:` with one. A file is read whole or not at all: the first line that cannot
be read is an error naming file, line and column.
"""

from __future__ import annotations

import csv
from datetime import date
from io import StringIO
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Protocol

from breakeven.apis.price import ApiPrice, Latency, Rates, discounted
from breakeven.documents import Given, Mapping, Node, Scalar, Sequence, describe_kind, read_text, read_yaml
from breakeven.errors import BreakevenError, InputError, nearest
from breakeven.llms import names
from breakeven.units import parse_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from decimal import Decimal
    from pathlib import Path

MAX_PRICES_BYTES = 4 * 2**20
REQUIRED_COLUMNS = ("provider", "model", "input")
COLUMNS = (
    "provider", "model", "input", "cached", "output", "batch_discount", "batch_input", "batch_cached", "batch_output",
    "cache_write", "seen_at", "source", "private", "compliance", "regions", "ttft_p95_ms", "itl_p95_ms", "e2e_p95_ms",
    "llm", "note",
)  # fmt: skip
"""Every column; prices are US dollars per million tokens."""
_PRICES = frozenset({"input", "cached", "output", "batch_input", "batch_cached", "batch_output", "cache_write"})
_DEAREST_USD_PER_M = 10_000.0
_CHEAPEST_USD_PER_M = 1e-4
"""Beyond these a price was not given per million tokens."""
_YEARS = range(2000, 2101)


class Amount(Protocol):
    """An amount of money as a text gave it: what it said of currency, unit and period (None: nothing)."""

    @property
    def value(self) -> Decimal:
        """The number."""

    @property
    def currency(self) -> str | None:
        """Its ISO code."""

    @property
    def unit(self) -> str | None:
        """What it is for."""

    @property
    def period(self) -> str | None:
        """The time it is for."""


class _Cell:
    """A text at a line; `is_number`: of YAML, where the format of amounts does not matter."""

    __slots__ = ("is_number", "line", "text")

    def __init__(self, text: str, line: int, *, is_number: bool = False) -> None:
        self.text = text.strip()
        self.line = line
        self.is_number = is_number


def read_api_prices(path: str | Path | Given, *, parse_amount: Callable[[str], Amount], today: date) -> list[ApiPrice]:
    """Every price of a CSV or YAML file, in file order.

    parse_amount : reads a text amount; today : no price can have been seen later.

    Raises: InputError with file, line and column or key; ExternalError when the file system fails.
    """
    file = str(path)
    try:
        text = read_text(path, max_bytes=MAX_PRICES_BYTES)
        rows = _yaml_rows(read_yaml(text, file=file)) if is_yaml_file(path) else _csv_rows(text)
        return _distinct(rows, parse_amount, today)
    except BreakevenError as error:
        if not is_yaml_file(path) and error.line is not None:
            error.place = "column"
        raise error.at(file=file) from None


def _distinct(
    rows: Iterable[tuple[dict[str, _Cell], int]], parse_amount: Callable[[str], Amount], today: date
) -> list[ApiPrice]:
    found: dict[tuple[str, date | None], ApiPrice] = {}
    for cells, line in rows:
        try:
            price = _price(cells, parse_amount, today)
        except InputError as error:
            raise error.at(line=line) from None
        if found.setdefault((price.id.lower(), price.seen_at), price) is not price:
            raise InputError("duplicate-api-price", line=line, key="model", text=price.id)
    return list(found.values())


def is_yaml_file(path: str | Path | Given) -> bool:
    """Whether the name is that of a YAML file."""
    return PurePath(str(path)).suffix.lower() in {".yaml", ".yml", ".json"}


def _csv_rows(text: str) -> Iterator[tuple[dict[str, _Cell], int]]:
    first = text.split("\n", 1)[0]
    rows = csv.reader(StringIO(text), delimiter=max(",;\t", key=first.count), strict=True)
    line = 0
    try:
        header = [column.strip().lower() for column in next(rows)]
        _check_columns(header)
        line = rows.line_num
        for cells in rows:
            line = rows.line_num
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(header):
                raise InputError("wrong-cell-count", line=line, found=len(cells), expected=len(header))
            yield {column: _Cell(cell, line) for column, cell in zip(header, cells, strict=True) if cell.strip()}, line
    except csv.Error as error:
        raise InputError("csv-syntax", line=line + 1, problem=str(error)) from None


def _check_columns(header: list[str]) -> None:
    for column in header:
        if column not in COLUMNS:
            raise InputError("unknown-column", line=1, key=column, candidates=nearest(column, COLUMNS))
        if header.count(column) > 1:
            raise InputError("duplicate-column", line=1, key=column)
    for column in REQUIRED_COLUMNS:
        if column not in header:
            raise InputError("api-column-missing", line=1, key=column, required=REQUIRED_COLUMNS)


def _yaml_rows(root: Node) -> Iterator[tuple[dict[str, _Cell], int]]:
    listed = root
    if isinstance(root, Mapping):
        for key in root.entries:
            if key != "apis":
                raise InputError("unknown-key", line=root.key_lines[key], key=key, candidates=("apis",))
        listed = root.entries["apis"]
    if not isinstance(listed, Sequence):
        raise InputError("wrong-kind", line=listed.line, found=describe_kind(listed), expected="list")
    for item in listed.items:
        if not isinstance(item, Mapping):
            raise InputError("wrong-kind", line=item.line, found=describe_kind(item), expected="mapping")
        cells = {}
        for key, node in item.entries.items():
            if key not in COLUMNS:
                raise InputError("unknown-key", line=item.key_lines[key], key=key, candidates=nearest(key, COLUMNS))
            cell = _yaml_cell(node, item.key_lines[key], key)
            if cell.text:
                cells[key] = cell
        yield cells, item.line


def _yaml_cell(node: Node, line: int, key: str) -> _Cell:
    if isinstance(node, Sequence) and all(isinstance(item, Scalar) for item in node.items):
        return _Cell(";".join(item.text for item in node.items if isinstance(item, Scalar)), line)
    if not isinstance(node, Scalar):
        raise InputError("wrong-kind", line=line, key=key, found=describe_kind(node), expected="text")
    if node.is_null:
        return _Cell("", line)
    return _Cell(node.text, node.line, is_number=not node.is_quoted and "," not in node.text)


def _price(cells: dict[str, _Cell], parse_amount: Callable[[str], Amount], today: date) -> ApiPrice:
    values: dict[str, Any] = {}
    for column, cell in cells.items():
        try:
            values[column] = _value(column, cell, parse_amount, today)
        except InputError as error:
            raise error.at(line=cell.line, key=column) from None
    for column in REQUIRED_COLUMNS:
        if column not in values:
            raise InputError("missing-cell", key=column)
    rates = Rates(values["input"], values.get("cached"), values.get("output"))
    return ApiPrice(
        provider=values["provider"].lower(),
        model=values["model"],
        rates=rates,
        batch=_batch(values, rates),
        llm=values.get("llm") or _llm_of(values["model"]),
        cache_write=values.get("cache_write"),
        seen_at=values.get("seen_at"),
        source=values.get("source"),
        is_private=values.get("private", False),
        compliance=values.get("compliance", ()),
        regions=values.get("regions", ()),
        latency=Latency(values.get("ttft_p95_ms"), values.get("itl_p95_ms"), values.get("e2e_p95_ms")),
        note=values.get("note"),
    )


def _batch(values: dict[str, Any], rates: Rates) -> Rates | None:
    """The batch prices: given, or a discount on the others."""
    given = [values.get(f"batch_{kind}") for kind in ("input", "cached", "output")]
    discount = values.get("batch_discount")
    if discount is not None:
        if any(price is not None for price in given):
            raise InputError("batch-twice", key="batch_discount")
        return discounted(rates, discount) if discount else None
    if all(price is None for price in given):
        return None
    if given[0] is None or (given[2] is None and rates.output is not None):
        raise InputError("missing-cell", key="batch_input" if given[0] is None else "batch_output")
    return Rates(given[0], given[1], given[2])


def _llm_of(model: str) -> str | None:
    try:
        return names.find(model)
    except InputError:
        return None


def _value(column: str, cell: _Cell, parse_amount: Callable[[str], Amount], today: date) -> Any:
    if column in _PRICES:
        return _usd_per_m(cell, parse_amount)
    if column == "batch_discount":
        return _share(cell.text)
    if column == "seen_at":
        return _day(cell.text, today)
    if column.endswith("_ms"):
        return _milliseconds(cell.text)
    if column in {"compliance", "regions"}:
        return tuple(part.strip().lower() for part in cell.text.split(";") if part.strip())
    if column == "private":
        if cell.text.lower() not in {"true", "false"}:
            raise InputError("not-a-choice", text=cell.text, choices=("true", "false"), candidates=())
        return cell.text.lower() == "true"
    if column == "llm":
        return names.find(cell.text)
    return _text(column, cell.text)


def _text(column: str, text: str) -> str:
    """A word or a line; a provider has no slash, which parts it from the model."""
    if not text.isprintable() or len(text) > 500:
        raise InputError("unprintable-text", text=text[:80])
    if column == "provider" and "/" in text:
        raise InputError("provider-with-slash", text=text)
    return text


def _usd_per_m(cell: _Cell, parse_amount: Callable[[str], Amount]) -> float:
    if cell.is_number:
        value = parse_number(cell.text)
        if value < 0:
            raise InputError("negative-amount", text=cell.text)
    else:
        amount = parse_amount(cell.text)
        if amount.currency not in {None, "USD"}:
            raise InputError("not-usd", text=cell.text)
        if amount.unit is not None or amount.period is not None:
            raise InputError("not-an-amount", text=cell.text)
        value = float(amount.value)
    if value and not _CHEAPEST_USD_PER_M <= value <= _DEAREST_USD_PER_M:
        raise InputError("not-per-million", text=cell.text)
    return value


def _share(text: str) -> float:
    """A share of the price, as 0.5 or 50 %."""
    is_percent = text.endswith("%")
    value = parse_number(text.removesuffix("%").strip()) / (100 if is_percent else 1)
    if not 0 <= value < 1:
        raise InputError("out-of-range", text=text, minimum=0, maximum=1)
    return value


def _day(text: str, today: date) -> date:
    try:
        day = date.fromisoformat(text[:10] if text[10:11] == "T" else text)
    except ValueError:
        raise InputError("not-a-date", text=text) from None
    if day.year not in _YEARS:
        raise InputError("not-a-date", text=text)
    if day > today:
        raise InputError("seen-in-future", text=text)
    return day


def _milliseconds(text: str) -> float:
    value = parse_number(text.removesuffix("ms").strip())
    if not 0 < value <= 1e8:
        raise InputError("out-of-range", text=text, minimum=0, maximum=1e8, is_open=True)
    return value
