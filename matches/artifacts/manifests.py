"""The file beside the shards: how they were made and what is in them, the same for every run."""

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from arena import trajectories
from arena.games.base import GameSpec
from arena.trajectories import TrajectorySpec
from matches.artifacts.shards import Tally, count_results
from matches.models import Agent, Tournament
from matches.models.validation import check_game

FORMAT = "evalsite generation/1"
PACKAGES = ("evalsite", "numpy", "open_spiel", "pyarrow", "torch")


def read_form(tournament: Tournament) -> TrajectorySpec:
    """Return the form of a tournament's trajectories."""
    return TrajectorySpec.of_game(_read_game_spec(tournament))


def build_manifest(tournament: Tournament, *, matches_per_shard: int) -> dict[str, Any]:
    """Return the manifest of the shards that are complete, without their list."""
    # Nothing in it tells when, where or how often something was played: two runs with one seed
    # have one manifest.
    board, spec = tournament.leaderboard, _read_game_spec(tournament)
    tally, is_complete = count_results(tournament, matches_per_shard)
    agents = list(tournament.agents.select_related("checkpoint").order_by("entrant__position"))
    return {
        "format": FORMAT,
        "is_complete": is_complete,
        "game": board.game,
        "game_parameters": board.game_parameters,
        "rules_version": spec.rules_version,
        "opening_plies": board.plies,
        "seed": tournament.seed,
        "is_self_play": len(agents) == 1,
        "agents": [_describe_agent(agent, tally) for agent in agents],
        "matches": tally.n_matches,
        "matches_without_outcome": tally.n_without_outcome,
        "forfeits": tally.n_forfeits,
        "illegal_actions": tally.n_illegal,
        "trajectories": trajectories.FORMAT,
        **_describe_columns(read_form(tournament)),
        "versions": list_package_versions(),
    }


def describe_pieces(tournament: Tournament) -> dict[str, Any]:
    """Return what the pieces of a tournament hold, for a client that fetches them as they are."""
    board, spec, form = tournament.leaderboard, _read_game_spec(tournament), read_form(tournament)
    return {
        "tournament": tournament.pk,
        "trajectories": trajectories.FORMAT,
        "game": board.game,
        "game_parameters": board.game_parameters,
        "rules_version": spec.rules_version,
        "opening_plies": board.plies,
        "seed": tournament.seed,
        **_describe_columns(form),
        "is_complete": tournament.state in Tournament.OVER,
    }


def _describe_columns(form: TrajectorySpec) -> dict[str, Any]:
    columns = trajectories.arrow_schema(form)
    return {
        "observation_shape": list(form.observation_shape),
        "n_actions": form.n_actions,
        "schema": [
            {"name": name, "type": str(kind)}
            for name, kind in zip(columns.names, columns.types, strict=True)
        ],
    }


def _read_game_spec(tournament: Tournament) -> GameSpec:
    board = tournament.leaderboard
    return check_game(board.game, board.game_parameters).spec


def _describe_agent(agent: Agent, tally: Tally) -> dict[str, Any]:
    weights = agent.checkpoint
    return {
        "name": agent.name,
        "policy": agent.policy,
        "parameters": agent.parameters,
        "checkpoint": weights.sha256 if weights else "",
        "architecture": weights.architecture if weights else "",
        "run": weights.run if weights else "",
        "step": weights.step if weights else None,
        "seats": tally.describe_seats(agent.name),
    }


def list_package_versions() -> dict[str, str]:
    """Return the versions of the packages here that the content depends on."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return versions
