from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.errors import BreakevenError, InputError
from breakeven.jobs.job import Check, Job, Range
from breakeven.jobs.read import read_job

INTERFACE = """
job: qlora-8b-10k-pairs              # id
describe: QLoRA of Llama 3.1 8B on 10,000 pairs
task: finetune
method: qlora
objective: sft
model: llama-3.1-8b
precision: bf16
base_bits: 4
data: {examples: 10000, tokens_per_example: 350, max_tokens_per_example: 2048, epochs: 3}
sequence_length: 2048
micro_batch: 4
global_batch: 32
recompute: full
parallelism: fsdp
stack: {framework: axolotl, attention: flash-2}
gpus: 1
known:
  nvidia-a100-sxm-80gb: {hours: 1.5}
  nvidia-h100-sxm-80gb: {speedup: 1.8, over: nvidia-a100-sxm-80gb}
result: run
acceptance: []
success_rate: 1.0
failure: end
overheads: {storage_gb: 0, storage_hours: , egress_gb: 0, idle_hours: 0, orchestration_usd: 0}
interruptions: {per_machine_hour: 0.05, checkpoint_every: auto, checkpoint_write_s: 60, restart_s: 360, wait_s: 600}
wait_h: 0
overrides:
  - {when: {provider: runpod, tier: community}, success_rate: 0.9}
limits: {deadline_h: 12, budget_usd: 50, gpus: [], providers: [], tiers: [], markets: [on-demand, interruptible], regions: [], compliance: [], memory_gb: }
delay_usd_per_h: 0
runs: 20
traffic: {requests_per_s: 4, peak_requests_per_s: 12, input_tokens: 1200, output_tokens: 300, cached_share: 0, batch_share: 0, hours_per_day: 24}
operations: {usd_per_month: 0, target_utilisation: 0.7}
users: {count: 8, hours_per_day: 4}
targets: {ttft_p95_ms: 500, itl_p95_ms: 50, e2e_p95_ms: }
apis: [provider/model]
"""


def test_the_whole_job_file_of_the_interface_is_read() -> None:
    job = read_job(INTERFACE)
    assert job.gpus == (1,)
    assert job.known["nvidia-h100-sxm-80gb"].speedup == Range(1.8, 1.8)
    assert job.overrides[0].success_rate == 0.9
    assert job.overrides[0].when.tier == "community"
    assert job.overheads.storage_hours is None
    assert job.limits.deadline_h == 12
    assert job.limits.memory_gb is None
    assert job.targets.e2e_p95_ms is None
    assert job.data.epochs == 3
    assert job.usd_per == "run"


def test_every_key_has_a_rule_and_a_default_of_the_interface() -> None:
    job = read_job("job: x")
    assert (job.success_rate, job.failure, job.runs, job.wait_h, job.delay_usd_per_h) == (1.0, "end", 1.0, 0.0, 0.0)
    assert job.limits.markets == ("on-demand", "interruptible")
    assert (job.interruptions.per_machine_hour, job.interruptions.checkpoint_every) == (None, "auto")
    assert (job.interruptions.checkpoint_write_s, job.interruptions.restart_s, job.interruptions.wait_s) == (
        60,
        360,
        600,
    )
    assert job.operations.target_utilisation == 0.7
    for one in fields(Job):
        assert one.metadata["key"].help
        value = getattr(job, one.name)
        if is_dataclass(value):
            assert all(inner.metadata["key"].help for inner in fields(value))


