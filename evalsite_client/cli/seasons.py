"""Commands of seasons: freeze, begin, list; and to rate a leaderboard again."""

from argparse import ArgumentParser, Namespace, _SubParsersAction

from evalsite_client.cli.options import add_limit, add_reason, command, first, page_size
from evalsite_client.cli.show import Answer, table
from evalsite_client.client import Client

HEAD = ("id", "name", "agents", "outcomes", "frozen", "by", "reason")
MODES = ("reset", "carry")


def add(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the commands."""
    listed = command(commands, "seasons", show_seasons)
    listed.add_argument("leaderboard")
    add_limit(listed)
    frozen = command(commands, "freeze", freeze, examples="  evalsite freeze connect-four spring")
    begun = command(
        commands, "begin", begin, examples="  evalsite begin connect-four summer --mode carry"
    )
    for parser in (frozen, begun):
        parser.add_argument("leaderboard")
        parser.add_argument("name", help="of the season")
        add_reason(parser, is_required=False)
    begun.add_argument(
        "--mode", choices=MODES, required=True, help="everybody starts anew, or all results count"
    )
    rated = command(
        commands, "rerate", rerate, examples='  evalsite rerate connect-four --reason "to be sure"'
    )
    rated.add_argument("leaderboard")
    add_reason(rated, is_required=True)


def show_seasons(client: Client, options: Namespace) -> Answer:
    """List the seasons of a leaderboard, the newest first."""
    listed = client.leaderboards.seasons(options.leaderboard, page_size=page_size(options))
    found = first(listed, options)
    rows = [(s.id, s.name, s.n_agents, s.n_counted, s.frozen_at, s.actor, s.reason) for s in found]
    return Answer(found, table(HEAD, rows))


def freeze(client: Client, options: Namespace) -> Answer:
    """Keep ranks and ratings as they stand now, as a season that nobody changes."""
    made = client.leaderboards.freeze(options.leaderboard, name=options.name, reason=options.reason)
    counts = f"{made.n_agents:,} agents, {made.n_counted:,} outcomes"
    return Answer(made, f"season {made.id}, {made.name}, keeps {counts}")


def begin(client: Client, options: Namespace) -> Answer:
    """Begin a season: reset, or carry all results over."""
    ended = client.leaderboards.begin(
        options.leaderboard, name=options.name, mode=options.mode, reason=options.reason
    )
    return Answer(ended, f"{options.name} has begun; season {ended.id} keeps what was before")


def rerate(client: Client, options: Namespace) -> Answer:
    """Have all ratings of a leaderboard computed again from every outcome that counts."""
    found = client.leaderboards.rerate(options.leaderboard, reason=options.reason)
    return Answer(found, f"{found.name} is rated again from {found.n_counted:,} outcomes")
