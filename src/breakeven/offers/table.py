"""Any CSV or JSON table as offers, by a column map.

A map is a YAML file:

    source: who-calls-gpus-so        # a source of `gpus identify`, optional
    rows: rows                       # JSON only: the key of the list, dots between levels
    gpu: ["{sku}", "{gpu_type} {gpu_memory_gb}GB"]      # templates; the first that names exactly one product counts;
                                     # {column:word} puts a word where the column is blank
    memory_gb: gpu_memory_gb_each    # what the table says of memory per GPU, to be checked
    skip: [{when: {kind: reserved}, reason: reserved}]
    columns:                         # column of the book -> where it comes from
      provider: {value: aws}
      price: {from: hourly_usd}
      market: {from: is_spot, values: {"True": interruptible, "False": on-demand}}
      tier: {from: notes, contains: {"Secure": secure}}
      note: {text: "{notes}; {caveats}"}
    also:                            # further offers of the same row, where their price is there
      - {market: {value: interruptible}, price: {from: spot_hourly_usd}}

The map names columns of the table alone; it opens no file.
"""

from __future__ import annotations

import csv
import json
import re
from itertools import chain
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from breakeven.documents import Given, Mapping, Node, Scalar, Sequence, describe_kind, read_lines, read_text, read_yaml
from breakeven.errors import BreakevenError, InputError, nearest
from breakeven.gpus.names import sources
from breakeven.offers.book import COLUMNS, check_cell, csv_error
from breakeven.offers.importing import ImportedRow, collect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from breakeven.offers.amounts import Convention
    from breakeven.offers.report import ImportReport

MAPS = Path(__file__).parent / "data" / "maps"
MAX_MAP_BYTES = 2**18
MAX_JSON_BYTES = 256 * 2**20
_MAP_KEYS = ("source", "rows", "gpu", "memory_gb", "skip", "columns", "also", "about")
_CELL_KEYS = ("value", "from", "text", "values", "contains", "default")
_WORD_TABLES = ("values", "contains")
_PLACE = re.compile(r"\{([^{}:]*)(?::([^{}]*))?\}")

Row = dict[str, str]


class Cell:
    """How one column of the book is made from a row."""

    def __init__(self, node: Node, column: str, place: str) -> None:
        if not isinstance(node, Mapping):
            raise _wrong_kind(node, place, "mapping")
        self.line = node.line
        self.keys: dict[str, Any] = {}
        for name, value in node.entries.items():
            if name not in _CELL_KEYS:
                near = nearest(name, _CELL_KEYS, count=1)
                raise InputError(
                    "unknown-key", line=node.key_lines[name], key=f"{place}.{name}", candidates=near, known=_CELL_KEYS
                )
            if isinstance(value, Mapping) != (name in _WORD_TABLES):
                raise _wrong_kind(value, f"{place}.{name}", "mapping" if name in _WORD_TABLES else "value")
            self.keys[name] = _texts(value, f"{place}.{name}")
        if sum(name in self.keys for name in ("value", "from", "text")) != 1:
            raise InputError("cell-not-one", line=node.line, key=place)
        if "value" in self.keys:
            _check_word(column, self.keys["value"], node.entries["value"], f"{place}.value")
        for name in _WORD_TABLES:
            _check_words(column, node.entries.get(name), f"{place}.{name}")
        if self.keys.get("default"):
            _check_word(column, self.keys["default"], node.entries["default"], f"{place}.default")

    @property
    def is_blank(self) -> bool:
        """Whether no row fills it."""
        return self.keys.get("value") == ""

    @property
    def columns(self) -> list[str]:
        """The columns of the table that it reads."""
        if "from" in self.keys:
            return [self.keys["from"]]
        return _columns_of(self.keys["text"]) if "text" in self.keys else []

    def make(self, row: Row) -> str:
        """The cell for a row; empty where the table says nothing."""
        if "value" in self.keys:
            return str(self.keys["value"])
        text = row[self.keys["from"]] if "from" in self.keys else _filled(self.keys["text"], row)
        if "contains" in self.keys:
            text = next((word for part, word in self.keys["contains"].items() if part.lower() in text.lower()), "")
        elif "values" in self.keys:
            text = self.keys["values"].get(text, "") if text not in self.keys["values"].values() else text
        return text or str(self.keys.get("default", ""))


def _wrong_kind(node: Node, place: str, expected: str) -> InputError:
    return InputError("wrong-kind", line=node.line, key=place, found=describe_kind(node), expected=expected)


def _check_words(column: str, table: Node | None, place: str) -> None:
    """Refuse a word of `values` or `contains` that the column cannot hold; a blank one is as if nothing were said."""
    if isinstance(table, Mapping):
        for name, node in table.entries.items():
            if not isinstance(node, Scalar):
                raise _wrong_kind(node, f"{place}.{name}", "value")
            if not node.is_null and node.text:
                _check_word(column, node.text, node, f"{place}.{name}")


def _check_word(column: str, text: str, node: Node, place: str) -> None:
    try:
        check_cell(column, text)
    except InputError as error:
        error.key = place
        raise error.at(line=node.line) from None


