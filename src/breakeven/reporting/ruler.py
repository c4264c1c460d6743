"""The break-even ruler: a logarithmic axis of speedup, the mark of break-even, and where this job lies.

Left of the mark: rent the cheaper card; right: the dearer; across: not settled.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, NamedTuple

from breakeven.reporting import formats

if TYPE_CHECKING:
    from breakeven.decisions.decision import BreakEven
    from breakeven.reporting.words import Words

WIDTH = 58
_TICKS = (0.1, 0.2, 0.5, 1, 2, 3, 5, 8, 10, 15, 20, 30, 50, 100, 200, 500, 1000)


class Glyphs(NamedTuple):
    """The characters of the ruler."""

    left: str
    line: str
    right: str
    job: str
    solid: str
    hatched: str
    mark: str


UNICODE = Glyphs("├", "─", "┤", "●", "━", "╍", "┃")
ASCII = Glyphs("|", "-", "|", "o", "=", "~", "#")


def ruler_lines(pair: BreakEven, basis: str, words: Words, *, glyphs: Glyphs = UNICODE) -> list[str]:
    """The ruler of a pair of GPUs, three lines of at most 80 columns after a title."""
    values = [1.0, pair.speedup.low, pair.speedup.high]
    if pair.needed_speedup is not None:
        values.append(pair.needed_speedup)
    low = max((tick for tick in _TICKS if tick <= min(values)), default=min(values))
    high = min((tick for tick in _TICKS if tick >= max(values) * 1.15), default=max(values) * 1.15)

    def column(value: float) -> int:
        return round(log(value / low) / log(high / low) * (WIDTH - 1))

    axis = [glyphs.line] * WIDTH
    axis[0], axis[-1] = glyphs.left, glyphs.right
    bar = glyphs.hatched if basis == "predicted" else glyphs.solid
    for place in range(column(pair.speedup.low), column(pair.speedup.high) + 1):
        axis[place] = bar
    job = column(pair.speedup.median)
    axis[job] = glyphs.job
    above = [
        (0, _times(low, words)),
        (job, _times(pair.speedup.median, words)),
        (WIDTH - 1, _times(high, words)),
    ]
    below = [(job, words("this job ({basis:code})", basis=basis))]
    if pair.needed_speedup is not None and abs(column(pair.needed_speedup) - job) < 5:  # no room for both numbers above
        below = [
            (job, words("this job {speedup} ({basis:code})", speedup=_times(pair.speedup.median, words), basis=basis))
        ]
    if pair.needed_speedup is not None:
        mark = column(pair.needed_speedup)
        if mark == job and pair.needed_speedup != pair.speedup.median:  # both are to be seen, on their sides
            mark += 1 if pair.needed_speedup > pair.speedup.median else -1
            mark = max(0, min(WIDTH - 1, mark))
        axis[mark] = glyphs.mark
        above.insert(1, (mark, _times(pair.needed_speedup, words)))
        below.append((mark, words("break-even")))
    title = words(
        "{dear} over {cheap}",
        dear=words.short_gpu(pair.dear.offer.gpu, pair.cheap.offer.gpu),
        cheap=words.short_gpu(pair.cheap.offer.gpu, pair.dear.offer.gpu),
    )
    indent = " " * 11
    return [f" {title}", *(indent + line for line in (_labels(above), "".join(axis), *_stacked(below)))]


def _times(value: float, words: Words) -> str:
    return f"{formats.significant(value, 3, words.locale)}x"


def _labels(labels: list[tuple[int, str]]) -> str:
    """Labels centred on their columns, left to right.

    One that would touch another is left out, break-even and the job last.
    """
    line = [" "] * (WIDTH + 6)
    for place, text in [*sorted(labels[1:-1], key=lambda label: label[0]), labels[0], labels[-1]]:
        start = max(0, min(place - len(text) // 2, WIDTH + 5 - len(text)))
        window = line[max(0, start - 1) : start + len(text) + 1]
        if all(character == " " for character in window):
            line[start : start + len(text)] = text
    return "".join(line).rstrip()


def _stacked(labels: list[tuple[int, str]]) -> list[str]:
    """Labels under the axis, on one line where they fit side by side, else one under the other."""
    lines = []
    ends = 0
    line = ""
    for place, text in sorted(labels):
        start = max(0, min(place - len(text) // 2, WIDTH + 5 - len(text)))
        if line and start < ends + 2:
            lines.append(line)
            line = ""
        line = line.ljust(start) + text
        ends = start + len(text)
    return [*lines, line]
