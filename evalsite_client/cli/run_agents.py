"""The agents of a training run as one word, RUN@*: those of all its checkpoints, by step."""

from collections.abc import Sequence
from typing import Final

from evalsite_client.api.agents import Agent
from evalsite_client.cli.options import find_agent
from evalsite_client.client import Client
from evalsite_client.errors import InputError

ALL_STEPS: Final = "@*"


def expand_runs(client: Client, texts: Sequence[str], *, game: str) -> list[str]:
    """Return agents by name, each RUN@* as the agents of that run. Raises InputError."""
    names = list[str]()
    for text in texts:
        names += _name_agents(client, text, game) if text.endswith(ALL_STEPS) else [text]
    return names


def _name_agents(client: Client, text: str, game: str) -> list[str]:
    run = text.removesuffix(ALL_STEPS)
    if not game:
        raise InputError("game", f"is missing: {text!r} are agents of one game")
    if not (agents := client.agents.of_run(run, game=game)):
        advice = f"`evalsite checkpoints --run {run}` lists what it has"
        raise InputError("agents", f"{text!r}: no agent of {game} is of a run {run!r}: {advice}")
    return [agent.name for agent in agents]


def find_entrants(client: Client, texts: Sequence[str], *, game: str) -> list[Agent]:
    """Return the agents that ids, names or RUN@* stand for. Raises InputError."""
    names = expand_runs(client, texts, game=game)
    return [find_agent(client, name, game=game, field="AGENT") for name in names]