def _columns_of(template: str) -> list[str]:
    return [found[1] for found in _PLACE.finditer(template)]


def _filled(template: str, row: Row) -> str:
    """The template with the row's values; `{column:word}` gives a word where the column is blank."""
    return _PLACE.sub(lambda found: row[found[1]] or found[2] or "", template)


def _texts(node: Node, place: str) -> Any:
    if isinstance(node, Scalar):
        return "" if node.is_null else node.text
    if isinstance(node, Mapping):
        return {name: _texts(value, f"{place}.{name}") for name, value in node.entries.items()}
    raise InputError("wrong-kind", line=node.line, key=place, found=describe_kind(node), expected="value")


class TableMap:
    """A column map, read and checked."""

    def __init__(self, node: Node) -> None:
        if not isinstance(node, Mapping):
            raise InputError("wrong-kind", line=node.line, found=describe_kind(node), expected="mapping")
        self.file: str | None = None
        for name in node.entries:
            if name not in _MAP_KEYS:
                near = nearest(name, _MAP_KEYS, count=1)
                raise InputError("unknown-key", line=node.key_lines[name], key=name, candidates=near, known=_MAP_KEYS)
        for name in ("gpu", "columns"):
            if name not in node.entries:
                raise InputError("missing-key", line=node.line, key=name)
        self.source = self._source(node)
        self.rows = self._text(node, "rows")
        self.memory_gb = self._text(node, "memory_gb")
        self.gpu = _templates(node.entries["gpu"])
        self.cells = self._cells(node.entries["columns"], "columns")
        self.also = [self._cells(item, f"also[{index}]") for index, item in enumerate(_items(node, "also"))]
        self.skip = [_skip_rule(item, f"skip[{index}]") for index, item in enumerate(_items(node, "skip"))]
        for name in ("provider", "price", "unit", "period"):
            if name not in self.cells:
                raise InputError("missing-key", line=node.line, key=f"columns.{name}")

    def _source(self, node: Mapping) -> str | None:
        source = self._text(node, "source")
        if source is not None and source not in sources():
            near = nearest(source, sorted(sources()))
            raise InputError(
                "unknown-source", line=node.key_lines["source"], key="source", text=source, candidates=near
            )
        return source

    @staticmethod
    def _text(node: Mapping, name: str) -> str | None:
        value = node.entries.get(name)
        if value is None or (isinstance(value, Scalar) and value.is_null):
            return None
        return str(_texts(value, name))

    @staticmethod
    def _cells(node: Node, place: str) -> dict[str, Cell]:
        if not isinstance(node, Mapping):
            raise _wrong_kind(node, place, "mapping")
        cells = {}
        for name, value in node.entries.items():
            if name not in COLUMNS or name == "gpu":
                raise InputError(
                    "unknown-column",
                    line=node.key_lines[name],
                    key=f"{place}.{name}",
                    candidates=nearest(name, COLUMNS),
                )
            cells[name] = Cell(value, name, f"{place}.{name}")
        return cells

    @property
    def columns(self) -> set[str]:
        """Every column of the table that the map reads."""
        used = {column for cells in (self.cells, *self.also) for cell in cells.values() for column in cell.columns}
        used |= {column for template in self.gpu for column in _columns_of(template)}
        used |= {column for rule, _ in self.skip for column in rule}
        return used | ({self.memory_gb} if self.memory_gb else set())


def _items(node: Mapping, name: str) -> tuple[Node, ...]:
    """The items of an optional list."""
    listed = node.entries.get(name)
    if listed is None or (isinstance(listed, Scalar) and listed.is_null):
        return ()
    if not isinstance(listed, Sequence):
        raise _wrong_kind(listed, name, "list")
    return listed.items


def _templates(node: Node) -> list[str]:
    """The templates of the GPU's name: one, or a list of some."""
    items = node.items if isinstance(node, Sequence) else (node,)
    for index, item in enumerate(items):
        if not isinstance(item, Scalar):
            raise _wrong_kind(item, f"gpu[{index}]" if isinstance(node, Sequence) else "gpu", "value")
    templates = [str(_texts(item, "gpu")) for item in items]
    if not any(template.strip() for template in templates):
        raise InputError("empty-list", line=node.line, key="gpu")
    return templates


def _skip_rule(node: Node, place: str) -> tuple[dict[str, str], str]:
    rule = _texts(node, place)
    when = rule.get("when") if isinstance(rule, dict) else None
    if not isinstance(when, dict) or not when or set(rule) - {"when", "reason"}:
        raise InputError("bad-skip-rule", line=node.line, key=place)
    return when, str(rule.get("reason", "skipped"))


def load_map(path: str | Path) -> TableMap:
    """A column map; the name of a shipped one (aws, azure, multi-provider, cloudprice) will do.

    Raises: InputError with file, line and key.
    """
    shipped = MAPS / f"{path}.yaml"
    found = shipped if str(path) in shipped_maps() else Path(path)
    try:
        table_map = TableMap(read_yaml(read_text(found, max_bytes=MAX_MAP_BYTES), file=str(path)))
    except BreakevenError as error:
        raise error.at(file=str(path)) from None
    table_map.file = str(path)
    return table_map


