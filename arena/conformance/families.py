"""The checks of one entry of a catalog: of a game, a policy or a pairing by its id."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain

from arena.conformance import adaptive_pairings, games, pairings, policies
from arena.conformance.base import NamedCheck, bind_checks, require
from arena.games import registry as all_games
from arena.pairing import registry as all_pairings
from arena.policies import registry as all_policies

# What a policy is checked on by default: a board, cards that are hidden, more actions.
GAMES = ("tic_tac_toe", "kuhn_poker", "connect_four")


def list_game_checks(name: str, on_games: Sequence[str]) -> list[NamedCheck]:
    """Return all checks of a game. Raises UnknownNameError, CatalogError."""
    del on_games
    game = all_games.get(name)
    if game.spec.served and getattr(game, "rules", None) is None:
        return [
            name_check(game.spec.id, name),
            *bind_checks(games.DECLARED, game),
            ("is played elsewhere", lambda: "how it plays is checked in its matches alone"),
        ]
    is_replayable = game.spec.is_replayable
    checks = [check for check in games.CHECKS if is_replayable or check not in games.REPLAYED]
    return [
        name_check(game.spec.id, name),
        *bind_checks(checks, game),
        ("plays at a speed", partial(games.measure_speed, game)),
    ]


def list_policy_checks(name: str, on_games: Sequence[str]) -> list[NamedCheck]:
    """Return all checks of a policy kind on these games, by default on three.

    Raises UnknownNameError, CatalogError, and ConformanceError where it refuses all games.
    """
    kind = all_policies.get(name)
    chosen = {game: all_games.get(game) for game in on_games or GAMES}
    reasons = {name: kind.refusal(game.spec) for name, game in chosen.items()}
    require(None in reasons.values(), f"name games that it plays with --game: refused {reasons}")
    checks = (bind_checks(policies.CHECKS, kind, chosen[game], under=game) for game in chosen)
    return [name_check(kind.id, name), *chain.from_iterable(checks)]


def list_pairing_checks(name: str, on_games: Sequence[str]) -> list[NamedCheck]:
    """Return all checks of a pairing of either kind. Raises UnknownNameError, CatalogError."""
    del on_games
    if name in all_pairings.names():
        pairing = all_pairings.get(name)
        return [name_check(pairing.id, name), *bind_checks(pairings.CHECKS, pairing)]
    adaptive = all_pairings.get_adaptive(name)
    return [name_check(adaptive.id, name), *bind_checks(adaptive_pairings.CHECKS, adaptive)]


def name_check(own_id: str, name: str) -> NamedCheck:
    """Return the check that an entry is named as its file."""
    change = f"its id must be the name of its file, {name!r}, and is {own_id!r}"
    return "is named by its file", partial(require, own_id == name, change)


FAMILIES: dict[str, Callable[[str, Sequence[str]], list[NamedCheck]]] = {
    "game": list_game_checks,
    "policy": list_policy_checks,
    "pairing": list_pairing_checks,
}
