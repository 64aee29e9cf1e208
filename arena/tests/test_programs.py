"""The list of programs of a play node."""

import sys

import pytest

from arena.errors import ProgramListError
from arena.programs import (
    MAX_PROGRAMS,
    Program,
    format_programs,
    is_program_name,
    name_capability,
    read_programs,
)


def test_a_list_has_commands_and_addresses() -> None:
    text = (
        "fish=/usr/games/fish ; mine='/opt/my agent/run' --level 3\nfar=https://host:90/decide?a=b;"
    )
    assert read_programs(text) == {
        "fish": Program("fish", ("/usr/games/fish",)),
        "mine": Program("mine", ("/opt/my agent/run", "--level", "3")),
        "far": Program("far", address="https://host:90/decide?a=b"),
    }
    assert read_programs(" ") == {}
    assert " ;" not in format_programs(read_programs(text))
    assert read_programs(format_programs(read_programs(text))) == read_programs(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("fish", "'fish': name=command or name=address is needed"),
        ("Fish=/bin/fish", "'Fish=/bin/fish': name=command"),
        (f"{'a' * 17}=b", "up to 16 small letters"),
        ("a=b;a=c", "'a': each name stands once"),
        ("a= ", "'a': a command or an address must stand behind the ="),
        ("a='b", "'a': its command cannot be read: No closing quotation"),
        ("a=http://", "'a': its address needs a host, and a port if any"),
        ("a=http://host:70000/", "'a': its address needs a host"),
        ("a=http://host:0/", "'a': its address needs a host"),
        (";".join(f"a{i}=b" for i in range(MAX_PROGRAMS + 1)), "51 entries': at most 50 are taken"),
    ],
)
def test_what_is_no_list_names_the_entry_and_what_is_needed(text: str, why: str) -> None:
    with pytest.raises(ProgramListError, match="EVALSITE_PROGRAMS: ") as refused:
        read_programs(text)
    assert why in str(refused.value)


def test_a_command_is_there_where_its_first_word_is_found() -> None:
    assert Program("a", (sys.executable, "-V")).is_there
    assert not Program("a", ("/no/such/program",)).is_there
    assert Program("a", address="http://127.0.0.1:1").is_there


def test_a_name_is_that_of_a_capability() -> None:
    assert is_program_name("stockfish-16_1")
    assert not is_program_name("../stockfish")
    assert name_capability("fish") == "program.fish"
