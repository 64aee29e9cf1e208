"""`./run manage evaluate`: play a tournament through the real queue and print the ratings."""

import time
from argparse import ArgumentParser
from shlex import quote
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from arena.games import registry as games
from arena.messages import FaultRates, Limits
from arena.pairing import registry as pairings
from arena.policies.spec import split_policies
from matches.errors import MatchError
from matches.ledger import pairingwarnings
from matches.ledger.evaluation import Evaluation, check, start
from matches.ledger.tournaments import Plan, cancel
from matches.management import following, report
from matches.management.options import pair, real, whole, writable_file
from matches.management.saving import save_json
from matches.management.stopping import INTERRUPTED, stoppable
from matches.models import Tournament
from matches.store.clock import db_now

MOST_NAMED = 20
"""Agents that are named in the command to go on."""
PAIRINGS = ", ".join(sorted((*pairings.names(), *pairings.adaptive_names())))


class Command(BaseCommand):
    """Evaluate agents: schedule their matches, follow them, rate the agents."""

    help = "Play matches between agents on the running cluster and print their ratings."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options; their types refuse what is out of range (exit code 2)."""
        add = parser.add_argument
        add("--game", default="skill_game", help=f"one of {', '.join(games.names())}")
        add("--agents", type=split_policies, default=[], help="such as random,alphabeta:4,mcts:100")
        add("--num-agents", type=whole(2, 10_000), default=10, help="drawn for skill_game")
        add("--num-matches", type=whole(1, 100_000_000), default=1_000)
        add("--pairing", default="random", help=f"one of {PAIRINGS}")
        add("--seed", type=whole(0, 2**62), default=0, help="replays pairings and games")
        add("--game-parameter", type=pair, action="append", default=[], metavar="NAME=VALUE")
        add("--error-rate", type=real(0, 1), default=0.0, help="emulated exceptions")
        add("--invalid-rate", type=real(0, 1), default=0.0, help="emulated invalid values")
        add("--hang-rate", type=real(0, 1), default=0.0, help="emulated hangs")
        add("--hang-s", type=real(0, 86_400), default=FaultRates().hang_s)
        add("--charge", choices=("platform", "agent"), default="platform", help="who is at fault")
        add("--move-s", type=real(0.01, 86_400), default=2.0, help="limit of a move")
        add("--match-s", type=real(0.01, 86_400), default=Limits().match_s, help="of a match")
        add("--timeout", type=real(0, 1e9), help="end after so many seconds with what is there")
        add("--finish-fraction", type=real(0, 1), default=1.0, help="end when so much is closed")
        add("--json", type=writable_file, metavar="FILE")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Run one evaluation. Bad input ends with exit code 2 before anything is stored."""
        try:
            evaluation = _evaluation(options)
            check(evaluation, now=db_now())
            self.stdout.write(following.wait_for_cluster())
            tournament = start(evaluation, now=db_now())
            self._warn(tournament)
        except (MatchError, ValidationError) as error:
            raise CommandError(_message(error), returncode=2) from error
        with stoppable():
            self._follow(tournament, options)

    def _warn(self, tournament: Tournament) -> None:
        """Say what the number of matches keeps the pairing from: before it plays, and after."""
        warning = pairingwarnings.of_budget(tournament)
        if warning is not None:
            self.stdout.write(f"Note: {warning}")

    def _follow(self, tournament: Tournament, options: dict[str, Any]) -> None:
        """Follow it to its end, or until somebody stops it; tell what is there either way."""
        began, is_stopped = time.monotonic(), False
        try:
            following.follow(
                tournament,
                self.stdout,
                timeout_s=options["timeout"],
                fraction=options["finish_fraction"],
            )
        except KeyboardInterrupt:
            is_stopped = True
            self.stdout.write("\nstopped: the rest is cancelled; what was played is told now")
        elapsed_s = time.monotonic() - began
        cancel(tournament, now=db_now())
        tournament.refresh_from_db()
        finished = report.build(
            tournament,
            elapsed_s=elapsed_s,
            is_skill=not options["agents"],
            is_stopped=is_stopped,
        )
        report.write(finished, self.stdout)
        self._warn(tournament)
        save_json(options["json"], report.as_json(finished))
        if is_stopped:
            raise CommandError(_how_to_go_on(finished), returncode=INTERRUPTED)
        if finished.why_nothing:
            raise CommandError(f"nothing counted: {finished.why_nothing}", returncode=1)


def _evaluation(options: dict[str, Any]) -> Evaluation:
    rates = {name: options[name] for name in ("error_rate", "invalid_rate", "hang_rate")}
    faults = {**rates, "hang_s": options["hang_s"], "charge": options["charge"]}
    return Evaluation(
        game=options["game"],
        agents=options["agents"],
        num_agents=options["num_agents"],
        game_parameters=dict(options["game_parameter"]),
        plan=Plan(
            name="evaluate",
            n_matches=options["num_matches"],
            pairing=options["pairing"],
            seed=options["seed"],
            move_s=options["move_s"],
            match_s=options["match_s"],
            faults=faults if any(rates.values()) else None,
        ),
    )


def _message(error: MatchError | ValidationError) -> str:
    if isinstance(error, ValidationError):
        return "; ".join(f"{name}: {', '.join(m)}" for name, m in error.message_dict.items())
    return str(error)


def _how_to_go_on(finished: report.Report) -> str:
    """Return how many were played, and the command that plays the rest on the same leaderboard."""
    seen, tournament = finished.progress, finished.tournament
    begins = f"interrupted after {seen.completed} of {seen.n_matches} matches"
    if tournament.faults is not None:
        return f"{begins}; with emulated faults nothing is taken over: the same command begins anew"
    names = list(tournament.entrant_set.values_list("agent__name", flat=True))
    agents = " ".join(map(quote, names)) if len(names) <= MOST_NAMED else "AGENT..."
    return (
        f"{begins}; to go on, which plays only what is missing: evalsite schedule "
        f"-l {tournament.leaderboard.name} -n {seen.n_matches} --pairing {tournament.pairing} "
        f"--seed {tournament.seed} --move-s {tournament.move_s:g} --match-s {tournament.match_s:g} "
        f"{agents}"
    )
