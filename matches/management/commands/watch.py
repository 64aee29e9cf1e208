"""`./run manage watch FOLDER`: evaluate a training run's checkpoints as they are written."""

import json
import time
import urllib.request
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit

from django.core.management.base import BaseCommand, CommandError

from arena.errors import ArenaError
from arena.games import registry as games
from arena.policies.spec import parse_policy, split_policies
from matches.campaigns import watching
from matches.campaigns.watching import Watch
from matches.errors import BadInputError, MatchError
from matches.management import following, verdicts
from matches.management.options import pair, real, whole
from matches.management.stopping import INTERRUPTED, stoppable
from matches.models import Agent, Alarm, Campaign, Checkpoint, Rating
from matches.ratings.entrants import entrants_of
from matches.store.clock import db_now

REGRESSION = 1
WEBHOOK_S = 10.0
N_NAMED = 5
"""Files that are named of those left out for one reason."""
_UNITS = {"s": 1.0, "m": 60.0, "h": 3_600.0}


def duration(text: str) -> float:
    """Take 60s, 5m, 1h or a number of seconds."""
    unit = _UNITS.get(text[-1:])
    try:
        seconds = float(text[:-1]) * unit if unit else float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= 86_400:  # noqa: PLR2004 - a day
        raise ArgumentTypeError(f"must be such as 60s, 5m or 1h, got {text!r}")
    return seconds


def web_address(text: str) -> str:
    """Take an http or https address."""
    if urlsplit(text).scheme not in ("http", "https"):
        raise ArgumentTypeError(f"must begin with http:// or https://, got {text!r}")
    return text


