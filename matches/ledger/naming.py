"""Find the agent that a text of the command line means, or explain why it means none."""

from difflib import get_close_matches
from shlex import quote

from arena.errors import UnknownNameError
from arena.policies import registry as policies
from arena.policies.spec import is_spelled
from matches.artifacts.agents import register_spelled_agent, renew_agent
from matches.errors import BadInputError
from matches.models import Agent, Leaderboard
from matches.store import selectors

MOST_NAMES = 10_000
"""So many names are searched for one that is meant."""
N_NEAR = 3
SHOWN_BOARDS = 20


def find_agent(text: str, *, game: str) -> Agent:
    """Return the agent that a text means; one that is spelled, such as `mcts:100`, is registered.

    It is looked up as a kind of policy, as the name of a registered agent and as a checkpoint, by
    its hash or the beginning of it. Raises BadInputError, ArenaError.
    """
    try:
        return register_spelled_agent(text, game=game)
    except UnknownNameError as error:
        if error.family != "policy":
            raise
    agent = Agent.objects.filter(game=game, name=text).first()
    if agent is None and (weights := selectors.find_checkpoint(text)) is not None:
        agent = weights.agents.filter(game=game).order_by("pk").first()
    if agent is None:
        raise BadInputError("agents", describe_unknown(text, game=game))
    return renew_agent(agent)


def describe_unknown(text: str, *, game: str = "") -> str:
    """Return why a text means no agent: what was looked up, and which names are near."""
    agents = Agent.objects.filter(game=game) if game else Agent.objects.all()
    names = list(agents.order_by("-pk").values_list("name", flat=True)[:MOST_NAMES])
    of_game = f" of {game}" if game else ""
    refusal = (
        f"{text!r} is no kind of policy ({', '.join(policies.names())}), "
        f"no registered agent{of_game} and no checkpoint"
    )
    near = find_near(text, names)
    return f"{refusal}; did you mean {' or '.join(near)}?" if near else refusal


def describe_no_board(name: str) -> str:
    """Return that no leaderboard has this name, which one may be meant, and how to open it."""
    boards = Leaderboard.objects.filter(is_rated=True).order_by("-pk")
    names = list(boards.values_list("name", flat=True)[:MOST_NAMES])
    near = get_close_matches(name, names, n=N_NEAR)
    if near:
        return f"there is none named {name!r}; did you mean {' or '.join(near)}?"
    others = f", but {', '.join(names[:SHOWN_BOARDS])}" if names else ", nor any other"
    return (
        f"there is none named {name!r}{others}; to open it: evalsite open {quote(name)} --game GAME"
    )


def find_near(text: str, names: list[str]) -> list[str]:
    """Return what a misspelled text may mean: registered names, and kinds with its parameters."""
    kind, colon, parameters = text.partition(":")
    kinds = get_close_matches(kind, policies.names(), n=1)
    spelled = [
        f"{name}{colon}{parameters}" for name in kinds if is_spelled(f"{name}{colon}{parameters}")
    ]
    return list(dict.fromkeys([*spelled, *get_close_matches(text, names, n=N_NEAR)]))[:N_NEAR]
