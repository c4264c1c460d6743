from __future__ import annotations

from typing import Any

import pytest

from breakeven.decisions.advice import RULES, Advice, advice
from breakeven.decisions.decision import Decision, Recorded
from breakeven.decisions.rank import Expected
from breakeven.gpus import catalog
from breakeven.reporting.messages import CODES
from tests.decisions.market import A100, H100, H100_PCIE, decide, offer

PAIR = [offer(A100, 0.468), offer(H100, 1.68)]
L40S = "nvidia-l40s-pcie-48gb"


def told(decision: Decision) -> dict[str, Advice]:
    return {one.rule: one for one in advice(decision, catalog.catalog())}


def verdicts(decision: Decision) -> dict[str, str]:
    return {rule: one.verdict for rule, one in told(decision).items()}


def test_every_rule_has_words_and_a_source() -> None:
    assert len(set(RULES)) == len(RULES)
    assert set(RULES) <= set(CODES)
    for one in advice(decide(PAIR), catalog.catalog()):
        assert one.source
        assert one.verdict in {"agreed", "contradicted", "undecidable"}


def test_without_a_choice_there_is_no_advice() -> None:
    assert advice(decide([]), catalog.catalog()) == ()


def test_the_guides_fp8_job() -> None:
    found = told(
        decide(
            PAIR, "task: finetune\nmethod: full\nprecision: fp8\ngpus: 8\nparallelism: fsdp", hours="6", speedup="3.0"
        )
    )
    assert found["fp8-full-finetune"].verdict == "contradicted"
    assert found["fp8-full-finetune"].values["prefers_usd"] == pytest.approx(26.88)
    assert found["price-ratio"].verdict == "agreed"
    assert found["two-of-six"].values["met"] == ("fp8-validated", "heavy-communication")
    assert found["two-of-six"].verdict == "contradicted"
    assert "fp8-first" not in found


def test_a_contradicted_claim_of_a_choice_is_the_caveat_too() -> None:
    decision = decide(PAIR, "task: finetune\nmethod: full\nprecision: fp8\ngpus: 8", speedup="3.0")
    assert [one.values["claim"] for one in decision.caveats if one.code == "claim-contradicted"] == [
        "fp8-full-finetune"
    ]


@pytest.mark.parametrize(
    ("model", "bits", "rule"), [("llama-3.1-8b", 16, "small-adapters"), ("llama-3.1-70b", 4, "adapters-70b-one-card")]
)
def test_rules_by_the_size_of_the_model(model: str, bits: int, rule: str) -> None:
    job = f"task: finetune\nmethod: lora\nprecision: bf16\nmodel: {model}\nbase_bits: {bits}\n"
    assert rule in told(decide(PAIR, job))
    assert rule not in told(decide(PAIR, job.replace(model, "mistral-7b-v0.1" if "70" in model else "llama-3.1-70b")))


def test_a_size_that_nobody_knows_is_no_size() -> None:
    job = "task: finetune\nmethod: lora\nprecision: bf16\nmodel: ./config.json\n"
    assert "small-adapters" not in told(decide(PAIR, job))


def test_a_winning_h100_contradicts_the_rule_of_small_adapters() -> None:
    job = "task: finetune\nmethod: lora\nprecision: bf16\nmodel: llama-3.1-8b\n"
    pcie = "nvidia-a100-pcie-80gb"
    decision = decide([offer(pcie, 1.0), offer(H100, 1.2)], f"  {pcie}: {{speedup: 0.9, over: {A100}}}\n{job}")
    assert told(decision)["small-adapters"].verdict == "contradicted"
    assert [one.values["claim"] for one in decision.caveats if one.code == "claim-contradicted"] == ["small-adapters"]


def test_other_costs_can_contradict_the_price_ratio() -> None:
    fast = decide([offer(A100, 0.468), offer(H100, 1.68)], "delay_usd_per_h: 5\n")
    assert verdicts(fast)["price-ratio"] == "contradicted"


def test_it_depends_where_it_is_open() -> None:
    job = "task: finetune\nmethod: lora\nmodel: llama-3.1-8b\n"
    assert verdicts(decide(PAIR, job))["finetune-depends"] == "contradicted"
    assert verdicts(decide(PAIR, job, speedup="[3, 4.5]"))["finetune-depends"] == "agreed"
    assert verdicts(decide([PAIR[0]], job))["finetune-depends"] == "undecidable"


def test_a_long_run_near_break_even_is_measured_first() -> None:
    near = decide(PAIR, "gpus: 8\n", hours="500", speedup="[2.9, 4.4]")
    assert verdicts(near)["long-run-benchmark-first"] == "agreed"
    assert verdicts(decide(PAIR))["long-run-benchmark-first"] == "contradicted"


def test_waste_is_mended_before_an_h100_is_paid_for() -> None:
    found = told(decide(PAIR, "success_rate: 0.5\n"))
    assert found["raise-utilisation-first"].verdict == "agreed"
    assert found["raise-utilisation-first"].values["mended_usd"] == pytest.approx(0.702)
    assert found["raise-utilisation-first"].values["waste_usd"] == pytest.approx(0.702)
    assert found["not-while-idle"].verdict == "agreed"
    assert "long-run-benchmark-first" not in found
    cheap = told(decide([offer(A100, 3.0), offer(H100, 1.0)], "success_rate: 0.5\n"))
    assert cheap["raise-utilisation-first"].verdict == "contradicted"


