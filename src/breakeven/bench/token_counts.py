"""How many tokens answers have by a tokenizer: a third count beside the server's and that of its events."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from breakeven.errors import ExternalError, InputError

if TYPE_CHECKING:
    from breakeven.bench.answers import Answer
    from breakeven.bench.recording import Exchange


class TokenCounter:
    """Counts the tokens of answers, step by step; shown each exchange that counts.

    by_step : output tokens of the answers that succeeded, without what begins and ends a text; None where a run was
    recorded without its answers.

    Raises: ExternalError `missing-extra`, InputError `bad-tokenizer`.
    """

    def __init__(self, path: str) -> None:
        try:
            library = import_module("tokenizers")
        except ImportError:
            raise ExternalError("missing-extra", extra="tokens", what="tokenizers") from None
        try:
            self._tokenizer: Any = library.Tokenizer.from_file(path)
        except Exception as error:  # noqa: BLE001 - the library raises nothing narrower
            raise InputError("bad-tokenizer", file=path, problem=str(error)[:200]) from None
        self.by_step: dict[int, int | None] = {}

    def __call__(self, exchange: Exchange, answer: Answer) -> None:
        """Count one answer."""
        if exchange.is_warm_up or answer.failure is not None:
            return
        text = answer.reasoning + answer.text
        before = self.by_step.get(exchange.step, 0)
        if before is None or not text:
            self.by_step[exchange.step] = None if answer.output_tokens else before
            return
        self.by_step[exchange.step] = before + len(self._tokenizer.encode(text, add_special_tokens=False).ids)
