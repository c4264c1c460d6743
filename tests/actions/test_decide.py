from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

import breakeven
from breakeven import InputError, decide, decide_all, load_job, load_offers
from breakeven.actions.days import read_day
from breakeven.actions.examples import example_path

FIVE = ("qlora-8b-10k-pairs", "lora-70b-4bit", "full-8b-bf16", "full-8b-fp8", "dpo-8b")
TABLE = {
    "qlora-8b-10k-pairs": (0.70, 1.40, 50), "lora-70b-4bit": (1.40, 2.52, 44), "full-8b-bf16": (22.46, 36.65, 39),
    "full-8b-fp8": (22.46, 26.88, 16), "dpo-8b": (1.17, 1.75, 33),
}  # fmt: skip


def example(name: str) -> Path:
    return example_path(f"{name}.yaml")


@pytest.mark.parametrize("name", FIVE)
def test_the_fine_tuning_guides_table(name: str) -> None:
    decision = decide(example(name), as_of="2026-10-19")
    a100, h100 = decision.options[:2]
    assert decision.choice is a100
    assert (a100.offer.gpu, h100.offer.gpu) == ("nvidia-a100-sxm-80gb", "nvidia-h100-sxm-80gb")
    assert a100.usd_mean is not None
    assert h100.usd_mean is not None
    assert h100.saving_pct is not None
    assert (round(a100.usd_mean, 2), round(h100.usd_mean, 2), round(h100.saving_pct)) == TABLE[name]
    assert round(decision.break_even[0].price_ratio, 2) == 3.59


@pytest.mark.parametrize("name", FIVE)
def test_at_interruptible_prices_the_same_cards_win(name: str, tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text(
        example(name).read_text(encoding="utf-8").replace("[on-demand]", "[interruptible]"), encoding="utf-8"
    )
    decision = decide(job, as_of="2026-10-19")
    assert decision.choice is not None
    assert decision.choice.offer.gpu == "nvidia-a100-sxm-80gb"
    assert decision.choice.offer.usd_per_gpu_h == 0.234


@pytest.mark.parametrize(
    ("name", "needed", "mixes"),
    [
        ("runpod-community-sxm", 1.94, False),
        ("runpod-secure-sxm", 2.19, False),
        ("lambda-8x", 1.43, False),
        ("lambda-single", 1.65, True),
    ],
)
def test_the_buyer_guides_four_pairs(name: str, needed: float, mixes: bool) -> None:
    decision = decide(example(f"pair-{name}"), as_of="2026-10-12")
    [pair] = decision.break_even
    assert pair.needed_speedup is not None
    assert round(pair.price_ratio, 2) == round(pair.needed_speedup, 2) == needed
    assert ("sku-mix" in {caveat.code for caveat in decision.caveats}) == mixes


def test_the_guides_fp8_claim_is_contradicted() -> None:
    codes = {caveat.code for caveat in decide(example("full-8b-fp8"), as_of="2026-10-19").caveats}
    assert "claim-contradicted" in codes


def test_the_deadline_and_the_interruptible_example() -> None:
    late = decide(example("deadline-full-8b"), as_of="2026-10-19")
    assert late.reason.code == "deadline-decides"
    assert late.choice is not None
    assert late.choice.offer.gpu == "nvidia-h100-sxm-80gb"
    spot = decide(example("interruptible-lora-70b"), as_of="2026-10-19")
    assert spot.choice is not None
    assert spot.choice.offer.market == "interruptible"
    assert spot.choice.mean is not None
    assert spot.choice.mean.interruptions == pytest.approx(1.26, abs=0.01)


def test_as_of_hides_what_was_seen_later() -> None:
    assert decide(example("qlora-8b-10k-pairs"), as_of="2026-10-18").choice is None
    assert decide(example("qlora-8b-10k-pairs"), as_of=date(2026, 10, 19)).choice is not None


def test_a_book_of_ones_own(tmp_path: Path) -> None:
    book = tmp_path / "book.csv"
    book.write_text(
        'gpu,provider,price,unit,period\nnvidia-h100-sxm-80gb,lowcostgpu,"0,5 $/h",gpu,h\n', encoding="utf-8"
    )
    decision = decide(example("qlora-8b-10k-pairs"), offers=book)
    assert decision.choice is not None
    assert decision.choice.offer.usd_per_gpu_h == 0.5
    assert len(load_offers([book, book])) == 2
    assert [one.job.job for one in decide_all([load_job(example(name)) for name in FIVE])] == list(FIVE)


def test_a_model_configuration_is_looked_for_beside_the_job(tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text("job: x\nmodel: config.json\n", encoding="utf-8")
    for content, code in (
        (None, "bad-model-config"),
        ("not json", "bad-model-config"),
        ("[]", "bad-model-config"),
        ('{"a": 1}', "bad-model-config"),
        ("[" * 100000, "bad-model-config"),
    ):
        if content is not None:
            (tmp_path / "config.json").write_text(content, encoding="utf-8")
        with pytest.raises(InputError) as caught:
            load_job(job)
        assert caught.value.code == code
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = {"model_type": "llama", "vocab_size": 100, **sizes}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert load_job(job).model == str(tmp_path / "config.json")


def test_days() -> None:
    assert read_day("2026-10-19") == read_day(date(2026, 10, 19)) == read_day(datetime(2026, 10, 19, 23, tzinfo=UTC))
    assert isinstance(read_day(None), date)
    with pytest.raises(InputError, match="--as-of"):
        read_day("19/10/2026")


def test_the_public_functions_are_verbs_and_never_modules() -> None:
    """Even after every submodule has been imported."""
    script = """
import importlib, pkgutil, types, breakeven
for module in pkgutil.walk_packages(breakeven.__path__, "breakeven."):
    needs_framework = module.name.endswith(("recorders.axolotl", "recorders.hugging_face", "recorders.lightning"))
    if module.name != "breakeven.__main__" and not needs_framework:
        importlib.import_module(module.name)
from breakeven import decide
assert not isinstance(decide, types.ModuleType), decide
for name in breakeven.__all__:
    assert not isinstance(getattr(breakeven, name), types.ModuleType), name
from breakeven.actions.examples import example_path
print(decide(example_path("dpo-8b.yaml"), as_of="2026-10-19").choice.offer.id)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "lowcostgpu/nvidia-a100-sxm-80gb/on-demand", done.stderr


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError):
        _ = breakeven.decidde


@pytest.mark.parametrize("day", ["9999-12-31", "0001-01-01", date(9999, 12, 31)])
def test_absurd_days_are_refused(day: date | str) -> None:
    with pytest.raises(InputError):
        decide(example("qlora-8b-10k-pairs"), as_of=day)


def test_offers_and_books_may_be_mixed() -> None:
    book = example_path("book.csv")
    one = load_offers([book])[0]
    assert len(decide(example("qlora-8b-10k-pairs"), offers=[one, str(book)], as_of="2026-10-19").options) == 2
