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
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from breakeven.documents import Mapping, Node, Scalar, Sequence, describe_kind, read_lines, read_text, read_yaml
from breakeven.errors import BreakevenError, InputError, nearest
from breakeven.gpus import catalog, names
from breakeven.offers.book import COLUMNS, RowReader
from breakeven.offers.checks import check_offers
from breakeven.offers.observing import newest_observations
from breakeven.offers.report import ImportReport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from breakeven.offers.amounts import Convention
    from breakeven.offers.offer import Offer

MAPS = Path(__file__).parent / "data" / "maps"
MAX_MAP_BYTES = 2**18
MAX_JSON_BYTES = 256 * 2**20
MAX_JSON_DEPTH = 100
_MAP_KEYS = ("source", "rows", "gpu", "memory_gb", "skip", "columns", "also", "about")
_CELL_KEYS = ("value", "from", "text", "values", "contains", "default", "date")
_PLACE = re.compile(r"\{([^{}:]*)(?::([^{}]*))?\}")

_LATEST = datetime.max.replace(tzinfo=UTC)

Row = dict[str, str]


class Cell:
    """How one column of the book is made from a row."""

    def __init__(self, node: Node, place: str) -> None:
        if not isinstance(node, Mapping):
            raise InputError("wrong-kind", line=node.line, key=place, found=describe_kind(node), expected="mapping")
        self.keys: dict[str, Any] = {}
        for name, value in node.entries.items():
            if name not in _CELL_KEYS:
                near = nearest(name, _CELL_KEYS, count=1)
                raise InputError(
                    "unknown-key", line=node.key_lines[name], key=f"{place}.{name}", candidates=near, known=_CELL_KEYS
                )
            self.keys[name] = _texts(value, f"{place}.{name}")
        if sum(name in self.keys for name in ("value", "from", "text")) != 1:
            raise InputError("cell-not-one", line=node.line, key=place)

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
        for name in node.entries:
            if name not in _MAP_KEYS:
                near = nearest(name, _MAP_KEYS, count=1)
                raise InputError("unknown-key", line=node.key_lines[name], key=name, candidates=near, known=_MAP_KEYS)
        for name in ("gpu", "columns"):
            if name not in node.entries:
                raise InputError("missing-key", line=node.line, key=name)
        self.source = self._text(node, "source")
        self.rows = self._text(node, "rows")
        self.memory_gb = self._text(node, "memory_gb")
        gpu = node.entries["gpu"]
        items = gpu.items if isinstance(gpu, Sequence) else (gpu,)
        self.gpu = [str(_texts(item, "gpu")) for item in items]
        self.cells = self._cells(node.entries["columns"], "columns")
        also = node.entries.get("also")
        extra = also.items if isinstance(also, Sequence) else ()
        self.also = [self._cells(item, f"also[{index}]") for index, item in enumerate(extra)]
        skip = node.entries.get("skip")
        self.skip = [
            _skip_rule(item, f"skip[{index}]")
            for index, item in enumerate(skip.items if isinstance(skip, Sequence) else ())
        ]
        for name in ("provider", "price", "unit", "period"):
            if name not in self.cells:
                raise InputError("missing-key", line=node.line, key=f"columns.{name}")

    @staticmethod
    def _text(node: Mapping, name: str) -> str | None:
        value = node.entries.get(name)
        if value is None or (isinstance(value, Scalar) and value.is_null):
            return None
        return str(_texts(value, name))

    @staticmethod
    def _cells(node: Node, place: str) -> dict[str, Cell]:
        if not isinstance(node, Mapping):
            raise InputError("wrong-kind", line=node.line, key=place, found=describe_kind(node), expected="mapping")
        cells = {}
        for name, value in node.entries.items():
            if name not in COLUMNS or name == "gpu":
                raise InputError(
                    "unknown-column",
                    line=node.key_lines[name],
                    key=f"{place}.{name}",
                    candidates=nearest(name, COLUMNS),
                )
            cells[name] = Cell(value, f"{place}.{name}")
        return cells

    @property
    def columns(self) -> set[str]:
        """Every column of the table that the map reads."""
        used = {column for cells in (self.cells, *self.also) for cell in cells.values() for column in cell.columns}
        used |= {column for template in self.gpu for column in _columns_of(template)}
        used |= {column for rule, _ in self.skip for column in rule}
        return used | ({self.memory_gb} if self.memory_gb else set())


def _skip_rule(node: Node, place: str) -> tuple[dict[str, str], str]:
    rule = _texts(node, place)
    if not isinstance(rule, dict) or not isinstance(rule.get("when"), dict) or set(rule) - {"when", "reason"}:
        raise InputError("bad-skip-rule", line=node.line, key=place)
    return rule["when"], str(rule.get("reason", "skipped"))


def load_map(path: str | Path) -> TableMap:
    """A column map; the name of a shipped one (aws, azure, multi-provider, cloudprice) will do.

    Raises: InputError with file, line and key.
    """
    shipped = MAPS / f"{path}.yaml"
    found = shipped if str(path) in shipped_maps() else Path(path)
    try:
        return TableMap(read_yaml(read_text(found, max_bytes=MAX_MAP_BYTES), file=str(path)))
    except BreakevenError as error:
        raise error.at(file=str(path)) from None


