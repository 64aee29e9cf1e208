"""`evalsite evaluate`: play a tournament between agents and print their ratings."""

import shlex
from argparse import ArgumentParser, Namespace, _SubParsersAction
from pathlib import Path
from typing import Any, Final

from evalsite_client.api.tournaments import TournamentDetail
from evalsite_client.cli import following, reporting
from evalsite_client.cli.flags import add_plan_flags, flags_from_plan, plan_from_flags
from evalsite_client.cli.options import (
    add_command,
    read_pair,
    read_whole,
    read_within,
    split_agents,
)
from evalsite_client.cli.run_agents import expand_runs
from evalsite_client.cli.saving import save_json
from evalsite_client.cli.show import Answer
from evalsite_client.cli.spelled import upload_files
from evalsite_client.cli.stopping import INTERRUPTED
from evalsite_client.client import Client
from evalsite_client.errors import NotAllowedError

STOPPED_WAIT_S: Final = 5.0
"""How long the ratings may take once the command was stopped."""
MOST_NAMED: Final = 20
"""Agents that are named in the command to go on."""
NOT_ITS_OWN: Final = ("name", "is_paused", "is_rated", "replays")
"""Options of tournaments that are settled for an evaluation."""
DEFAULTS: Final = {"n_matches": 1_000, "pairing": "random", "move_s": 2.0}


