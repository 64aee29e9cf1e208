"""`evalsite explain`: says why nothing happens."""

from argparse import ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Callable

from evalsite_client.api.shared import Explanation
from evalsite_client.cli.options import command, whole
from evalsite_client.cli.show import Answer, pairs
from evalsite_client.client import Client

_EXPLAINING: dict[str, Callable[[Client, int], Explanation]] = {
    "agent": lambda client, number: client.agents.explain(number),
    "campaign": lambda client, number: client.campaigns.explain(number),
    "match": lambda client, number: client.matches.explain(number),
    "schedule": lambda client, number: client.schedules.explain(number),
    "tournament": lambda client, number: client.tournaments.explain(number),
    "worker": lambda client, number: client.workers.explain(number),
}


def add(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the command."""
    asked = command(commands, "explain", explain, examples="  evalsite explain tournament 7")
    asked.add_argument("kind", choices=tuple(_EXPLAINING))
    asked.add_argument("id", type=whole(1), metavar="ID")


def explain(client: Client, options: Namespace) -> Answer:
    """Say what something waits for and what happens next."""
    found = _EXPLAINING[options.kind](client, options.id)
    return Answer(
        found, f"{found.subject} {found.id} {found.name}: {found.summary}\n{_text(found)}"
    )


def _text(found: Explanation) -> str:
    return pairs(
        {
            "waits for": "; ".join(found.waits_for) or "nothing",
            "next": found.next,
            "at about": found.next_at,
            "notes": "; ".join(found.notes),
        }
    )
