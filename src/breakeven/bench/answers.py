"""What an exchange meant: its tokens with their times, what the server counted, and whether it was a success.

Streams come as server-sent events in several dialects: any line ending, with or without a space after `data:`,
comments to keep the line alive, events cut anywhere, several tokens in one, reasoning on a channel of its own.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from breakeven.bench.framing import Framing
from breakeven.errors import InputError

try:
    import msgspec
except ImportError:
    msgspec = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator

    from breakeven.bench.recording import Exchange, Reads

_DONE = b"[DONE]"

if msgspec is not None:

    class _Details(msgspec.Struct, gc=False):
        cached_tokens: int | None = None
        reasoning_tokens: int | None = None

    class _Usage(msgspec.Struct, gc=False):
        prompt_tokens: int | None = None
        completion_tokens: int | None = None
        prompt_tokens_details: _Details | None = None
        completion_tokens_details: _Details | None = None

    class _Delta(msgspec.Struct, gc=False):
        content: str | None = None
        reasoning_content: str | None = None
        reasoning: str | None = None
        refusal: str | None = None
        tool_calls: Any = None

    class _Choice(msgspec.Struct, gc=False):
        delta: _Delta | None = None
        message: _Delta | None = None
        text: str | None = None
        finish_reason: str | None = None

    class _Event(msgspec.Struct, gc=False):
        choices: list[_Choice] = msgspec.field(default_factory=list)
        usage: _Usage | None = None
        error: Any = None
        send_ns: int | None = None

    _decode = msgspec.json.Decoder(_Event).decode


@dataclass(slots=True)
class Answer:
    """One answer understood.

    failure : None for a success, else the kind: http-503, connect, reset, truncated, in-stream-error, empty, timeout,
    stalled, wrong-length, bad-event, ...; tokens_ns : when each event with generated content arrived, shape (events,);
    is_sure : whether that time is its own, and not that of a later event in the same read; sent_ns : when the server
    says it sent each (0: it does not); output_tokens, input_tokens, cached_tokens, reasoning_tokens : as the server
    counted, None where it did not.
    """

    failure: str | None = None
    status: int = 0
    tokens_ns: array[int] = field(default_factory=lambda: array("q"))
    is_sure: bytearray = field(default_factory=bytearray)
    sent_ns: array[int] = field(default_factory=lambda: array("q"))
    text: str = ""
    reasoning: str = ""
    finish_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    error: str | None = None
    counts: array[int] | None = None
    """Tokens generated up to each event, where the server says so in every event."""


class EventSplitter:
    """Cuts a body into the data of its events; the pieces may be cut between any two bytes."""

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> list[bytes]:
        """The data of the events that this piece completes."""
        text = self._rest + piece if self._rest else piece
        if b"\r" in text:
            held = b"\r" if text.endswith(b"\r") else b""  # half of a line end, perhaps
            text = text[: len(text) - len(held)].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            parts = text.split(b"\n\n")
            self._rest = parts.pop() + held
        else:
            parts = text.split(b"\n\n")
            self._rest = parts.pop()
        found = []
        for part in parts:
            if b"\n" not in part and part[:5] == b"data:":
                found.append(part[6:] if part[5:6] == b" " else part[5:])
            else:
                data = _data(part)
                if data is not None:
                    found.append(data)
        return found

    def end(self) -> list[bytes]:
        """What stands after the last blank line, where the body ended."""
        rest, self._rest = self._rest, b""
        data = _data(rest.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))
        return [] if data is None else [data]


def _data(part: bytes) -> bytes | None:
    """The data lines of an event joined; None where it has none."""
    lines = []
    for line in part.split(b"\n"):
        if line[:5] == b"data:":
            lines.append(line[6:] if line[5:6] == b" " else line[5:])
        elif line == b"data":
            lines.append(b"")
    return b"\n".join(lines) if lines else None


_SURE_WITHIN_NS = 1_000_000
"""Events in one read that all came within that time of each other are as good as stamped each."""


def check_extra() -> None:
    """Whether the packages of the extra `bench` are there.

    Raises: InputError `missing-extra`.
    """
    if msgspec is None:
        raise InputError("missing-extra", extra="bench", package="msgspec")
    Framing()


def understand(exchange: Exchange) -> Answer:
    """What came back on an exchange.

    Raises: InputError `missing-extra` without the packages of the extra `bench`.
    """
    check_extra()
    answer, told, framing = Answer(), _Told(), Framing()
    is_stream = _read_body(exchange.reads, framing, answer, told)
    answer.status = framing.status
    if exchange.ending in {"complete", "closed"}:
        framing.end()
    if not is_stream and framing.pieces:
        _whole(b"".join(framing.pieces), answer, told, exchange)
    answer.text, answer.reasoning = "".join(told.text), "".join(told.reasoning)
    if told.has_counts and len(told.counts) == len(answer.tokens_ns):
        answer.counts = told.counts
    answer.failure = _failure(exchange, answer, told, framing)
    return answer


def _read_body(reads: Reads, framing: Framing, answer: Answer, told: _Told) -> bool:
    """Read by read, the events of a stream; whether it is one."""
    splitter = EventSplitter()
    is_stream: bool | None = None
    for place, piece in enumerate(_pieces(reads)):
        framing.feed(piece)
        if framing.is_broken:
            break
        if not framing.pieces:
            continue
        if is_stream is None:
            is_stream = framing.status == 200 and b"json" not in framing.headers.get(b"content-type", b"")
        if not is_stream:
            continue
        body = framing.pieces
        events = splitter.feed(body[0] if len(body) == 1 else b"".join(body))
        body.clear()
        if events:
            _take(events, answer, told, reads, place)
    rest = splitter.end() if is_stream else []
    if rest:
        _take(rest, answer, told, reads, len(reads.lengths) - 1)
    return bool(is_stream)


class _Told:
    """What the events said so far."""

    __slots__ = ("counts", "has_counts", "is_bad", "is_done", "reasoning", "text")

    def __init__(self) -> None:
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.counts: array[int] = array("q")
        self.has_counts = True
        self.is_bad = self.is_done = False

    def hears(self, choice: Any) -> bool:
        """Take what a choice says; whether anything was generated in it, on whichever channel."""
        delta = choice.delta
        said = choice.text if delta is None else delta.content
        if said:
            self.text.append(said)
            return True
        if delta is None:
            return False
        thought = delta.reasoning_content or delta.reasoning
        if thought:
            self.reasoning.append(thought)
            return True
        return bool(delta.tool_calls or delta.refusal)

    def counted(self, usage: Any) -> None:
        """Take the count that stands beside an event with content."""
        if usage is None or usage.completion_tokens is None:
            self.has_counts = False
        elif self.has_counts:
            self.counts.append(usage.completion_tokens)


def _pieces(reads: Reads) -> Iterator[bytes]:
    at = 0
    content = reads.content
    for length in reads.lengths:
        yield content[at : at + length]
        at += length


def _take(events: list[bytes], answer: Answer, told: _Told, reads: Reads, place: int) -> None:
    """The events of one read."""
    stamp = reads.stamps_ns[place]
    first = len(answer.tokens_ns)
    for data in events:
        if data == _DONE or data.strip() == _DONE:
            told.is_done = True
            continue
        try:
            event = _decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            told.is_bad = True
            continue
        if event.error is not None:
            answer.error = str(event.error)[:500]
        for choice in event.choices:
            if choice.finish_reason is not None:
                answer.finish_reason = choice.finish_reason
            if told.hears(choice):
                answer.tokens_ns.append(stamp)
                answer.sent_ns.append(event.send_ns or 0)
                told.counted(event.usage)
        if event.usage is not None:
            _count(answer, event.usage)
    new = len(answer.tokens_ns) - first
    if new == 1:
        answer.is_sure.append(1)
    elif new:
        is_near = stamp - reads.before_ns[place] <= _SURE_WITHIN_NS
        answer.is_sure.extend(bytes([is_near]) + bytes(new - 1))


def _count(answer: Answer, usage: Any) -> None:
    if usage.prompt_tokens is not None:
        answer.input_tokens = usage.prompt_tokens
    if usage.completion_tokens is not None:
        answer.output_tokens = usage.completion_tokens
    if usage.prompt_tokens_details is not None and usage.prompt_tokens_details.cached_tokens is not None:
        answer.cached_tokens = usage.prompt_tokens_details.cached_tokens
    if usage.completion_tokens_details is not None and usage.completion_tokens_details.reasoning_tokens is not None:
        answer.reasoning_tokens = usage.completion_tokens_details.reasoning_tokens


def _whole(body: bytes, answer: Answer, told: _Told, exchange: Exchange) -> None:
    """An answer that did not stream: an error, or all tokens at once."""
    try:
        event = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        answer.error = body[:200].decode("utf-8", "replace")
        told.is_bad = True
        return
    if event.error is not None:
        answer.error = str(event.error)[:500]
    elif answer.status != 200:
        answer.error = body[:500].decode("utf-8", "replace")
    for choice in event.choices:
        answer.finish_reason = choice.finish_reason or answer.finish_reason
        message = choice.message
        said = choice.text if message is None else message.content
        if said:
            told.text.append(said)
            answer.tokens_ns.append(exchange.end_ns)
            answer.sent_ns.append(0)
            answer.is_sure.append(0)
    told.has_counts = False
    if event.usage is not None:
        _count(answer, event.usage)


def _failure(exchange: Exchange, answer: Answer, told: _Told, framing: Framing) -> str | None:
    """Why it is no success."""
    status, ending = answer.status, exchange.ending
    has_ended = ending in {"complete", "closed"}
    is_cut = ending == "closed" or (ending == "complete" and not framing.is_complete)
    causes = (
        (bool(status) and status != 200 and has_ended, f"http-{status}"),
        (ending == "broken" or framing.is_broken, "bad-http"),
        (answer.error is not None and status == 200, "in-stream-error"),
        (ending == "closed" and not exchange.reads.lengths, "closed"),
        (is_cut, "truncated"),
        (not has_ended, ending),
        (told.is_bad, "bad-event"),
        (not answer.tokens_ns, "empty"),
        (answer.finish_reason is None and not told.is_done, "truncated"),
    )
    return next((kind for is_so, kind in causes if is_so), None)
