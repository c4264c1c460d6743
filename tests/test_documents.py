from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.documents import (
    MAX_LINE_BYTES,
    Mapping,
    Scalar,
    Sequence,
    decode_text,
    describe_kind,
    read_lines,
    read_text,
    read_yaml,
)
from breakeven.errors import BreakevenError, InputError


def code_of(text: str) -> tuple[str, int | None]:
    with pytest.raises(InputError) as caught:
        read_yaml(text, file="a.yaml")
    assert caught.value.file == "a.yaml"
    return caught.value.code, caught.value.line


def test_values_keep_their_line_and_their_text() -> None:
    root = read_yaml("job: x\ndata:\n  examples: 010\nlist: [no, '1']\nblank:\n")
    assert isinstance(root, Mapping)
    assert root.key_lines == {"job": 1, "data": 2, "list": 4, "blank": 5}
    data, listed, blank = root.entries["data"], root.entries["list"], root.entries["blank"]
    assert isinstance(data, Mapping)
    assert data.entries["examples"] == Scalar("010", 3)
    assert isinstance(listed, Sequence)
    assert listed.items == (Scalar("no", 4), Scalar("1", 4, is_quoted=True))
    assert isinstance(blank, Scalar)
    assert blank.is_null
    assert [describe_kind(node) for node in (root, listed, blank, listed.items[0])] == [
        "mapping",
        "list",
        "nothing",
        "text",
    ]


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("a: 1\na: 2", "duplicate-key", 2),
        ("a: &x 1\nb: *x", "yaml-alias", 1),
        ("b: *x", "yaml-alias", 1),
        ("a: !!python/object/apply:os.system [ls]", "yaml-tag", 1),
        ("a: !!int 3", "yaml-tag", 1),
        ("a: 1\n---\nb: 2", "yaml-several-documents", 2),
        ("? [a, b]\n: 1", "key-not-text", 1),
        ("a: [1", "yaml-syntax", 1),
        ("a:\n\t- 1", "yaml-syntax", 2),
        ("a: 'x", "yaml-syntax", 1),
        ("a: b: c", "yaml-syntax", 1),
        ("a: \x07", "file-binary", 1),
        ("# only a comment", "file-empty", None),
        ("~", "file-empty", None),
        ("[" * 200, "yaml-too-deep", 1),
        ("{a: " * 200, "yaml-too-deep", 1),
    ],
)
def test_hostile_and_broken_yaml_is_refused(text: str, code: str, line: int | None) -> None:
    found, at = code_of(text)
    assert found == code
    if line is not None and code != "yaml-syntax":
        assert at == line


def test_a_billion_laughs_is_refused_at_the_first_anchor() -> None:
    bomb = "a: &a [x,x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [*{chr(97 + i)}, *{chr(97 + i)}]\n" for i in range(20)
    )
    assert code_of(bomb) == ("yaml-alias", 1)


@given(st.text(max_size=200))
def test_any_text_parses_or_raises_an_input_error(text: str) -> None:
    try:
        read_yaml(text)
    except BreakevenError as error:
        assert isinstance(error, InputError)


@given(st.binary(max_size=200))
def test_any_bytes_decode_or_raise_an_input_error(content: bytes) -> None:
    try:
        decode_text(content, file="a")
    except BreakevenError as error:
        assert isinstance(error, InputError)


def test_encodings(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: \xc3\xa9\r\nb: 1\r")
    assert read_text(path, max_bytes=100) == "a: é\nb: 1\n"
    for content, code, line in (
        ("a: é".encode("utf-16"), "file-not-utf8", 1),
        (b"a: 1\nb: \xe9\n", "file-not-utf8", 2),
        (b"a\x00b", "file-binary", 1),
        (b"\n\x89PNG\x00\x1a", "file-binary", 2),
        (b"  \n", "file-empty", None),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError) as caught:
            read_text(path, max_bytes=100)
        assert (caught.value.code, caught.value.line) == (code, line)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"x" * 11)
    for path, code in (
        (tmp_path / "none", "file-missing"),
        (tmp_path, "file-is-folder"),
        (tmp_path / "big" / "x", "file-missing"),
        (tmp_path / ("x" * 5000), "file-unreadable"),
        (Path("a\x00b"), "file-unreadable"),
        (tmp_path / "big", "file-too-large"),
    ):
        with pytest.raises(InputError) as caught:
            read_text(path, max_bytes=10)
        assert caught.value.code == code


def test_lines_are_bounded_and_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xef\xbb\xbfa,b\n1,2\n")
    assert list(read_lines(path)) == ["a,b\n", "1,2\n"]
    path.write_bytes(b"a\n" + b"x" * (MAX_LINE_BYTES + 1))
    with pytest.raises(InputError) as caught:
        list(read_lines(path))
    assert (caught.value.code, caught.value.line) == ("line-too-long", 2)
    path.write_bytes(b"a\n\xff\n")
    with pytest.raises(InputError, match="line 2: the text is not UTF-8"):
        list(read_lines(path))
