"""`evalsite explain`: says why nothing happens."""

from argparse import ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Callable

from evalsite_client.api.shared import Explanation
from evalsite_client.cli.options import add_command
from evalsite_client.cli.row_numbers import find_number
from evalsite_client.cli.show import Answer, format_pairs
from evalsite_client.client import Client

_EXPLAINING: dict[str, Callable[[Client, int], Explanation]] = {
    "agent": lambda client, number: client.agents.explain(number),
    "campaign": lambda client, number: client.campaigns.explain(number),
    "match": lambda client, number: client.matches.explain(number),
    "schedule": lambda client, number: client.schedules.explain(number),
    "tournament": lambda client, number: client.tournaments.explain(number),
    "worker": lambda client, number: client.workers.explain(number),
}


def add_commands(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the command."""
    examples = "  evalsite explain tournament 7\n  evalsite explain agent mcts:100 --game hex"
    command = add_command(commands, "explain", explain_row, examples=examples)
    command.add_argument("kind", choices=tuple(_EXPLAINING))
    command.add_argument("id", metavar="ID|NAME", help="number of the row, or its name")
    command.add_argument("--game", default="", help="of the agent, where several have its name")


def explain_row(client: Client, options: Namespace) -> Answer:
    """Say what something waits for and what happens next."""
    number = find_number(client, options.kind, options.id, game=options.game)
    explanation = _EXPLAINING[options.kind](client, number)
    title = f"{explanation.subject} {explanation.id} {explanation.name}: {explanation.summary}"
    return Answer(explanation, f"{title}\n{_describe_explanation(explanation)}")


def _describe_explanation(explanation: Explanation) -> str:
    return format_pairs(
        {
            "waits for": "; ".join(explanation.waits_for) or "nothing",
            "next": explanation.next,
            "at about": explanation.next_at,
            "notes": "; ".join(explanation.notes),
        }
    )
