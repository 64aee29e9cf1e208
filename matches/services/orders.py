"""Build the message of a match order from its rows."""

from collections.abc import Sequence

from arena.games import registry as games
from arena.messages import (
    AgentOrder,
    Limits,
    MatchOrder,
    MatchOrderRow,
    match_token,
    order_token,
)
from matches.models import Agent, Match, Order, Tournament
from matches.models.tournament import read_faults
from matches.tokens import tournament_secret


def order_message(order: Order, tournament: Tournament, matches: Sequence[Match]) -> MatchOrder:
    """Return the order as it is sent: everything that a node needs to play the matches."""
    board = tournament.leaderboard
    agent_ids = sorted({agent for match in matches for agent in match.agent_ids})
    index = {agent: position for position, agent in enumerate(agent_ids)}
    agents = Agent.objects.in_bulk(agent_ids)
    secret = tournament_secret(tournament)
    return MatchOrder(
        order=order.uuid.hex,
        token=order_token(secret, order.uuid.hex),
        game=board.game,
        rules_version=games.get(board.game).spec.rules_version,
        game_parameters=board.game_parameters,
        opening_plies=board.plies,
        limits=Limits(move_s=tournament.move_s, match_s=tournament.match_s),
        agents=[_agent_order(agents[agent]) for agent in agent_ids],
        matches=[_row(match, index, secret) for match in matches],
        faults=None if tournament.faults is None else read_faults(tournament.faults),
    )


def _agent_order(agent: Agent) -> AgentOrder:
    return AgentOrder(
        policy=agent.policy,
        parameters=agent.parameters,
        checkpoint=agent.checkpoint,
        placement=agent.placement,
    )


def _row(match: Match, index: dict[int, int], secret: bytes) -> MatchOrderRow:
    return MatchOrderRow(
        match=match.pk,
        attempt=match.attempt,
        game_seed=match.game_seed,
        seats=[index[agent] for agent in match.agent_ids],
        token=match_token(secret, match.pk, match.attempt),
    )
