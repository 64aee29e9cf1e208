"""Runs that learn from matches: each version plays before the next one is trained.

A version becomes an agent that draws its actions, is checked, and plays matches whose trajectories
are kept: against itself, or against the one agent that the run is to beat. Once all of them are
recorded a slice is ordered with the pieces. Its report brings the next version, which plays.
"""

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from arena.errors import ArenaError
from arena.seeding import derive
from arena.train_messages import DataFile
from arena.trainers import registry as trainers
from arena.trainers.ppo import AGAINST, MATCHES
from experience.errors import RoundError
from experience.models import Release, Round, TrainingRun
from experience.runs.ending import fail_run
from experience.runs.publishing import find_or_add_agent, name_agent
from matches.artifacts.agents import register_agent, unretire_agent
from matches.artifacts.checkpoint_checks import adopt_verdict
from matches.artifacts.checkpoints import POLICY
from matches.errors import BadInputError, ConflictError
from matches.ledger.generation import Generation, Side, start_generation
from matches.ledger.naming import find_agent
from matches.ledger.tournaments import cancel_tournament
from matches.models import Agent, Checkpoint, Outcome, Tournament, TrajectoryPiece
from matches.plans import TournamentPlan
from matches.store import signing
from matches.store.locks import take_turn_of_runs

log = logging.getLogger(__name__)

DAYS: Final = 7
"""Time enough for trainers to come back; then the site deletes the trajectories."""
ON_POLICY: Final = {"temperature": 1.0}
_States = TrainingRun.State


def plays_matches(run: TrainingRun) -> bool:
    """Say whether a run learns from matches of its own versions."""
    # Of one that is gone a slice is ordered as of any other: trainers refuse it with the reason.
    return run.algorithm in trainers.names() and trainers.get(run.algorithm).plays_matches


def plays_itself(run: TrainingRun) -> bool:
    """Say whether both seats of its matches are versions of the run, so that its return is 0."""
    return plays_matches(run) and AGAINST not in run.parameters


def advance_rounds(*, now: datetime) -> int:
    """End the rounds that are over and begin those that are due; return how many changed."""
    n_ended = sum(_end_if_over(training_round, now=now) for training_round in _list_going_on())
    running = TrainingRun.objects.filter(state=_States.RUNNING, version__gte=0)
    return n_ended + sum(_advance_round(run, now=now) for run in running if plays_matches(run))


def _list_going_on() -> list[Round]:
    going_on = Round.objects.filter(ended_at=None)
    return list(going_on.select_related("release__run", "tournament", "agent"))


def _advance_round(run: TrainingRun, *, now: datetime) -> bool:
    """Bring the newest version nearer to its matches; say whether anything changed."""
    newest = run.releases.order_by("-version").first()
    if newest is None:
        return False
    newest_round, is_new = Round.objects.get_or_create(release=newest, defaults={"created_at": now})
    if newest_round.tournament_id is not None:
        return is_new
    try:
        return _begin_matches(newest_round, now=now) or is_new
    except ConflictError as error:
        log.warning("version %d of run %s does not play yet: %s", newest.version, run, error)
        return is_new
    except (RoundError, BadInputError, ArenaError) as error:
        return fail_run(run, f"version {newest.version} cannot play: {error}", now=now)


@transaction.atomic
def _begin_matches(begun: Round, *, now: datetime) -> bool:
    """Start the matches of a round once all who play are checked; say whether it has done so."""
    # Before all rows, as matches.store.locks has it: start_generation takes it anyway.
    take_turn_of_runs()
    # Two ticks may come to it at once: the second one finds what the first has done.
    locked = Round.objects.select_for_update().get(pk=begun.pk)
    if locked.tournament_id is not None:
        return False
    if locked.agent is None:
        locked.agent = _register_player(locked.release, now=now)
        locked.save()
    opponent = _find_opponent(locked.release.run)
    agents = [locked.agent] if opponent is None else [locked.agent, opponent]
    if not all(_is_ready(agent) for agent in agents):
        return False
    locked.tournament = start_generation(_make_generation(locked.release, agents))
    locked.save()
    return True


def _register_player(release: Release, *, now: datetime) -> Agent:
    """Return the agent that draws its actions from a version's own distribution."""
    best = find_or_add_agent(release, now=now, is_checked_again=True)
    player = register_agent(
        f"{best.name} sampled",
        game=release.run.game,
        policy=POLICY,
        parameters=ON_POLICY,
        checkpoint=release.sha256,
    )
    # Of a run that goes on again those have left play that its end had retired.
    for agent in Agent.objects.filter(_is_no_candidate(), pk__in=(best.pk, player.pk)):
        unretire_agent(agent)
    weights = player.checkpoint
    if (
        weights is not None
        and weights.parent is not None
        and adopt_verdict(weights, weights.parent)
    ):
        player.refresh_from_db()
    return player


