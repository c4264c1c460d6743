"""What no measurement can be: faster than the hardware, or larger than its memory."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING, NamedTuple

from breakeven.errors import Reason
from breakeven.evidence.record import THROUGHPUT, ServeSetup, TrainSetup
from breakeven.gpus.catalog import catalog

if TYPE_CHECKING:
    from breakeven.evidence.record import Measurement

_ROOM = 1.15
"""Sources print gigabytes of 10^9 or of 2^30 bytes; the largest card reports some percent above its nominal size."""


_TRAIN_MARGIN = 1.2
_SERVE_MARGIN = 15.0
"""Above the roofline by that factor nothing is believed. A server's roofline hangs on what sources rarely state (load,
speculative decoding): the largest published factor is below it."""


class Implausible(NamedTuple):
    """A result beyond what the GPU can do: its name, its value, and the limit, in the result's unit."""

    what: str
    value: float
    limit: float


def implausible(row: Measurement) -> Implausible | None:
    """The first result of a row that no run on its GPU can have, None where all are possible or nothing is known."""
    speed = row.results.get(THROUGHPUT[row.kind])
    limit = _fastest(row.setup)
    if speed is not None and limit is not None and speed > limit:
        return Implausible("throughput", speed, limit)
    gpu = catalog().get(row.setup.gpu)
    peak = row.results.get("peak_mem_gb")
    if peak is None or gpu is None or gpu.memory_gb is None:
        return None
    room = _ROOM * gpu.memory_gb * (1 if row.kind == "train" else row.setup.n_gpus or 1)
    return Implausible("memory", peak, room) if peak > room else None


def _fastest(setup: TrainSetup | ServeSetup) -> float | None:
    """Tokens/s per GPU at the peak of the hardware, None where it cannot be told."""
    if isinstance(setup, TrainSetup):
        from breakeven.prediction.train_physics import log_roofline  # noqa: PLC0415 - each kind loads its own
        from breakeven.prediction.train_shape import train_shape  # noqa: PLC0415

        shape = train_shape(setup)
        return None if isinstance(shape, Reason) else _TRAIN_MARGIN * exp(log_roofline(shape))
    from breakeven.prediction.serve_physics import roofline_of  # noqa: PLC0415
    from breakeven.prediction.serve_shape import shape_of  # noqa: PLC0415

    served = shape_of(setup)
    return None if isinstance(served, Reason) else _SERVE_MARGIN * exp(roofline_of(served))
