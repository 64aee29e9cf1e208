"""`evalsite watch FOLDER`: upload and evaluate a training run's checkpoints as they are written."""

import json
import sys
import time
import urllib.request
from argparse import ArgumentTypeError, Namespace
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.error import URLError
from urllib.parse import urlsplit

from evalsite_client.api.shared import Alarm
from evalsite_client.api.watches import Watched, WatchedStep, WatchVerdict
from evalsite_client.cli import following
from evalsite_client.cli.campaign_texts import describe_progress
from evalsite_client.cli.checkpoints import wait_checked
from evalsite_client.cli.folders import WRITTEN, Files, Stamp, find_files, read_stamp
from evalsite_client.cli.run_agents import expand_runs
from evalsite_client.cli.show import Answer
from evalsite_client.cli.stopping import INTERRUPTED
from evalsite_client.client import Client
from evalsite_client.errors import InputError, ProblemError, UnreachableError
from evalsite_client.retries import ask_again, may_come_back

REGRESSION: Final = 1
REFUSED: Final = 2
WEBHOOK_S: Final = 10.0
CONVERT: Final = "`evalsite checkpoints convert` makes them of files of training libraries"
MAX_AGAINST: Final = 100
"""Agents that a checkpoint may be sent to meet; the server takes no more."""
N_NAMED: Final = 5
"""Files that are named of those left out for one reason."""


def read_address(text: str) -> str:
    """Take an http or https address."""
    if urlsplit(text).scheme not in ("http", "https"):
        raise ArgumentTypeError(f"must begin with http:// or https://, got {text!r}")
    return text


def watch_folder(client: Client, options: Namespace) -> Answer:
    """Watch until it is interrupted, or there is nothing new (--once)."""
    if not (options.agent or "").strip():
        raise InputError("agent", "is missing or empty: give the run a name")
    watch = FolderWatch(client, options)
    try:
        watch.run()
    except KeyboardInterrupt:
        why = (
            "interrupted: matches under way are played to their end; the same command goes on "
            "with what is new or unfinished"
        )
        return Answer(None, "", INTERRUPTED, why)
    refused = f"{watch.n_refused} new checkpoint(s) were refused" if watch.n_refused else ""
    # A regression is the graver news of both.
    status = REGRESSION if watch.n_alarms else REFUSED if refused else 0
    return Answer(None, "", status, refused)


