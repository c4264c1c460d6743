"""Price lists as services publish them: a CSV table or a JSON document, from a file or a URL."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from breakeven.documents import read_text
from breakeven.errors import ExternalError, InputError
from breakeven.offers.book import csv_error
from breakeven.offers.fetching import fetch, is_url, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from breakeven.offers.importing import Request


def csv_catalog(
    lines: Iterable[str], columns: tuple[str, ...], file: str
) -> Iterator[tuple[int, dict[str, str] | str]]:
    """The rows of a table with their line: by column, or as text where a row has not as many cells as the header.

    columns : those that must be there.

    Raises: InputError `file-empty`, `missing-column` or `csv-syntax` (a quote left open would swallow the rows after).
    """
    reader = csv.reader(lines, strict=True)
    line = 0
    try:
        header = next(reader, None)
        if header is None:
            raise InputError("file-empty", file=file)
        missing = [column for column in columns if column not in header]
        if missing:
            raise InputError("missing-column", file=file, line=1, key=missing[0], required=columns)
        line = reader.line_num
        for cells in reader:
            line = reader.line_num
            if cells:
                is_whole = len(cells) == len(header)
                yield line, dict(zip(header, cells, strict=True)) if is_whole else " ".join(cells)
    except csv.Error as error:
        raise csv_error(error, line + 1).at(file=file) from None


def json_list(place: str, request: Request, *, key: str, max_bytes: int) -> tuple[list[Any], dict[str, Any]]:
    """The list under a key of a JSON document, and the document.

    Raises: InputError `not-a-price-list` for a file and ExternalError `not-a-catalog` for a URL that holds none.
    """
    if is_url(place):
        content = fetch(place, allows_private=request.allows_private_addresses, max_bytes=max_bytes)
        text = content.decode("utf-8-sig", "replace")
    else:
        text = read_text(Path(place), max_bytes=max_bytes)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    listed = document.get(key) if isinstance(document, dict) else None
    if not isinstance(listed, list) or not isinstance(document, dict):
        raise not_a_list(place)
    return listed, document


def not_a_list(place: str) -> ExternalError | InputError:
    """The error for a place that holds no price list."""
    if is_url(place):
        return ExternalError("not-a-catalog", text=shown(place))
    return InputError("not-a-price-list", file=place)
