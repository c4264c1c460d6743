"""The prompts of a replay: generated ones of known length, or those of a file, with a digest over all of them."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from breakeven.errors import InputError
from breakeven.stats.draws import SplitMix64

if TYPE_CHECKING:
    from collections.abc import Sequence

    from breakeven.jobs.plan import Prompts

_TEXT = (
    "the of and to in that for with this from not are have which will can all one has more when who time "
    "if no out so up said what about into than them other new some could these two may then do first any "
    "my now such like our over man me even most made after also did many before must through back years "
    "where much your way well down should because each just those people how too little state good very "
    "make world still own see men work long get here between both life being under never day same another "
    "know while last might us great old year off come since against go came right used take three"
)
_WORDS = tuple(_TEXT.split())
"""Words that are one token each, with the space before, in every byte-level vocabulary of the last years."""
_ROUND = 1_000_000


class Prompt(NamedTuple):
    """One prompt; messages or text, and what is known of it.

    expected : what an exact check wants; at_s : when a trace sends it [s]; output_tokens : of its own.
    """

    id: str
    messages: Sequence[Any] | None
    text: str | None
    output_tokens: int | None = None
    at_s: float | None = None
    expected: Any = None


def generated(asked: Prompts, *, purpose: str = "measured", count: int | None = None, first: int = 0) -> list[Prompt]:
    """Prompts of words, about one token each, mixed so that lengths alternate; none shares its beginning with another.

    purpose : `measured`, or `warm-up` for others of the same lengths; count : that many, the mix repeated, from place
    `first` of it on.
    """
    groups = (("short", asked.short), ("medium", asked.medium), ("long", asked.long))
    sizes = [(name, index, one.tokens) for name, one in groups for index in range(one.count)]
    sizes.sort(key=lambda one: (one[1], one[2]))
    if count is not None and sizes:
        places = [(first + place) % len(sizes) for place in range(count)]
        rounds = [(first + place) // len(sizes) for place in range(count)]
        sizes = [
            (sizes[place][0], _ROUND * round_ + sizes[place][1], sizes[place][2])
            for place, round_ in zip(places, rounds, strict=True)
        ]
    made = []
    for name, index, tokens in sizes:
        named = hashlib.sha256(f"{asked.seed} {purpose} {name} {index}".encode()).digest()
        chance = SplitMix64(int.from_bytes(named[:8], "big"))
        text = " ".join(_WORDS[chance.below(len(_WORDS))] for _ in range(tokens))
        made.append(Prompt(f"{name}-{index}", [{"role": "user", "content": text}], text))
    return made


def read_prompts(text: str, *, file: str | None = None) -> list[Prompt]:
    """The prompts of a file: one JSON object per line with `prompt` or `messages`.

    `id`, `output_tokens`, `at_s` and `expected` may stand beside them.

    Raises: InputError naming the line.
    """
    found: list[Prompt] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            found.append(_prompt(line, number))
        except InputError as error:
            raise error.at(file=file, line=number) from None
    if not found:
        raise InputError("no-prompts", file=file)
    if len({one.id for one in found}) < len(found):
        raise InputError("repeated-item", file=file, key="id", text=_repeated([one.id for one in found]))
    return found


def _repeated(ids: Sequence[str]) -> str:
    return next(one for index, one in enumerate(ids) if one in ids[:index])


def _prompt(line: str, number: int) -> Prompt:
    try:
        given = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError("not-json", text=line[:60]) from None
    if not isinstance(given, dict):
        raise InputError("wrong-kind", found="text", expected="mapping")
    prompt, messages = given.get("prompt"), given.get("messages")
    is_right = isinstance(prompt, str) if messages is None else isinstance(messages, list) and messages
    if not is_right or (prompt is not None and messages is not None):
        raise InputError("prompt-not-one", key="prompt")
    at_s, most = given.get("at_s"), given.get("output_tokens")
    for name, value in (("at_s", at_s), ("output_tokens", most)):
        if value is not None and (
            isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9
        ):
            raise InputError("not-a-number", key=name, text=str(value)[:40])
    name = given.get("id", f"line-{number}")
    return Prompt(
        str(name)[:200],
        messages if messages is not None else [{"role": "user", "content": prompt}],
        prompt,
        None if most is None else int(most),
        None if at_s is None else float(at_s),
        given.get("expected"),
    )


def prompts_digest(prompts: Sequence[Prompt]) -> str:
    """SHA-256 over every prompt in its order, as hexadecimal digits."""
    total = hashlib.sha256()
    for one in prompts:
        total.update(json.dumps(list(one), sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        total.update(b"\n")
    return total.hexdigest()
