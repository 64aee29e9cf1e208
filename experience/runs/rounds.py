"""Runs that learn from matches: each version plays before the next one is trained.

A version becomes an agent that draws its actions, is checked, and plays matches whose trajectories
are kept: against itself, or against the one agent that the run is to beat. Once all of them are
recorded a slice is ordered with the pieces. Its report brings the next version, which plays.
"""

import logging
from datetime import datetime
from typing import Final

from arena.errors import ArenaError
from arena.seeding import derive
from arena.train_messages import DataFile
from arena.trainers import registry as trainers
from arena.trainers.ppo import AGAINST, MATCHES
from experience.errors import RoundError
from experience.models import Release, Round, TrainingRun
from experience.runs.ending import fail_run
from experience.runs.publishing import find_or_add_agent, name_agent
from matches.artifacts.agents import register_agent
from matches.artifacts.checkpoints import POLICY
from matches.errors import BadInputError, ConflictError
from matches.ledger.generation import Generation, Side, start_generation
from matches.ledger.tournaments import cancel_tournament
from matches.models import Agent, Checkpoint, Outcome, Tournament, TrajectoryPiece
from matches.plans import TournamentPlan
from matches.store import signing

log = logging.getLogger(__name__)

DAYS: Final = 7
"""Time enough for trainers to come back; then the site deletes the trajectories."""
ON_POLICY: Final = {"temperature": 1.0}
_States = TrainingRun.State


def plays_matches(run: TrainingRun) -> bool:
    """Say whether a run learns from matches of its own versions."""
    return trainers.get(run.algorithm).plays_matches


def advance_rounds(*, now: datetime) -> int:
    """End the rounds that are over and begin those that are due; return how many changed."""
    n_ended = sum(_end_if_over(one, now=now) for one in _list_going_on())
    running = TrainingRun.objects.filter(state=_States.RUNNING, version__gte=0)
    return n_ended + sum(_advance(run, now=now) for run in running if plays_matches(run))


def _list_going_on() -> list[Round]:
    going_on = Round.objects.filter(ended_at=None)
    return list(going_on.select_related("release__run", "tournament", "agent"))


def _advance(run: TrainingRun, *, now: datetime) -> bool:
    """Bring the newest version nearer to its matches; say whether anything changed."""
    newest = run.releases.order_by("-version").first()
    if newest is None:
        return False
    one, is_new = Round.objects.get_or_create(release=newest, defaults={"created_at": now})
    if one.tournament_id is not None:
        return is_new
    try:
        agent = one.agent or _register_player(one, now=now)
        assert agent.checkpoint is not None
        state = agent.checkpoint.state
        if state == Checkpoint.State.CHECKING:
            return is_new
        if state == Checkpoint.State.REFUSED:
            raise RoundError(f"its network was refused: {agent.checkpoint.reason}")
        tournament = start_generation(_make_generation(newest, agent))
    except ConflictError as error:
        log.warning("version %d of run %s does not play yet: %s", newest.version, run, error)
        return is_new
    except (RoundError, BadInputError, ArenaError) as error:
        return fail_run(run, f"version {newest.version} cannot play: {error}", now=now)
    return bool(Round.objects.filter(pk=one.pk, tournament=None).update(tournament=tournament))


def _register_player(one: Round, *, now: datetime) -> Agent:
    """Return the agent that draws its actions from a version's own distribution."""
    release = one.release
    best = find_or_add_agent(release, now=now)
    player = register_agent(
        f"{name_agent(release)} sampled",
        game=release.run.game,
        policy=POLICY,
        parameters=ON_POLICY,
        checkpoint=release.sha256,
    )
    log.info("%s plays as %s, %s", release, player, best)
    Round.objects.filter(pk=one.pk, agent=None).update(agent=player)
    return player


def _make_generation(release: Release, agent: Agent) -> Generation:
    run = release.run
    sides = [Side(agent.name)]
    if against := run.parameters.get(AGAINST):
        sides.append(Side(against, field=AGAINST))
    key = signing.derive_key(f"round:{run.token}:{release.version}").hex()[:32]
    plan = TournamentPlan(
        name=f"{agent.name} for its run"[:120],
        n_matches=run.parameters[MATCHES],
        # Other games for each version, and for each run.
        seed=derive("round", run.name, run.seed, release.version),
        is_rated=False,
        keeps_trajectories=True,
        trajectory_days=DAYS,
        key=key,
    )
    return Generation(sides=sides, plan=plan, game=run.game)


def _end_if_over(one: Round, *, now: datetime) -> bool:
    """End a round whose run has a later version or has ended; its agents play no more."""
    run = one.release.run
    if run.state == _States.RUNNING and run.version <= one.release.version:
        return False
    if one.tournament is not None:
        cancel_tournament(one.tournament, now=now)
    if one.agent is not None:
        Agent.objects.filter(pk=one.agent.pk).update(is_retired=True)
    # A version that is or was a candidate for a release stays in play.
    if one.release.agent_id is None:
        own = Agent.objects.filter(game=run.game, name=name_agent(one.release))
        own.filter(checkpoint__sha256=one.release.sha256).update(is_retired=True)
    return bool(Round.objects.filter(pk=one.pk, ended_at=None).update(ended_at=now))


def is_slice_due(run: TrainingRun, *, now: datetime) -> bool:
    """Say whether the newest version has played, or there is none; fail the run where it cannot."""
    if run.version < 0 or not plays_matches(run):
        return True
    one = _find_round(run)
    if one is None or one.tournament is None or one.tournament.state not in Tournament.OVER:
        return False
    if one.tournament.n_done:
        return True
    why = f"{one.tournament.state}, and none of its matches was played"
    fail_run(run, f"tournament {one.tournament.pk} of {one.release} is {why}", now=now)
    return False


def list_files(run: TrainingRun, *, now: datetime) -> list[DataFile]:
    """Return the pieces that outcomes of the newest version's matches name, in order of hashes."""
    one = _find_round(run)
    if one is None or one.tournament is None:
        return []
    named = Outcome.objects.filter(match__tournament=one.tournament).exclude(trajectory="")
    pieces = TrajectoryPiece.objects.filter(tournament=one.tournament)
    # No more than there were matches, which are fewer than an order may name.
    pieces = pieces.filter(sha256__in=named.values("trajectory")).order_by("sha256")
    return [
        DataFile(
            piece.sha256,
            signing.sign_link("GET", signing.piece_path(piece.order.hex, piece.sha256), now=now),
        )
        for piece in pieces
    ]


def find_player_checkpoint(run: TrainingRun) -> str:
    """Return the hash of the version that has played for the next slice; empty: none has."""
    one = _find_round(run)
    return "" if one is None else one.release.sha256


def _find_round(run: TrainingRun) -> Round | None:
    rounds = Round.objects.filter(release__run=run, release__version=run.version)
    return rounds.select_related("release", "tournament").first()
