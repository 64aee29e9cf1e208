"""Runs that learn from matches, and who plays those: nodes and a gpu worker inside a test."""

from hashlib import sha256
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import msgspec
import numpy as np

from arena.games import registry as games
from arena.games.base import OVER, ranks
from arena.messages import MatchOrder, MatchOrderRow
from arena.needs import TORCH
from arena.trajectories import Episode, Step, TrajectorySpec, encode_episodes
from experience.models import Round, TrainingRun
from experience.runs.recording import record_report
from experience.runs.rounds import advance_rounds
from experience.tests.made import begun, later, ordered, put, report, sealed
from matches.artifacts.trajectories import store_piece
from matches.ledger import planning, recording
from matches.models import Tournament
from matches.tests import factories
from matches.tests.weights import verdict

GAME = "tic_tac_toe"
SPEC = games.get(GAME).spec


def begin(name: str = "stones", algorithm: str = "ppo_selfplay", **parameters: Any) -> TrainingRun:
    """Return a run of four matches a version, whose first slice is under way."""
    terms = {"algorithm": algorithm, "parameters": {"matches": 4, **parameters}}
    return ordered(begun(name, GAME, **terms))


def publish(run: TrainingRun, folder: Path, version: int, *, n_steps: int, seed: int) -> Round:
    """Report a version as the trainer of a slice does; return its round, which has begun."""
    weights = put(run, sealed(folder, seed=seed, game=GAME))
    terms = {"version": version, "n_steps": n_steps, "weights": weights, "is_last": True}
    state = put(run, f"state {version}".encode())
    assert record_report(report(run, state=state, **terms), now=later(version))
    advance_rounds(now=later(version))
    run.refresh_from_db()
    return Round.objects.get(release__run=run, release__version=version)


def admit(one: Round, refusal: str = "") -> Round:
    """Let the check of a version end, and control see it."""
    assert one.agent is not None
    verdict(one.agent.checkpoint, refusal=refusal)
    advance_rounds(now=later(1))
    one.refresh_from_db()
    return one


def play(one: Round, *, spare: bool = False) -> Tournament:
    """Play all matches of a round, two in a piece; spare: a piece is put that nobody reports."""
    tournament = one.tournament
    assert tournament is not None
    planning.plan_scheduled(now=factories.NOW)
    tournament.refresh_from_db()
    order = factories.ordered(tournament, needs=TORCH)
    factories.start(order)
    episodes = [play_match(order, row) for row in order.matches]
    results = []
    for first in range(0, len(episodes), 2):
        digest = _put(order, episodes[first : first + 2])
        for row, episode in zip(order.matches[first:], episodes[first : first + 2], strict=False):
            assert episode.returns is not None
            result = factories.result(row, ranks=ranks(list(episode.returns), SPEC.n_seats))
            actions = " ".join(str(step.action) for step in episode.steps)
            results.append(msgspec.structs.replace(result, actions=actions, trajectory=digest))
    if spare:
        _put(order, episodes[:1])
    recording.record_report(factories.reported(order, results), now=factories.NOW)
    tournament.refresh_from_db()
    return tournament


def play_match(order: MatchOrder, row: MatchOrderRow) -> Episode:
    """Return a match of random legal actions, with what a network would have said."""
    state = games.get(GAME).start(row.game_seed, opening_plies=order.opening_plies)
    rng, steps = Random(row.game_seed), []
    while (seat := state.to_move()) != OVER:
        mask = state.legal_mask()
        action = rng.choice(np.flatnonzero(mask).tolist())
        agent = order.agents[row.seats[seat]]
        outputs: dict[str, Any] = {}
        if agent.checkpoint:
            logits = np.zeros(SPEC.n_actions, np.float32)
            log_prob = -float(np.log(mask.sum()))
            outputs = {"logits": logits, "log_prob": log_prob, "value": 0.0}
        observation = state.observation(seat)
        steps.append(Step(seat, observation, mask, action, agent.checkpoint, **outputs))
        state.apply(action)
    return Episode(row.match, row.game_seed, steps, state.returns())


def _put(order: MatchOrder, episodes: list[Episode]) -> str:
    piece = encode_episodes(episodes, TrajectorySpec.of_game(SPEC))
    digest, size = sha256(piece).hexdigest(), len(piece)
    store_piece(UUID(order.order), digest, BytesIO(piece), n_bytes=size, now=factories.NOW)
    return digest
