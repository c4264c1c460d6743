"""Every formula against values computed independently, to 1e-9."""

from typing import Any

import pytest

from breakeven.costs.billing import billed_s
from breakeven.costs.break_even import break_even_speedup
from breakeven.costs.completed_job import completed_job_usd, failure_factor
from breakeven.costs.interruptions import daly_interval_h, expected_paid_h, optimal_interval_h, young_interval_h

Values = dict[str, Any]


def near(value: float) -> Any:
    return pytest.approx(value, rel=1e-9, abs=1e-12)


def test_completed_job_cost(reference_values: Values) -> None:
    for row in reference_values["completed_job_cost"]:
        usd = completed_job_usd(
            usd_per_gpu_h=row["rate"],
            gpus=row["gpus"],
            hours=row["hours"],
            success_rate=row["success"],
            added_usd=row["storage"] + row["network"] + row["idle"] + row["orchestration"],
        )
        assert usd == near(row["usd"])


def test_break_even_speedup(reference_values: Values) -> None:
    for row in reference_values["break_even_speedup"]:
        a, b = row["a"], row["b"]
        speedup = break_even_speedup(
            usd_per_h_a=a["rate"] * a["gpus"],
            usd_per_h_b=b["rate"] * b["gpus"],
            hours_a=a["hours"],
            success_rate_a=a["success"],
            success_rate_b=b["success"],
            fixed_usd_a=a["fixed"],
            fixed_usd_b=b["fixed"],
        )
        assert speedup is None if row["speedup"] is None else speedup == near(row["speedup"])


def test_interruptible_expected(reference_values: Values) -> None:
    for row in reference_values["interruptible_expected"]:
        names = ("work_h", "interval_h", "write_h", "restart_h", "rate_per_h")
        paid_h = expected_paid_h(**{name: row[name] for name in names})
        assert paid_h == near(row["paid_h"])
        assert paid_h * row["rate_per_h"] == near(row["interruptions"])


def test_checkpoint_intervals(reference_values: Values) -> None:
    for row in reference_values["optimal_checkpoint_interval"]:
        assert optimal_interval_h(row["write_h"], row["rate_per_h"]) == near(row["exact_h"])
        assert young_interval_h(row["write_h"], row["rate_per_h"]) == near(row["young_h"])
    for row in reference_values["daly_interval_minutes"]:
        write_h, rate_per_h = row["write_min"] / 60, 60 / row["mtbf_min"]
        assert 60 * daly_interval_h(write_h, rate_per_h) == near(row["daly_min"])
        assert 60 * optimal_interval_h(write_h, rate_per_h) == near(row["exact_min"])
        assert 60 * young_interval_h(write_h, rate_per_h) == near(row["young_min"])


def test_billed_seconds(reference_values: Values) -> None:
    for row in reference_values["billed_seconds"]:
        assert billed_s(row["run_s"], increment_s=row["increment_s"], minimum_s=row["minimum_s"]) == near(
            row["billed_s"]
        )


def test_failure_noticed_at_once(reference_values: Values) -> None:
    for row in reference_values["failure_noticed_at_once"]:
        assert failure_factor(row["success"], "at-once") == near(row["factor"])
        assert failure_factor(row["success"]) == near(row["end_of_run_factor"])