def test_quantities_take_the_usual_suffixes() -> None:
    job = read_job(
        "job: x\ndata: {examples: 10k, tokens_per_example: 1.5k}\nlimits: {deadline_h: 3d}\nwait_h: 30m\n"
        "interruptions: {checkpoint_every: 90m, restart_s: 6m, wait_s: 10min}\ntargets: {ttft_p95_ms: 0.5s, itl_p95_ms: 50ms}\n"
        "known: {nvidia-a100-sxm-80gb: {hours: [90m, 2h]}}\ngpus: [8, 16]\nruns: 1k\n"
    )
    assert job.data.examples == 10_000
    assert job.limits.deadline_h == 72
    assert job.wait_h == 0.5
    assert (job.interruptions.checkpoint_every, job.interruptions.restart_s, job.interruptions.wait_s) == (
        1.5,
        360,
        600,
    )
    assert (job.targets.ttft_p95_ms, job.targets.itl_p95_ms) == (500, 50)
    assert job.known["nvidia-a100-sxm-80gb"].hours == Range(1.5, 2)
    assert job.gpus == (8, 16)


def test_flags_are_true_or_false_in_any_case() -> None:
    job = read_job("job: x\npacking: True\nlora_rank: 16\nkv_bits: 8\ntraffic: {concurrency: 64}\n")
    assert (job.packing, job.lora_rank, job.kv_bits, job.traffic.concurrency) == (True, 16, 8, 64)
    assert read_job("job: x\npacking: false").packing is False
    assert read_job("job: x").packing is None


def test_checks_keep_their_parameters() -> None:
    job = read_job("job: x\nacceptance: [not-empty, {regex: '^ok'}, {length: {min: 3}}]\n")
    assert job.acceptance == (Check("not-empty", None), Check("regex", "^ok"), Check("length", {"min": "3"}))


@pytest.mark.parametrize(
    ("task", "unit"),
    [("finetune", "run"), ("inference", "million-tokens"), ("notebook", "user-hour"), ("pretrain", "run")],
)
def test_the_accepted_result_follows_the_task(task: str, unit: str) -> None:
    assert read_job(f"job: x\ntask: {task}").usd_per == unit
    assert read_job(f"job: x\ntask: {task}\nresult: checkpoint").usd_per == "checkpoint"


