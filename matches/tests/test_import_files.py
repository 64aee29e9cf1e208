"""Files of results: what is read of each form, and how a wrong cell is named."""

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from matches.errors import BadInputError, BadRowsError
from matches.ledger.imported import checking, readers
from matches.ledger.imported.checking import Sheet, read_sheet
from matches.ledger.imported.columns import DRAW, FIRST_WINS, SECOND_WINS
from matches.ledger.imported.readers import open_results
from matches.store.table_files import Column, write_csv

HEAD = b"first,second,result,key\n"
GOOD = b"ada,bob,1-0,g1\n"
PGN = """\
[Event "Cup"]
[White "Ada, A."]
[Black "Bob \\"B\\" B."]
[Result "1-0"]

1. e4 {[%clk 0:03:00] begins
[a comment line]} e5 1-0

[White "Cyd"]
[Black "Ada, A."]
[Result "1/2-1/2"]

1/2-1/2

[White "Cyd"]
[Black "Dan"]
[Result "0-1"]
"""


def _read(
    folder: Path, content: bytes, name: str = "games.csv", mapped: Mapping[str, str] | None = None
) -> Sheet:
    path = folder / name
    path.write_bytes(content)
    return read_sheet(open_results(path, name=name, form="", mapped=mapped or {}))


def _list_rows(sheet: Sheet) -> list[tuple[str, str, int]]:
    names = {place: name.strip() for name, place in sheet.names.items()}
    rows = zip(sheet.first, sheet.second, sheet.result, strict=True)
    return [(names[first], names[second], result) for first, second, result in rows]


@pytest.mark.parametrize(
    ("row", "named"),
    [
        (b"ada,bob\n", "line 3, it has 2 cells, the head has 4"),
        (b"ada,bob,1-0,g2,more\n", "line 3, it has 5 cells, the head has 4"),
        (b",bob,1-0,g2\n", "line 3, column 'first', value '': name the agent"),
        (b"ada,  ,1-0,g2\n", "line 3, column 'second', value '  ': name the agent"),
        (b"a\x07a,bob,1-0,g2\n", "column 'first', value 'a\\x07a': a name has printable"),
        (b"a" * 121 + b",bob,1-0,g2\n", "has at most 120 characters, it has 121"),
        (b"bob, bob,1-0,g2\n", "line 3, column 'second', value ' bob': an agent that meets itself"),
        (b"ada,bob,,g2\n", "line 3, column 'result', value '': must be 1-0, 0-1 or 1/2-1/2"),
        (b"ada,bob,2-0,g2\n", "line 3, column 'result', value '2-0': must be 1-0"),
        (b"ada,bob,nan,g2\n", "line 3, column 'result', value 'nan': must be 1-0"),
        (b"ada,bob,*,g2\n", "line 3, column 'result', value '*': the game is not over"),
        (b"ada,bob,1-0, \n", "line 3, column 'key', value ' ': each row needs a key"),
        (b"ada,bob,0-1,g1\n", "line 3, column 'key', value 'g1': line 2 has it already"),
        (b"ada,bob,1-0," + b"k" * 101 + b"\n", "a key has 1 to 100 printable characters"),
        (b'ada,"bob"s,1-0,g2\n', "line 3, it is no CSV"),
        (b"ad\xe9,bob,1-0,g2\n", "line 3: b'\\xe9,bob,1-' is no UTF-8"),
    ],
)
def test_a_wrong_row_is_named_by_line_column_and_value(
    tmp_path: Path, row: bytes, named: str
) -> None:
    with pytest.raises(BadInputError) as refused:
        _read(tmp_path, HEAD + GOOD + row)
    assert named in str(refused.value)


def test_all_wrong_rows_are_named_up_to_some_and_the_rest_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "MOST_NAMED", 2)
    rows = b"ada,bob,x,g2\nada,bob,y,g3\nada,bob,z,g4\n"
    with pytest.raises(BadRowsError) as refused:
        _read(tmp_path, HEAD + rows)
    first, second, rest = refused.value.problems
    assert ("line 2" in first, "line 3" in second) == (True, True)
    assert rest == "and 1 more; nothing was imported"


