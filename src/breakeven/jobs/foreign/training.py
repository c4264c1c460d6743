"""What the training tools have in common: model, batch, precision, sharding, length of the run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from breakeven.errors import InputError
from breakeven.llms import names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from breakeven.jobs.foreign.reading import Reading

_OPTIMIZERS = {
    "adamw_torch": "adamw", "adamw_torch_fused": "adamw", "adamw_torch_xla": "adamw", "adamw_hf": "adamw",
    "adamw_apex_fused": "adamw", "adamw_bnb_8bit": "adamw-8bit", "adamw_8bit": "adamw-8bit",
    "adamw_torch_8bit": "adamw-8bit", "adamw_torch_4bit": "adamw-4bit", "paged_adamw": "paged-adamw",
    "paged_adamw_32bit": "paged-adamw", "paged_adamw_8bit": "paged-adamw-8bit", "adamw8bit": "adamw-8bit",
    "pagedadamw": "paged-adamw", "pagedadamw8bit": "paged-adamw-8bit", "adamw4bit": "adamw-4bit",
    "adam8bit": "adam-8bit",
}  # fmt: skip
_ATTENTION = {
    "flash_attention_2": "flash-2", "fa2": "flash-2", "flash_attn_2": "flash-2", "flash_attention_3": "flash-3",
    "fa3": "flash-3", "flex_attention": "flex", "disabled": "eager",
}  # fmt: skip
_STAGE = re.compile(r"(?:zero|stage|z)[_-]?(?:stage)?[_-]?([0-3])(?![0-9])", re.IGNORECASE | re.ASCII)
_STAGES = {"0": "ddp", "1": "zero-1", "2": "zero-2", "3": "zero-3"}
_SHARDING = {
    "full_shard": "fsdp", "hybrid_shard": "fsdp", "hybrid_shard_zero2": "zero-2", "shard_grad_op": "zero-2",
    "no_shard": "ddp",
}  # fmt: skip


def take_model(reading: Reading, source: str) -> None:
    """The model by its catalog id; one that the catalog lacks is asked for, never guessed."""
    text = reading.text(source)
    if text is None:
        reading.ask("model", "model-not-stated")
        return
    try:
        reading.take(source, "model", names.find(text))
    except InputError as error:
        reading.overlook(source)
        near = tuple(error.values.get("candidates") or ())
        if near:
            reading.ask("model", "model-unknown-near", text=text, candidates=near)
        else:
            reading.ask("model", "model-unknown", text=text)


def take_precision(reading: Reading, flags: dict[str, str]) -> None:
    """The compute precision, from flags such as `bf16: true`; `auto` and `full` are told."""
    on, off = [], set()
    for source, precision in flags.items():
        text = (reading.text(source) or "").lower()
        if text in {"auto", "full"}:
            reading.doubt(source, "precision-auto" if text == "auto" else "pure-16-bit")
        if text in {"auto", "full"} or reading.flag(source):
            on.append((source, precision))
        elif text:
            off.add(precision)
    chosen = [one for one in on if one[1] == "fp8"] or [one for one in on if one[1] != "tf32"]
    if not chosen and {"bf16", "fp16"} <= off:
        chosen = on or [(next(iter(flags)), "fp32")]
    if len({precision for _, precision in chosen}) > 1:
        reading.ask("precision", "precision-twice")
    elif chosen:
        reading.take(*chosen[0][:1], "precision", chosen[0][1])
    else:
        reading.ask("precision", "not-stated")


def take_optimizer(reading: Reading, source: str) -> None:
    """The optimizer, by the name that tools share."""
    text = reading.text(source)
    if text is None:
        reading.ask("stack.optimizer", "not-stated")
        return
    name = text.rpartition(".")[2].lower()
    reading.take(source, "stack.optimizer", _OPTIMIZERS.get(name, name.replace("_", "-")))


def take_attention(reading: Reading, source: str) -> None:
    """The attention kernel."""
    text = reading.text(source)
    if text is None or text.lower() == "auto":
        return
    name = text.rpartition("/")[2].lower()
    known = _ATTENTION.get(name)
    if known is None and re.search(r"flash-?attn-?3", name):
        known = "flash-3"
    reading.take(source, "stack.attention", known or name.replace("_", "-"))


def take_recompute(reading: Reading, source: str, default: str) -> None:
    """Recomputation from `gradient_checkpointing`, a flag or the name of a way to do it."""
    text = (reading.text(source) or "").lower()
    if text in {"unsloth", "offload", "offload_disk"}:
        reading.doubt(source, "offload")
        reading.take(source, "recompute", "full")
    elif text:
        reading.take(source, "recompute", "full" if reading.flag(source) else "none")
    reading.ask("recompute", "not-stated", default)


def take_rank(reading: Reading, source: str) -> None:
    """The rank of the adapters, where there are any."""
    if reading.settled("method") in {"lora", "qlora"}:
        rank = reading.whole(source, "lora_rank")
        if rank is None:
            reading.ask("lora_rank", "not-stated")
        else:
            reading.take(source, "lora_rank", rank)


def take_deepspeed(reading: Reading, source: str = "deepspeed") -> None:
    """The ZeRO stage, from the name of the DeepSpeed file, or from its settings where they are written out."""
    inline = f"{source}.zero_optimization.stage"
    if reading.has(inline):
        text = reading.text(inline) or ""
        if text not in _STAGES:
            raise reading.wrong("not-a-choice", inline, text=text[:80], choices=tuple(_STAGES), candidates=())
        reading.take(inline, "parallelism", _STAGES[text])
        for part in ("offload_optimizer", "offload_param"):
            if (reading.text(f"{source}.zero_optimization.{part}.device") or "none").lower() != "none":
                reading.doubt(f"{source}.zero_optimization.{part}.device", "offload")
    elif reading.is_on(source) and not reading.has(f"{source}.zero_optimization"):
        text = reading.text(source) or ""
        file = re.split(r"[/\\]", text)[-1]
        stage = _STAGE.search(file)
        if stage is None:
            reading.overlook(source)
            reading.ask("parallelism", "deepspeed-elsewhere", text=text)
        else:
            reading.take(source, "parallelism", _STAGES[stage[1]])
        if "offload" in file.lower():
            reading.doubt(source, "offload")


def take_fsdp(reading: Reading, *, config_suffices: bool) -> None:
    """Sharding by FSDP.

    config_suffices : `fsdp_config` alone turns it on (else it only refines `fsdp`).
    """
    options = [option.lower() for option in reading.texts("fsdp")] if reading.is_on("fsdp") else []
    if not options and not (config_suffices and reading.is_on("fsdp_config")):
        return
    source = "fsdp" if options else "fsdp_config"
    strategy = next((option for option in options if option in _SHARDING), None)
    for name in ("fsdp_config.fsdp_sharding_strategy", "fsdp_config.sharding_strategy"):
        if reading.has(name):
            source, strategy = name, (reading.text(name) or "").lower()
    for name in ("fsdp_config.reshard_after_forward", "fsdp_config.fsdp_reshard_after_forward"):
        if reading.has(name) and (reading.text(name) or "").lower() in {"false", "no", "off"}:
            source, strategy = name, "shard_grad_op"
    if strategy is not None and strategy.startswith("hybrid"):
        reading.doubt(source, "parallel")
    reading.take(source, "parallelism", _SHARDING.get(strategy or "full_shard", "fsdp"))
    if "offload" in options:
        reading.doubt("fsdp", "offload")
    for prefix in ("", "fsdp_"):
        reading.doubt(f"fsdp_config.{prefix}offload_params", "offload")
        name = f"fsdp_config.{prefix}activation_checkpointing"
        if reading.flag(name):
            reading.take(name, "recompute", "full")


def take_gpus(reading: Reading, sources: Sequence[str]) -> None:
    """The number of GPUs, where one of these settings states it; spread as DDP where nothing else is said."""
    for source in sources:
        count = reading.whole(source, "gpus")
        if count is not None:
            reading.take(source, "gpus", count)
            if count > 1 and all(one.key != "parallelism" for one in reading.asked()):
                reading.take(source, "parallelism", "ddp")
    reading.ask("gpus", "gpus-not-stated", 1)


def take_batch(
    reading: Reading,
    micro_source: str,
    accumulation_source: str,
    *,
    default: int | None,
    data_parallel: int | None,
) -> None:
    """The micro-batch, and the global batch where the number of GPUs in data parallel is known."""
    micro = reading.whole(micro_source, "micro_batch")
    accumulation = reading.whole(accumulation_source, "global_batch")
    if micro is None:
        reading.overlook(accumulation_source)
        reading.ask("micro_batch", "not-stated", default)
        reading.ask("global_batch", "batch-open", accumulation=accumulation or 1)
        return
    reading.take(micro_source, "micro_batch", micro)
    per_gpu = micro * (accumulation or 1)
    if data_parallel is None:
        reading.overlook(accumulation_source)
        reading.ask("global_batch", "batch-per-gpu", per_gpu=per_gpu)
        return
    source = micro_source if accumulation is None else accumulation_source
    if per_gpu * data_parallel > 10**9:
        raise reading.wrong("out-of-range", source, text=str(per_gpu * data_parallel), minimum=1, maximum=1e9)
    reading.take(source, "global_batch", per_gpu * data_parallel)


def take_length(
    reading: Reading,
    epochs_source: str,
    data_source: str,
    *,
    steps: int | None,
    is_limit: bool = False,
    default: float | None,
    datasets: Sequence[str],
) -> None:
    """How long the run is: epochs, or the steps that replace them; the size of the data is asked for.

    steps : optimizer steps, instead of epochs or (`is_limit`) as an upper limit beside them.
    """
    batch = reading.settled("global_batch")
    if steps is not None and not is_limit:
        if batch is not None and steps * batch <= 1e15:
            reading.take("max_steps", "data.examples", steps * batch)
        else:
            reading.overlook("max_steps")
            reading.ask("data.examples", "steps-settle", steps=steps)
    else:
        epochs = reading.number(epochs_source, "data.epochs")
        if epochs is None:
            reading.ask("data.epochs", "not-stated", default)
        else:
            reading.take(epochs_source, "data.epochs", int(epochs) if epochs == int(epochs) else epochs)
        if steps is not None:
            reading.doubt("max_steps", "steps-limit")
        if datasets:
            shown = ", ".join(datasets[:3]) + (", ..." if len(datasets) > 3 else "")
            reading.overlook(data_source)
            reading.ask("data.examples", "dataset-size", text=shown)
        else:
            reading.ask("data.examples", "dataset-size-bare")
    reading.ask("data.tokens_per_example", "tokens-per-example")


def steps_of(reading: Reading, source: str = "max_steps") -> int | None:
    """`max_steps`, where it is positive; -1 and 0 mean that epochs decide.

    Raises: InputError when it is no whole number.
    """
    text = reading.text(source)
    if text is None or text.lstrip("-") == "0" or re.fullmatch(r"-\d+(\.0*)?", text, re.ASCII):
        return None
    return reading.whole(source, "global_batch")
