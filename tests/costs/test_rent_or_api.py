"""A month rented, at an API, or both: reference values, and what must hold for every load."""

from __future__ import annotations

from math import ceil
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.apis.price import Rates, discounted
from breakeven.costs.rent_or_api import (
    DAYS_PER_MONTH,
    Load,
    Running,
    Unit,
    api_month_usd,
    api_usd,
    break_even_volume,
    busy_share,
    capacity_per_day,
    hours_held,
    hybrid_month,
    rent_usd,
    served_share,
    units_needed,
    usd_per_m_tokens,
    volumes_between,
)

Values = dict[str, Any]


def near(value: float) -> Any:
    return pytest.approx(value, rel=1e-9, abs=1e-12)


def test_rent_or_api_values(reference_values: Values) -> None:
    for row in reference_values["rent_or_api"]:
        usd = api_month_usd(
            input_m_tokens=row["in_m_tokens"],
            output_m_tokens=row["out_m_tokens"],
            rates=Rates(row["api_in_usd_per_m"], None, row["api_out_usd_per_m"]),
        )
        assert usd == near(row["api_usd"])


def test_usd_per_million_tokens_values(reference_values: Values) -> None:
    for row in reference_values["usd_per_million_tokens"]:
        usd = usd_per_m_tokens(
            usd_per_gpu_h=row["rate"],
            gpus=row["gpus"],
            tokens_per_s=row["tokens_per_s"],
            busy_share=row["busy"],
            accepted_share=row["accepted"],
        )
        assert usd == near(row["usd"])


def test_the_formula_of_a_month_at_an_api() -> None:
    rates, discount, batch_share, cached_share = Rates(3.0, 0.3, 15.0), 0.5, 0.4, 0.25
    usd = api_month_usd(
        input_m_tokens=120, output_m_tokens=40, rates=rates, batch=discounted(rates, discount),
        cached_share=cached_share, batch_share=batch_share,
    )  # fmt: skip
    plain = 120 * (0.75 * 3.0 + 0.25 * 0.3) + 40 * 15.0
    assert usd == near((1 - discount * batch_share) * plain)


def test_a_worked_month() -> None:
    """1000 output tokens/s on average, 3000 at the peak, 2000 a machine at 70 %: three machines, 12 hours a day."""
    load = Load(tokens_per_day=1000 * 3600 * 12 * 5, output_share=0.2, hours_per_day=12, peak_over_mean=3)
    unit = Unit(usd_per_h=2.0, tokens_per_s=2000)
    running = Running(target_utilisation=0.7, operations_usd=100)
    assert units_needed(load, unit, running) == ceil(3000 / 1400) == 3
    assert rent_usd(load, unit, running) == pytest.approx(3 * 2.0 * 365 + 100)
    held = Unit(usd_per_h=2.0, tokens_per_s=2000, is_released=False)
    assert rent_usd(load, held, running) == pytest.approx(3 * 2.0 * 730 + 100)
    assert busy_share(load, unit, 3) == pytest.approx(1000 / 6000)


shares = st.floats(0.05, 1.0)
LOADS = st.builds(
    Load,
    tokens_per_day=st.floats(1e3, 1e12),
    output_share=st.one_of(st.just(0.0), shares),
    cached_share=st.floats(0, 1),
    batch_share=st.floats(0, 1),
    hours_per_day=st.floats(1, 24),
    peak_over_mean=st.one_of(st.just(1.0), st.floats(1, 20)),
    is_batch=st.booleans(),
)
UNITS = st.builds(Unit, usd_per_h=st.floats(0.05, 100), tokens_per_s=st.floats(10, 1e5), is_released=st.booleans())
RUNNING = st.builds(Running, target_utilisation=shares, operations_usd=st.one_of(st.just(0.0), st.floats(1, 50_000)))
RATES = st.builds(Rates, st.floats(0.01, 30), st.one_of(st.none(), st.floats(0.001, 3)), st.floats(0.01, 100))


@given(LOADS, RATES, st.floats(0.1, 10))
def test_the_api_month_is_linear_in_the_volume(load: Load, rates: Rates, factor: float) -> None:
    usd = api_usd(load, rates)
    assert usd > 0
    assert api_usd(load.at(load.tokens_per_day * factor), rates) == pytest.approx(usd * factor, rel=1e-9)
    assert api_usd(load, discounted(rates, 0.5)) == pytest.approx(usd / 2, rel=1e-9)


@given(LOADS, UNITS, RUNNING, st.floats(1, 100))
def test_the_rented_month_never_falls_with_the_volume(load: Load, unit: Unit, running: Running, factor: float) -> None:
    more = load.at(load.tokens_per_day * factor)
    assert rent_usd(more, unit, running) >= rent_usd(load, unit, running) * (1 - 1e-12)


