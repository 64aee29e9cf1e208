"""Build the message of a match order from its rows."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from django.conf import settings

from arena.games import registry as games
from arena.message_tokens import match_token, order_token
from arena.messages import AgentOrder, Limits, MatchOrder, MatchOrderRow, ServerLink
from arena.queues import reports_queue, shard_of
from matches.models import Agent, Order, Tournament, Worker
from matches.models.match import parse_numbers
from matches.models.tournament import parse_faults
from matches.store import signing
from matches.store.signing import derive_tournament_key


class OrderedMatch(NamedTuple):
    """A match as an order names it."""

    pk: int
    attempt: int
    game_seed: int
    lineup: str
    actions: str = ""


def build_order_message(
    order: Order, tournament: Tournament, matches: Sequence[OrderedMatch]
) -> MatchOrder:
    """Return the order as it is sent: everything that a node needs to play the matches."""
    board = tournament.leaderboard
    spec = games.get(board.game).spec
    lineups = {lineup: parse_numbers(lineup) for lineup in {match.lineup for match in matches}}
    agent_ids = sorted({agent for lineup in lineups.values() for agent in lineup})
    index = {agent: position for position, agent in enumerate(agent_ids)}
    seats = {text: [index[agent] for agent in lineup] for text, lineup in lineups.items()}
    agents = Agent.objects.select_related("checkpoint").in_bulk(agent_ids)  # each once
    secret = derive_tournament_key(tournament)
    trajectories = ""
    if tournament.keeps_trajectories:
        path = signing.trajectories_path(order.uuid.hex)
        trajectories = signing.sign_link("PUT", path, now=order.created_at)
    played_by = {match: name for name, dealt in order.servers.items() for match in dealt}
    names = sorted(order.servers)
    return MatchOrder(
        order=order.uuid.hex,
        token=order_token(secret, order.uuid.hex),
        game=board.game,
        rules_version=spec.rules_version,
        game_version=board.game_version,
        game_parameters=board.game_parameters,
        opening_plies=board.plies,
        limits=Limits(move_s=tournament.move_s, match_s=tournament.match_s),
        agents=[_build_agent_order(agents[agent], now=order.created_at) for agent in agent_ids],
        matches=[
            MatchOrderRow(
                match=match.pk,
                attempt=match.attempt,
                game_seed=match.game_seed,
                seats=seats[match.lineup],
                token=match_token(secret, match.pk, match.attempt),
            )
            for match in matches
        ],
        actions=[match.actions for match in matches] if any(m.actions for m in matches) else [],
        faults=None if tournament.faults is None else parse_faults(tournament.faults),
        trajectories=trajectories,
        is_replayable=spec.is_replayable,
        # One recorder writes all of a tournament: two would wait for each other at its row.
        reports=reports_queue(shard_of(tournament.pk, settings.EVALSITE_RECORDERS)),
        servers=_build_links(names, now=order.created_at) if names else [],
        served_by=[names.index(played_by[match.pk]) for match in matches] if names else [],
    )


def _build_links(names: Sequence[str], *, now: datetime) -> list[ServerLink]:
    workers = Worker.objects.filter(node__in=names).in_bulk(field_name="node")
    return [
        ServerLink(
            name=name,
            address=workers[name].address,
            token=signing.sign_pass(name, now=now),
        )
        for name in names
    ]


def _build_agent_order(agent: Agent, *, now: datetime) -> AgentOrder:
    if agent.checkpoint is None:
        return AgentOrder(policy=agent.policy, parameters=agent.parameters, version=agent.version)
    sha256 = agent.checkpoint.sha256
    return AgentOrder(
        policy=agent.policy,
        parameters=agent.parameters,
        version=agent.version,
        checkpoint=sha256,
        placement=agent.placement,
        source=signing.sign_link("GET", signing.checkpoint_path(sha256), now=now),
        state_size=agent.checkpoint.state_size,
    )
