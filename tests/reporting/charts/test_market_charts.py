from datetime import date
from itertools import pairwise

from breakeven.offers.market import Day, History, Spread
from breakeven.reporting.charts.drawing import draw
from breakeven.reporting.charts.market_charts import price_history
from breakeven.reporting.words import Words
from tests.decisions.market import A100


def history(*days: tuple[int, str, float, float]) -> History:
    return History(
        A100,
        [],
        [Day(date(2026, 10, day), market, Spread(low, median, 9.0, 4)) for day, market, low, median in days],
        0,
    )


def test_each_day_and_market_is_in_the_table() -> None:
    chart = price_history(
        history((1, "on-demand", 0.5, 1.0), (9, "on-demand", 0.4, 0.9), (9, "reserved", 0.3, 0.8)), Words()
    )
    assert chart is not None
    assert [[cell.value for cell in row[2:]] for row in chart.table.rows] == [
        [0.5, 1.0, 9.0, 4],
        [0.4, 0.9, 9.0, 4],
        [0.3, 0.8, 9.0, 4],
    ]
    assert chart.alt.replace("\N{NO-BREAK SPACE}", " ").startswith(
        "A100 SXM 80 GB, on-demand: the median went from $1.00/h on 2026-10-01 to $0.90/h on 2026-10-09"
    )
    assert "Oct" in draw(chart, "en")
    assert "oct." in draw(chart, "fr")


def test_one_day_is_no_history() -> None:
    assert price_history(history((1, "on-demand", 0.5, 1.0), (1, "reserved", 0.5, 1.0)), Words()) is None


def test_labels_of_equal_prices_do_not_touch() -> None:
    chart = price_history(
        history((1, "on-demand", 1.0, 1.0), (9, "on-demand", 1.0, 1.0), (9, "interruptible", 1.0, 1.0)), Words()
    )
    assert chart is not None
    places = [
        layer["data"]["values"][0]["usd"] for layer in chart.specification["layer"] if layer["mark"]["type"] == "text"
    ]
    assert len(places) == 4
    assert all(b - a > 0.06 for a, b in pairwise(places))
