"""A match as a small program, for who wants to go through it with the library."""

from matches.models import Match


def write_replay_program(match: Match) -> str:
    """Return Python that plays a recorded match again, decision by decision."""
    board = match.tournament.leaderboard
    configured = f".configured({board.game_parameters!r})" if board.game_parameters else ""
    return "\n".join(
        [
            "from arena.games import registry",
            "",
            f'game = registry.get("{board.game}"){configured}',
            f"state = game.start({match.game_seed}, opening_plies={board.plies})",
            f'for action in "{match.outcome.actions}".split():',
            "    print(state.describe(), state.action_name(int(action)))",
            "    state.apply(int(action))",
            "print(state.describe(), state.returns())",
        ]
    )
