"""Every code that the sources can raise has words, and every word has its French."""

from __future__ import annotations

import ast
from pathlib import Path
from string import Formatter

import pytest
from babel.messages.pofile import read_po

from breakeven.errors import Caveat, InputError, Reason
from breakeven.reporting.messages import CAVEATS, CODES, ERRORS, REASONS
from breakeven.reporting.translations import FOLDER, locale_of_environment, translated
from breakeven.reporting.words import _FIELDS, Words
from tests.decisions.market import A100, H100, offer

SOURCE = Path(__file__).parents[2] / "src" / "breakeven"


def codes_of(*names: str) -> set[str]:
    """The literal codes given to these constructors anywhere in the sources."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names and node.args:
                if isinstance(node.args[0], ast.JoinedStr):
                    continue
                found |= {
                    leaf.value
                    for leaf in ast.walk(node.args[0])
                    if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str)
                }
    return found


def test_every_error_has_words_and_every_word_an_error() -> None:
    raised = codes_of("InputError", "ExternalError", "UndecidableError")
    # codes chosen from a table or a variable
    raised |= {"file-is-folder", "file-missing", "ambiguous-amount", "ambiguous-dot"}
    assert raised - {""} == set(ERRORS)


def test_every_reason_and_caveat_has_words() -> None:
    assert codes_of("Reason") <= set(REASONS)
    assert codes_of("Caveat") <= set(CAVEATS)


def templates() -> list[str]:
    hints = [hint for _, hint in ERRORS.values() if hint is not None]
    return [*(message for message, _ in ERRORS.values()), *hints, *REASONS.values(), *CAVEATS.values(), *CODES.values()]


def test_every_format_spec_is_one_that_words_know() -> None:
    for template in templates():
        for _, _, spec, _ in Formatter().parse(template):
            assert spec in {None, "", *_FIELDS}, template


def fields(template: str) -> set[tuple[str | None, str | None]]:
    return {(name, spec) for _, name, spec, _ in Formatter().parse(template) if name is not None}


def test_french_says_everything_with_the_same_values() -> None:
    path = Path(FOLDER) / "fr" / "LC_MESSAGES" / "breakeven.po"
    with path.open("rb") as stream:
        catalog = read_po(stream)
    optional = {"result", "gpu"}  # French says these elsewhere in the sentence, or not at all
    for message in catalog:
        if not message.id:
            continue
        ids = message.id if isinstance(message.id, tuple) else (message.id,)
        strings = message.string if isinstance(message.string, tuple) else (message.string,)
        assert all(strings), message.id
        for text in strings:
            missing = fields(str(ids[-1])) - fields(str(text))
            assert {name for name, _ in missing} <= optional, message.id
            assert fields(str(text)) <= fields(str(ids[-1])) | fields(str(ids[0])), message.id


def test_the_compiled_catalog_is_that_of_the_texts() -> None:
    path = Path(FOLDER) / "fr" / "LC_MESSAGES" / "breakeven.po"
    with path.open("rb") as stream:
        catalog = read_po(stream)
    for message in catalog:
        if message.id and isinstance(message.id, str):
            assert translated(message.id, "fr") == message.string


@pytest.mark.parametrize(
    ("environment", "locale"),
    [
        ({}, "en"),
        ({"LANG": "fr_CA.UTF-8"}, "fr"),
        ({"LC_ALL": "C", "LANG": "fr_FR"}, "en"),
        ({"LC_MESSAGES": "fr", "LANG": "en_US"}, "fr"),
    ],
)
def test_the_environment_chooses_the_language(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], locale: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert locale_of_environment() == locale


def test_names() -> None:
    words = Words("en")
    assert words.gpu(A100) == "A100 SXM 80\u00a0GB"
    assert words.gpu("nvidia-h100-nvl-94gb") == "H100 NVL 94\u00a0GB"
    assert words.gpu("nvidia-gh200-superchip-96gb") == "GH200 96\u00a0GB"
    assert words.gpu("nobody-knows") == "nobody-knows"
    assert words.short_gpu(H100, A100) == "H100"
    assert words.short_gpu(H100, "nvidia-h100-pcie-80gb") == "H100 SXM 80\u00a0GB"
    line = offer(
        A100, 1.0, "lambda", market="interruptible", region="eu", tier="secure", is_private=True, instance="x8"
    )
    assert words.offer(line) == "Lambda secure A100 SXM 80\u00a0GB, interruptible, x8, eu, private"


def test_values_from_others_are_shown_not_obeyed() -> None:
    error = InputError("unknown-gpu", text="{0.__class__}\x1b[31m" + "x" * 100, candidates=())
    text = Words("en").error(error)
    assert "{0.__class__}?[31m" in text
    assert "..." in text
    assert "Did you mean" not in text
    assert "breakeven gpus list" in text
    assert (
        Words("en").caveat(Caveat("unsourced", offers=("a", "b", "c", "d"))) == "No source is given: a, b and 2 more."
    )
    assert (
        Words("fr").reason(Reason("budget", usd=2.0, budget_usd=1.5)) == "coûte 2,00\u00a0$, le budget est 1,50\u00a0$"
    )
