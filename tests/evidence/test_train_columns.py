import pytest

from breakeven.evidence.table import read_table
from breakeven.evidence.train_columns import tags_of, year_of


@pytest.mark.parametrize(
    ("notes", "tags"),
    [
        ("raw precision=MXFP8; MoE active 37B; MLA; vendor-tuned benchmark", ("mla", "moe")),
        ("hybrid Mamba MoE; tokendrop", ("moe", "mamba", "token-drop")),
        ("+ Packed (cumulative); A100 variant not stated", ("packed",)),
        ("+ Compile (cumulative); A100 variant not stated", ("packed", "compiled")),
        ("Baseline (cumulative); A100 variant not stated", ("unpacked",)),
        ("none (bfloat16); POWER-LIMITED B200; torch.compile", ("compiled", "power-limited")),
        ("bf16 eager; bf16 baseline is EAGER so fp8 gain mixes compile", ("eager",)),
        ("float8nocompile; baseline is EAGER", ("eager",)),
        ("FSDP mixed_precision=PURE; raw precision=bf16", ("pure-bf16",)),
        ("HFU=0.4; arch L/D/H from MPT family", ()),
    ],
)
def test_facts_in_notes_become_tags(notes: str, tags: tuple[str, ...]) -> None:
    assert tuple(tag for tag in tags_of(notes) if "=" not in tag) == tags


def test_a_container_tells_when_its_software_was_current() -> None:
    text = (
        "id,source_repo,gpu,seq_len,framework,source_commit_or_date,notes\n"
        "a,x/y,nvidia-h100-sxm-80gb,4096,Megatron-Bridge/NeMo container 26.04,4ab94dfad 2026-08-11,\n"
        "b,x/y,nvidia-h100-sxm-80gb,4096,Megatron-Bridge/NeMo container 26.04.01,4ab94dfad 2026-08-11,\n"
        "c,x/y,nvidia-h100-sxm-80gb,4096,torchtune,4ab94dfad 2026-08-11,\n"
    )
    years = [row.setup.year for row in read_table(text, file="t.csv", kind="train") if hasattr(row.setup, "year")]
    assert years == [2026.25, 2026.267, pytest.approx(2026 + 7 / 12)]


def test_a_month_that_is_none_is_no_date() -> None:
    assert year_of("2024-13-01") is None
    assert year_of("") is None
