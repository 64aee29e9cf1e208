"""The agents of a training run as one word, RUN@*: those of all its checkpoints, by step."""

from collections.abc import Sequence
from typing import Final

from evalsite_client.api.agents import Agent
from evalsite_client.cli.options import find_agent
from evalsite_client.client import Client
from evalsite_client.errors import InputError

ALL_STEPS: Final = "@*"


def list_run_agents(client: Client, run: str, *, game: str) -> list[Agent]:
    """Return the agents of a run's checkpoints in a game that are not retired, by step."""
    checkpoints = [one for one in client.checkpoints.list(run=run) if one.game == game]
    checkpoints.sort(key=lambda one: (-1 if one.step is None else one.step, one.id))
    return [
        agent
        for one in checkpoints
        for agent in client.agents.list(checkpoint=one.sha256, game=game, is_retired=False)
        if agent.name.partition("@")[0] == run
    ]


def expand_runs(client: Client, texts: Sequence[str], *, game: str) -> list[str]:
    """Return agents by name, each RUN@* as the agents of that run. Raises InputError."""
    names = list[str]()
    for text in texts:
        names += _name_agents(client, text, game) if text.endswith(ALL_STEPS) else [text]
    return names


def _name_agents(client: Client, text: str, game: str) -> list[str]:
    run = text.removesuffix(ALL_STEPS)
    if not (agents := list_run_agents(client, run, game=game)):
        advice = f"`evalsite checkpoints --run {run}` lists what it has"
        raise InputError("agents", f"{text!r}: no agent of {game} is of a run {run!r}: {advice}")
    return [agent.name for agent in agents]


def find_entrants(client: Client, texts: Sequence[str], *, game: str) -> list[Agent]:
    """Return the agents that ids, names or RUN@* stand for. Raises InputError."""
    names = expand_runs(client, texts, game=game)
    return [find_agent(client, name, game=game, field="AGENT") for name in names]
