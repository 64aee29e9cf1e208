"""Schedules what `./run chaos --all` plays; a process of its own, in the stack's environment.

A board of the skill game, whose matches last some time, and one of networks and search, so that
every program has work.
"""

import sys
from collections.abc import Sequence
from typing import Any

import django

LEVELS = tuple(f"level:{10 * level}" for level in range(10))
N_NETWORKS = 4
SEARCHES = ("alphabeta:2", "greedy", "random", "mcts:50")
SEED = 11


def main(n_levels: int, n_networked: int, match_s: float) -> None:
    """Schedule n_levels matches of match_s seconds each, and n_networked ones of connect four."""
    django.setup()
    from benchmarks.networks import register_networks  # noqa: PLC0415 - Django is set up only now
    from matches.artifacts.agents import register_spelled_agent  # noqa: PLC0415
    from matches.ledger.tournaments import open_leaderboard, schedule_tournament  # noqa: PLC0415
    from matches.plans import TournamentPlan  # noqa: PLC0415

    def plan(name: str, board: Any, spelled: Sequence[str], agents: Sequence[Any], n: int) -> None:
        agents = [*agents, *(register_spelled_agent(text, game=board.game) for text in spelled)]
        terms = TournamentPlan(name=name, n_matches=n, pairing="random", seed=SEED, replays=True)
        schedule_tournament(terms, leaderboard=board, agents=agents)

    networks = register_networks("storm", N_NETWORKS, parameters={"hidden": "512,512"})
    board = open_leaderboard("storm-networks", game="connect_four")
    plan("networks", board, SEARCHES, networks, n_networked)
    parameters = {"duration_s": match_s}
    board = open_leaderboard("storm-levels", game="skill_game", game_parameters=parameters)
    plan("levels", board, LEVELS, (), n_levels)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
