"""Commands of agents: register, list, retire."""

from argparse import ArgumentParser, Namespace, _SubParsersAction

from evalsite_client.api.agents import Agent
from evalsite_client.cli.options import (
    add_command,
    add_limit,
    page_size,
    read_pair,
    take_rows,
)
from evalsite_client.cli.row_numbers import choose_number
from evalsite_client.cli.show import Answer, format_pairs, format_table
from evalsite_client.client import Client

HEAD = ("id", "name", "game", "policy", "parameters", "checkpoint", "retired")


def add_commands(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the commands."""
    new = add_command(
        commands,
        "register",
        register_agent,
        examples="  evalsite register mcts-100 --game connect_four --policy mcts "
        "--parameter simulations=100\n"
        "  evalsite register net-cold --game connect_four --policy network "
        "--checkpoint run@2000",
    )
    new.add_argument("name")
    new.add_argument("--game", required=True)
    new.add_argument("--policy", required=True)
    new.add_argument(
        *("-p", "--parameter"), type=read_pair, action="append", default=[], metavar="NAME=VALUE"
    )
    new.add_argument(
        "--checkpoint", default="", help="of a network: a stored hash, or an agent that has it"
    )
    listed = add_command(commands, "agents", show_agents)
    listed.add_argument("--game")
    listed.add_argument("--policy")
    listed.add_argument("--name", help="the whole name; the page of agents finds parts of it")
    add_limit(listed)
    for name, run in (("retire", retire_agent), ("unretire", unretire_agent)):
        parser = add_command(commands, name, run)
        parser.add_argument("agent", metavar="ID|NAME", help="its number, or its name")
        parser.add_argument("--game", default="", help="where several have its name")


def register_agent(client: Client, options: Namespace) -> Answer:
    """Register an agent; the same one again changes nothing."""
    agent = client.agents.register(
        name=options.name,
        game=options.game,
        policy=options.policy,
        parameters=dict(options.parameter),
        checkpoint=options.checkpoint,
    )
    return _show_agent(agent)


def show_agents(client: Client, options: Namespace) -> Answer:
    """List agents, the newest first."""
    agents = client.agents.list(
        game=options.game, policy=options.policy, name=options.name, page_size=page_size(options)
    )
    shown_agents = take_rows(agents, options)
    return Answer(shown_agents, format_table(HEAD, [_make_row(agent) for agent in shown_agents]))


def retire_agent(client: Client, options: Namespace) -> Answer:
    """Enter an agent in no tournament any more."""
    number = choose_number(client, "agent", options.agent, game=options.game)
    return _show_agent(client.agents.retire(number))


def unretire_agent(client: Client, options: Namespace) -> Answer:
    """Let an agent be entered in tournaments again."""
    number = choose_number(client, "agent", options.agent, game=options.game)
    return _show_agent(client.agents.unretire(number))


def _show_agent(agent: Agent) -> Answer:
    return Answer(agent, format_pairs(dict(zip(HEAD, _make_row(agent), strict=True))))


def _make_row(agent: Agent) -> list[object]:
    weights = (agent.checkpoint or "")[:12]
    cells = (agent.id, agent.name, agent.game, agent.policy, agent.parameters)
    return [*cells, weights, agent.is_retired]
