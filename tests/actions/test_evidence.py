from __future__ import annotations

from pathlib import Path

import pytest

from breakeven.actions.evidence import (
    Results,
    add_measurement,
    check_table,
    import_table,
    list_evidence,
    remove_measurement,
    show_evidence,
)
from breakeven.actions.examples import example_path
from breakeven.actions.measurements import own_measurements
from breakeven.actions.predict import predict
from breakeven.errors import InputError
from breakeven.evidence.groups import EvidenceFilter

FLEET = Path(__file__).parents[1] / "evidence" / "samples" / "fleet.csv"
LORA, CHAT = example_path("lora-8b-predicted.yaml"), example_path("serve-8b-predicted.yaml")
A100 = "nvidia-a100-sxm-80gb"


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/store.sqlite"


def test_a_run_that_was_added_narrows_the_prediction(store: str) -> None:
    before = {one.gpu: one for one in predict(LORA, as_of="2026-10-19").forecasts}
    row = add_measurement(LORA, A100, 1, Results(hours=3.0, peak_memory_gb=30.0), day="2026-10-19", store=store)
    assert row.results["tokens_per_s_per_gpu"] == pytest.approx(24e6 / 10800)
    assert own_measurements(store) == [row] or own_measurements(store)[0].id == row.id
    after = {one.gpu: one for one in predict(LORA, as_of="2026-10-19", store=store).forecasts}
    assert after[A100].basis == "measured"
    hours = after[A100].hours
    assert hours is not None
    assert hours.median == pytest.approx(3.0, rel=0.1)
    for gpu, one in after.items():
        now, then = one.hours, before[gpu].hours
        assert now is not None
        assert then is not None
        assert now.log_sd < then.log_sd
    memory = after[A100].memory
    assert memory is not None
    assert memory.estimate.median == pytest.approx(30.0, rel=0.1)


def test_adding_twice_keeps_one(store: str) -> None:
    for _ in range(2):
        add_measurement(LORA, A100, 1, Results(tokens_per_s=2000.0), day="2026-10-19", store=store)
    assert len(own_measurements(store)) == 1


def test_a_served_model_may_be_added(store: str) -> None:
    results = Results(tokens_per_s=1500.0, ttft_ms=200.0, tpot_ms=12.0, concurrency=16)
    row = add_measurement(CHAT, A100, 1, results, store=store)
    assert (row.kind, row.results["output_tps_per_gpu"]) == ("serve", 1500.0)
    [group] = list_evidence(EvidenceFilter(own_only=True), store=store)
    assert (group.rows, group.is_own, group.low) == (1, True, 1500.0)
    assert show_evidence(row.id, store=store).setup == row.setup


@pytest.mark.parametrize(
    ("job", "gpu", "results", "code"),
    [
        (LORA, A100, Results(), "nothing-measured"),
        (LORA, "h100", Results(hours=1), "ambiguous-gpu"),
        (example_path("notebooks-8-users.yaml"), A100, Results(hours=1), "job-not-predictable"),
        (example_path("qlora-8b-10k-pairs.yaml"), A100, Results(hours=1), "no-data-size"),
    ],
)
def test_what_cannot_be_added(job: Path, gpu: str, results: Results, code: str, store: str) -> None:
    with pytest.raises(InputError) as caught:
        add_measurement(job, gpu, 1, results, store=store)
    assert caught.value.code == code
    assert own_measurements(store) == []


def test_a_table_is_imported_once_and_checked_without_itself(store: str) -> None:
    assert import_table(FLEET, store=store) == (4, 4)
    assert import_table(FLEET, store=store) == (4, 0)
    with_own = check_table(FLEET, store=store)
    without = check_table(FLEET)
    assert [one.estimate.median for one in with_own.throughput.scored] == [
        one.estimate.median for one in without.throughput.scored
    ]
    assert with_own.fits is not None
    assert (with_own.fits.oom, with_own.fits.oom_called_yes) == (1, 0)


def test_a_row_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    lines = FLEET.read_text(encoding="utf-8").splitlines()
    lines[1] = lines[1].replace("nvidia-a100-sxm-80gb,1,", "nvidia-a100-sxm-80gb,none,")
    lines[2] = lines[2].replace("nvidia-h100-sxm-80gb", "nvidia-h999")
    table = tmp_path / "fleet.csv"
    table.write_text("\n".join(lines), encoding="utf-8")
    report = check_table(table)
    assert report.rows == 4
    assert report.throughput.declined["bad-measurement"] == 1
    assert sum(report.throughput.declined.values()) == 2
    with pytest.raises(InputError) as caught:
        import_table(table)
    assert caught.value.line == 2


def test_an_unknown_id_names_near_ones() -> None:
    with pytest.raises(InputError) as caught:
        show_evidence("qwen-00001")
    assert caught.value.code == "unknown-measurement"
    assert any(one.startswith("qwen-") for one in caught.value.values["candidates"])


@pytest.mark.parametrize(
    ("results", "code"),
    [
        (Results(tokens_per_s=9e9), "implausible-measurement"),
        (Results(hours=1e-9), "implausible-measurement"),
        (Results(peak_memory_gb=500.0), "implausible-measurement"),
        (Results(hours=1.0, tokens_per_s=5.0), "measured-twice"),
    ],
)
def test_what_no_gpu_can_do_is_refused(results: Results, code: str, store: str) -> None:
    with pytest.raises(InputError) as caught:
        add_measurement(LORA, A100, 1, results, store=store)
    assert caught.value.code == code
    with pytest.raises(InputError) as caught:
        add_measurement(LORA, A100, 1, Results(hours=3.0), day="2031-01-01", store=store)
    assert caught.value.code == "measured-in-future"
    assert own_measurements(store) == []


def test_a_slip_is_taken_back(store: str) -> None:
    row = add_measurement(LORA, A100, 1, Results(hours=3.0), store=store)
    remove_measurement(row.id, store=store)
    assert own_measurements(store) == []
    for name in (row.id, "qwen-0001"):
        with pytest.raises(InputError) as caught:
            remove_measurement(name, store=store)
        assert caught.value.code == "unknown-measurement"
