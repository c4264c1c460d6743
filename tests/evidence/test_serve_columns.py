import pytest

from breakeven.evidence.serve_columns import tags_of


@pytest.mark.parametrize(
    ("notes", "tags"),
    [
        ("", ()),
        ("llama-bench -b 16 micro-batch, single sequence", ("micro-batch=16",)),
        (
            "origin=InferenceX; prefill_gpus=4(1x tp1 dp4) decode_gpus=40(5x tp8 dp1); gemm=nvfp4 moe=nvfp4; x",
            (
                "gemm=nvfp4", "moe=nvfp4", "prefill-gpus=4", "prefill-engines=1", "prefill-tp=1", "prefill-dp=4",
                "decode-gpus=40", "decode-engines=5", "decode-tp=8", "decode-dp=1",
            ),
        ),
        (
            "prefill_gpus=2(x tp2 dp1) decode_gpus=8(x tp8 dp1)",
            ("prefill-gpus=2", "prefill-tp=2", "prefill-dp=1", "decode-gpus=8", "decode-tp=8", "decode-dp=1"),
        ),
        ("MLPerf v4.1 open datacenter; submitter=CTuning; has_power=True", ("mlperf", "mlperf-open", "max-q", "round=4.1", "submitter=CTuning")),
        ("vllm bench serve; num_prompts=1000; script: x --enable-dp-attention", ("dp-attention", "num-prompts=1000")),
    ],
)  # fmt: skip
def test_facts_in_notes_become_tags(notes: str, tags: tuple[str, ...]) -> None:
    assert tags_of(notes) == tags
