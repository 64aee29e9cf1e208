"""Commands of agents: register, list, retire."""

from argparse import ArgumentParser, Namespace, _SubParsersAction

from evalsite_client.api.agents import Agent
from evalsite_client.cli.options import add_limit, command, first, page_size, pair, whole
from evalsite_client.cli.show import Answer, pairs, table
from evalsite_client.client import Client

HEAD = ("id", "name", "game", "policy", "parameters", "checkpoint", "retired")


def add(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the commands."""
    new = command(
        commands,
        "register",
        register,
        examples="  evalsite register mcts-100 --game connect_four --policy mcts "
        "--parameter simulations=100\n"
        "  evalsite register net-cold --game connect_four --policy network "
        "--checkpoint run@2000",
    )
    new.add_argument("name")
    new.add_argument("--game", required=True)
    new.add_argument("--policy", required=True)
    new.add_argument(
        *("-p", "--parameter"), type=pair, action="append", default=[], metavar="NAME=VALUE"
    )
    new.add_argument(
        "--checkpoint", default="", help="of a network: a stored hash, or an agent that has it"
    )
    listed = command(commands, "agents", show_agents)
    listed.add_argument("--game")
    listed.add_argument("--policy")
    listed.add_argument("--name")
    add_limit(listed)
    for name, run in (("retire", retire), ("unretire", unretire)):
        command(commands, name, run).add_argument("agent", type=whole(1), metavar="ID")


def register(client: Client, options: Namespace) -> Answer:
    """Register an agent; the same one again changes nothing."""
    agent = client.agents.register(
        name=options.name,
        game=options.game,
        policy=options.policy,
        parameters=dict(options.parameter),
        checkpoint=options.checkpoint,
    )
    return _one(agent)


def show_agents(client: Client, options: Namespace) -> Answer:
    """List agents, the newest first."""
    agents = client.agents.list(
        game=options.game, policy=options.policy, name=options.name, page_size=page_size(options)
    )
    found = first(agents, options)
    return Answer(found, table(HEAD, [_row(agent) for agent in found]))


def retire(client: Client, options: Namespace) -> Answer:
    """Enter an agent in no tournament any more."""
    return _one(client.agents.retire(options.agent))


def unretire(client: Client, options: Namespace) -> Answer:
    """Let an agent be entered in tournaments again."""
    return _one(client.agents.unretire(options.agent))


def _one(agent: Agent) -> Answer:
    return Answer(agent, pairs(dict(zip(HEAD, _row(agent), strict=True))))


def _row(agent: Agent) -> list[object]:
    weights = (agent.checkpoint or "")[:12]
    known = (agent.id, agent.name, agent.game, agent.policy, agent.parameters)
    return [*known, weights, agent.is_retired]
