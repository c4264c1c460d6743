"""A usage export of an API: tokens and cost per day and model, and what of it could not be read.

Exports differ in what they call things and in whether input tokens count those read from a cache; both are settled
here, by the column's name. read = kept + skipped, always, and every sum is that of the kept rows.
"""

from __future__ import annotations

import csv
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, NamedTuple

from breakeven.documents import read_lines
from breakeven.errors import BreakevenError, InputError
from breakeven.units import HOURS_PER_DAY, HOURS_PER_MONTH

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from breakeven.apis.read import Amount
    from breakeven.documents import Given

ALIASES: dict[str, tuple[str, ...]] = {
    "date": (
        "date", "day", "usage_date", "usage_date_utc", "start_time_iso", "start_time", "timestamp", "created_at",
    ),
    "model": ("model", "model_version", "model_name", "model_id", "snapshot_id"),
    "input": ("input_tokens", "input", "prompt_tokens", "n_context_tokens_total", "tokens_prompt", "context_tokens"),
    "uncached": ("usage_input_tokens_no_cache", "input_tokens_no_cache", "uncached_input_tokens"),
    "cached": ("cached_tokens", "input_cached_tokens", "cached_input_tokens", "cached", "cached_prompt_tokens"),
    "cache_read": ("cache_read_input_tokens", "usage_input_tokens_cache_read", "cache_read_tokens"),
    "output": (
        "output_tokens", "output", "usage_output_tokens", "completion_tokens", "n_generated_tokens_total",
        "tokens_completion", "generated_tokens",
    ),
    "cost": ("cost", "cost_usd", "amount", "amount_usd", "amount_value", "total_cost", "usd", "spend"),
    "currency": ("currency", "amount_currency", "cost_currency"),
    "requests": ("requests", "n_requests", "num_requests", "num_model_requests", "request_count"),
}  # fmt: skip
"""What exports call each column; case and spaces do not matter. `cached` tokens are among those of `input`; those of
`cache_read`, `uncached` and the columns of tokens written into a cache are not, and are added to them."""
_CACHE_WRITES = re.compile(r"(?:usage_input_tokens_)?cache_(?:creation|write)[a-z0-9_]*")
_YEARS = range(2000, 2101)
_MOST_TOKENS = 1e18


class Tokens(NamedTuple):
    """Tokens, those read from a cache counted in `input`; money where the export gives it; requests likewise."""

    input: float = 0.0
    cached: float = 0.0
    output: float = 0.0
    usd: float = 0.0
    requests: float = 0.0

    def plus(self, other: Tokens) -> Tokens:
        """Both together."""
        return Tokens(*(one + two for one, two in zip(self, other, strict=True)))


class Skipped(NamedTuple):
    """A row that was not counted, and why, as a code."""

    line: int
    reason: str


class _NotCounted(Exception):  # noqa: N818 - it skips a row, and leaves this file never
    """A row is not counted, for this reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True, eq=False)
class Usage:
    """What was used from the first to the last day, days without a row included.

    `rows_with_cost` of the `kept` rows gave what they cost; `skipped` the others, in file order.
    """

    by_day: Mapping[date, Tokens]
    by_model: Mapping[str, Tokens]
    read: int
    kept: int
    rows_with_cost: int
    skipped: tuple[Skipped, ...]

    @property
    def total(self) -> Tokens:
        """Everything of the kept rows."""
        return _sum(self.by_day.values())

    @property
    def days(self) -> int:
        """Days from the first to the last, both included."""
        return (max(self.by_day) - min(self.by_day)).days + 1

    @property
    def mean_day(self) -> Tokens:
        """What a day takes on average."""
        return Tokens(*(value / self.days for value in self.total))

    @property
    def peak_day(self) -> date:
        """The day of the most output tokens, or input tokens where there is no output."""
        place = 2 if self.total.output else 0
        return max(sorted(self.by_day), key=lambda day: self.by_day[day][place])

    @property
    def peak_over_mean(self) -> float:
        """The busiest day over the mean one."""
        place = 2 if self.total.output else 0
        mean = self.mean_day[place]
        return self.by_day[self.peak_day][place] / mean if mean else 1.0

    @property
    def cached_share(self) -> float:
        """The share of input tokens that were read from a cache."""
        return self.total.cached / self.total.input if self.total.input else 0.0

    @property
    def usd_per_month(self) -> float | None:
        """Today's bill for a month of such days [USD]; None where the export gives no cost."""
        if not self.rows_with_cost:
            return None
        return self.mean_day.usd * HOURS_PER_MONTH / HOURS_PER_DAY

    @property
    def reasons(self) -> Mapping[str, int]:
        """How many rows were skipped for each reason."""
        return Counter(one.reason for one in self.skipped)


