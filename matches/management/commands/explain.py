"""`./run manage explain`: why a match, tournament, campaign or another row stands where it is."""

import json
from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Model, QuerySet

from matches.models import Agent, Campaign, Match, Schedule, Tournament, Worker
from matches.operations import explain
from matches.operations.explain import Explanation
from matches.store.clock import db_now

MAX_DIGITS = 18

Explain = Callable[..., Explanation]


class Command(BaseCommand):
    """Explain one thing, named by its number or, but for matches, by its name."""

    help = "Say what a match, tournament, campaign, agent, worker or schedule waits for."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("subject", choices=_READERS)
        parser.add_argument("id", metavar="ID|NAME", help="number of the row, or its name")
        parser.add_argument("--game", default="", help="of the agent, where several have its name")
        parser.add_argument("--json", action="store_true", help="print it as one JSON object")

    def handle(self, *_args: Any, subject: str, **options: Any) -> None:
        """Print it; what is not there ends with exit code 2."""
        find, of = _READERS[subject]
        found = find(options["id"], options["game"])
        if not found:
            raise CommandError(f"there is no {subject} {options['id']!r}", returncode=2)
        now = db_now()
        shown = [of(row, now=now) for row in found]
        if options["json"]:
            for explanation in shown:
                self.stdout.write(json.dumps(explanation.as_dict(), cls=DjangoJSONEncoder))
        else:
            self.stdout.write("\n\n".join("\n".join(one.lines()) for one in shown))


def _match(text: str, _: str) -> list[Model]:
    found = Match.objects.select_related("tournament", "leaderboard", "order")
    return _by_number(found, text)


def _tournament(text: str, _: str) -> list[Model]:
    return _by_number(Tournament.objects.all(), text) or list(
        Tournament.objects.filter(name=text).order_by("-pk")[:1]
    )


def _campaign(text: str, _: str) -> list[Model]:
    return _by_number(Campaign.objects.select_related("tournament__leaderboard"), text)


def _agent(text: str, game: str) -> list[Model]:
    """Return the agents of the name, one per game at most."""
    agents = Agent.objects.select_related("checkpoint")
    agents = agents.filter(game=game) if game else agents
    return list(agents.filter(name=text).order_by("pk")) or _by_number(agents, text)


def _worker(text: str, _: str) -> list[Model]:
    return list(Worker.objects.filter(node=text)) or _by_number(Worker.objects.all(), text)


def _schedule(text: str, _: str) -> list[Model]:
    return list(Schedule.objects.filter(name=text)) or _by_number(Schedule.objects.all(), text)


def _by_number(rows: QuerySet[Any], text: str) -> list[Model]:
    is_number = text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS
    return list(rows.filter(pk=int(text))) if is_number else []


_READERS: Mapping[str, tuple[Callable[[str, str], list[Model]], Explain]] = {
    "match": (_match, explain.of_match),
    "tournament": (_tournament, explain.of_tournament),
    "campaign": (_campaign, explain.of_campaign),
    "agent": (_agent, explain.of_agent),
    "worker": (_worker, explain.of_worker),
    "schedule": (_schedule, explain.of_schedule),
}