@pytest.mark.parametrize(
    ("head", "mapped", "words"),
    [
        (b"white,result\n", {}, "no column 'second' or 'black' or 'player1'"),
        (b"first,second,result,result\n", {}, "line 1, column 'result': it is there twice"),
        (b"one,second,result\n", {}, "as --column first=NAME of evalsite or as first of `columns`"),
        (b"first,second,result\n", {"first": "White"}, "first=White: the columns are 'first'"),
        (b"first,second,result\n", {"elo": "first"}, "'elo' is no part of a row"),
        (b"", {}, "line 1: no column 'first'"),
    ],
)
def test_a_head_that_lacks_a_column_says_which(
    tmp_path: Path, head: bytes, mapped: Mapping[str, str], words: str
) -> None:
    with pytest.raises(BadInputError) as refused:
        _read(tmp_path, head, mapped=mapped)
    assert words.replace("player1", "player2") in str(refused.value)


@pytest.mark.parametrize("name", ["games.txt", "games"])
def test_a_file_of_another_form_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInputError, match=r"does not end in one of csv, parquet, pgn"):
        _read(tmp_path, HEAD + GOOD, name)


def test_a_line_without_end_is_not_read_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "_MAX_LINE", 99)
    with pytest.raises(BadInputError, match="line 2 has more than 99 bytes"):
        _read(tmp_path, HEAD + b"a" * 200)


def test_a_file_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="it has no row"):
        _read(tmp_path, HEAD)


@pytest.mark.parametrize(
    ("content", "mapped"),
    [
        (b"White;Black;Score\nada;bob;1\nbob;ada;.5\n\nada;bob;0\n", {}),
        (b"\xef\xbb\xbffirst\tsecond\tresult\nada\tbob\twin\nbob\tada\tDraw\nada\tbob\tL\n", {}),
        (
            b"who,result,against\nada,1.0,bob\nbob,1/2-1/2,ada\nada,0-1,bob\n",
            {"first": "who", "second": "against"},
        ),
    ],
)
def test_tables_are_read_as_they_are_written(
    tmp_path: Path, content: bytes, mapped: Mapping[str, str]
) -> None:
    rows = _list_rows(_read(tmp_path, content, mapped=mapped))
    assert rows == [
        ("ada", "bob", FIRST_WINS),
        ("bob", "ada", DRAW),
        ("ada", "bob", SECOND_WINS),
    ]


@pytest.mark.parametrize("scores", [[1.0, 0.5, 0.0], ["1-0", "1/2-1/2", "0-1"]])
def test_parquet_is_read_a_piece_at_a_time(tmp_path: Path, scores: Sequence[object]) -> None:
    path = tmp_path / "games.parquet"
    table = {"first": ["a", "b", "a"], "second": ["b", "a", "b"], "score": scores, "elo": [1, 2, 3]}
    pq.write_table(pa.table(table), path)
    rows = _list_rows(read_sheet(open_results(path, name=path.name, form="", mapped={})))
    assert [result for *_, result in rows] == [FIRST_WINS, DRAW, SECOND_WINS]


def test_a_wrong_value_of_parquet_is_named_by_its_row(tmp_path: Path) -> None:
    path = tmp_path / "games.parquet"
    pq.write_table(pa.table({"first": ["a", None], "second": ["b", "b"], "result": [1, 2]}), path)
    with pytest.raises(BadRowsError) as refused:
        read_sheet(open_results(path, name=path.name, form="", mapped={}))
    assert refused.value.problems == (
        "row 2, column 'first', value '': name the agent",
        "row 2, column 'result', value '2': must be 1-0, 0-1 or 1/2-1/2, "
        "or the points of the first: 1, 0 or 0.5",
    )


def test_a_column_of_lists_is_no_name(tmp_path: Path) -> None:
    path = tmp_path / "games.parquet"
    pq.write_table(pa.table({"first": [["a"]], "second": ["b"], "result": [1]}), path)
    with pytest.raises(BadInputError, match="column 'first' holds list"):
        open_results(path, name=path.name, form="", mapped={})


def test_what_is_no_parquet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="it is no Parquet file"):
        _read(tmp_path, b"PAR1", "games.parquet")


