"""`python -m gameservers.showdown`: the game server, in the virtual environment of poke-env."""

import argparse
import asyncio
import os
import signal
import sys

from gameservers.sdk import Server, ServerError, run, say
from gameservers.showdown.accounts import Place
from gameservers.showdown.episodes import make_episodes
from gameservers.showdown.errors import BattleError, SetUpError
from gameservers.showdown.pairs import Pool
from gameservers.showdown.settings import (
    LADDER,
    LOGIN_S,
    TWO_SEATS,
    is_on_this_machine,
    read_options,
    read_teams,
)
from gameservers.showdown.views import Views, open_views

BAD_INPUT = 2
PASSWORD = "EVALSITE_SHOWDOWN_PASSWORD"


def main() -> int:
    """Serve until SIGTERM; return the exit status."""
    options = read_options(sys.argv[1:])
    try:
        asyncio.run(serve(options))
    except (BattleError, ServerError, SetUpError) as error:
        say(f"./run showdown serve: {error}")
        return BAD_INPUT
    return 0


async def serve(options: argparse.Namespace) -> None:
    """Log in, then serve. Raises BattleError, ServerError, SetUpError where that cannot begin."""
    stop, teams = watch_signals(), read_teams(options.teams)
    place = Place(
        options.address, options.login_url, options.format, os.environ.get(PASSWORD, ""), teams,
        LOGIN_S,
    )  # fmt: skip
    if not is_on_this_machine(options.address):
        say(f"{options.address} is not on this machine: such a server is untried")
    views = await open_views(options.node, options.format, options.package_version)
    try:
        await serve_with(options, place, views, stop)
    finally:
        await views.close()


async def serve_with(
    options: argparse.Namespace, place: Place, views: Views, stop: asyncio.Event
) -> None:
    """Serve battles at a place."""
    pool = Pool(
        place, views, user=options.user, mode=options.mode, find_s=options.find_s,
        answer_s=options.answer_s, stagger_s=options.stagger_s,
    )  # fmt: skip
    await check_login(options, pool)
    server = Server(
        make_episodes(options, pool, views.size),
        name=options.name,
        slots=options.slots,
        key=os.environ.get("EVALSITE_PASS_KEY", ""),
    )
    say(f"{options.user}... plays {options.format} at {place.url}, by {options.mode}")
    await run(
        server,
        stop,
        listen=f"{options.host}:{options.port}",
        dial=options.eval_head_url,
        token=os.environ.get("EVALSITE_SERVE_PASS", ""),
    )


async def check_login(options: argparse.Namespace, pool: Pool) -> None:
    """Find out before anybody plays what the server thinks of us. Raises what stands against it."""
    opponent = "" if options.game == TWO_SEATS else "random"
    pair = await pool.acquire(opponent)
    formats = pair.own.formats
    if formats and options.format not in formats:
        kind = "no ladder for" if options.mode == LADDER else "no format"
        raise SetUpError(f"the Showdown server at {options.address} has {kind} {options.format}")
    pool.take_back(opponent, pair)


def watch_signals() -> asyncio.Event:
    """Return what is set once this process is told to end; a second signal ends it at once."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    numbers = (signal.SIGTERM, signal.SIGINT)

    def take_signal() -> None:
        stop.set()
        for number in numbers:
            loop.remove_signal_handler(number)

    for number in numbers:
        loop.add_signal_handler(number, take_signal)
    return stop


if __name__ == "__main__":
    sys.exit(main())