class Command(BaseCommand):
    """Register, evaluate and compare every new checkpoint of a folder."""

    help = (
        "Watch a folder of *.safetensors: each new file becomes an agent, meets its ancestors, and "
        "raises an alarm when it is probably worse than the best of them. Ctrl-C ends it; the next "
        "start goes on with what is new or unfinished. Exit 1: a regression (--once, "
        "--stop-on-regression)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options; their types refuse what is out of range (exit code 2)."""
        add = parser.add_argument
        add("folder", type=Path)
        add("--agent", required=True, metavar="NAME", help="agents become NAME@STEP")
        add("--every", type=duration, default=60.0, help="how often to look: 60s")
        add("--budget", type=whole(2, 10_000_000), default=200, help="matches per checkpoint")
        add("--margin", type=real(0, 100), default=1.0, help="in units of rating (45 Elo each)")
        add("--level", type=real(0.5, 0.9999), default=0.95, help="P(worse) of an alarm")
        add(
            "--against",
            type=split_policies,
            default=["random"],
            help="agents that all meet: random",
        )
        add("--leaderboard", default="", help="default: one for the watches of the game")
        add("--game", default="", help="needed unless the files are sealed")
        add("--architecture", default="", help="such as mlp; needed unless the files are sealed")
        add("--parameter", type=pair, action="append", default=[], metavar="NAME=VALUE")
        add("--webhook", type=web_address, help="an alarm is posted there as JSON")
        add("--once", action="store_true", help="evaluate what is new and end")
        add("--stop-on-regression", action="store_true")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Watch until it is interrupted. Bad input ends with exit code 2."""
        watch = _watch(options)
        try:
            _check(watch)
            watching.new_files(watch)
            self.stdout.write(following.wait_for_cluster())
            self.stdout.write(_what_now(watch, options))
            with stoppable():
                n_alarms = self._watch(watch, options)
        except MatchError as error:
            raise CommandError(str(error), returncode=2) from error
        except KeyboardInterrupt:
            said = (
                "interrupted: matches under way are played to their end; the same command goes on "
                "with what is new or unfinished"
            )
            raise CommandError(said, returncode=INTERRUPTED) from None
        if n_alarms:
            raise SystemExit(REGRESSION)

    def _watch(self, watch: Watch, options: dict[str, Any]) -> int:
        n_alarms, told = self._catch_up(watch, options), set[Path]()
        while True:
            files = watching.files_of(watch)
            self._tell_left_out(files.left_out, told, is_once=options["once"])
            for step, path in files.new:
                if path not in told:
                    alarm = self._step(watch, step, path, told)
                    n_alarms += alarm is not None
                    self._post(options["webhook"], alarm)
            if options["once"] or (n_alarms and options["stop_on_regression"]):
                return n_alarms
            time.sleep(options["every"])

    def _tell_left_out(
        self, left_out: Mapping[Path, str], told: set[Path], *, is_once: bool
    ) -> None:
        """Say of each file that is not judged why, once; several for one reason in one line."""
        by_reason: dict[str, list[Path]] = {}
        for path, reason in left_out.items():
            # What is being written is judged at the next look, if there is one.
            if path not in told and (is_once or reason != watching.WRITTEN):
                by_reason.setdefault(reason, []).append(path)
        for reason, paths in by_reason.items():
            told.update(paths)
            names = ", ".join(path.name for path in paths[:N_NAMED])
            more = f" and {len(paths) - N_NAMED} more" if len(paths) > N_NAMED else ""
            self.stdout.write(f"not judged: {names}{more}: {reason}")

    def _catch_up(self, watch: Watch, options: dict[str, Any]) -> int:
        """Raise the alarm that an interrupted watch could not; return how many that are."""
        campaign = watching.left_alone(watch)
        alarm = campaign and watching.raise_alarm(campaign, watch, now=db_now())
        if not campaign or not alarm:
            return 0
        self.stdout.write(_said(watch, alarm.agent, campaign, alarm))
        self._post(options["webhook"], alarm)
        return 1

    def _step(self, watch: Watch, step: int, path: Path, told: set[Path]) -> Alarm | None:
        """Register and evaluate one file; a refused one is named once and left alone."""
        try:
            agent = watching.admit(watch, step, path, now=db_now())
        except BadInputError as error:
            told.add(path)
            self.stderr.write(f"{path.name}: refused: {error}")
            return None
        (row,) = verdicts.wait([str(agent.checkpoint_id)], self.stdout)
        if row.state == Checkpoint.State.REFUSED:
            told.add(path)
            self.stderr.write(f"{path.name}: refused: {row.reason}")
            return None
        agent.refresh_from_db()
        campaign = watching.evaluate(watch, agent)
        following.follow_campaign(campaign, self.stdout)
        following.wait_for_ratings(campaign.tournament)
        alarm = watching.raise_alarm(campaign, watch, now=db_now())
        told.add(path)
        self.stdout.write(_said(watch, agent, campaign, alarm))
        return alarm

    def _post(self, address: str | None, alarm: Alarm | None) -> None:
        """Post an alarm; one that does not arrive is said, and stays on the page."""
        if not address or alarm is None:
            return
        body = json.dumps(as_json(alarm)).encode()
        headers = {"Content-Type": "application/json"}
        posted = urllib.request.Request(address, body, headers)
        try:
            with urllib.request.urlopen(posted, timeout=WEBHOOK_S):
                self.stdout.write(f"alarm posted to {address}")
        except (URLError, TimeoutError, OSError) as error:
            self.stderr.write(f"the alarm could not be posted to {address}: {error}")


def as_json(alarm: Alarm) -> dict[str, object]:
    """Return what a webhook gets."""
    return {
        "event": "regression",
        "agent": alarm.agent.name,
        "ancestor": alarm.ancestor.name,
        "game": alarm.agent.game,
        "probability": alarm.probability,
        "margin": alarm.margin,
        "level": alarm.level,
        "tournament": alarm.campaign.tournament_id,
        "at": alarm.at.isoformat(),
    }


def _watch(options: dict[str, Any]) -> Watch:
    return Watch(
        folder=options["folder"],
        name=options["agent"],
        game=options["game"],
        architecture=options["architecture"],
        parameters={name: verdicts.value_of(text) for name, text in options["parameter"]},
        leaderboard=options["leaderboard"],
        against=options["against"],
        budget=options["budget"],
        margin=options["margin"],
        level=options["level"],
    )


def _check(watch: Watch) -> None:
    """Refuse now what would be refused with the first file. Raises BadInputError."""
    if not watch.name.strip():
        raise BadInputError("agent", "is empty: give the run a name")
    try:
        field = "game"
        if watch.game:
            games.get(watch.game)
        field = "against"
        for text in watch.against:
            if not Agent.objects.filter(name=text).exists():
                parse_policy(text)
    except ArenaError as error:
        raise BadInputError(field, str(error)) from error


def _what_now(watch: Watch, options: dict[str, Any]) -> str:
    n_new = len(watching.new_files(watch))
    often = "" if options["once"] else f", looking every {options['every']:g} s"
    return f"{n_new} new checkpoint(s) in {watch.folder}{often}"


def _said(watch: Watch, agent: Agent, campaign: Campaign, alarm: Alarm | None) -> str:
    rating = Rating.objects.get(leaderboard=campaign.tournament.leaderboard_id, agent=agent)
    chance = watching.chance_of_regression(campaign)
    compared = "no ancestor yet"
    if chance is not None:
        ancestor = Agent.objects.get(pk=entrants_of(campaign.tournament)[0])
        compared = f"P(worse than {ancestor.name} by more than {watch.margin:g}) = {chance:.3f}"
    rated = f"{agent.name}: rating {rating.mu:.2f} ± {1.96 * rating.sd:.2f}"
    line = f"{rated} after {campaign.n_played} matches, {compared}"
    return f"REGRESSION {line}" if alarm else line