def test_games_of_pgn_are_read_by_their_tags(tmp_path: Path) -> None:
    sheet = _read(tmp_path, PGN.encode(), "games.pgn")
    assert _list_rows(sheet) == [
        ("Ada, A.", 'Bob "B" B.', FIRST_WINS),
        ("Cyd", "Ada, A.", DRAW),
        ("Cyd", "Dan", SECOND_WINS),
    ]
    assert list(sheet.lines) == [1, 9, 15]


def test_a_tag_that_a_game_lacks_is_named_by_the_line_where_it_begins(tmp_path: Path) -> None:
    with pytest.raises(BadRowsError, match="line 9, column 'Event', value ''"):
        _read(tmp_path, PGN.encode(), "games.pgn", {"key": "Event"})


def test_a_head_of_many_columns_is_read_once(tmp_path: Path) -> None:
    names = b",".join(b"c%d" % number for number in range(40_000))
    begun = time.process_time()
    with pytest.raises(BadInputError, match="no column 'first'"):
        _read(tmp_path, names + b"\n")
    # Each name compared with each other one took a minute.
    assert time.process_time() - begun < 2


def test_tags_side_by_side_or_indented_are_read(tmp_path: Path) -> None:
    side_by_side = b'[White "Ada"] [Black "Bob"]  [Result "1-0"]\r\n\r\n1-0\r\n\r\n'
    indented = b' [White "Cyd"]\n\t[Black "a \\"]b\\" [c"]\n [Result "0-1"]\n\n0-1\n'
    sheet = _read(tmp_path, side_by_side + indented, "games.pgn")
    assert _list_rows(sheet) == [("Ada", "Bob", FIRST_WINS), ("Cyd", 'a "]b" [c', SECOND_WINS)]
    assert list(sheet.lines) == [1, 5]


def test_games_that_nothing_parts_are_refused_rather_than_lost(tmp_path: Path) -> None:
    tags = b'[White "Ada"]\n[Black "Bob"]\n[Result "1-0"]\n'
    with pytest.raises(BadRowsError, match="line 1, tag 'Black' is there twice"):
        _read(tmp_path, tags * 2, "games.pgn")


@pytest.mark.parametrize(
    "names",
    [
        pa.Array.from_buffers(
            pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")]
        ),
        pa.array([b"\xff\xfe"]),
        pa.array([2**62], pa.timestamp("ns")),
        pa.array([2**30], pa.date32()),
        pa.array([1], pa.timestamp("us", tz="No/Where")),
    ],
)
def test_values_of_parquet_that_are_no_texts_are_refused(
    tmp_path: Path, names: "pa.Array[Any]"
) -> None:
    path = tmp_path / "games.parquet"
    pq.write_table(pa.table({"first": names, "second": ["b"], "result": [1]}), path)
    with pytest.raises(BadInputError, match="after row 0 it cannot be read"):
        read_sheet(open_results(path, name=path.name, form="", mapped={}))


def test_a_key_of_parquet_that_is_nan_is_missing(tmp_path: Path) -> None:
    """Else the results of two files whose keys are missing would be one result."""
    path = tmp_path / "games.parquet"
    table = {"first": ["a", "a"], "second": ["b", "b"], "result": [1, 0], "key": [1.5, math.nan]}
    pq.write_table(pa.table(table), path)
    with pytest.raises(BadInputError, match="row 2, column 'key', value '': each row needs a key"):
        read_sheet(open_results(path, name=path.name, form="", mapped={}))


def test_texts_of_parquet_may_be_bytes(tmp_path: Path) -> None:
    path = tmp_path / "games.parquet"
    pq.write_table(pa.table({"first": [b"ada"], "second": ["bob"], "result": [b"1-0"]}), path)
    sheet = read_sheet(open_results(path, name=path.name, form="", mapped={}))
    assert _list_rows(sheet) == [("ada", "bob", FIRST_WINS)]


@given(
    name=st.text(st.sampled_from("'=+-@ x") | st.characters().filter(str.isprintable), min_size=1)
)
@example("-x")
@example("'-x")
@example("''-x")
@example("'x")
def test_a_name_is_read_as_it_was_exported(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    path = tmp_path_factory.mktemp("exported") / "games.csv"
    columns = [Column(text, str) for text in ("first", "second", "result")]
    path.write_bytes(b"".join(write_csv(columns, [(name, "bob", "1-0")])))
    (row,) = open_results(path, name=path.name, form="", mapped={}).rows
    assert row.first == name
