"""Commands of tournaments: schedule, list, change."""

from argparse import ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Callable

from evalsite_client.api.tournaments import Tournament, TournamentDetail
from evalsite_client.cli.flags import add_plan_flags, plan_from_flags
from evalsite_client.cli.options import (
    add_command,
    add_limit,
    page_size,
    read_whole,
    take_rows,
)
from evalsite_client.cli.run_agents import find_entrants
from evalsite_client.cli.show import Answer, format_pairs, format_table
from evalsite_client.cli.watch import watch_tournament
from evalsite_client.client import Client

STATES = ("scheduled", "planning", "running", "paused", "done", "cancelled")
HEAD = ("id", "name", "leaderboard", "state", "ended", "of", "forfeits", "void", "created")


def add_commands(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the commands."""
    _add_schedule(commands)
    listed = add_command(commands, "tournaments", show_tournaments)
    listed.add_argument("-l", "--leaderboard")
    listed.add_argument("--state", choices=STATES)
    add_limit(listed)
    for name, run in (
        ("start", start_tournament),
        ("pause", pause_tournament),
        ("resume", resume_tournament),
        ("cancel", cancel_tournament),
    ):
        add_command(commands, name, run).add_argument(
            "tournament", type=read_whole(1), metavar="ID"
        )
    extended = add_command(
        commands, "extend", extend_tournament, examples="  evalsite extend 7 --matches 2000"
    )
    extended.add_argument("tournament", type=read_whole(1), metavar="ID")
    extended.add_argument(
        *("-n", "--matches"),
        type=read_whole(1),
        required=True,
        help="in all, those it has had included",
    )


def _add_schedule(commands: "_SubParsersAction[ArgumentParser]") -> None:
    new = add_command(
        commands,
        "schedule",
        schedule_tournament,
        examples="  evalsite schedule -l connect-four -n 200 random mcts-100 mcts-400 --watch\n"
        "  evalsite schedule -l connect-four -n 2000 3 7 --name final --paused",
    )
    new.add_argument("agents", nargs="+", metavar="AGENT", help="id, name, or RUN@*: all of a run")
    new.add_argument("-l", "--leaderboard", required=True)
    add_plan_flags(new, leave_out=("is_paused",), defaults={"name": ""})
    then = new.add_mutually_exclusive_group()
    then.add_argument("--paused", action="store_true", help="wait for `evalsite start`")
    then.add_argument("--watch", action="store_true", help="follow it to its end")


def schedule_tournament(client: Client, options: Namespace) -> Answer:
    """Schedule a tournament between agents, which starts at once."""
    game = client.leaderboards.get(options.leaderboard).game
    entered = find_entrants(client, options.agents, game=game)
    plan = plan_from_flags(options)
    plan["name"] = plan["name"] or ", ".join(agent.name for agent in entered)[:120]
    tournament = client.tournaments.schedule(
        leaderboard=options.leaderboard,
        agents=[agent.id for agent in entered],
        is_paused=options.paused,
        **plan,
    )
    if options.watch:
        return watch_tournament(client, tournament.id, is_json=options.json, timeout_s=None)
    # Such as a warning that so many matches may end it before its final.
    notes = [] if options.json else client.tournaments.explain(tournament.id).notes
    lines = [_describe_tournament(tournament), *(f"Note: {note}" for note in notes)]
    return Answer(tournament, "\n".join([*lines, f"`evalsite watch {tournament.id}` follows it"]))


def show_tournaments(client: Client, options: Namespace) -> Answer:
    """List tournaments, the newest first."""
    tournaments = client.tournaments.list(
        leaderboard=options.leaderboard, state=options.state, page_size=page_size(options)
    )
    shown_tournaments = take_rows(tournaments, options)
    return Answer(
        shown_tournaments,
        format_table(HEAD, [_make_row(tournament) for tournament in shown_tournaments]),
    )


def start_tournament(client: Client, options: Namespace) -> Answer:
    """Start a tournament that was scheduled as paused."""
    return _change_tournament(client.tournaments.start, options)


def pause_tournament(client: Client, options: Namespace) -> Answer:
    """Send no more matches of a tournament; those sent already are played."""
    return _change_tournament(client.tournaments.pause, options)


def resume_tournament(client: Client, options: Namespace) -> Answer:
    """Go on with a paused tournament."""
    return _change_tournament(client.tournaments.resume, options)


def cancel_tournament(client: Client, options: Namespace) -> Answer:
    """Cancel every match of a tournament that is still open."""
    return _change_tournament(client.tournaments.cancel, options)


def extend_tournament(client: Client, options: Namespace) -> Answer:
    """Give a tournament more matches; one that was done goes on."""
    tournament = client.tournaments.extend(options.tournament, n_matches=options.matches)
    return Answer(tournament, _describe_tournament(tournament))


def _change_tournament(change: Callable[[int], TournamentDetail], options: Namespace) -> Answer:
    tournament = change(options.tournament)
    return Answer(tournament, _describe_tournament(tournament))


def _describe_tournament(tournament: TournamentDetail) -> str:
    return format_pairs(dict(zip(HEAD, _make_row(tournament), strict=True)))


def _make_row(tournament: Tournament) -> list[object]:
    cells = (
        tournament.id,
        tournament.name,
        tournament.leaderboard,
        tournament.shown_state,
        tournament.n_closed,
        tournament.n_matches,
    )
    return [*cells, tournament.n_forfeits, tournament.n_void, tournament.created_at]