def add_commands(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the command; the types of its options refuse what is out of range (exit status 2)."""
    new = add_command(
        commands,
        "evaluate",
        evaluate_agents,
        has_file=True,
        examples="  evalsite evaluate --game connect_four --agents random,alphabeta:4,mcts:100\n"
        "  evalsite evaluate --game connect_four --agents ppo/step_9.safetensors,mcts:100 "
        "--leaderboard mine\n"
        "  games of one seat: all agents play each seed; a rest of --num-matches that is no whole\n"
        "  turn goes to some of them, so take a multiple of their number\n"
        "  exit status: 0 done, 1 nothing counted, 2 refused, 130 Ctrl-C: the rest is cancelled",
    )
    add_argument = new.add_argument
    add_argument("--game", default="skill_game", help="(skill_game)")
    add_argument(
        "--agents",
        type=split_agents,
        default=[],
        help="such as random,alphabeta:4; names, hashes, files of checkpoints and RUN@* too",
    )
    add_argument(
        "--num-agents", type=read_whole(2, 10_000), default=10, help="drawn for skill_game"
    )
    add_argument(
        "-l", "--leaderboard", default="", help="a standing one; else an unlisted one of their own"
    )
    add_argument(
        "--game-parameter", type=read_pair, action="append", default=[], metavar="NAME=VALUE"
    )
    add_plan_flags(
        new, leave_out=NOT_ITS_OWN, defaults=DEFAULTS, spelled={"n_matches": ("--num-matches",)}
    )
    add_plan_flags(new, "faults")
    add_argument("--timeout", type=read_within(0, 1e9), help="end after so many seconds")
    add_argument(
        "--finish-fraction", type=read_within(0, 1), default=1.0, help="end when so much is closed"
    )


def evaluate_agents(client: Client, options: Namespace) -> Answer:
    """Play matches between agents on the running cluster and print their ratings."""
    out = following.find_stream(options)
    names = expand_runs(client, options.agents, game=options.game)
    options.agents = upload_files(client, names, game=options.game, out=out)
    request = _read_evaluation(options)
    # Bad input ends it before anybody is waited for.
    client.evaluations.check(**request)
    following.write_line(out, following.wait_for_cluster(client))
    started = client.evaluations.create(**request)
    if started.warning:
        following.write_line(out, f"Note: {started.warning}")
    return _follow_evaluation(client, started.tournament, options)


def _follow_evaluation(client: Client, tournament: int, options: Namespace) -> Answer:
    """Follow a tournament to its end or until the user stops it; report the results either way."""
    out, is_stopped = following.find_stream(options), False
    began_s = client.clock.monotonic()
    try:
        following.follow_tournament(
            client,
            tournament,
            out,
            timeout_s=options.timeout,
            fraction=options.finish_fraction,
        )
    except KeyboardInterrupt:
        is_stopped = True
    elapsed_s = client.clock.monotonic() - began_s
    going_on = _cancel_rest(client, tournament)
    if is_stopped:
        remainder = going_on or "the rest is cancelled"
        following.write_line(out, f"\nstopped: {remainder}; what was played is told now")
    elif going_on:
        following.write_line(out, f"Note: {going_on}")
    limit_s = STOPPED_WAIT_S if is_stopped else following.RATING_WAIT_S
    finished = _await_ratings(
        client, tournament, limit_s=limit_s, elapsed_s=elapsed_s, is_skill=not options.agents
    )
    for line in reporting.write_report(finished):
        following.write_line(out, line)
    value = reporting.make_values(finished)
    if isinstance(options.json, Path):
        save_json(options.json, value)
    if is_stopped:
        return Answer(value, "", INTERRUPTED, _describe_rest(client, finished.tournament))
    if finished.why_nothing:
        return Answer(value, "", 1, f"nothing counted: {finished.why_nothing}")
    return Answer(value)


def _await_ratings(
    client: Client, tournament: int, *, limit_s: float, elapsed_s: float, is_skill: bool
) -> reporting.Finished:
    """Return what came out, once it is rated or limit_s is over; elapsed_s: what play took."""
    began_s = client.clock.monotonic()
    report, lag = following.wait_for_ratings(client, tournament, limit_s=limit_s)
    # Again: reports of nodes may have come meanwhile.
    latest = client.tournaments.get(tournament)
    return reporting.Finished(
        tournament=latest,
        game=client.leaderboards.get(latest.leaderboard).game,
        report=report,
        lag=lag,
        elapsed_s=elapsed_s,
        rate_s=client.clock.monotonic() - began_s,
        is_skill=is_skill,
    )


def _cancel_rest(client: Client, tournament: int) -> str:
    """Cancel the open matches of a tournament; where that is refused, return why they go on."""
    try:
        client.tournaments.cancel(tournament)
    except NotAllowedError as error:
        # Whoever may start it need not be allowed to end it: what was played is told all the same.
        latest = client.tournaments.get(tournament)
        n_open = latest.n_matches - latest.n_closed
        return f"{n_open} matches go on, as they cannot be cancelled: {error}" if n_open else ""
    return ""


def _read_evaluation(options: Namespace) -> dict[str, Any]:
    request = dict[str, Any](
        game=options.game,
        agents=options.agents,
        num_agents=options.num_agents,
        leaderboard=options.leaderboard,
        game_parameters=dict(options.game_parameter),
        **plan_from_flags(options),
    )
    if faults := plan_from_flags(options, "faults"):
        request["faults"] = faults
    return request


def _describe_rest(client: Client, tournament: TournamentDetail) -> str:
    """Return how many were played, and the command that plays the rest on the same leaderboard."""
    begins = f"interrupted after {tournament.n_done} of {tournament.n_matches} matches"
    if tournament.faults is not None:
        return f"{begins}; with emulated faults nothing is taken over: the same command begins anew"
    names = [entrant.agent.name for entrant in client.tournaments.agents(tournament.id)]
    agents = shlex.join(names) if len(names) <= MOST_NAMED else "AGENT..."
    # An evaluation plays what is known again: asked for once more, that would be all.
    options = shlex.join(
        flags_from_plan(vars(tournament), leave_out=("name", "is_paused", "replays"))
    )
    plays = (
        "all again for their trajectories"
        if tournament.keeps_trajectories
        else "only what is missing"
    )
    return (
        f"{begins}; to go on, which plays {plays}: "
        f"evalsite schedule -l {shlex.quote(tournament.leaderboard)} {options} {agents}"
    )
