"""The checklist as text, and the questionnaire to send."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from breakeven.offers.checklist import QUESTIONS
from breakeven.reporting import formats
from breakeven.reporting.formats import printable
from breakeven.reporting.terminal import wrapped

if TYPE_CHECKING:
    from breakeven.offers.checklist import Answer, Checklist
    from breakeven.reporting.terminal import Style
    from breakeven.reporting.words import Words

_MOST_ANSWERS = 4


def checklist_text(checklist: Checklist, words: Words, style: Style) -> str:
    """Each question with what is known, by whom and since when; what nobody knows is marked."""
    if checklist.provider is None:
        title = words("What to ask a provider before you reserve")
    else:
        title = words("What to ask {provider} before you reserve", provider=words.provider(checklist.provider))
    lines = [style.strong(title), ""]
    open_questions = 0
    for number, (key, question) in enumerate(QUESTIONS.items(), start=1):
        lines.extend(wrapped(words(question), f"{number:>2}. ", "    "))
        answers = checklist.answers[key]
        for answer in answers[:_MOST_ANSWERS]:
            lines.extend(wrapped(answer_text(answer, words), "    - ", "      "))
        if len(answers) > _MOST_ANSWERS:
            lines.append("      " + words("... and {n} more like it.", n=len(answers) - _MOST_ANSWERS))
        if not answers:
            open_questions += 1
            lines.append("    ? " + words("nobody knows yet: ask"))
    lines.append("")
    lines.extend(
        wrapped(
            words.count(open_questions, "{n} question is open.", "{n} questions are open.")
            + " "
            + words(
                "A questionnaire to send: breakeven checklist {provider} -o FILE",
                provider=checklist.provider or "PROVIDER",
            ),
            "",
            "",
        )
    )
    return formats.unbroken("\n".join(lines) + "\n", words.locale)


def answer_text(answer: Answer, words: Words) -> str:
    """An answer with who says it, and since when."""
    text = printable(answer.text)
    if answer.seen_at is None and answer.source is None:
        return text
    where = ", ".join(
        part for part in (printable(answer.source or ""), words.date(answer.seen_at) if answer.seen_at else "") if part
    )
    return f"{text} ({where})"


def questionnaire(checklist: Checklist, words: Words) -> str:
    """A YAML file to send: each question with what is known as a comment, and places for answer, source and day."""
    head = words("Fill answer, source and seen_at (a day such as 2026-11-30); leave blank what you do not know.")
    lines = [f"# {head}", f"provider: {_quoted(checklist.provider or '')}", "questions:"]
    for key, question in QUESTIONS.items():
        lines.extend((f"  - key: {key}", f"    question: {_quoted(words(question))}"))
        lines.extend(f"    # {answer_text(answer, words)}" for answer in checklist.answers[key][:_MOST_ANSWERS])
        lines.extend(("    answer:", "    source:", "    seen_at:"))
    return formats.unbroken("\n".join(lines) + "\n", words.locale)


def _quoted(text: str) -> str:
    return '"' + printable(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def checklist_document(checklist: Checklist, words: Words) -> dict[str, Any]:
    """`checklist --json`: an empty list of answers where nobody knows."""
    return {
        "provider": checklist.provider,
        "questions": [
            {
                "key": key,
                "question": formats.unbroken(words(question), words.locale),
                "answers": [
                    {"text": one.text, "source": one.source, "seen_at": one.seen_at, "from_book": one.from_book}
                    for one in checklist.answers[key]
                ],
            }
            for key, question in QUESTIONS.items()
        ],
    }
