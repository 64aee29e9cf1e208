"""Plans that cannot reach their end, on the command line and by the client."""

import pytest

from evalsite_client import Client, ProblemError
from evalsite_client.tests.commands import Evalsite, ok
from matches.models import Tournament

pytestmark = pytest.mark.django_db(transaction=True)
REFUSAL = "Knockout of 4 agents needs 12 matches at least to reach the final, got 4"
NAMES = ("one", "two", "three", "four")


@pytest.fixture
def agents(evalsite: Evalsite) -> list[int]:
    """Open a leaderboard and register four agents; return their ids."""
    ok(evalsite("open", "short", "--game", "connect_four"))
    for name in NAMES:
        ok(evalsite("register", name, "--game", "connect_four", "--policy", "random"))
    with Client() as client:
        return [agent.id for agent in client.agents.list(page_size=10)]


def test_the_command_line_refuses_it_with_status_2(evalsite: Evalsite, agents: list[int]) -> None:
    cup = ("--pairing", "knockout")
    for command in (
        ("schedule", "-l", "short", *NAMES, *cup, "-n", 4),
        (
            "evaluate",
            "--game",
            "connect_four",
            "--agents",
            ",".join(NAMES),
            *cup,
            "--num-matches",
            4,
        ),
    ):
        status, _, complaint = evalsite(*command)
        assert status == 2, complaint
        assert REFUSAL in complaint
        assert "Traceback" not in complaint
    assert not Tournament.objects.exists()


def test_the_client_raises_what_names_the_field(agents: list[int]) -> None:
    with Client() as client, pytest.raises(ProblemError, match="n_matches") as refused:
        client.tournaments.schedule(
            leaderboard="short", agents=agents, name="cup", pairing="knockout", n_matches=4
        )
    assert REFUSAL in str(refused.value)


def test_what_only_luck_brings_to_its_end_is_noted(evalsite: Evalsite, agents: list[int]) -> None:
    assert len(agents) == len(NAMES)
    few = ("schedule", "-l", "short", *NAMES, "--pairing", "knockout", "-n", 14, "--paused")
    assert "Note: 14 matches may end it before the final" in ok(evalsite(*few))
    enough = ("schedule", "-l", "short", *NAMES, "--pairing", "knockout", "-n", 18, "--paused")
    assert "may end it" not in ok(evalsite(*enough))
