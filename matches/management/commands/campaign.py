"""`./run manage campaign`: ask which agent is best, and follow the campaign to its verdict."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from arena.policies.spec import split_policies
from arena.verdicts import registry as questions
from arena.verdicts.base import StopReason
from matches.campaigns import forecasting, inputs
from matches.campaigns.starting import IS_SPRT, start
from matches.errors import BadInputError, MatchError
from matches.management import asked, following
from matches.management.options import pair, real, whole, writable_file
from matches.management.saving import save_json
from matches.management.stopping import INTERRUPTED, stoppable
from matches.models import Campaign, Leaderboard
from matches.plans import CampaignPlan
from matches.store.clock import db_now

DECIDED, BAD_INPUT, UNDECIDED = 0, 2, 3
ANSWERS = (StopReason.DECIDED.value, StopReason.WITHIN_MARGIN.value)
QUESTIONS = (*questions.names(), IS_SPRT)
ALL = ["all"]
SHOWN_BOARDS = 20
HOUR_S = 3_600


class Command(BaseCommand):
    """Start a campaign, say what it will take, follow it to its verdict."""

    help = (
        "Ask a question about agents of a leaderboard; matches are played until it is answered. "
        "Exit 0: decided, or within the margin; 2: bad input; 3: out of budget or cancelled; "
        "130: Ctrl-C, and the campaign goes on without this command."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options; their types refuse what is out of range (exit code 2)."""
        add = parser.add_argument
        add("--leaderboard", required=True, metavar="NAME")
        add("--question", choices=QUESTIONS, default="best")
        add(
            "--agents",
            type=split_policies,
            default=ALL,
            help="names, or all of the leaderboard (all)",
        )
        add("--error", type=real(1e-9, 0.4999), default=0.05, help="P(wrong verdict): 0.05")
        margin = parser.add_mutually_exclusive_group()
        margin.add_argument("--margin", type=real(0, 100), help="that makes no difference, rating")
        margin.add_argument("--margin-elo", type=real(0, 1_000), help="the same in Elo")
        margin.add_argument("--margin-points", type=real(0, 49), help="in points of win rate")
        add("-p", "--parameter", type=pair, action="append", default=[], metavar="NAME=VALUE",
            help="of the question: k=3, a=NAME, b=NAME, lead=1")  # fmt: skip
        add("--max-matches", type=whole(2, 100_000_000), default=100_000)
        add("--max-core-hours", type=real(0, 1e9))
        add("--max-money", type=real(0, 1e12), help="by EVALSITE_PRICE_CPU and _GPU")
        add("--pairing", default="", help="default: as suits the question")
        add("--weight", type=whole(1, 1_000), default=1, help="its share of the nodes")
        add("--name", default="", help="of the campaign")
        add("--forecast", action="store_true", help="only say what it would take")
        add("--json", type=writable_file, metavar="FILE")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Ask, follow, say the verdict; bad input ends with exit code 2."""
        try:
            campaign = self._start(options)
        except MatchError as error:
            raise CommandError(str(error), returncode=BAD_INPUT) from error
        except KeyboardInterrupt:
            raise CommandError("interrupted: nothing was started", returncode=INTERRUPTED) from None
        if campaign is not None:
            with stoppable():
                self._follow(campaign, options["json"])
            self._tell(campaign, options["json"])

    def _start(self, options: dict[str, Any]) -> Campaign | None:
        """Print the forecast and return the new campaign; None where only that was wanted."""
        board = Leaderboard.objects.filter(name=options["leaderboard"]).first()
        if board is None:
            named = ", ".join(Leaderboard.objects.values_list("name", flat=True)[:SHOWN_BOARDS])
            wanted = f"there is none named {options['leaderboard']!r}, but {named or 'none at all'}"
            raise BadInputError("leaderboard", wanted)
        agents = inputs.entrants(board, [] if options["agents"] == ALL else options["agents"])
        plan = _plan(options, board, len(agents))
        ahead = forecasting.before(plan, leaderboard=board, agents=agents, now=db_now())
        for line in asked.foreseen(plan, ahead, n_agents=len(agents)):
            self.stdout.write(line)
        if options["forecast"]:
            known = {"n_known": ahead.n_known, "n_known_elsewhere": ahead.n_known_elsewhere}
            shown = {"n_agents": len(agents), **known, "forecast": ahead.forecast}
            save_json(options["json"], shown)
            return None
        self.stdout.write(following.wait_for_cluster())
        return start(plan, leaderboard=board, agents=agents)

    def _follow(self, campaign: Campaign, path: Path | None) -> None:
        """Show how far it is; after Ctrl-C it goes on, and what is known by then is written."""
        self.stdout.write(f"campaign {campaign.pk} is tournament {campaign.tournament_id}")
        try:
            following.follow_campaign(campaign, self.stdout)
        except KeyboardInterrupt:
            number = campaign.tournament_id
            campaign.refresh_from_db()
            campaign.tournament.refresh_from_db()
            self.stdout.write(f"\n{asked.line(campaign)}")
            save_json(path, asked.as_json(campaign, INTERRUPTED))
            said = (
                "interrupted: the campaign goes on by itself; "
                f"`./run manage explain campaign {campaign.pk}` says where it stands, "
                f"`evalsite cancel {number}` stops it"
            )
            raise CommandError(said, returncode=INTERRUPTED) from None

    def _tell(self, campaign: Campaign, path: Path | None) -> None:
        for line in asked.verdict(campaign):
            self.stdout.write(line)
        exit_code = DECIDED if campaign.why in ANSWERS else UNDECIDED
        save_json(path, asked.as_json(campaign, exit_code))
        if exit_code:
            raise SystemExit(exit_code)


def _plan(options: dict[str, Any], board: Leaderboard, n_agents: int) -> CampaignPlan:
    hours = options["max_core_hours"]
    return CampaignPlan(
        name=options["name"] or inputs.title(options["question"], board, n_agents),
        question=options["question"],
        max_matches=options["max_matches"],
        error=options["error"],
        margin=options["margin"],
        margin_elo=options["margin_elo"],
        margin_points=options["margin_points"],
        parameters=dict(options["parameter"]),
        max_core_s=None if hours is None else hours * HOUR_S,
        max_money=options["max_money"],
        pairing=options["pairing"],
        weight=options["weight"],
    )
