"""Compile the prices of managed APIs into the shipped list: `compile_api_prices.py DAY=WHEEL...`, oldest first.

Each wheel is one release of genai-prices (MIT), which keeps what API providers publish; DAY is when it was released.
It is read by the interpreter that runs this, which needs what that package needs (pydantic) and breakeven, but not the
package itself. A price that several releases give is one row with the releases that saw it. Prices per million tokens
of plain text are taken, standard and batch, with the steps of long prompts; prices by page, picture, minute or request,
and lines that cost nothing (trials), are left out and counted.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

from breakeven.errors import InputError
from breakeven.llms import names

DATA = Path(__file__).parents[1] / "src" / "breakeven" / "apis" / "data" / "api_prices.json"
SOURCE = "genai-prices, https://github.com/pydantic/genai-prices (MIT)"
COLUMNS = (
    "provider", "model", "llm", "input", "cached", "output", "cache_write", "batch_input", "batch_cached",
    "batch_output", "tiers", "seen",
)  # fmt: skip
KINDS = {"input": "input_mtok", "cached": "cache_read_mtok", "output": "output_mtok"}
BATCH = ":batch"
BY_THE_REQUEST = ("requests_kcount", "input_text_messages_kcount")


def base(price: Any) -> float | None:
    """The price below every step."""
    value = getattr(price, "base", price)
    return None if value is None else float(value)


def tiers(prices: Any) -> list[list[float | None]]:
    """The steps of long prompts: from how many input tokens, and the three prices there."""
    starts = sorted(
        {tier.start for field in KINDS.values() for tier in getattr(getattr(prices, field, None), "tiers", ())}
    )
    return [[start, *(at(getattr(prices, field, None), start) for field in KINDS.values())] for start in starts]


def at(price: Any, tokens: int) -> float | None:
    """The price of a prompt just longer than that."""
    found = base(price)
    for tier in getattr(price, "tiers", ()):
        if tier.start <= tokens:
            found = float(tier.price)
    return found


def spellings(model: str) -> list[str]:
    """Names under which the catalog of models may know what this API serves, and nothing that is only similar."""
    name = re.sub(r"^(?:[a-z]{2,6}\.)?(?:meta|mistral|qwen|deepseek|openai|google)\.", "", model.lower())
    name = re.sub(r":\d+$", "", name.rpartition("/")[2])
    name = re.sub(r"-v\d+$", "", re.sub(r"^databricks-", "", name))
    name = re.sub(r"-(?:turbo|instant|fast|lite|versatile|maas)$", "", re.sub(r"-(?:fp8|fast)-fast$", "", name))
    name = re.sub(r"(\d)p(\d)", r"\1.\2", re.sub(r"^llama-v(\d)", r"llama-\1", name))
    name = re.sub(r"^(?:meta-)?llama-?(\d)[.-](\d)-", r"llama-\1.\2-", name)
    name = re.sub(r"^qwen-(\d)", r"qwen\1", name)
    return [model, name, f"meta-{name}"]


def llm(model: str) -> str | None:
    """The model of the catalog that is served, where the name says exactly which."""
    for spelling in spellings(model):
        try:
            return names.find(spelling)
        except InputError:
            continue
    return None


def dump(wheel: str, day: date) -> dict[str, Any]:
    """The rows of one release, and what was left out."""
    sys.path.insert(0, wheel)
    from genai_prices.data import providers  # type: ignore[import-not-found]  # noqa: PLC0415 - only in the wheel

    when = datetime.combine(day, time(12), UTC)
    rows: dict[str, list[Any]] = {}
    left_out: Counter[str] = Counter()
    for provider in providers:
        for model in provider.models:
            prices = model.get_prices(when)
            batch = model.get_prices(when, {"processing": "batch"})
            standard = [base(getattr(prices, field, None)) for field in KINDS.values()]
            if standard[0] is None:
                left_out["no price per input token"] += 1
            elif any(getattr(prices, field, None) is not None for field in BY_THE_REQUEST):
                left_out["also priced by the request"] += 1
            elif not standard[0] and not standard[2]:
                left_out["costs nothing"] += 1
            else:
                offline = [base(getattr(batch, field, None)) for field in KINDS.values()]
                rows[json.dumps([provider.id, model.id])] = [
                    provider.id, model.id, llm(model.id), *standard, base(getattr(prices, "cache_write_mtok", None)),
                    *(offline if offline != standard else (None, None, None)), tiers(prices),
                ]  # fmt: skip
    return {"rows": with_batch_lines(list(rows.values())), "left_out": left_out}


def with_batch_lines(rows: list[list[Any]]) -> list[list[Any]]:
    """A line `MODEL:batch` is the batch price of MODEL, and no model that answers at once."""
    place = {(row[0], row[1]): row for row in rows}
    kept = []
    for row in rows:
        own = place.get((row[0], row[1].removesuffix(BATCH))) if row[1].endswith(BATCH) else None
        if own is None:
            kept.append(row)
        else:
            own[7:10] = row[3:6]
    return kept


def main(arguments: list[str]) -> int:
    """Compile every release given."""
    merged: dict[str, list[Any]] = {}
    releases = []
    for index, argument in enumerate(arguments):
        day, _, wheel = argument.partition("=")
        done = subprocess.run(
            [sys.executable, __file__, "--dump", wheel, day], stdout=subprocess.PIPE, check=True, text=True
        )
        found = json.loads(done.stdout)
        releases.append({"version": Path(wheel).name.split("-")[1], "seen_at": day})
        for row in found["rows"]:
            merged.setdefault(json.dumps(row), [*row, []])[-1].append(index)
        print(f"{argument}: {len(found['rows'])} prices; left out: {found['left_out']}")
    rows = sorted(merged.values(), key=lambda row: (row[0], row[1].lower(), row[-1]))
    head = {"format": 1, "source": SOURCE, "releases": releases, "columns": COLUMNS}
    body = ",\n".join(json.dumps([compact(cell) for cell in row], separators=(",", ":")) for row in rows)
    DATA.parent.mkdir(exist_ok=True)
    DATA.write_text(f'{json.dumps(head)[:-1]}, "rows": [\n{body}\n]}}\n', encoding="utf-8")
    print(f"{len(rows)} rows, {sum(1 for row in rows if row[2])} of models in the catalog")
    return 0


def compact(cell: Any) -> Any:
    """A whole number without its decimals."""
    return int(cell) if isinstance(cell, float) and cell == int(cell) else cell


if __name__ == "__main__":
    if sys.argv[1:2] == ["--dump"]:
        print(json.dumps(dump(sys.argv[2], date.fromisoformat(sys.argv[3]))))
        raise SystemExit(0)
    raise SystemExit(main(sys.argv[1:]))
