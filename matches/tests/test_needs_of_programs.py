"""Agents that are programs: their matches go to nodes that list them; none is known before."""

from collections.abc import Sequence

import pytest
from redis import Redis

from arena.errors import NeedsError
from matches.artifacts.agents import register_spelled_agent
from matches.ledger import planning, relay
from matches.ledger.known_ahead import count_known_ahead
from matches.ledger.tournaments import open_leaderboard, schedule_tournament
from matches.models import Agent, Match, Tournament
from matches.operations import explain
from matches.plans import TournamentPlan
from matches.store.match_needs import needs_of_match
from matches.tests import boards
from matches.tests import factories as make

pytestmark = pytest.mark.django_db


def plan(spelled: Sequence[str], n_matches: int = 6) -> tuple[Tournament, list[Agent]]:
    board = open_leaderboard("programs", game="connect_four")
    agents = [register_spelled_agent(text, game="connect_four") for text in spelled]
    tournament = schedule_tournament(
        TournamentPlan(name="programs", n_matches=n_matches), leaderboard=board, agents=agents
    )
    planning.plan_tournament(tournament, now=make.NOW)
    return tournament, agents


def test_a_match_goes_to_a_node_that_lists_every_program_in_it(broker: Redis) -> None:
    plan(["program:mine", "http_agent:far", "random"])
    needs = set(Match.objects.values_list("needs", flat=True))
    assert needs == {"cpu+program.far+program.mine", "cpu+program.far", "cpu+program.mine"}
    make.alive(node="a", capabilities=["cpu", "torch"])
    make.alive(node="b", capabilities=["cpu", "program.mine"])
    relay.send_pending_matches(now=make.NOW)
    sent = [
        row.match for node in "ab" for order in make.popped(broker, node) for row in order.matches
    ]
    of_mine = Match.objects.filter(needs="cpu+program.mine").values_list("pk", flat=True)
    assert set(sent) <= set(of_mine)
    assert sent
    of_both = Match.objects.filter(needs="cpu+program.far+program.mine").first()
    assert of_both is not None
    waits = " ".join(explain.of_match(of_both, now=make.NOW).waits_for)
    where = "where it is installed or its address answers"
    hint = f'{where}: ./run stop, then EVALSITE_PROGRAMS="far=...; mine=..." ./run up'
    assert f"a play node with cpu and program.far and program.mine: none is alive ({hint})" in waits


def test_what_a_program_played_is_not_known_ahead(broker: Redis) -> None:
    tournament, agents = plan(["program:mine", "random"])
    Match.objects.update(needs="cpu")  # as the node of the test has it
    boards.play_some(tournament, 6, make.first_wins)
    again = TournamentPlan(name="again", n_matches=6)
    board = tournament.leaderboard
    assert count_known_ahead(again, leaderboard=board, agents=agents) == 0
    # Others of that board are.
    others = [register_spelled_agent(text, game="connect_four") for text in ("greedy", "random")]
    second = schedule_tournament(again, leaderboard=board, agents=others)
    planning.plan_tournament(second, now=make.NOW)
    boards.play_some(second, 6, make.first_wins)
    assert count_known_ahead(again, leaderboard=board, agents=others) == 6


def test_more_programs_in_a_match_than_can_be_told_are_refused() -> None:
    with pytest.raises(NeedsError, match="enter fewer programs"):
        needs_of_match("connect_four", set(), [f"program.{letter * 16}" for letter in "abc"])
