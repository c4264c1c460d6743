import pytest

from breakeven.decisions.claims import CLAIMS
from breakeven.gpus import catalog
from tests.decisions.market import A100, H100, codes, decide, offer

FP8 = "task: finetune\nmethod: full\nprecision: fp8\ngpus: 8"


def test_the_guides_fp8_job_contradicts_the_guides_claim() -> None:
    decision = decide([offer(A100, 0.468), offer(H100, 1.68)], FP8, hours="6", speedup="3.0")
    [claim] = [caveat for caveat in decision.caveats if caveat.code == "claim-contradicted"]
    assert claim.values["claim"] == "fp8-full-finetune"
    assert claim.values["needed_speedup"] == pytest.approx(3.58974359)
    assert claim.values["saving_pct"] == pytest.approx(100 * (1 - 22.464 / 26.88))
    assert "fp8-unproven" in codes(decision)


def test_a_claim_that_holds_is_not_said() -> None:
    decision = decide([offer(A100, 0.468), offer(H100, 1.0)], FP8, hours="6", speedup="3.0")
    assert "claim-contradicted" not in codes(decision)


def test_a_claim_needs_the_card_it_prefers_to_be_for_rent() -> None:
    assert "claim-contradicted" not in codes(decide([offer(A100, 0.468)], FP8, hours="6", speedup="3.0"))


@pytest.mark.parametrize(
    ("job", "claim"),
    [
        ("task: finetune\nmethod: full\nprecision: bf16\ngpus: 8", "bf16-full-finetune-on-several"),
        ("task: batch-inference", "batch-inference"),
        ("task: notebook", "notebooks"),
    ],
)
def test_claims_for_the_a100_are_contradicted_by_a_winning_h100(job: str, claim: str) -> None:
    decision = decide([offer(A100, 1.0), offer(H100, 1.2)], job)
    assert [caveat.values["claim"] for caveat in decision.caveats if caveat.code == "claim-contradicted"] == [claim]


@pytest.mark.parametrize(
    ("job", "claim"),
    [
        ("task: pretrain\ngpus: 8", "pretraining-at-scale"),
        ("task: inference\ntargets: {ttft_p95_ms: 200}", "latency-sensitive-inference"),
        ("task: finetune\nsequence_length: 32768", "long-sequences"),
    ],
)
def test_claims_for_the_h100_are_contradicted_by_a_winning_a100(job: str, claim: str) -> None:
    decision = decide([offer(A100, 1.0), offer(H100, 9.0)], job)
    assert [caveat.values["claim"] for caveat in decision.caveats if caveat.code == "claim-contradicted"] == [claim]


def test_claims_name_exact_products_and_their_source() -> None:
    for claim in CLAIMS:
        assert claim.source
        for gpu in (*claim.prefer, *claim.over):
            assert catalog.find(gpu).id == gpu
