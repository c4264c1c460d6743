"""The break-even ruler: a logarithmic axis of speedup, the mark of break-even, and where this job lies.

Left of the mark: rent the cheaper card; right: the dearer; across: not settled.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, NamedTuple

from breakeven.reporting import formats

if TYPE_CHECKING:
    from breakeven.decisions.decision import BreakEven, Interval
    from breakeven.reporting.words import Words

WIDTH = 58
TICKS = (0.1, 0.2, 0.5, 1, 2, 3, 5, 8, 10, 15, 20, 30, 50, 100, 200, 500, 1000)


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
    title = words(
        "{dear} over {cheap}",
        dear=words.short_gpu(pair.dear.offer.gpu, pair.cheap.offer.gpu),
        cheap=words.short_gpu(pair.cheap.offer.gpu, pair.dear.offer.gpu),
    )
    return [f" {title}", *axis_lines(pair.needed_speedup, pair.speedup, basis, words, glyphs=glyphs)]


def axis_lines(
    needed: float | None, speedup: Interval | None, basis: str, words: Words, *, glyphs: Glyphs = UNICODE
) -> list[str]:
    """The axis with its numbers above and its names below.

    needed : break-even speedup (None: no speedup is enough); speedup : the job's, None where there is no job.
    """
    low, high = axis_ends(needed, speedup)

    def column(value: float) -> int:
        return round(log(value / low) / log(high / low) * (WIDTH - 1))

    axis = [glyphs.line] * WIDTH
    axis[0], axis[-1] = glyphs.left, glyphs.right
    above, below = [(0, _times(low, words))], []
    job = None if speedup is None else column(speedup.median)
    if speedup is not None and job is not None:
        bar = glyphs.hatched if basis == "predicted" else glyphs.solid
        for place in range(column(speedup.low), column(speedup.high) + 1):
            axis[place] = bar
        axis[job] = glyphs.job
        shown = _times(speedup.median, words)
        above.append((job, shown))
        text = words("this job ({basis:code})", basis=basis)
        if needed is not None and abs(column(needed) - job) < 5:  # no room for both numbers above
            text = words("this job {speedup} ({basis:code})", speedup=shown, basis=basis)
        below.append((job, text))
    if needed is not None:
        mark = column(needed)
        if speedup is not None and mark == job and needed != speedup.median:  # both are to be seen, on their sides
            mark = max(0, min(WIDTH - 1, mark + (1 if needed > speedup.median else -1)))
        axis[mark] = glyphs.mark
        above.insert(1, (mark, _times(needed, words)))
        below.append((mark, words("break-even")))
    above.append((WIDTH - 1, _times(high, words)))
    indent = " " * 11
    return [indent + line for line in (_labels(above), "".join(axis), *_stacked(below))]


def axis_ends(needed: float | None, speedup: Interval | None) -> tuple[float, float]:
    """The ends of the axis: round numbers around 1, the job and break-even.

    >>> axis_ends(3.59, None)
    (1, 5)
    """
    values = [1.0, *(() if speedup is None else (speedup.low, speedup.high)), *(() if needed is None else (needed,))]
    low = max((tick for tick in TICKS if tick <= min(values)), default=min(values))
    high = min((tick for tick in TICKS if tick >= max(values) * 1.15), default=max(values) * 1.15)
    return low, high


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
