"""What `evalsite xp-client` does once numpy is known to be there."""

import sys
from argparse import Namespace
from dataclasses import asdict
from uuid import uuid4

import numpy as np

from evalsite_client.api.games import Game
from evalsite_client.cli.following import Lines, write_line
from evalsite_client.cli.show import Answer, format_pairs
from evalsite_client.cli.stopping import INTERRUPTED
from evalsite_client.client import Client
from evalsite_client.errors import ClientError, InputError, NotThereError
from evalsite_client.experience.chunks import Recorder
from evalsite_client.experience.environments import (
    GAMES,
    Environment,
    find_environment,
    make_environment,
)
from evalsite_client.experience.playing import Player, Terms
from evalsite_client.experience.releases import Follower
from evalsite_client.experience.stopping import Stop, take_signals
from evalsite_client.experience.uploading import Uploader


def play_for_run(client: Client, options: Namespace) -> Answer:
    """Play episodes; return what was played and sent. Raises ClientError."""
    env_id = find_environment(options.env)
    game = _read_game(client, GAMES[env_id])
    environment = make_environment(env_id, game)
    _check_run(client, options.run_name, game)
    stop, begun_s = Stop(), client.clock.monotonic()
    with take_signals(stop):
        player = _make_player(client, options, game, environment, stop)
        terms = Terms(options.episodes, options.upload_every, options.download_every)
        lines = Lines(client, sys.stderr)
        try:
            is_complete = player.play(
                terms, stop, lambda now: lines.show(_describe_progress(now, options.episodes))
            )
        except ClientError:
            if player.uploader.n_waiting:
                _write_line(f"{player.uploader.n_waiting:,} steps were not sent")
            raise
        lines.end(_describe_progress(player, options.episodes))
    result = {
        "run": options.run_name,
        "env": env_id,
        "game": game.id,
        "version": player.follower.version,
        "n_episodes": len(player.returns),
        "n_steps": player.n_steps,
        "mean_return": player.recent_return,
        **asdict(player.uploader.counts),
        "n_unsent": player.uploader.n_waiting,
        "elapsed_s": round(client.clock.monotonic() - begun_s, 3),
    }
    if is_complete:
        return Answer(result, format_pairs(result))
    n_unsent = player.uploader.n_waiting
    ended = f"{n_unsent:,} steps were not sent" if n_unsent else "what was whole is sent"
    return Answer(result, format_pairs(result), INTERRUPTED, f"stopped: {ended}")


def _make_player(
    client: Client, options: Namespace, game: Game, environment: Environment, stop: Stop
) -> Player:
    """Return who plays, once the run has a version. Raises ClientError."""
    follower = Follower(
        client.models, options.run_name, game, is_released=options.released, say=_write_line
    )
    with stop.interrupt_wait():
        follower.wait_for_first(options.wait, client.clock)
    playing_rng, keeping_rng = np.random.default_rng(options.seed).spawn(2)
    uploader = Uploader(
        client.experience.upload_chunk,
        clock=client.clock,
        rng=keeping_rng,
        stop=stop,
        say=_write_line,
    )
    recorder = Recorder(game.id, draw_id=lambda: uuid4().hex)
    return Player(environment, follower, uploader, recorder, rng=playing_rng, say=_write_line)


def _read_game(client: Client, name: str) -> Game:
    game = next((game for game in client.games.list() if game.id == name), None)
    if game is None:
        raise InputError("env", f"the server has no game {name}: `evalsite games` lists them")
    return game


def _check_run(client: Client, name: str, game: Game) -> None:
    """Refuse a run that is not there, or of another game, before it is waited for."""
    try:
        run = client.runs.get(name)
    except NotThereError as error:
        missing = f"there is no training run {name!r}: `evalsite runs` lists them"
        raise InputError("run", missing) from error
    if run.game != game.id:
        raise InputError("run", f"{name!r} plays {run.game}, not {game.id}")


def _describe_progress(player: Player, n_episodes: int) -> str:
    counts = player.uploader.counts
    recent = "-" if player.recent_return is None else f"{player.recent_return:.1f}"
    parts = [
        f"{len(player.returns):,}/{n_episodes:,} episodes",
        f"{player.n_steps:,} steps",
        f"return {recent}",
        f"version {player.follower.version}",
        f"{counts.n_sent:,} sent",
        *([f"{counts.n_left_out:,} left out"] if counts.n_left_out else []),
    ]
    return ", ".join(parts)


def _write_line(line: str) -> None:
    write_line(sys.stderr, f"evalsite: {line}")