A100, H100 = "nvidia-a100-sxm-80gb", "nvidia-h100-sxm-80gb"
MALFORMED: dict[str, tuple[str, str, str | None, int | None]] = {
    "no id": ("task: finetune", "missing-key", "job", 1),
    "a list": ("- job: x", "wrong-kind", None, 1),
    "a text": ("hello", "wrong-kind", None, 1),
    "empty": ("", "file-empty", None, None),
    "only comments": ("# hi\n", "file-empty", None, None),
    "blank id": ("job: ''", "unprintable-text", "job", 1),
    "id is a list": ("job: [x]", "wrong-kind", "job", 1),
    "control characters in the id": ('job: "a\\u001b[31m"', "unprintable-text", "job", 1),
    "unknown key": ("job: x\ngpu: 1", "unknown-key", "gpu", 2),
    "misspelt key": ("job: x\nsucess_rate: 1", "unknown-key", "sucess_rate", 2),
    "unknown inner key": ("job: x\nlimits: {dedline_h: 3}", "unknown-key", "limits.dedline_h", 2),
    "unknown known key": (f"job: x\nknown:\n  {A100}: {{hour: 2}}", "unknown-key", f"known.{A100}.hour", 3),
    "unknown override key": (
        "job: x\noverrides: [{when: {tier: a}, price: 2}]",
        "unknown-key",
        "overrides[0].price",
        2,
    ),
    "unknown when key": ("job: x\noverrides: [{when: {teer: a}}]", "unknown-key", "overrides[0].when.teer", 2),
    "key twice": ("job: x\ngpus: 1\ngpus: 2", "duplicate-key", "gpus", 3),
    "inner key twice": ("job: x\nlimits: {tiers: [], tiers: []}", "duplicate-key", "tiers", 2),
    "two documents": ("job: x\n---\njob: y", "yaml-several-documents", None, 2),
    "alias": ("job: &a x\ndescribe: *a", "yaml-alias", None, 1),
    "tag": ("job: !!python/name:os.system x", "yaml-tag", None, 1),
    "bad YAML": ("job: [x", "yaml-syntax", None, None),
    "deep": ("job: x\nstack: " + "{a: " * 50, "yaml-too-deep", None, 2),
    "unknown task": ("job: x\ntask: finetun", "not-a-choice", "task", 2),
    "task is a mapping": ("job: x\ntask: {a: b}", "wrong-kind", "task", 2),
    "unknown method": ("job: x\nmethod: dora", "not-a-choice", "method", 2),
    "unknown objective": ("job: x\nobjective: ppo", "not-a-choice", "objective", 2),
    "unknown precision": ("job: x\nprecision: bf17", "not-a-choice", "precision", 2),
    "unknown recompute": ("job: x\nrecompute: yes", "not-a-choice", "recompute", 2),
    "unknown parallelism": ("job: x\nparallelism: zero", "not-a-choice", "parallelism", 2),
    "unknown result": ("job: x\nresult: epoch", "not-a-choice", "result", 2),
    "unknown failure": ("job: x\nfailure: late", "not-a-choice", "failure", 2),
    "unknown market": ("job: x\nlimits: {markets: [spot]}", "not-a-choice", "limits.markets[0]", 2),
    "no market": ("job: x\nlimits: {markets: []}", "empty-list", "limits.markets", 2),
    "unknown check": ("job: x\nacceptance: [vibes]", "not-a-choice", "acceptance", 2),
    "two checks in one": ("job: x\nacceptance: [{json: , regex: a}]", "check-not-one", "acceptance", 2),
    "checks as a mapping": ("job: x\nacceptance: {json: }", "wrong-kind", "acceptance", 2),
    "unknown model": ("job: x\nmodel: llama-3.1-9b", "unknown-model", "model", 2),
    "hub id that nobody knows": ("job: x\nmodel: acme/Llama-3.1-9B", "unknown-model", "model", 2),
    "packing misspelt": ("job: x\npacking: maybe", "not-a-choice", "packing", 2),
    "no rank": ("job: x\nlora_rank: 0", "out-of-range", "lora_rank", 2),
    "one bit": ("job: x\nkv_bits: 1", "out-of-range", "kv_bits", 2),
    "no concurrency": ("job: x\ntraffic: {concurrency: 0}", "out-of-range", "traffic.concurrency", 2),
    "no GPUs": ("job: x\ngpus: 0", "out-of-range", "gpus", 2),
    "negative GPUs": ("job: x\ngpus: -1", "out-of-range", "gpus", 2),
    "half a GPU": ("job: x\ngpus: 1.5", "not-whole", "gpus", 2),
    "a million GPUs": ("job: x\ngpus: 1M", "out-of-range", "gpus", 2),
    "no counts": ("job: x\ngpus: []", "empty-list", "gpus", 2),
    "a count twice": ("job: x\ngpus: [1, 1]", "repeated-item", "gpus[1]", 2),
    "GPUs as a name": ("job: x\ngpus: H100", "not-a-number", "gpus", 2),
    "GPUs as NaN": ("job: x\ngpus: .nan", "not-a-number", "gpus", 2),
    "GPUs as infinity": ("job: x\ngpus: .inf", "not-a-number", "gpus", 2),
    "French number": ("job: x\nwait_h: '1,5'", "not-a-number", "wait_h", 2),
    "English thousands": ("job: x\ndata: {examples: '10,000'}", "not-a-number", "data.examples", 2),
    "underscores": ("job: x\ndata: {examples: 10_000}", "not-a-number", "data.examples", 2),
    "no success": ("job: x\nsuccess_rate: 0", "out-of-range", "success_rate", 2),
    "success in percent": ("job: x\nsuccess_rate: 95", "out-of-range", "success_rate", 2),
    "success as text": ("job: x\nsuccess_rate: high", "not-a-number", "success_rate", 2),
    "negative deadline": ("job: x\nlimits: {deadline_h: -3}", "out-of-range", "limits.deadline_h", 2),
    "absurd deadline": ("job: x\nlimits: {deadline_h: 1e9}", "out-of-range", "limits.deadline_h", 2),
    "deadline in months": ("job: x\nlimits: {deadline_h: 2mo}", "unknown-suffix", "limits.deadline_h", 2),
    "no budget": ("job: x\nlimits: {budget_usd: 0}", "out-of-range", "limits.budget_usd", 2),
    "limits as a list": ("job: x\nlimits: [a]", "wrong-kind", "limits", 2),
    "providers as a text": ("job: x\nlimits: {providers: runpod}", "wrong-kind", "limits.providers", 2),
    "ambiguous GPU limit": ("job: x\nlimits: {gpus: [H100]}", "ambiguous-gpu", "limits.gpus[0]", 2),
    "unknown GPU limit": ("job: x\nlimits: {gpus: [foo]}", "unknown-gpu", "limits.gpus[0]", 2),
    "negative overhead": ("job: x\noverheads: {storage_gb: -1}", "out-of-range", "overheads.storage_gb", 2),
    "interval without unit": (
        "job: x\ninterruptions: {checkpoint_every: 30}",
        "no-unit",
        "interruptions.checkpoint_every",
        2,
    ),
    "interval of nothing": (
        "job: x\ninterruptions: {checkpoint_every: 0m}",
        "out-of-range",
        "interruptions.checkpoint_every",
        2,
    ),
    "interval misspelt": (
        "job: x\ninterruptions: {checkpoint_every: atuo}",
        "not-a-choice",
        "interruptions.checkpoint_every",
        2,
    ),
    "negative interruptions": (
        "job: x\ninterruptions: {per_machine_hour: -1}",
        "out-of-range",
        "interruptions.per_machine_hour",
        2,
    ),
    "known as a list": ("job: x\nknown: [a]", "wrong-kind", "known", 2),
    "known of an ambiguous GPU": ("job: x\nknown: {A100: {hours: 1}}", "ambiguous-gpu", "known.A100", 2),
    "known of an unknown GPU": ("job: x\nknown: {nvidia-a200: {hours: 1}}", "unknown-gpu", "known.nvidia-a200", 2),
    "known as a number": (f"job: x\nknown: {{{A100}: 3}}", "wrong-kind", f"known.{A100}", 2),
    "known of nothing": (f"job: x\nknown: {{{A100}: {{}}}}", "known-not-one", f"known.{A100}", 2),
    "known twice": (
        f"job: x\nknown: {{{A100}: {{hours: 1, speedup: 2, over: {H100}}}}}",
        "known-not-one",
        f"known.{A100}",
        2,
    ),
    "speedup over nothing": (f"job: x\nknown: {{{A100}: {{speedup: 2}}}}", "known-not-one", f"known.{A100}", 2),
    "speedup over itself": (
        f"job: x\nknown: {{{A100}: {{speedup: 2, over: {A100}}}}}",
        "speedup-over-itself",
        f"known.{A100}.over",
        2,
    ),
    "speedups in a circle": (
        f"job: x\nknown:\n  {A100}: {{speedup: 2, over: {H100}}}\n  {H100}: {{speedup: 2, over: {A100}}}",
        "speedup-over-itself",
        f"known.{H100}.over",
        3,
    ),
    "speedup over an unknown time": (
        f"job: x\nknown: {{{A100}: {{speedup: 2, over: {H100}}}}}",
        "speedup-over-unknown",
        f"known.{A100}.over",
        2,
    ),
    "no hours": (f"job: x\nknown: {{{A100}: {{hours: 0}}}}", "out-of-range", f"known.{A100}.hours", 2),
    "negative speedup": (
        f"job: x\nknown: {{{A100}: {{speedup: -2, over: {H100}}}}}",
        "out-of-range",
        f"known.{A100}.speedup",
        2,
    ),
    "absurd speedup": (
        f"job: x\nknown: {{{A100}: {{speedup: 1M, over: {H100}}}}}",
        "out-of-range",
        f"known.{A100}.speedup",
        2,
    ),
    "range of three": (f"job: x\nknown: {{{A100}: {{hours: [1, 2, 3]}}}}", "not-a-range", f"known.{A100}.hours", 2),
    "range reversed": (f"job: x\nknown: {{{A100}: {{hours: [3, 2]}}}}", "range-reversed", f"known.{A100}.hours", 2),
    "override without when": ("job: x\noverrides: [{success_rate: 0.9}]", "override-without-when", "overrides[0]", 2),
    "override when nothing": ("job: x\noverrides: [{when: {}, wait_h: 1}]", "override-without-when", "overrides[0]", 2),
    "override of a bad rate": (
        "job: x\noverrides: [{when: {tier: a}, success_rate: 2}]",
        "out-of-range",
        "overrides[0].success_rate",
        2,
    ),
    "override of a text": ("job: x\noverrides: [a]", "wrong-kind", "overrides[0]", 2),
    "tokens twice": ("job: x\ndata: {tokens: 1M, examples: 3}", "tokens-twice", "data.tokens", 2),
    "longest below mean": (
        "job: x\ndata: {tokens_per_example: 350, max_tokens_per_example: 300}",
        "longest-below-mean",
        "data.max_tokens_per_example",
        2,
    ),
    "batch too small": ("job: x\nmicro_batch: 8\nglobal_batch: 4", "batch-too-small", "global_batch", 3),
    "peak below mean": (
        "job: x\ntraffic: {requests_per_s: 4, peak_requests_per_s: 2}",
        "peak-below-mean",
        "traffic.peak_requests_per_s",
        2,
    ),
    "share above one": ("job: x\ntraffic: {cached_share: 1.2}", "out-of-range", "traffic.cached_share", 2),
    "25 hours a day": ("job: x\ntraffic: {hours_per_day: 25}", "out-of-range", "traffic.hours_per_day", 2),
    "API without a model": ("job: x\napis: [openai]", "not-provider-model", "apis", 2),
    "negative target": ("job: x\ntargets: {ttft_p95_ms: -5}", "out-of-range", "targets.ttft_p95_ms", 2),
    "no users": ("job: x\nusers: {count: 0}", "out-of-range", "users.count", 2),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_jobs_name_line_and_key(case: str) -> None:
    text, code, key, line = MALFORMED[case]
    with pytest.raises(InputError) as caught:
        read_job(text, file="job.yaml")
    error = caught.value
    assert (error.code, error.file) == (code, "job.yaml")
    if key is not None and code != "duplicate-key":
        assert error.key == key
    if line is not None:
        assert error.line == line
    assert str(error).startswith("job.yaml")


def test_there_are_enough_malformed_cases() -> None:
    assert len(MALFORMED) >= 60


def test_unknown_keys_come_with_the_nearest() -> None:
    with pytest.raises(InputError, match="Did you mean success_rate"):
        read_job("job: x\nsucess_rate: 1")


@given(st.text(max_size=200))
def test_any_text_is_a_job_or_a_clear_error(text: str) -> None:
    for content in (text, f"job: x\n{text}", f"job: x\nknown: {{{A100}: {{hours: {text}}}}}"):
        try:
            read_job(content)
        except BreakevenError as error:
            assert isinstance(error, InputError)
            assert str(error)


NAMES = [one.name for one in fields(Job)]
VALUES: Any = st.recursive(
    st.sampled_from(
        ["1", "-1", "0", "x", "1e9", "null", "[]", "{}", "true", "0.5", "3h", "'1,5'", ".nan", A100, "auto"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: "[" + ", ".join(items) + "]")
        | st.dictionaries(st.sampled_from(["hours", "when", "provider", A100, "examples", "x"]), inner, max_size=3).map(
            lambda items: "{" + ", ".join(f"{name}: {value}" for name, value in items.items()) + "}"
        )
    ),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=5))
def test_any_values_under_known_keys_are_a_job_or_a_clear_error(values: dict[str, str]) -> None:
    try:
        read_job("\n".join(f"{name}: {value}" for name, value in values.items()))
    except BreakevenError as error:
        assert isinstance(error, InputError)
        assert str(error)
