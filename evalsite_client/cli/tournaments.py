"""Commands of tournaments: schedule, list, change."""

from argparse import ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Callable

from evalsite_client.api.tournaments import Tournament, TournamentDetail
from evalsite_client.cli.flags import add_plan_flags, plan_from_flags
from evalsite_client.cli.options import (
    add_limit,
    agent,
    command,
    first,
    page_size,
    whole,
)
from evalsite_client.cli.show import Answer, pairs, table
from evalsite_client.cli.watch import follow
from evalsite_client.client import Client

STATES = ("scheduled", "planning", "running", "paused", "done", "cancelled")
HEAD = ("id", "name", "leaderboard", "state", "ended", "of", "forfeits", "void", "created")


def add(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the commands."""
    _add_schedule(commands)
    listed = command(commands, "tournaments", show_tournaments)
    listed.add_argument("-l", "--leaderboard")
    listed.add_argument("--state", choices=STATES)
    add_limit(listed)
    for name, run in (("start", start), ("pause", pause), ("resume", resume), ("cancel", cancel)):
        command(commands, name, run).add_argument("tournament", type=whole(1), metavar="ID")
    extended = command(commands, "extend", extend, examples="  evalsite extend 7 --matches 2000")
    extended.add_argument("tournament", type=whole(1), metavar="ID")
    extended.add_argument(
        *("-n", "--matches"), type=whole(1), required=True, help="in all, those it has had included"
    )


def _add_schedule(commands: "_SubParsersAction[ArgumentParser]") -> None:
    new = command(
        commands,
        "schedule",
        schedule,
        examples="  evalsite schedule -l connect-four -n 200 random mcts-100 mcts-400 --watch\n"
        "  evalsite schedule -l connect-four -n 2000 3 7 --name final --paused",
    )
    new.add_argument("agents", nargs="+", metavar="AGENT", help="id or name")
    new.add_argument("-l", "--leaderboard", required=True)
    add_plan_flags(new, leave_out=("is_paused",), defaults={"name": ""})
    then = new.add_mutually_exclusive_group()
    then.add_argument("--paused", action="store_true", help="wait for `evalsite start`")
    then.add_argument("--watch", action="store_true", help="follow it to its end")


def schedule(client: Client, options: Namespace) -> Answer:
    """Schedule a tournament between agents, which starts at once."""
    game = client.leaderboards.get(options.leaderboard).game
    entered = [agent(client, text, game=game, field="AGENT") for text in options.agents]
    plan = plan_from_flags(options)
    plan["name"] = plan["name"] or ", ".join(one.name for one in entered)[:120]
    made = client.tournaments.schedule(
        leaderboard=options.leaderboard,
        agents=[one.id for one in entered],
        is_paused=options.paused,
        **plan,
    )
    if options.watch:
        return follow(client, made.id, is_json=options.json, timeout_s=None)
    return Answer(made, f"{_text(made)}\n`evalsite watch {made.id}` follows it")


def show_tournaments(client: Client, options: Namespace) -> Answer:
    """List tournaments, the newest first."""
    tournaments = client.tournaments.list(
        leaderboard=options.leaderboard, state=options.state, page_size=page_size(options)
    )
    found = first(tournaments, options)
    return Answer(found, table(HEAD, [_row(one) for one in found]))


def start(client: Client, options: Namespace) -> Answer:
    """Begin with a tournament that was scheduled as paused."""
    return _changed(client.tournaments.start, options)


def pause(client: Client, options: Namespace) -> Answer:
    """Send no more matches of a tournament; those sent already are played."""
    return _changed(client.tournaments.pause, options)


def resume(client: Client, options: Namespace) -> Answer:
    """Go on with a paused tournament."""
    return _changed(client.tournaments.resume, options)


def cancel(client: Client, options: Namespace) -> Answer:
    """Cancel every match of a tournament that is still open."""
    return _changed(client.tournaments.cancel, options)


def extend(client: Client, options: Namespace) -> Answer:
    """Let a tournament have more matches; one that was done goes on."""
    found = client.tournaments.extend(options.tournament, n_matches=options.matches)
    return Answer(found, _text(found))


def _changed(change: Callable[[int], TournamentDetail], options: Namespace) -> Answer:
    found = change(options.tournament)
    return Answer(found, _text(found))


def _text(one: TournamentDetail) -> str:
    return pairs(dict(zip(HEAD, _row(one), strict=True)))


def _row(one: Tournament) -> list[object]:
    known = (one.id, one.name, one.leaderboard, one.shown_state, one.n_closed, one.n_matches)
    return [*known, one.n_forfeits, one.n_void, one.created_at]
