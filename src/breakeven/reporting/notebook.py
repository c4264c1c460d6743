"""A decision in a notebook: verdict, ruler and table, drawn where the extra for it is installed."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from breakeven.errors import ExternalError
from breakeven.reporting.report_blocks import words_of
from breakeven.reporting.terminal import Style, decision_text
from breakeven.reporting.translations import locale_of_environment

if TYPE_CHECKING:
    from breakeven.decisions.decision import Decision
    from breakeven.reporting.words import Words


def decision_html(decision: Decision) -> str:
    """The decision as HTML for a notebook, in the language of the environment.

    Without the extra `report` it is the terminal's text, ruler included, and says what would draw it.
    """
    words = words_of(decision, locale_of_environment())
    try:
        return _drawn(decision, words)
    except ExternalError as error:
        if error.code != "missing-extra":
            raise
    told = words("Charts need an extra: pip install '{package}'", package="breakeven[report]")
    return f"<pre>{escape(decision_text(decision, words, Style()))}</pre><p>{escape(told)}</p>"


def _drawn(decision: Decision, words: Words) -> str:
    from breakeven.reporting.html import decision_fragment, style  # noqa: PLC0415 - only where it is shown

    return f'<div class="breakeven notebook"><style>{style()}</style>{decision_fragment(decision, words)}</div>'
