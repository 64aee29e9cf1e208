"""Commands of seasons: freeze, begin, list; and to rate a leaderboard again."""

from argparse import ArgumentParser, Namespace, _SubParsersAction

from evalsite_client.cli.options import add_command, add_limit, add_reason, page_size, take_rows
from evalsite_client.cli.show import Answer, format_table
from evalsite_client.client import Client

HEAD = ("id", "name", "agents", "outcomes", "frozen", "by", "reason")
MODES = ("reset", "carry")


def add_commands(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the commands."""
    listed = add_command(commands, "seasons", show_seasons)
    listed.add_argument("leaderboard")
    add_limit(listed)
    frozen = add_command(
        commands, "freeze", freeze_season, examples="  evalsite freeze connect-four spring"
    )
    begun = add_command(
        commands,
        "begin",
        begin_season,
        examples="  evalsite begin connect-four summer --mode carry",
    )
    for parser in (frozen, begun):
        parser.add_argument("leaderboard")
        parser.add_argument("name", help="of the season")
        add_reason(parser, is_required=False)
    begun.add_argument(
        "--mode", choices=MODES, required=True, help="everybody starts anew, or all results count"
    )
    rated = add_command(
        commands,
        "rerate",
        rerate_board,
        examples='  evalsite rerate connect-four --reason "to be sure"',
    )
    rated.add_argument("leaderboard")
    add_reason(rated, is_required=True)


def show_seasons(client: Client, options: Namespace) -> Answer:
    """List the seasons of a leaderboard, the newest first."""
    listed = client.leaderboards.seasons(options.leaderboard, page_size=page_size(options))
    shown_seasons = take_rows(listed, options)
    rows = [
        (s.id, s.name, s.n_agents, s.n_counted, s.frozen_at, s.actor, s.reason)
        for s in shown_seasons
    ]
    return Answer(shown_seasons, format_table(HEAD, rows))


def freeze_season(client: Client, options: Namespace) -> Answer:
    """Keep ranks and ratings as they stand now, as a season that nobody changes."""
    season = client.leaderboards.freeze(
        options.leaderboard, name=options.name, reason=options.reason
    )
    counts = f"{season.n_agents:,} agents, {season.n_counted:,} outcomes"
    return Answer(season, f"season {season.id}, {season.name}, keeps {counts}")


def begin_season(client: Client, options: Namespace) -> Answer:
    """Begin a season: reset, or carry all results over."""
    ended = client.leaderboards.begin(
        options.leaderboard, name=options.name, mode=options.mode, reason=options.reason
    )
    return Answer(ended, f"{options.name} has begun; season {ended.id} keeps what was before")


def rerate_board(client: Client, options: Namespace) -> Answer:
    """Compute all ratings of a leaderboard again from every outcome that counts."""
    board = client.leaderboards.rerate(options.leaderboard, reason=options.reason)
    return Answer(board, f"{board.name} is rated again from {board.n_counted:,} outcomes")
