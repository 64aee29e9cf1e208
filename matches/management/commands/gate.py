"""`./run manage gate`: does a candidate beat its baseline? An exit code for CI."""

import time
from argparse import ArgumentParser, ArgumentTypeError
from dataclasses import replace
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from arena.verdicts.sprt import Decision, EloModel
from matches.campaigns import gates
from matches.campaigns.gates import Bounds, Standing
from matches.errors import MatchError
from matches.management import following, gated
from matches.management.following import LINE_EVERY_S, POLL_S
from matches.management.options import real, whole, writable_file
from matches.management.saving import save_json, save_text
from matches.management.stopping import INTERRUPTED, stoppable
from matches.models import Campaign
from matches.store.clock import db_now

PASS, FAIL, ERROR, UNDECIDED = 0, 1, 2, 3
EXIT = {
    Decision.ACCEPT: PASS,
    Decision.REJECT: FAIL,
    Decision.CONTINUE: UNDECIDED,
}
WORDS = {PASS: "PASS", FAIL: "FAIL", UNDECIDED: "UNDECIDED"}


def bounds(text: str) -> tuple[float, float]:
    """Take ELO0,ELO1."""
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise ArgumentTypeError(f"must be ELO0,ELO1 such as 0,20, got {text!r}") from None
    return low, high


class Command(BaseCommand):
    """Test a candidate against a baseline until it passes, fails, or the budget is spent."""

    help = (
        "Exit 0: the candidate passes; 1: it fails; 2: error; 3: undecided within the budget. "
        "What is known of the pair counts; asking again goes on with the same test."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options; their types refuse what is out of range (exit code 2)."""
        add = parser.add_argument
        add("--candidate", required=True, metavar="AGENT")
        add("--baseline", required=True, metavar="AGENT")
        add("--bounds", type=bounds, default=(0.0, 20.0), metavar="ELO0,ELO1", help="0,20")
        add("--alpha", type=real(0.0001, 0.4999), default=0.05, help="of passing at ELO0")
        add("--beta", type=real(0.0001, 0.4999), default=0.05, help="of failing at ELO1")
        add("--model", choices=[m.value for m in EloModel], default=EloModel.LOGISTIC.value)
        add("--max-matches", type=whole(2, 100_000_000), default=20_000, help="of this call")
        add("--game", default="", help="when agents of several games have these names")
        add("--leaderboard", default="", help="default: one for the gates of the game")
        add("--json", type=writable_file, metavar="FILE")
        add("--markdown", type=writable_file, metavar="FILE", help="a summary for people")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Run the gate and end with its exit code."""
        try:
            candidate, baseline = gates.pair_of(
                options["game"], options["candidate"], options["baseline"]
            )
            elo0, elo1 = options["bounds"]
            tested = Bounds(elo0, elo1, options["alpha"], options["beta"], options["model"])
            campaign = gates.enter(
                candidate,
                baseline,
                tested,
                leaderboard=options["leaderboard"],
                max_matches=options["max_matches"],
            )
            with stoppable():
                found = self._followed(campaign, options)
        except MatchError as error:
            raise CommandError(str(error), returncode=ERROR) from error
        self._tell(found, options, WORDS[EXIT[found.decision]])
        if exit_code := EXIT[found.decision]:
            raise SystemExit(exit_code)

    def _followed(self, campaign: Campaign, options: dict[str, Any]) -> Standing:
        if campaign.decided_at is not None:
            found = gates.standing(campaign, n_reused=0)
            return replace(found, n_reused=found.state.n_games)
        before = gates.left(campaign, now=db_now())
        self.stdout.writelines(f"{said}\n" for said in gated.foreseen(before))
        self.stdout.write(following.wait_for_cluster())
        try:
            self._wait(campaign)
        except KeyboardInterrupt:
            campaign.refresh_from_db()
            self._tell(_now(campaign, before), options, "INTERRUPTED")
            said = "interrupted: the test goes on, and the same call follows it again"
            raise CommandError(said, returncode=INTERRUPTED) from None
        return _now(campaign, before)

    def _wait(self, campaign: Campaign) -> None:
        """Show the log-likelihood ratio until there is a verdict."""
        shown = time.monotonic()
        while campaign.decided_at is None:
            time.sleep(POLL_S)
            campaign.refresh_from_db()
            if time.monotonic() - shown >= LINE_EVERY_S:
                shown = time.monotonic()
                self.stdout.write(gated.line(_standing(campaign)))

    def _tell(self, found: Standing, options: dict[str, Any], said: str) -> None:
        """Print where the test stands and write the files that were asked for."""
        names = (options["candidate"], options["baseline"])
        self.stdout.write(gated.line(found))
        self.stdout.write(f"{said}: {found.campaign.statement or 'there is no verdict yet'}")
        save_json(options["json"], gated.as_json(found, names, said, at=db_now()))
        save_text(options["markdown"], gated.as_markdown(found, names, said))


def _standing(campaign: Campaign) -> Standing:
    """Return where it stands; more may have been known than it took."""
    found = gates.standing(campaign, n_reused=campaign.n_known)
    return replace(found, n_reused=min(found.n_reused, found.state.n_games))


def _now(campaign: Campaign, before: dict[str, Any] | None) -> Standing:
    """Return where it stands, with the forecast before and that of what is left."""
    return replace(_standing(campaign), before=before, left=gates.left(campaign, now=db_now()))