def _find_opponent(run: TrainingRun) -> Agent | None:
    """Return the one agent that the run is to beat; None: it plays itself. Raises BadInputError."""
    against = run.parameters.get(AGAINST)
    return None if against is None else find_agent(against, game=run.game)


def _is_ready(agent: Agent) -> bool:
    """Say whether an agent can play, and not only once it is checked. Raises RoundError."""
    if agent.checkpoint is None:
        return True
    if agent.checkpoint.state == Checkpoint.State.REFUSED:
        raise RoundError(f"the network of {agent.name} was refused: {agent.checkpoint.reason}")
    return agent.checkpoint.state == Checkpoint.State.READY


def _make_generation(release: Release, agents: Sequence[Agent]) -> Generation:
    run = release.run
    key = signing.derive_key(f"round:{run.token}:{release.version}").hex()[:32]
    plan = TournamentPlan(
        name=f"{agents[0].name} for its run"[:120],
        n_matches=run.parameters[MATCHES],
        # Other games for each version, and for each run.
        seed=derive("round", run.name, run.seed, release.version),
        is_rated=False,
        keeps_trajectories=True,
        trajectory_days=DAYS,
        key=key,
    )
    sides = [Side(agent.name) for agent in agents]
    return Generation(sides=sides, plan=plan, game=run.game)


def _end_if_over(training_round: Round, *, now: datetime) -> bool:
    """End a round whose run has a later version or has ended; its agents play no more."""
    run = training_round.release.run
    if run.state == _States.RUNNING and run.version <= training_round.release.version:
        return False
    return _end_round(training_round, now=now)


def _end_round(training_round: Round, *, now: datetime) -> bool:
    if training_round.tournament is not None:
        cancel_tournament(training_round.tournament, now=now)
    if training_round.agent is not None:
        Agent.objects.filter(pk=training_round.agent.pk).update(is_retired=True)
    # A version that is or was a candidate for a release stays in play.
    own = Agent.objects.filter(
        game=training_round.release.run.game, name=name_agent(training_round.release)
    )
    own = own.filter(_is_no_candidate(), checkpoint__sha256=training_round.release.sha256)
    own.update(is_retired=True)
    return bool(Round.objects.filter(pk=training_round.pk, ended_at=None).update(ended_at=now))


def forget_newest_round(run: TrainingRun, *, now: datetime) -> None:
    """Let the newest version of a run that goes on again play anew: its matches were cancelled."""
    for training_round in Round.objects.filter(release__run=run, release__version=run.version):
        _end_round(training_round, now=now)
        training_round.delete()


def _is_no_candidate() -> Q:
    """Return the agents that are and were no candidate for a release: those are left alone."""
    return ~Q(Exists(Release.objects.filter(agent=OuterRef("pk"))))


def is_slice_due(run: TrainingRun, *, now: datetime) -> bool:
    """Say whether the newest version has played, or there is none; fail the run where it cannot."""
    if run.version < 0 or not plays_matches(run):
        return True
    training_round = _find_round(run)
    if (
        training_round is None
        or training_round.tournament is None
        or training_round.tournament.state not in Tournament.OVER
    ):
        return False
    if training_round.tournament.n_done:
        return True
    why = f"{training_round.tournament.state}, and none of its matches was played"
    fail_run(
        run,
        f"tournament {training_round.tournament.pk} of {training_round.release} is {why}",
        now=now,
    )
    return False


def list_files(run: TrainingRun, *, now: datetime) -> list[DataFile]:
    """Return the pieces that outcomes of the newest version's matches name, in order of hashes."""
    training_round = _find_round(run)
    if training_round is None or training_round.tournament is None:
        return []
    outcomes = Outcome.objects.filter(match__tournament=training_round.tournament).exclude(
        trajectory=""
    )
    pieces = TrajectoryPiece.objects.filter(tournament=training_round.tournament)
    # No more than there were matches, which are fewer than an order may name.
    pieces = pieces.filter(sha256__in=outcomes.values("trajectory")).order_by("sha256")
    return [
        DataFile(
            piece.sha256,
            signing.sign_link("GET", signing.piece_path(piece.order.hex, piece.sha256), now=now),
        )
        for piece in pieces
    ]


def find_player_checkpoint(run: TrainingRun) -> str:
    """Return the hash of the version that has played for the next slice; empty: none has."""
    training_round = _find_round(run)
    return "" if training_round is None else training_round.release.sha256


def _find_round(run: TrainingRun) -> Round | None:
    rounds = Round.objects.filter(release__run=run, release__version=run.version)
    return rounds.select_related("release", "tournament").first()
