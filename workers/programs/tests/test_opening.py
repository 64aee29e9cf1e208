"""Which line an agent gets: by the list of its node, never by what a user sent."""

import pytest

from arena.errors import AgentDiedError, ProgramListError, UnusableProgramError
from arena.games import registry as games
from arena.policies.line_policy import LinePolicy
from arena.policies.tests.positions import build
from workers.programs.child import ChildLine
from workers.programs.http_line import HttpLine
from workers.programs.opening import UnusableLine, open_line

LIST = {"EVALSITE_PROGRAMS": "mine=/bin/cat; far=http://127.0.0.1:1/"}


def policy_of(text: str) -> LinePolicy:
    policy = build(text, games.get("tic_tac_toe"))
    assert isinstance(policy, LinePolicy)
    return policy


def test_a_command_is_started_and_an_address_is_asked() -> None:
    assert isinstance(open_line(policy_of("program:mine"), LIST), ChildLine)
    assert isinstance(open_line(policy_of("http_agent:far"), LIST), HttpLine)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("program:other", "program 'other' is not listed here"),
        ("program:far", "program 'far' is an address"),
        ("http_agent:mine", "program 'mine' is a command"),
    ],
)
def test_what_is_not_listed_so_is_told_to_those_that_ask(text: str, why: str) -> None:
    line = open_line(policy_of(text), LIST)
    assert isinstance(line, UnusableLine)
    with pytest.raises(UnusableProgramError, match=why):
        line.open()
    line.send("lost")
    with pytest.raises(AgentDiedError, match=why):
        line.receive()
    line.close()


def test_a_list_that_is_none_names_its_entry() -> None:
    with pytest.raises(ProgramListError, match="EVALSITE_PROGRAMS: 'mine'"):
        open_line(policy_of("program:mine"), {"EVALSITE_PROGRAMS": "mine"})