def shipped_maps() -> list[str]:
    """The names of the shipped maps."""
    return sorted(path.stem for path in MAPS.glob("*.yaml"))


def import_table(
    path: str | Path,
    table_map: TableMap,
    *,
    amounts: Convention | None = None,
    provider: str | None = None,
    as_of: datetime | None = None,
) -> ImportReport:
    """Every row of a CSV or JSON table as an offer, or skipped with the reason.

    provider : overrides what the map says; as_of : the latest moment to keep (None: any).

    Raises: InputError when the file, or the map's columns in it, are wrong; ExternalError when the file system fails.
    """
    file = str(path)
    report = ImportReport(file)
    memory: dict[str, float] = {}
    readers: dict[tuple[str, ...], RowReader] = {}
    try:
        for line, row in _rows(path, table_map):
            for number, cells in enumerate(
                (table_map.cells, *({**table_map.cells, **more} for more in table_map.also))
            ):
                if number and not cells["price"].make(row).strip():
                    continue
                made = {name: cell.make(row) for name, cell in cells.items()}
                if provider is not None:
                    made["provider"] = provider
                _keep(report, table_map, line, row, made, readers, amounts, memory)
    except BreakevenError as error:
        raise error.at(file=file) from None
    _, report.conflicts = newest_observations(report.kept, as_of or _LATEST)
    report.warnings = check_offers(report.kept, catalog.catalog(), memory)
    return report


def _keep(
    report: ImportReport,
    table_map: TableMap,
    line: int,
    row: Row,
    made: dict[str, str],
    readers: dict[tuple[str, ...], RowReader],
    amounts: Convention | None,
    memory: dict[str, float],
) -> None:
    text = " ".join(value for value in row.values() if value)[:200]
    for rule, reason in table_map.skip:
        if all(row[column] == value for column, value in rule.items()):
            report.skip(line, reason, text)
            return
    identity = _identified(table_map, row)
    if identity.match != "exact" or identity.gpu is None:
        if not identity.text.strip():
            report.skip(line, "no-gpu", text)
        else:
            report.skip_name(line, identity.match, identity.text, identity.candidates)
        return
    if not made.get("gpus"):
        if identity.count is None or identity.fraction is None:
            report.skip(line, "count-unknown" if identity.count is None else "fraction-unknown", identity.text)
            return
        if made["unit"] == "node" or identity.count != 1 or identity.fraction != 1:
            made["gpus"] = str(identity.count)
    if identity.fraction not in {None, 1.0} and not made.get("fraction"):
        made["fraction"] = str(identity.fraction)
    if identity.mig is not None:
        made["mig"] = identity.mig
    made["gpu"] = identity.gpu
    header = tuple(made)
    reader = readers.get(header)
    if reader is None:
        reader = readers[header] = RowReader(report.source, amounts, list(header))
    try:
        offer = reader.read(list(made.values()), line)
    except InputError as error:
        report.skip(line, error.code, text)
        return
    _note_memory(memory, offer, table_map, row)
    report.kept.append(offer)


def _note_memory(memory: dict[str, float], offer: Offer, table_map: TableMap, row: Row) -> None:
    if table_map.memory_gb:
        try:
            memory[offer.id] = float(row[table_map.memory_gb])
        except ValueError:
            return


def _identified(table_map: TableMap, row: Row) -> names.Identity:
    """The first template that names one product; else the first that is ambiguous; else the first."""
    tried = []
    for template in table_map.gpu:
        text = _filled(template, row).strip()
        if not text:
            continue
        identity = names.identify(text, table_map.source)
        if identity.match == "exact":
            return identity
        tried.append(identity)
    nothing = names.Identity("", "unmapped", None, ())
    return next((one for one in tried if one.match == "ambiguous"), tried[0] if tried else nothing)


def _rows(path: str | Path, table_map: TableMap) -> Iterator[tuple[int, Row]]:
    """The rows of the table with their line, or number, and every column that the map reads."""
    wanted = table_map.columns
    if Path(path).suffix.lower() == ".json":
        yield from _json_rows(path, table_map.rows, wanted)
        return
    lines = read_lines(path)
    first = next(lines, None)
    if first is None:
        raise InputError("file-empty")
    rows = csv.reader(chain([first], lines), delimiter=max(",;\t", key=first.count))
    try:
        header = [column.strip() for column in next(rows)]
        _check_columns(wanted, header)
        for cells in rows:
            if any(cells):
                yield rows.line_num, dict(zip(header, [*cells, *[""] * (len(header) - len(cells))], strict=False))
    except csv.Error as error:
        raise InputError("csv-syntax", line=max(rows.line_num, 1), problem=str(error)) from None


def _check_columns(wanted: set[str], present: list[str]) -> None:
    for column in sorted(wanted - set(present)):
        raise InputError("map-column-missing", text=column, candidates=nearest(column, present))


def _json_rows(path: str | Path, place: str | None, wanted: set[str]) -> Iterator[tuple[int, Row]]:
    try:
        document = json.loads(read_text(path, max_bytes=MAX_JSON_BYTES))
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
        if not isinstance(row, dict):
            raise InputError("no-such-rows", line=number, text=place or "")
        yield number, {column: _json_text(row.get(column)) for column in wanted}


def _json_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return "; ".join(_json_text(item) for item in value)
    return value if isinstance(value, str) else json.dumps(value)