@given(LOADS, UNITS, RUNNING)
def test_idle_time_is_never_free(load: Load, unit: Unit, running: Running) -> None:
    """A load of almost nothing still pays a machine for every hour it is held, and a lower target never costs less."""
    if load.is_batch:
        return
    least = unit.usd_per_h * hours_held(load, unit) + running.operations_usd
    assert rent_usd(load.at(1e-3), unit, running) == pytest.approx(least)
    careful = Running(target_utilisation=running.target_utilisation / 2, operations_usd=running.operations_usd)
    assert rent_usd(load, unit, careful) >= rent_usd(load, unit, running)
    units = units_needed(load, unit, running)
    tokens = load.counted_m_tokens_per_month
    per_m = usd_per_m_tokens(
        usd_per_gpu_h=unit.usd_per_h, gpus=1, tokens_per_s=unit.tokens_per_s, busy_share=busy_share(load, unit, units)
    )
    rent = rent_usd(load, unit, running) - running.operations_usd
    assert rent / tokens == pytest.approx(per_m, rel=1e-6, abs=1e-9)


@given(LOADS, UNITS, RUNNING, st.floats(1e-9, 1e-2))
def test_break_even_is_where_both_meet_and_nothing_before_it_is(
    load: Load, unit: Unit, running: Running, slope: float
) -> None:
    found = break_even_volume(load, unit, running, slope)
    if found is None:
        for volume in volumes_between(1.0, 1e14, 60):
            assert rent_usd(load.at(volume), unit, running) >= slope * volume * (1 - 1e-6)
        return
    assert found.first <= found.settled * (1 + 1e-12)
    if not found.first:
        return
    at = load.at(found.first)
    assert rent_usd(at, unit, running, units=found.units) == pytest.approx(slope * found.first, rel=1e-9)
    assert found.first <= found.units * capacity_per_day(load, unit, running) * (1 + 1e-9)
    for share in (0.001, 0.3, 0.9, 0.999):
        assert rent_usd(load.at(found.first * share), unit, running) > slope * found.first * share
    for factor in (1.0001, 1.01, 1.5, 3, 100):
        volume = found.settled * factor
        assert rent_usd(load.at(volume), unit, running) <= slope * volume * (1 + 1e-6)


def test_break_even_on_the_staircase_by_trying_every_volume() -> None:
    """A slow search: the volumes at which the rented month is no dearer, against the closed form."""
    load = Load(tokens_per_day=1, output_share=0.25, peak_over_mean=2)
    unit, running = Unit(usd_per_h=1.0, tokens_per_s=1000), Running(target_utilisation=0.7, operations_usd=2000)
    slope = 730 / capacity_per_day(load, unit, running) * 1.5
    found = break_even_volume(load, unit, running, slope)
    assert found is not None
    volumes = [found.first * share / 1000 for share in range(1, 4000)]
    wins = [rent_usd(load.at(volume), unit, running) <= slope * volume * (1 + 1e-12) for volume in volumes]
    assert volumes[wins.index(True)] == pytest.approx(found.first)
    last_loss = max(index for index, is_win in enumerate(wins) if not is_win)
    assert volumes[last_loss] < found.settled <= volumes[last_loss + 2]
    assert found.settled > found.first
    assert found.units == 6 == ceil(2000 / (0.5 * 730))


@given(LOADS, UNITS, RUNNING, st.floats(0.01, 1e7))
def test_the_mixture_is_never_dearer_than_the_better_of_both(
    load: Load, unit: Unit, running: Running, api_month: float
) -> None:
    if units_needed(load, unit, running) > 3000:
        return
    rent = rent_usd(load, unit, running)
    mixed = hybrid_month(load, unit, running, api_month)
    assert mixed.usd <= min(rent, api_month) * (1 + 1e-9)
    assert 0 <= mixed.rented_share <= 1
    if not load.is_batch:
        tried = [api_month]
        per_unit = unit.tokens_per_s * running.target_utilisation
        for units in range(1, units_needed(load, unit, running) + 1):
            share = served_share(units * per_unit, mean=load.mean_tokens_per_s, peak=load.peak_tokens_per_s)
            tried.append(rent_usd(load, unit, running, units=units) + (1 - share) * api_month)
        assert mixed.usd == pytest.approx(min(tried), rel=1e-9)


@given(st.floats(0.01, 1e6), st.floats(1.0, 50), st.floats(0, 2))
def test_the_served_share_is_that_of_the_load_curve(mean: float, peak_over_mean: float, part: float) -> None:
    """Against adding up the curve in small steps."""
    peak = mean * peak_over_mean
    capacity = part * peak
    steps = 4000
    curve = [peak * (1 - (step + 0.5) / steps) ** (peak_over_mean - 1) for step in range(steps)]
    assert sum(curve) / steps == pytest.approx(mean, rel=0.01)
    slow = sum(min(value, capacity) for value in curve) / sum(curve)
    assert served_share(capacity, mean=mean, peak=peak) == pytest.approx(slow, abs=0.01)


def test_a_month_of_batches_pays_for_busy_hours_alone() -> None:
    """A million output tokens a day at 1000/s keep a machine busy for 1000 s."""
    load = Load(tokens_per_day=4e6, output_share=0.25, is_batch=True)
    unit = Unit(usd_per_h=3.6, tokens_per_s=1000)
    assert rent_usd(load, unit, Running()) == pytest.approx(1.0 * DAYS_PER_MONTH)
    found = break_even_volume(load, unit, Running(operations_usd=0.5 * DAYS_PER_MONTH), 0.5e-6 * DAYS_PER_MONTH)
    assert found is not None
    assert found.first == pytest.approx(2e6)
    free = break_even_volume(load, unit, Running(), 0.5e-6 * DAYS_PER_MONTH)
    assert free is not None
    assert free.first == 0