def _sum(parts: Collection[Tokens]) -> Tokens:
    total = Tokens()
    for part in parts:
        total = total.plus(part)
    return total


def read_usage(
    path: str | Path | Given,
    *,
    parse_amount: Callable[[str], Amount],
    as_of: date,
    models: Collection[str] = (),
) -> Usage:
    """The usage in a CSV export; rows that cannot be read are skipped and told.

    parse_amount : reads a text amount; as_of : later rows are skipped; models : keep these alone (empty: all).

    Raises: InputError where the file, its header or every row cannot be read, and for an amount that two number
    formats read differently.
    """
    file = str(path)
    try:
        return _read(path, parse_amount, as_of, frozenset(model.lower() for model in models))
    except BreakevenError as error:
        error.place = "column"
        raise error.at(file=file) from None


def _read(
    path: str | Path | Given, parse_amount: Callable[[str], Amount], as_of: date, models: Collection[str]
) -> Usage:
    lines = iter(read_lines(path))
    first = next(lines, None)
    if first is None or not first.strip():
        raise InputError("file-empty")
    delimiter = max(",;\t", key=first.count)
    header = next(csv.reader([first], delimiter=delimiter))
    reader = _RowReader(_places(header), len(header), parse_amount, as_of, models)
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    by_day: dict[date, Tokens] = defaultdict(Tokens)
    by_model: dict[str, Tokens] = defaultdict(Tokens)
    skipped: list[Skipped] = []
    read = with_cost = 0
    try:
        for cells in rows:
            line = rows.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            read += 1
            try:
                day, model, tokens, has_cost = reader.read(cells)
            except _NotCounted as skip:
                skipped.append(Skipped(line, skip.reason))
                continue
            except InputError as error:
                if error.code in {"ambiguous-amount", "ambiguous-dot"}:
                    raise error.at(line=line) from None
                skipped.append(Skipped(line, error.code))
                continue
            by_day[day] = by_day[day].plus(tokens)
            by_model[model] = by_model[model].plus(tokens)
            with_cost += has_cost
    except csv.Error as error:
        raise InputError("csv-syntax", line=rows.line_num + 1, problem=str(error)) from None
    if not by_day:
        reason = Counter(one.reason for one in skipped).most_common(1)
        raise InputError("no-usage", read=read, reason=reason[0][0] if reason else "nothing")
    ordered = dict(sorted(by_model.items(), key=lambda item: (-item[1].output, -item[1].input, item[0])))
    return Usage(dict(sorted(by_day.items())), ordered, read, read - len(skipped), with_cost, tuple(skipped))


def _places(header: Sequence[str]) -> dict[str, list[int]]:
    """Where each quantity stands; tokens written into a cache may have several columns."""
    found: dict[str, list[int]] = {}
    for index, column in enumerate(header):
        name = re.sub(r"[\s()./-]+", "_", column.strip().lower()).strip("_")
        kind = next((kind for kind, aliases in ALIASES.items() if name in aliases), None)
        if kind is None and _CACHE_WRITES.fullmatch(name):
            kind = "cache_write"
        if kind is None:
            continue
        if kind in found and kind != "cache_write":
            raise InputError("usage-column-twice", line=1, key=column.strip(), other=header[found[kind][0]].strip())
        found.setdefault(kind, []).append(index)
    if "date" not in found:
        raise InputError("usage-column-missing", line=1, key="date", known=ALIASES["date"][:4])
    if "input" not in found and "uncached" not in found:
        raise InputError("usage-column-missing", line=1, key="input_tokens", known=ALIASES["input"][:4])
    return found


