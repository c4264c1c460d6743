from breakeven.reporting.blocks import aligned, grid_of
from breakeven.reporting.charts.chart import Cell, table


def test_decimal_separators_are_in_one_line() -> None:
    for separator, numbers in ((".", ["0.043", "12.50", "7"]), (",", ["0,043", "12,50", "7"])):
        padded = aligned(numbers, separator)
        assert (
            len(
                {
                    len(text) - (text.index(separator) if separator in text else len(text.rstrip("\u2007\u2008")))
                    for text in padded
                }
            )
            == 1
        )
        assert [text.rstrip("\u2007\u2008") for text in padded] == numbers
    assert aligned(["1", "22"], ".") == ["1", "22"]
    assert aligned([], ".") == []


def test_a_column_with_a_number_is_one_of_numbers() -> None:
    grid = grid_of(table(("name", "usd"), [(Cell("a"), Cell("unknown")), (Cell("b"), Cell("1.5", 1.5))]), "g")
    assert [column.is_number for column in grid.columns] == [False, True]
    assert grid.rows[1].cells[1].value == 1.5
