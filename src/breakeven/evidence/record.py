"""One measurement of somebody's: what ran on what, and what came out; published ones and your own alike.

The settings (a set-up) are kept apart from the results, so that a prediction can be asked of the settings alone.
Field names and units are those of the measurement tables (see `evidence.table`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Kind = Literal["train", "serve"]
THROUGHPUT: dict[Kind, str] = {"train": "tokens_per_s_per_gpu", "serve": "output_tps_per_gpu"}
"""The result that is a row's throughput, by kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What training and serving set-ups share: hardware, and the shape of the model.

    source : who measured (the repository of a published row), None for a job nobody has run; params_b and
    active_params_b : parameters, in all and used per token [10^9].
    """

    source: str | None = None
    gpu: str
    n_gpus: int | None = None
    model: str | None = None
    params_b: float | None = None
    active_params_b: float | None = None
    n_layers: int | None = None
    d_model: int | None = None
    n_heads: int | None = None
    n_kv_heads: int | None = None
    d_ff: int | None = None
    vocab: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainSetup(Setup):
    """A training run before it ran.

    Batches count sequences; `seq_len` [tokens]; `method` full, lora, qlora, pretrain or another by name; `recompute`
    none, selective, full or None (not stated).
    """

    gpus_per_node: int | None = None
    interconnect: str | None = None
    seq_len: int | None = None
    micro_batch: float | None = None
    global_batch: float | None = None
    grad_accum: float | None = None
    method: str = "pretrain"
    precision: str | None = None
    base_bits: int | None = None
    parallelism: str | None = None
    recompute: str | None = None
    attention: str | None = None
    framework: str | None = None
    year: float | None = None
    """When the software was current, as a year with its fraction."""
    tags: tuple[str, ...] = ()
    """Facts that have no column of their own, such as `packed` or `chunked-loss`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSetup(Setup):
    """A server under load before it was measured.

    `isl`, `osl` input and output tokens per request; `concurrency` requests in flight (or the static batch);
    `scenario` the load in the words of the tables.
    """

    weight_precision: str | None = None
    kv_precision: str | None = None
    engine: str | None = None
    engine_version: str | None = None
    tp: int | None = None
    pp: int | None = None
    ep: int | None = None
    dp: int | None = None
    isl: float | None = None
    osl: float | None = None
    concurrency: float | None = None
    request_rate: str | None = None
    scenario: str | None = None
    tags: tuple[str, ...] = ()
    """Facts that have no column of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """A set-up and its results by name: `tokens_per_s_per_gpu`, `output_tps_per_gpu`, `peak_mem_gb`, ...

    `fits` is "oom" for a run that ended out of memory; results nobody gave are absent, never 0.
    """

    id: str
    kind: Kind
    setup: TrainSetup | ServeSetup
    results: Mapping[str, float]
    fits: str | None = None
    source: str
    path: str | None = None
    version: str | None = None
    """Commit or date of what the source published."""
    is_own: bool = False