def test_no_h100_while_gpus_wait_for_data() -> None:
    assert verdicts(decide(PAIR))["not-while-waiting-for-data"] == "undecidable"
    waits = Expected({}, {(A100, 1): Recorded(0.5)})
    found = told(decide(PAIR, expected=waits))
    assert found["not-while-waiting-for-data"].verdict == "agreed"
    assert found["not-while-waiting-for-data"].values["waiting_pct"] == pytest.approx(50)
    assert found["raise-utilisation-first"].values["waste_usd"] == pytest.approx(0.5 * 0.702)
    assert found["raise-utilisation-first"].values["mended_usd"] == pytest.approx(0.5 * 0.702)
    cheap = decide([offer(A100, 3.0), offer(H100, 1.0)], expected=waits)
    assert verdicts(cheap)["not-while-waiting-for-data"] == "contradicted"
    assert "not-while-waiting-for-data" not in verdicts(decide(PAIR, expected=Expected({}, {(A100, 1): Recorded(0.1)})))


def test_two_conditions_of_six() -> None:
    job = "task: pretrain\nprecision: fp8\ngpus: 8\nparallelism: fsdp\nlimits: {deadline_h: 100}\n"
    found = told(decide([offer(A100, 1.0), offer(H100, 1.4)], job))["two-of-six"]
    assert found.verdict == "agreed"
    assert found.values["met"] == ("fp8-validated", "time-blocks", "heavy-communication", "moderate-premium")
    few = told(decide(PAIR, "precision: bf16\n"))["two-of-six"]
    assert (few.verdict, few.values["why"]) == ("undecidable", "not-said")


def test_a_smaller_card_and_a_discount() -> None:
    others = [offer(A100, usd, name) for usd, name in ((1.0, "a"), (1.2, "b"), (1.4, "c"))]
    known = f"  {L40S}: {{speedup: 0.8, over: {A100}}}\n"
    found = told(decide([*PAIR, *others, offer(L40S, 0.3)], known))
    assert found["not-for-a-small-model"].verdict == "agreed"
    assert found["not-against-a-discount"].verdict == "agreed"
    assert found["not-against-a-discount"].values["share_of_median"] == pytest.approx(0.468 / 1.1)
    even = [offer(A100, 1.1), offer(H100, 1.68), *others]
    assert "not-against-a-discount" not in told(decide(even))


def test_interruptible_pays_or_not() -> None:
    firm, spot = offer(A100, 1.0), offer(A100, 0.5, market="interruptible")
    found = told(decide([firm, spot], hours="24"))["cheaper-interruptible"]
    assert found.verdict == "agreed"
    assert 40 < found.values["saving_pct"] < 50
    lost = "interruptions: {per_machine_hour: 1, checkpoint_every: none}\n"
    assert verdicts(decide([firm, spot], lost, hours="4"))["cheaper-interruptible"] == "contradicted"


@pytest.mark.parametrize(
    ("usd", "verdict"), [(1.2, "contradicted"), (1.9, "agreed"), (2.4, "undecidable"), (4.0, "contradicted")]
)
def test_fp8_first_only_where_it_can_tip_the_choice(usd: float, verdict: str) -> None:
    found = told(decide([offer(A100, 1.0), offer(H100, usd)], "precision: bf16\n"))["fp8-first"]
    assert found.verdict == verdict
    assert found.values["needed_gain"] == pytest.approx(usd / 1.8)


def test_debugging_on_one_costs_an_eighth() -> None:
    found = told(decide(PAIR, "gpus: 8\n"))["debug-on-one"]
    assert found.verdict == "agreed"
    assert found.values["usd_per_h"] == pytest.approx(found.values["all_usd_per_h"] / 8)
    assert found.values["saving_usd"] is None
    phased = told(decide(PAIR, "gpus: 8\ndebug: {hours: 3}\n"))["debug-on-one"]
    assert phased.values["saving_usd"] == pytest.approx(3 * 7 * 0.468)
    whole = [offer(A100, 0.468, gpus=8), offer(H100, 1.68, gpus=8)]
    assert verdicts(decide(whole, "gpus: 8\n"))["debug-on-one"] == "undecidable"
    assert "debug-on-one" not in told(decide(PAIR))


def test_a_volume_against_a_held_machine() -> None:
    more: dict[str, Any] = {"storage_usd_per_gb_month": 0.08}
    offers = [offer(A100, 0.468, **more), offer(H100, 1.68, **more)]
    found = told(decide(offers, "overheads: {storage_gb: 500}\n"))["data-on-a-volume"]
    assert (found.verdict, found.values["volume_usd_per_h"]) == ("agreed", pytest.approx(500 * 0.08 / 730))
    huge = told(decide(offers, "overheads: {storage_gb: 50000}\n"))["data-on-a-volume"]
    assert huge.verdict == "contradicted"
    assert "data-on-a-volume" not in told(decide(offers))


def test_neighbours_are_compared() -> None:
    known = f"  {H100_PCIE}: {{speedup: 1.4, over: {A100}}}\n"
    found = told(decide([offer(H100, 1.0), offer(H100_PCIE, 0.9)], known))["compare-neighbours"]
    assert (found.verdict, found.values["gpu"]) == ("agreed", H100_PCIE)
    assert verdicts(decide(PAIR))["compare-neighbours"] == "undecidable"


def test_what_the_job_does_not_say_is_undecidable() -> None:
    found = told(decide(PAIR, "task: inference\n"))
    for rule in ("tuned-for-ampere", "not-while-waiting-for-data", "not-with-an-untuned-stack"):
        assert (found[rule].verdict, found[rule].values) == ("undecidable", {"why": "not-said"})
    tuned = told(decide(PAIR, "task: inference\nstack: {framework: vLLM}\n"))
    assert "not-with-an-untuned-stack" not in tuned
