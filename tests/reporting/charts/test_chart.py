from breakeven.reporting.charts.chart import decades, distinct, fits, label_axis, log_ticks, wrapped_label


def test_long_names_wrap_and_are_cut_only_at_the_end() -> None:
    assert wrapped_label("a provider with a rather long name and more") == "a provider with a\nrather long name and…"
    assert wrapped_label("x" * 70, 10).split("\n") == ["x" * 10, "x" * 9 + "…"]
    assert wrapped_label("") == ""
    assert "\x1b" not in wrapped_label("\x1b[31mred")


def test_equal_labels_stay_apart_unseen() -> None:
    labels = distinct(["a", "a", "b", "a"])
    assert len(set(labels)) == 4
    assert [label.strip("\u200b") for label in labels] == ["a", "a", "b", "a"]


def test_the_axis_of_names_keeps_their_order_and_their_room() -> None:
    axis = label_axis(["short", "a much longer\nlabel"])
    assert axis["sort"] == ["short", "a much longer\nlabel"]
    assert axis["axis"]["minExtent"] > label_axis(["short"])["axis"]["minExtent"]


def test_decades_are_few_and_inside() -> None:
    for low, high in ((1.0, 2.0), (0.001, 1e6), (3.0, 9.0), (1e-9, 1e9)):
        found = decades(low, high)
        assert len(found) <= 7
        assert all(low * 0.999 <= value <= high * 1.001 for value in found)


def test_decades_are_evenly_apart() -> None:
    assert decades(30, 7000) == [30, 100, 300, 1000, 3000]
    assert decades(1, 1e12) == [1, 1000, 1_000_000, 1_000_000_000, 1_000_000_000_000]


def test_ticks_say_what_stands_at_them() -> None:
    ticks = log_ticks(1, 10, lambda value: f'"{value}"')
    assert ticks["values"] == [1, 2, 5, 10]
    assert ticks["labelExpr"] == '["\\"1\\"", "\\"2\\"", "\\"5\\"", "\\"10\\""][indexof([1, 2, 5, 10], datum.value)]'


def test_room_is_counted_in_letters() -> None:
    assert fits("abc", 30)
    assert not fits("abc", 10)
