"""The predictors that a check compares with a table, without the evidence that the table itself holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.errors import Reason
from breakeven.evidence.record import Kind, ServeSetup, TrainSetup

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from breakeven.evidence.record import Measurement
    from breakeven.prediction.check import Predicts
    from breakeven.prediction.estimate import Estimate

_OTHER_KIND = Reason("declined-kind")


def predictors_without(
    without: Callable[[Measurement], bool], kind: Kind, own: Sequence[Measurement] = ()
) -> tuple[dict[str, Predicts], Callable[[Measurement], str | None] | None]:
    """The predictors of one kind by quantity, and for training whether a row fits into memory."""
    if kind == "serve":
        return _serving(without, own), None
    return _training(without, own)


def _training(
    without: Callable[[Measurement], bool], own: Sequence[Measurement]
) -> tuple[dict[str, Predicts], Callable[[Measurement], str | None]]:
    from breakeven.prediction.memory import TrainMemoryPredictor  # noqa: PLC0415 - each kind loads its own
    from breakeven.prediction.train_time import TrainPredictor  # noqa: PLC0415

    time, memory = TrainPredictor(own, without=without), TrainMemoryPredictor(own, without=without)

    def throughput(row: Measurement, given: Sequence[Measurement]) -> Estimate | Reason:
        if not isinstance(row.setup, TrainSetup):
            return _OTHER_KIND
        return (TrainPredictor((*own, *given), without=without) if given else time).predict(row.setup)

    def peak(row: Measurement, given: Sequence[Measurement]) -> Estimate | Reason:
        if not isinstance(row.setup, TrainSetup):
            return _OTHER_KIND
        told = TrainMemoryPredictor((*own, *given), without=without) if given else memory
        answer = told.predict(row.setup)
        return answer if isinstance(answer, Reason) else answer.estimate

    def fits(row: Measurement) -> str | None:
        if not isinstance(row.setup, TrainSetup):
            return None
        answer = memory.predict(row.setup)
        return None if isinstance(answer, Reason) else answer.fits

    return {"throughput": throughput, "memory": peak}, fits


def _serving(without: Callable[[Measurement], bool], own: Sequence[Measurement]) -> dict[str, Predicts]:
    from breakeven.prediction.serve_time import ServePredictor  # noqa: PLC0415 - each kind loads its own

    server = ServePredictor(own, without=without)

    def of(name: str) -> Predicts:
        def asked(row: Measurement, given: Sequence[Measurement]) -> Estimate | Reason:
            if not isinstance(row.setup, ServeSetup):
                return _OTHER_KIND
            answer: Estimate | Reason = getattr(server, name)(row.setup, given=given)
            return answer

        return asked

    return {"throughput": of("predict"), "ttft": of("predict_ttft"), "tpot": of("predict_tpot")}