class FolderWatch:
    """Registers, evaluates and compares every new checkpoint of a folder."""

    def __init__(self, client: Client, options: Namespace) -> None:
        """options: of the command."""
        self.client, self.options = client, options
        self.folder = Path(options.target)
        # A file that was judged comes again once it is another, as when it was half written.
        self.judged: dict[Path, Stamp | None] = {}
        # Why files are not judged, as it was said last.
        self.told: dict[Path, str] = {}
        # The evaluation that was begun and whose verdict is not told yet.
        self.begun: Watched | None = None
        self.n_alarms = self.n_refused = 0
        # As they are now: a run among them that goes on would make each evaluation longer.
        self.against = expand_runs(client, options.against, game=options.game)
        if len(self.against) > MAX_AGAINST:
            n_named = f"{len(self.against):,} agents, and a checkpoint meets {MAX_AGAINST} at most"
            raise InputError("against", f"{n_named}: name some of the steps, such as RUN@4000")

    def run(self) -> None:
        """Judge what is new, and go on with that until there is an end."""
        options, client = self.options, self.client
        files = self._find_files()
        self._write_line(following.wait_for_cluster(client))
        often = "" if options.once else f", looking every {options.every:g} s"
        self._write_line(f"{len(files.new)} new checkpoint(s) in {self.folder}{often}")
        if files.n_others and not (files.new or files.left_out):
            self._write_line(
                f"none of the {files.n_others} file(s) there is a *.safetensors: {CONVERT}"
            )
        self._catch_up()
        for files, trouble in ask_again(self._find_files, client.clock, poll_s=options.every):
            if trouble:
                sys.stderr.write(f"no answer: {trouble}\n")
                continue
            self._tell_left_out(files.left_out)
            self.n_refused += self._tell_left_out(files.refused)
            self._judge_new(files)
            if options.once or (self.n_alarms and options.stop_on_regression):
                break

    def _find_files(self) -> Files:
        watched = self.client.watches.look(
            self.options.agent, game=self.options.game, against=",".join(self.against)
        )
        done = {step.step: step.done for step in watched.steps if step.done}
        return find_files(self.folder, done, now_s=time.time())

    def _catch_up(self) -> None:
        """Raise the alarm that an interrupted watch could not."""
        watched = self.client.watches.look(self.options.agent, game=self.options.game)
        if watched.left_alone is not None:
            judged = self.client.watches.judge(watched.left_alone, level=self.options.level)
            if judged.alarm is not None:
                self._report_verdict(judged)

    def _judge_new(self, files: Files) -> None:
        """Judge what is new; while the server is away, leave it to the next look, which waits."""
        name = "the evaluation under way"
        try:
            # It may be over by now: then its step is none of the new ones.
            self._follow_evaluation()
            for step, path in files.new:
                if not self._is_judged(path):
                    name = path.name
                    self._judge_file(step, path)
        except (UnreachableError, ProblemError) as error:
            if self.options.once or not may_come_back(error):
                raise
            sys.stderr.write(f"{name}: no answer, again at the next look: {error}\n")

    def _judge_file(self, step: int, path: Path) -> None:
        """Upload and evaluate one file; a refused one is named once and left alone."""
        stamp = read_stamp(path)
        try:
            agent = self._admit_checkpoint(step, path)
        except (InputError, ProblemError) as error:
            if isinstance(error, ProblemError) and error.status != HTTPStatus.BAD_REQUEST:
                raise  # a right, a limit or the server: another time the file may pass
            self.judged[path] = stamp
            self.n_refused += 1
            sys.stderr.write(f"{path.name}: refused: {error}\n")
            return
        options = self.options
        self.begun = self.client.watches.create(
            agent=agent,
            leaderboard=options.leaderboard,
            against=self.against,
            budget=options.budget,
            margin=options.margin,
            margin_score=options.margin_score,
            level=options.level,
        )
        self.judged[path] = stamp
        self._follow_evaluation()

    def _follow_evaluation(self) -> None:
        """Wait for the verdict of the evaluation that was begun, if there is one, and tell it."""
        if (begun := self.begun) is None:
            return
        client, options = self.client, self.options
        lines = following.Lines(client, following.find_stream(options))
        ended = client.campaigns.wait(
            begun.campaign,
            progress=lambda now: lines.show(describe_progress(now)),
            trouble=lambda why: lines.show(f"no answer: {why}"),
            poll_s=following.POLL_S,
        )
        lines.end(describe_progress(ended))
        limit_s = following.RATING_WAIT_S
        following.wait_for_ratings(client, begun.tournament, limit_s=limit_s)
        self._report_verdict(client.watches.judge(begun.campaign, level=options.level))
        self.begun = None

    def _admit_checkpoint(self, step: int, path: Path) -> int:
        """Return the agent of a checkpoint once it is checked, sent unless it is there already.

        A new one is the child of the one before it in the run. Raises InputError, ProblemError
        naming what is wrong.
        """
        options, client = self.options, self.client
        stored = client.watches.look(options.agent, game=options.game).steps
        # Also of one that is stored: a watch may have been stopped while it was checked.
        before = [
            checkpoint
            for checkpoint in stored
            if checkpoint.step == step and checkpoint.agent is not None
        ]
        sha256 = before[0].sha256 if before else self._send_checkpoint(step, path, stored)
        checked = wait_checked(client, sha256, is_waiting=True)
        if checked.state == "refused":
            raise InputError("file", checked.reason)
        if before and before[0].agent is not None:
            return before[0].agent
        named = f"{options.agent}@{step}"
        return next(agent.id for agent in checked.agents if agent.name == named)

    def _send_checkpoint(self, step: int, path: Path, stored: Sequence[WatchedStep]) -> str:
        options = self.options
        before = [
            checkpoint.sha256
            for checkpoint in stored
            if checkpoint.step is not None and checkpoint.step < step
        ]
        sent = self.client.checkpoints.upload(
            path,
            name=options.agent,
            step=step,
            game=options.game,
            architecture=options.architecture,
            parameters=dict(options.parameter) or None,
            parent=before[-1] if before else None,
        )
        return sent.sha256

    def _is_judged(self, path: Path) -> bool:
        return path in self.judged and self.judged[path] == read_stamp(path)

    def _tell_left_out(self, left_out: Mapping[Path, str]) -> int:
        """Say of each file why it is not judged, once for each reason; return of how many.

        Several files with one reason share a line.
        """
        by_reason: dict[str, list[Path]] = {}
        for path, reason in left_out.items():
            is_known = self.told.get(path) == reason or self._is_judged(path)
            # What is being written is judged at the next look, if there is one.
            if not is_known and (self.options.once or reason != WRITTEN):
                by_reason.setdefault(reason, []).append(path)
        for reason, paths in by_reason.items():
            self.told.update(dict.fromkeys(paths, reason))
            names = ", ".join(path.name for path in paths[:N_NAMED])
            more = f" and {len(paths) - N_NAMED} more" if len(paths) > N_NAMED else ""
            self._write_line(f"not judged: {names}{more}: {reason}")
        return sum(map(len, by_reason.values()))

    def _report_verdict(self, verdict: WatchVerdict) -> None:
        compared = "no ancestor yet"
        if verdict.probability is not None:
            unit = "" if self.options.margin_score is None else " in mean score"
            worse = f"worse than {verdict.ancestor} by more than {verdict.margin:g}{unit}"
            compared = f"P({worse}) = {verdict.probability:.3f}"
        rated = (
            f"{verdict.agent}: rating {verdict.mu:.2f} ({verdict.low:.2f} to {verdict.high:.2f})"
        )
        line = f"{rated} after {verdict.n_played} matches, {compared}"
        self._write_line(f"REGRESSION {line}" if verdict.alarm else line)
        if verdict.alarm is not None:
            self._post_alarm(verdict.alarm)
            self.n_alarms += 1

    def _post_alarm(self, alarm: Alarm) -> None:
        """Post an alarm; one that does not arrive is said, and stays on the page."""
        address = self.options.webhook
        if not address:
            return
        game = self.client.agents.get(alarm.agent.id).game
        tournament = self.client.campaigns.get(alarm.campaign).tournament
        body = json.dumps(make_alarm_values(alarm, game=game, tournament=tournament)).encode()
        headers = {"Content-Type": "application/json"}
        posted = urllib.request.Request(address, body, headers)
        try:
            with urllib.request.urlopen(posted, timeout=WEBHOOK_S):
                self._write_line(f"alarm posted to {address}")
        except (URLError, TimeoutError, OSError) as error:
            sys.stderr.write(f"the alarm could not be posted to {address}: {error}\n")

    def _write_line(self, line: str) -> None:
        following.write_line(following.find_stream(self.options), line)


def make_alarm_values(alarm: Alarm, *, game: str, tournament: int) -> dict[str, Any]:
    """Return what a webhook gets."""
    return {
        "event": "regression",
        # By this name chats take a message as it is.
        "text": f"REGRESSION: {alarm.agent.name} is worse than {alarm.ancestor.name} by more than "
        f"{alarm.margin:g} with a probability of {alarm.probability:.1%}",
        "agent": alarm.agent.name,
        "ancestor": alarm.ancestor.name,
        "game": game,
        "probability": alarm.probability,
        "margin": alarm.margin,
        "level": alarm.level,
        "tournament": tournament,
        "at": alarm.at.isoformat(),
    }