class _RowReader:
    """Reads the rows under one header."""

    def __init__(
        self,
        places: Mapping[str, Sequence[int]],
        width: int,
        parse_amount: Callable[[str], Amount],
        as_of: date,
        models: Collection[str],
    ) -> None:
        self._places = places
        self._width = width
        self._parse_amount = parse_amount
        self._as_of = as_of
        self._models = models

    def read(self, cells: Sequence[str]) -> tuple[date, str, Tokens, bool]:
        """Day, model, tokens, and whether the row gives its cost.

        Raises: _NotCounted with the reason; InputError where an amount cannot be read.
        """
        if len(cells) != self._width:
            raise _NotCounted("wrong-cell-count")
        day = _day(self._text(cells, "date"))
        if day > self._as_of:
            raise _NotCounted("after-as-of")
        model = self._text(cells, "model")
        if self._models and model.lower() not in self._models:
            raise _NotCounted("other-model")
        told = self._count(cells, "input")
        cached, cache_read = self._count(cells, "cached"), self._count(cells, "cache_read")
        if "input" in self._places and cached > told:
            raise _NotCounted("cached-above-input")
        whole = told + self._count(cells, "uncached") + cache_read + self._count(cells, "cache_write")
        if "input" not in self._places:
            whole += cached
        output, requests = self._count(cells, "output"), self._count(cells, "requests")
        usd = self._usd(cells)
        if not whole and not output and usd is None:
            raise _NotCounted("nothing-used")
        return day, model, Tokens(whole, cached + cache_read, output, usd or 0.0, requests), usd is not None

    def _text(self, cells: Sequence[str], kind: str) -> str:
        return " ".join(cells[index].strip() for index in self._places.get(kind, ()))

    def _count(self, cells: Sequence[str], kind: str) -> float:
        return sum(self._whole(cells[index].strip()) for index in self._places.get(kind, ()))

    def _whole(self, text: str) -> float:
        """A count of tokens; a separator that only groups digits is read, because tokens are whole."""
        if not text or text in {"-", "null", "None", "N/A"}:
            return 0.0
        plain = re.sub(r"(?<=\d)[,\s\u00a0\u202f](?=\d{3}(?!\d))", "", text)
        if not re.fullmatch(r"\d{1,19}(?:\.0+)?", plain, re.ASCII):
            raise _NotCounted("negative-amount" if plain.startswith("-") else "not-whole")
        value = float(plain)
        if value > _MOST_TOKENS:
            raise _NotCounted("out-of-range")
        return value

    def _usd(self, cells: Sequence[str]) -> float | None:
        text, currency = self._text(cells, "cost"), self._text(cells, "currency")
        if not text:
            return None
        if currency and currency.upper() not in {"USD", "US$", "$"}:
            raise _NotCounted("not-usd")
        try:
            return _plain_cost(text)
        except ValueError:
            amount = self._parse_amount(text)
        if amount.currency not in {None, "USD"}:
            raise _NotCounted("not-usd")
        return float(amount.value)


def _plain_cost(text: str) -> float:
    """A cost as machines write it: digits and a point, with an exponent where it is small.

    Raises: ValueError where a person may have written it.
    """
    is_plain = re.fullmatch(r"\d{1,12}(?:\.\d+)?(?:[eE]-?\d{1,2})?", text, re.ASCII)
    if not is_plain or re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", text, re.ASCII):
        raise ValueError(text)
    return float(text)


def _day(text: str) -> date:
    """A day of a date, of a time (its UTC day), or of seconds since 1970."""
    try:
        if re.fullmatch(r"\d{9,10}(?:\.0)?", text, re.ASCII):
            day = datetime.fromtimestamp(float(text), UTC).date()
        elif len(text) > 10:
            when = datetime.fromisoformat(re.sub(r"\s*(?:UTC|Z)$", "+00:00", text))
            day = (when if when.tzinfo is None else when.astimezone(UTC)).date()
        else:
            day = date.fromisoformat(text)
    except (ValueError, OverflowError):
        raise _NotCounted("not-a-date") from None
    if day.year not in _YEARS:
        raise _NotCounted("not-a-date")
    return day
