from __future__ import annotations

import pytest

from breakeven.errors import InputError
from breakeven.jobs.plan import PromptGroup, Prompts
from breakeven.jobs.prompts import generated, prompts_digest, read_prompts

MIX = Prompts(
    short=PromptGroup(count=3, tokens=5), medium=PromptGroup(count=3, tokens=20), long=PromptGroup(count=1, tokens=90)
)


def test_generated_prompts_have_their_lengths_and_no_common_beginning() -> None:
    made = generated(MIX)
    assert [len((one.text or "").split()) for one in made] == [5, 20, 90, 5, 20, 5, 20]
    assert len({(one.text or "")[:20] for one in made}) == 7
    assert prompts_digest(made) == prompts_digest(generated(MIX))
    other = generated(Prompts(short=MIX.short, medium=MIX.medium, long=MIX.long, seed=2))
    assert prompts_digest(other) != prompts_digest(made)


def test_warm_up_has_prompts_of_its_own_as_many_as_needed() -> None:
    measured = {one.text for one in generated(MIX)}
    warm = generated(MIX, purpose="warm-up", count=20)
    assert len(warm) == len({one.text for one in warm}) == 20
    assert not measured & {one.text for one in warm}


def test_prompts_of_a_file() -> None:
    text = '{"prompt": "a", "id": "x", "expected": "b", "at_s": 1.5, "output_tokens": 9}\n\n{"messages": [{"role": "user"}]}\n'
    first, second = read_prompts(text)
    assert (first.id, first.text, first.expected, first.at_s, first.output_tokens) == ("x", "a", "b", 1.5, 9)
    assert first.messages == [{"role": "user", "content": "a"}]
    assert (second.id, second.text) == ("line-3", None)


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("", "no-prompts", None),
        ('{"prompt": "a"}\nnope', "not-json", 2),
        ("[1]", "wrong-kind", 1),
        ("{}", "prompt-not-one", 1),
        ('{"prompt": "a", "messages": []}', "prompt-not-one", 1),
        ('{"prompt": "a", "at_s": "x"}', "not-a-number", 1),
        ('{"prompt": "a", "id": "x"}\n{"prompt": "b", "id": "x"}', "repeated-item", None),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, code: str, line: int | None) -> None:
    with pytest.raises(InputError) as caught:
        read_prompts(text, file="p.jsonl")
    assert (caught.value.code, caught.value.line) == (code, line)
