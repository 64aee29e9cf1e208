"""`game_server`: serve a game of the catalog, or an environment of Gymnasium, with the SDK.

Its states are those of arena.games, so a match that is served here is the one that a player plays
by itself, to the bit.
"""

import argparse
import os
import re
import socket
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from gymnasium.error import Error as GymnasiumError
from numpy.typing import NDArray

from arena.credentials import NAME_RULE, is_node_name
from arena.errors import ArenaError
from arena.games import registry
from arena.games.base import Game, GameSpec, State
from arena.games.gymnasium import GymnasiumGame
from arena.machine import read_machine_labels
from arena.parameters import Value, parse_number
from gameservers.errors import GameServerError
from gameservers.sdk import MAX_SLOTS, serve

BAD_INPUT = 2
PORTS = 65_535


class CatalogEpisode:
    """An episode of a game of arena, in the form of the SDK."""

    def __init__(
        self,
        name: str,
        spec: GameSpec,
        configure: Callable[[tuple[tuple[str, Value], ...]], Game],
    ) -> None:
        self.game, self.rules_version = name, spec.rules_version
        self.n_seats, self.n_actions = spec.n_seats, spec.n_actions
        self.observation_shape = spec.observation_shape
        self.observation_dtype = spec.observation_dtype
        self._configure = configure
        self._state: State

    def reset(self, seed: int, opening_plies: int, parameters: dict[str, Value]) -> None:
        rules = self._configure(tuple(sorted(parameters.items())))
        self._state = rules.start(seed, opening_plies=opening_plies)

    def seat(self) -> int:
        return self._state.to_move()

    def legal(self) -> Sequence[int]:
        return self._state.legal_actions()

    def observation(self) -> NDArray[np.generic]:
        return self._state.observation(self._state.to_move())

    def apply(self, action: int) -> None:
        self._state.apply(action)

    def returns(self) -> Sequence[float]:
        return self._state.returns()


def offer_game(name: str, rules: Game) -> Callable[[], CatalogEpisode]:
    """Return what makes an episode of a game, under a name of its own in the catalog."""

    # Once for all episodes under equal parameters: some games read tables for it.
    @lru_cache(maxsize=100)
    def configure(parameters: tuple[tuple[str, Value], ...]) -> Game:
        return rules.configured(dict(parameters)) if parameters else rules

    return lambda: CatalogEpisode(name, rules.spec, configure)


def find_rules(name: str) -> Game:
    """Return the rules by which a game of the catalog is played. Raises GameServerError."""
    try:
        game = registry.get(name)
    except ArenaError as error:
        raise GameServerError(f"--game: {error}") from error
    rules: Game | None = getattr(game, "rules", None) if game.spec.served else game
    if rules is None:
        raise GameServerError(f"--game: the rules of {name} are not here, it is played elsewhere")
    return rules


def make_environment(name: str, environment: str, *, n_bins: int, max_steps: int) -> Game:
    """Return an environment of Gymnasium as a game. Raises GameServerError."""
    try:
        # Scores go by the rules of the catalog file; to serve states any range will do.
        return GymnasiumGame(
            name, environment, title=name, score_range=(0, 1), n_bins=n_bins, max_steps=max_steps
        )
    except (ArenaError, GymnasiumError, ImportError) as error:
        text = " ".join(str(error).split())
        raise GameServerError(f"--gymnasium {environment}: {text:.300}") from error


def whole_number(lowest: int, highest: int) -> Callable[[str], int]:
    """Return a reader of option values that are whole numbers of this range."""

    def read(text: str) -> int:
        if (number := parse_number(text, lowest=lowest, highest=highest)) is None:
            raise argparse.ArgumentTypeError(
                f"{text!r} is no whole number from {lowest} to {highest}"
            )
        return number

    return read


def server_name(text: str) -> str:
    """Return a name that a server may have."""
    if not is_node_name(text):
        raise argparse.ArgumentTypeError(f"{text!r}: must be {NAME_RULE}")
    return text


class Parser(argparse.ArgumentParser):
    """Says in one line what is wrong."""

    def error(self, message: str) -> None:  # type: ignore[override] # exit() does not return
        self.exit(BAD_INPUT, f"{self.prog}: {message}\n")


def build_parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="game_server",
        description="Serve a game to players that dial this port, or come through the head.",
        epilog="EVALSITE_PASS_KEY: only players with a pass may play. EVALSITE_SERVE_PASS: the "
        "pass to show at the head. EVALSITE_LABELS: what to say of this machine. "
        "EVALSITE_PLUGINS: folders with games of your own.",
    )
    add = parser.add_argument
    add("--port", type=whole_number(0, PORTS), default=8081, metavar="P", help="(8081)")
    add("--host", default="127.0.0.1", help="0.0.0.0: dialled from other machines (127.0.0.1)")
    add("--game", default="", metavar="ID", help="of the catalog (connect_four)")
    add("--gymnasium", default="", metavar="ENV", help="an environment to serve as --game instead")
    add("--bins", type=whole_number(0, 1_000), default=0, help="of each continuous action")
    add("--max-steps", type=whole_number(0, 10**6), default=0, help="where ENV has no limit")
    add("--slots", type=whole_number(1, MAX_SLOTS), default=64, help="episodes at once (64)")
    add("--name", type=server_name, help="(this machine and port)")
    add(
        "--eval-head-url",
        default=os.environ.get("EVAL_HEAD_ENDPOINT", ""),
        metavar="URL",
        help="offer the slots to this head, too (EVAL_HEAD_ENDPOINT)",
    )
    return parser


def read_rules(options: argparse.Namespace) -> tuple[str, Game]:
    """Return the id under which a game is served, and its rules. Raises GameServerError."""
    if not options.gymnasium:
        name = options.game or "connect_four"
        return name, find_rules(name)
    if not options.game:
        raise GameServerError("--gymnasium needs --game: the id of the game in the catalog")
    steps = {"n_bins": options.bins, "max_steps": options.max_steps}
    return options.game, make_environment(options.game, options.gymnasium, **steps)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM; return the exit status."""
    options = build_parser().parse_args(arguments)
    machine = re.sub(r"[^A-Za-z0-9_-]", "-", socket.gethostname())[:50]
    try:
        name, rules = read_rules(options)
        labels = read_machine_labels(os.environ)
    except (GameServerError, ArenaError) as error:
        sys.stderr.write(f"game_server: {error}\n")
        return BAD_INPUT
    serve(
        offer_game(name, rules),
        name=options.name or f"{machine}-{options.port}",
        slots=options.slots,
        listen=f"{options.host}:{options.port}",
        dial=options.eval_head_url,
        key=os.environ.get("EVALSITE_PASS_KEY", ""),
        token=os.environ.get("EVALSITE_SERVE_PASS", ""),
        labels=labels,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
