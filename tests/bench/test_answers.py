from __future__ import annotations

import json
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.bench.answers import EventSplitter, understand
from breakeven.bench.recording import Exchange, Reads
from tests.bench.scripted import END, HEAD, chunk, event, whole

MS = 1_000_000


def exchange(pieces: list[bytes], ending: str = "complete", gap_ms: int = 10) -> Exchange:
    stamps = array("q", [(1 + place) * gap_ms * MS for place in range(len(pieces))])
    before = array("q", [stamp - 2 * MS for stamp in stamps])
    reads = Reads(stamps, stamps, before, array("I", map(len, pieces)), b"".join(pieces))
    end = stamps[-1] if stamps else 0
    return Exchange(0, 0, "p", 0, 0, 0, end, ending, 0, is_warm_up=False, was_connected=False, attempt=1, reads=reads)


def test_a_right_answer_is_a_success_with_its_counts_and_times() -> None:
    answer = understand(exchange([HEAD, *whole(3)]))
    assert answer.failure is None
    assert list(answer.tokens_ns) == [20 * MS, 30 * MS, 40 * MS]
    assert (answer.input_tokens, answer.output_tokens, answer.finish_reason) == (7, 3, "length")
    assert answer.text == " of of of"
    assert bytes(answer.is_sure) == b"\1\1\1"


@given(st.data())
def test_the_cut_between_reads_changes_nothing_but_times(data: st.DataObject) -> None:
    text = b"".join([HEAD, *whole(4)])
    cuts = sorted(data.draw(st.sets(st.integers(1, len(text) - 1), max_size=12)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    answer = understand(exchange(pieces))
    assert answer.failure is None
    assert (len(answer.tokens_ns), answer.output_tokens, answer.text) == (4, 4, " of of of of")


def test_every_single_cut() -> None:
    text = b"".join([HEAD, *whole(2)])
    for cut in range(1, len(text)):
        answer = understand(exchange([text[:cut], text[cut:]]))
        assert (answer.failure, len(answer.tokens_ns), answer.text) == (None, 2, " of of"), cut


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("space", [b" ", b""])
def test_dialects(line_end: bytes, space: bytes) -> None:
    body = line_end.join(
        [
            b": keep-alive", b"", b"event: message", b"id: 7", b"data:" + space + event(" a")[6:].strip(), b"",
            b"data:" + space + event(" b", "stop")[6:].strip(), b"", b"data:" + space + b"[DONE]", b"", b"",
        ]
    )  # fmt: skip
    for cut in range(1, len(body)):
        answer = understand(exchange([HEAD + chunk(body[:cut]), chunk(body[cut:]), END]))
        assert (answer.failure, answer.text, len(answer.tokens_ns)) == (None, " a b", 2), cut


@given(st.lists(st.binary(max_size=20), max_size=8))
def test_no_bytes_break_the_splitter(pieces: list[bytes]) -> None:
    splitter = EventSplitter()
    one = [part for piece in pieces for part in splitter.feed(piece)] + splitter.end()
    whole_splitter = EventSplitter()
    assert one == whole_splitter.feed(b"".join(pieces)) + whole_splitter.end()


@given(st.binary(max_size=200), st.integers(0, 200))
def test_no_answer_breaks_the_understanding(noise: bytes, at: int) -> None:
    text = b"".join([HEAD, *whole(2)])
    at = min(at, len(text))
    for ending in ("complete", "closed", "reset"):
        understand(exchange([text[:at] + noise + text[at:]], ending))
        understand(exchange([noise], ending))


def test_reasoning_tools_and_roles() -> None:
    role = b'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}\n\n'
    thought = b'data: {"choices":[{"delta":{"reasoning_content":"hm"}}]}\n\n'
    other = b'data: {"choices":[{"delta":{"reasoning":"hm"}}]}\n\n'
    tool = b'data: {"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}\n\n'
    parts = [role, thought, other, tool, event(" a"), event("", "stop")]
    answer = understand(exchange([HEAD, *map(chunk, parts), END]))
    assert answer.failure is None
    assert list(answer.tokens_ns) == [30 * MS, 40 * MS, 50 * MS, 60 * MS]  # the role is no token
    assert (answer.text, answer.reasoning) == (" a", "hmhm")
    assert answer.output_tokens is None


def test_several_events_in_one_read_are_not_resolved() -> None:
    both = chunk(event(" a")) + chunk(event(" b"))
    answer = understand(exchange([HEAD, chunk(event(" x")), both, *whole(0)]))
    assert bytes(answer.is_sure) == b"\1\0\0"


def test_counts_in_every_event() -> None:
    parts = [event(" a", usage={"completion_tokens": 2}), event(" b", usage={"completion_tokens": 5})]
    answer = understand(exchange([HEAD, *map(chunk, parts), chunk(event(None, "stop")), END]))
    assert answer.counts is not None
    assert list(answer.counts) == [2, 5]
    assert answer.output_tokens == 5


def test_cached_and_reasoning_tokens() -> None:
    usage = {
        "prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 1},
    }  # fmt: skip
    answer = understand(exchange([HEAD, chunk(event(" a", "stop", usage=usage)), END]))
    assert (answer.cached_tokens, answer.reasoning_tokens) == (4, 1)


def error(status: int, text: bytes) -> list[bytes]:
    head = b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return [head % (status, len(text)) + text]


@pytest.mark.parametrize(
    ("pieces", "ending", "failure"),
    [
        (error(503, b'{"error":{"message":"busy"}}'), "complete", "http-503"),
        (error(302, b""), "complete", "http-302"),
        ([HEAD, chunk(event(" a")), END], "complete", "truncated"),  # a tidy end, but nothing says that it is over
        ([HEAD, chunk(event(" a"))], "closed", "truncated"),
        ([HEAD, chunk(event(" a"))[:20]], "closed", "truncated"),
        ([HEAD, chunk(event(" a"))], "reset", "reset"),
        ([], "reset", "reset"),
        ([], "closed", "closed"),
        ([], "connect", "connect"),
        ([HEAD, chunk(event(" a"))], "stalled", "stalled"),
        ([HEAD, chunk(event(" a"))], "timeout", "timeout"),
        ([HEAD, chunk(b'data: {"error":{"message":"oops"}}\n\n'), END], "complete", "in-stream-error"),
        ([HEAD, chunk(b"data: not json\n\n"), *whole(1)], "complete", "bad-event"),
        ([HEAD, chunk(b"data: [DONE]\n\n"), END], "complete", "empty"),
        ([b"SSH-2.0-OpenSSH\r\n\r\n"], "broken", "bad-http"),
    ],
)
def test_each_failure_is_told_for_what_it_is(pieces: list[bytes], ending: str, failure: str) -> None:
    assert understand(exchange(pieces, ending)).failure == failure


def test_no_end_mark_but_a_finish_reason_is_a_success() -> None:
    assert understand(exchange([HEAD, chunk(event(" a", "stop")), END])).failure is None


def test_a_body_until_the_connection_ends() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    answer = understand(exchange([head, event(" a"), event(None, "stop")], "complete"))
    assert (answer.failure, answer.text) == (None, " a")


def test_an_answer_that_does_not_stream() -> None:
    text = json.dumps(
        {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}], "usage": {"completion_tokens": 1}}
    )
    answer = understand(exchange(error(200, text.encode())))
    assert (answer.failure, answer.text, answer.output_tokens) == (None, "hi", 1)
    assert bytes(answer.is_sure) == b"\0"