def shipped_maps() -> list[str]:
    """The names of the shipped maps."""
    return sorted(path.stem for path in MAPS.glob("*.yaml"))


def import_table(
    path: str | Path | Given, table_map: TableMap, *, amounts: Convention | None = None, provider: str | None = None
) -> ImportReport:
    """Every row of a CSV or JSON table as an offer, or skipped with the reason.

    provider : overrides what the map says.

    Raises: InputError when the file, or the map's columns in it, are wrong; ExternalError when the file system fails.
    """
    file = str(path)
    if provider is None and (cell := table_map.cells["provider"]).is_blank:
        raise InputError("missing-cell", file=table_map.file, line=cell.line, key="columns.provider")
    try:
        return collect(_imported(path, table_map), source=file, amounts=amounts, provider=provider)
    except BreakevenError as error:
        raise error.at(file=file) from None


def _imported(path: str | Path | Given, table_map: TableMap) -> Iterator[ImportedRow]:
    also = [{**table_map.cells, **more} for more in table_map.also]
    for line, row in _rows(path, table_map):
        if isinstance(row, str):
            yield ImportedRow(line, row, skip="malformed")
            continue
        text = " ".join(value for value in row.values() if value)[:200]
        skip = next(
            (reason for rule, reason in table_map.skip if all(row[column] == value for column, value in rule.items())),
            None,
        )
        names = tuple((_filled(template, row).strip(), table_map.source) for template in table_map.gpu)
        memory_gb = _number(row[table_map.memory_gb]) if table_map.memory_gb else None
        for number, cells in enumerate((table_map.cells, *also)):
            if number and (skip is not None or not cells["price"].make(row).strip()):
                continue
            made = {name: cell.make(row) for name, cell in cells.items()}
            yield ImportedRow(line, text, made, names, memory_gb, skip)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _rows(path: str | Path | Given, table_map: TableMap) -> Iterator[tuple[int, Row | str]]:
    """The rows of the table with their line, or number, and every column that the map reads; malformed ones as text."""
    wanted = table_map.columns
    if PurePath(str(path)).suffix.lower() == ".json":
        yield from _json_rows(path, table_map.rows, wanted)
        return
    lines = read_lines(path)
    first = next(lines, None)
    if first is None:
        raise InputError("file-empty")
    rows = csv.reader(chain([first], lines), delimiter=max(",;\t", key=first.count), strict=True)
    line = 0
    try:
        header = [column.strip() for column in next(rows)]
        line = rows.line_num
        _check_header(header, line)
        _check_columns(wanted, header)
        for cells in rows:
            line = rows.line_num
            if any(cells):
                yield line, _csv_row(header, cells)
    except csv.Error as error:
        raise csv_error(error, line + 1) from None


def _csv_row(header: list[str], cells: list[str]) -> Row | str:
    """The cells by column, missing ones blank; cells beyond the header, if they say anything, make it malformed."""
    if any(cell.strip() for cell in cells[len(header) :]):
        return " ".join(cells)
    return dict(zip(header, [*cells, *[""] * (len(header) - len(cells))], strict=False))


def _check_header(header: list[str], line: int) -> None:
    for index, column in enumerate(header):
        if column and column in header[:index]:
            error = InputError("duplicate-column", line=line, key=column)
            error.place = "column"
            raise error


def _check_columns(wanted: set[str], present: list[str]) -> None:
    for column in sorted(wanted - set(present)):
        raise InputError("map-column-missing", text=column, candidates=nearest(column, present))


def _json_rows(path: str | Path | Given, place: str | None, wanted: set[str]) -> Iterator[tuple[int, Row | str]]:
    try:
        document = json.loads(read_text(path, max_bytes=MAX_JSON_BYTES), object_pairs_hook=_json_object)
    except (ValueError, RecursionError) as error:
        raise InputError("bad-json", problem=str(error)[:100]) from None
    for name in (place or "").split("."):
        if name:
            if not isinstance(document, dict) or name not in document:
                raise InputError("no-such-rows", text=place)
            document = document[name]
    if not isinstance(document, list):
        raise InputError("no-such-rows", text=place or "")
    present = {str(column) for row in document if isinstance(row, dict) for column in row}
    _check_columns(wanted, sorted(present))
    for number, row in enumerate(document, start=1):
        yield number, _json_row(row, wanted)


def _json_row(row: Any, wanted: set[str]) -> Row | str:
    """The cells by column; what is no object, or is nested without end, is malformed."""
    try:
        if not isinstance(row, dict):
            return json.dumps(row)[:200]
        return {column: _json_text(row.get(column)) for column in wanted}
    except RecursionError:
        return "[..."


def _json_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise InputError("duplicate-json-key", text=next(name for name in names if names.count(name) > 1))
    return found


def _json_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return "; ".join(_json_text(item) for item in value)
    return value if isinstance(value, str) else json.dumps(value)
