"""Trajectories on purpose: one agent against itself or another, unrated, every decision kept."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from hashlib import sha256
from json import dumps

from django.db import transaction
from django.db.models import QuerySet

from arena.errors import ArenaError
from arena.games import registry as games
from arena.games.base import CHILD
from arena.games.served import can_replay
from arena.needs import GPU, SERVER, Needs
from arena.pairing.base import COUPLE
from arena.policies.spec import is_spelled
from arena.trajectories import TrajectorySpec
from matches.artifacts.agents import register_spelled_agent
from matches.errors import BadInputError
from matches.ledger.tournaments import open_leaderboard, schedule_tournament
from matches.models import Agent, Checkpoint, Leaderboard, Tournament
from matches.models.validation import check_game
from matches.plans import TournamentPlan
from matches.store import selectors
from matches.store.game_servers import START_HINT
from matches.store.locks import take_turn_of_runs
from matches.store.match_needs import needs_of_match, read_programs_of
from matches.store.start_hints import GPU_HINT, PLAY_HINT

_HASH = re.compile("[0-9a-f]{6,64}")
_SHOWN_STEPS = 20
_KNOWN_NAMES = 10_000
"""So many names are searched for one that is meant."""
# Disk space is asked for by a guess: so many steps, compressed by so much.
TYPICAL_STEPS = 200
COMPRESSED = 8


@dataclass(frozen=True)
class Side:
    """An agent as it was asked for: its name or spelling, and of a run the step or a hash."""

    name: str
    checkpoint: str = ""
    field: str = "agent_a"


@dataclass(frozen=True)
class Generation:
    """What is to be generated; `plan` holds matches, seed, limits and the key of the run."""

    sides: Sequence[Side]
    plan: TournamentPlan
    game: str = ""
    game_parameters: Mapping[str, object] = field(default_factory=dict)
    opening_plies: int | None = None


@transaction.atomic
def start_generation(generation: Generation) -> Tournament:
    """Return the unrated tournament of a run, new or the one that has its key.

    Raises BadInputError: an unknown agent, one of another game, a checkpoint that is not ready.
    """
    take_turn_of_runs()
    of_this_run = Tournament.objects.filter(key=generation.plan.key)
    if of_this_run.update(order_limit=generation.plan.order_limit):
        return of_this_run.select_related("leaderboard").get()
    agents = find_agents(generation)
    board = _find_or_open_board(
        agents[0].game, generation.game_parameters, generation.opening_plies
    )
    game = check_game(board.game, board.game_parameters)
    # Not started either: such a game may be a server, or somebody's account.
    if not game.spec.is_replayable:
        reason = f"{board.game} cannot be replayed, so the same seed would give other files"
        raise BadInputError("game", reason)
    # Tried once here: what is refused would fail on every node. A child process needs what only
    # nodes must have.
    try:
        if can_replay(game) and game.spec.served != CHILD:
            game.start(0, opening_plies=board.plies)
    except ArenaError as error:
        raise BadInputError("opening_plies", str(error)) from error
    return schedule_tournament(generation.plan, leaderboard=board, agents=agents)


def check_generation(generation: Generation) -> tuple[list[Agent], Needs]:
    """Return the agents and what their matches need; leave nothing behind. Raises as start does."""
    with transaction.atomic():
        take_turn_of_runs()
        agents = find_agents(generation)
        start_generation(generation)
        # Started for real, so that every check is made, and then undone.
        transaction.set_rollback(True)
    places = {agent.placement for agent in agents if agent.checkpoint_id}
    programs = {p for own in read_programs_of([agent.pk for agent in agents]).values() for p in own}
    return agents, needs_of_match(agents[0].game, places, programs)


def estimate_bytes(generation: Generation, *, game: str) -> int:
    """Return about how much room the files of a run take: a guess, before anything is played."""
    spec = games.get(game).spec
    n_steps = generation.plan.n_matches * min(spec.max_steps, TYPICAL_STEPS)
    return n_steps * TrajectorySpec.of_game(spec).row_bytes // COMPRESSED


def find_agents(generation: Generation) -> list[Agent]:
    """Return the agents of both sides; register a spelled one. Raises BadInputError."""
    game = generation.game or _find_common_game(generation.sides)
    n_seats = check_game(game, generation.game_parameters).spec.n_seats
    if len({(side.name, side.checkpoint) for side in generation.sides}) == COUPLE != n_seats:
        reason = f"{game} has {n_seats} seats: only self-play fills them, leave it out"
        raise BadInputError("agent_b", reason)
    agents = [_find_agent(side, game) for side in generation.sides]
    # The same agent twice is self-play, which is entered as one.
    if len({agent.pk for agent in agents}) == 1:
        agents = agents[:1]
    for agent, side in zip(agents, generation.sides, strict=False):
        weights = agent.checkpoint
        if weights is not None and weights.state != Checkpoint.State.READY:
            why = "is being checked by a gpu worker: wait until it is ready"
            if weights.state == Checkpoint.State.REFUSED:
                why = f"was refused: {weights.reason}"
            raise BadInputError(side.field, f"the checkpoint of {agent.name!r} {why}")
    return agents


def _find_common_game(sides: Sequence[Side]) -> str:
    """Return the one game that stored agents of these names play. Raises BadInputError."""
    by_side = [set(_filter_stored_agents(side).values_list("game", flat=True)) for side in sides]
    for side, names in zip(sides, by_side, strict=True):
        if not names and not is_spelled(side.name):
            raise BadInputError(side.field, _describe_unknown(side, game=""))
    known_sides = [names for names in by_side if names]
    common = set.intersection(*known_sides) if known_sides else set(games.names())
    if len(common) == 1:
        return common.pop()
    side_names = " and ".join(repr(side.name) for side in sides)
    if known_sides and not common:
        raise BadInputError("agent_b", f"{side_names} play no game in common")
    raise BadInputError("game", f"say which {side_names} shall play: {', '.join(sorted(common))}")


def _find_agent(side: Side, game: str) -> Agent:
    candidates = _filter_stored_agents(side).filter(game=game)
    stored = list(candidates.select_related("checkpoint").order_by("pk"))
    if len(stored) == 1:
        return stored[0]
    if stored:
        return _choose_agent(side, stored)
    if side.checkpoint or not is_spelled(side.name):
        raise BadInputError(side.field, _describe_unknown(side, game=game))
    try:
        return register_spelled_agent(side.name, game=game)
    except ArenaError as error:
        raise BadInputError(side.field, str(error)) from error


def _choose_agent(side: Side, stored: Sequence[Agent]) -> Agent:
    """Return the agent that is named after the one checkpoint of all. Raises BadInputError.

    Others of it draw their actions, as those do that play for a training run.
    """
    weights = stored[0].checkpoint
    names = {side.name, f"{side.name}@{weights.step}"} if weights is not None else set()
    own = [agent for agent in stored if agent.name in names]
    if len({agent.checkpoint_id for agent in stored}) == len(own) == 1:
        return own[0]
    choices = ", ".join(repr(agent.name) for agent in stored[:_KNOWN_NAMES])
    reason = f"{side.checkpoint!r} of {side.name!r} fits {choices}: name one, or give more digits"
    raise BadInputError(side.field.replace("agent", "checkpoint"), reason)


def _filter_stored_agents(side: Side) -> QuerySet[Agent]:
    """Return the agents that a side may mean, in any game."""
    text = side.checkpoint.lower()
    if not text:
        return Agent.objects.filter(name=side.name)
    of_run = Agent.objects.filter(checkpoint__run=side.name)
    if text.isdecimal() and of_run.filter(checkpoint__step=int(text)).exists():
        return of_run.filter(checkpoint__step=int(text))
    if not _HASH.fullmatch(text):
        return of_run.none()
    named = Agent.objects.filter(name=side.name)
    return (of_run | named).filter(checkpoint__sha256__startswith=text)


def _describe_unknown(side: Side, *, game: str) -> str:
    """Return that a side names no agent, and the names or steps that are near."""
    of_game = f" of {game}" if game else ""
    agents = Agent.objects.filter(game=game) if game else Agent.objects.all()
    runs = agents.filter(checkpoint__run=side.name)
    if side.checkpoint and runs.exists():
        steps = runs.order_by("checkpoint__step").values_list("checkpoint__step", flat=True)
        steps = steps.distinct()
        steps_text = ", ".join(map(str, steps[:_SHOWN_STEPS]))
        return (
            f"{side.name!r} has no checkpoint {side.checkpoint!r}: there are the steps {steps_text}"
        )
    names = list(agents.values_list("name", flat=True)[:_KNOWN_NAMES])
    near = get_close_matches(side.name, names, n=5, cutoff=0.5)
    hint = f": did you mean {', '.join(near)}?" if near else ": see ./run checkpoints list"
    return f"there is no agent {side.name!r}{of_game}{hint}"


def _find_or_open_board(
    game: str, parameters: Mapping[str, object], opening_plies: int | None
) -> Leaderboard:
    """Return the unlisted board of these rules: runs of the same rules share it."""
    rules = dict(check_game(game, parameters).parameters)
    text = dumps([rules, opening_plies], sort_keys=True)
    name = f"unrated-{game}-{sha256(text.encode()).hexdigest()[:12]}"
    board = Leaderboard.objects.filter(name=name).first()
    return board or open_leaderboard(
        name,
        title=f"{game}, unrated",
        game=game,
        game_parameters=rules,
        opening_plies=opening_plies,
        is_rated=False,
        is_listed=False,
    )


def list_missing_workers(needs: Needs, *, now: datetime) -> list[str]:
    """Return what is not there to play matches of these needs."""
    nodes = selectors.list_alive_workers(now=now)
    lacking = []
    if not any(needs.are_met_by(node.capabilities) for node in nodes):
        lacking.append(f"{needs.node} ({PLAY_HINT})")
    missing = needs.services - selectors.list_services(now=now)
    if GPU in missing:
        lacking.append(f"a gpu worker ({GPU_HINT})")
    if SERVER in missing:
        lacking.append(f"a game server ({START_HINT})")
    return lacking
