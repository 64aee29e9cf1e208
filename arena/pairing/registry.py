"""Which pairings there are, by id: those that know all lineups beforehand and those that adapt."""

from collections.abc import Mapping
from typing import cast

from arena import catalogs
from arena.errors import UnknownNameError
from arena.pairing.base import COUPLE, AdaptivePairing, Pairing
from arena.parameters import Value, read_parameters
from arena.ratings.departures import MOST_AGENTS

FAMILY = catalogs.Family("arena.pairing.catalog", "pairing", ("title",))
ORDER = "order_information"
# The parameter by which it lets pairs meet whose ratings are far apart.
CHECKS = "checks"
SAMPLE = "posterior_sample"
SEEDS = "common_seeds"
MOST_INFORMED = 200


def names() -> tuple[str, ...]:
    """Return the ids of the pairings that know all lineups beforehand, in order."""
    return _split_kinds()[0]


def adaptive_names() -> tuple[str, ...]:
    """Return the ids of the pairings that choose as results come, in order."""
    return _split_kinds()[1]


def get(name: str) -> Pairing:
    """Return the pairing of that id that knows all lineups. Raises UnknownNameError."""
    return cast(Pairing, _get_entry(name, names()))


def get_adaptive(name: str) -> AdaptivePairing:
    """Return the adaptive pairing of that id, with its defaults. Raises UnknownNameError."""
    return cast(AdaptivePairing, _get_entry(name, adaptive_names()))


def find_edge(question: str, parameters: Mapping[str, Value]) -> int:
    """Return behind how many agents the edge is that a question turns on; 0: it turns on none."""
    return int({"best": 1, "top_k": parameters.get("k", 0)}.get(question, 0))


def find_two(question: str, parameters: Mapping[str, Value]) -> Mapping[str, int]:
    """Return the places of the two agents that a question is about, by parameter; {}: of more."""
    two = {"a": 0, "b": 1} if question == "beats" else {}
    return {name: int(parameters.get(name, place)) for name, place in two.items()}


def choose_pairing(
    question: str, parameters: Mapping[str, Value], *, n_agents: int, n_seats: int = COUPLE
) -> tuple[str, Mapping[str, Value]]:
    """Return the pairing of a question with these parameters, and the parameters of the pairing.

    The best turns on who may be first, a top k on who may be among the first k, a ranking on all
    pairs, and whether A beats B on these two; all other questions are about the order of many.
    n_agents: of a large field the information about all pairs costs too much for a question about
    the first few, and is not known of a very large one.
    """
    edge = find_edge(question, parameters)
    if question == "rank_all" and n_seats == COUPLE and n_agents <= MOST_AGENTS:
        return ORDER, {CHECKS: 1}
    if n_seats > 1 and (two := find_two(question, parameters)):
        return ORDER, two
    if n_seats > 1 and (n_agents <= MOST_INFORMED or not edge):
        return ORDER, {"edge": edge} if edge else {}
    name = SEEDS if n_seats == 1 else SAMPLE
    if question == "best":
        return name, {"top": 2}
    return name, {"edge": edge} if edge else {}


def is_checking(name: str, parameters: Mapping[str, Value], n_agents: int) -> bool:
    """Return whether a pairing of n_agents also plays matches to check ratings far apart.

    Raises UnknownNameError, and ParameterError for parameters that it does not have.
    """
    if name != ORDER or n_agents > MOST_AGENTS:
        return False
    values = read_parameters(f"pairing {name!r}", get_adaptive(name).parameters, parameters)
    return bool(values[CHECKS]) and not 0 < int(values["edge"]) < n_agents


def is_about_two(name: str, parameters: Mapping[str, Value], n_agents: int) -> bool:
    """Return whether a pairing of n_agents plays only what tells about two of them.

    Raises UnknownNameError, and ParameterError for parameters that it does not have.
    """
    if name != ORDER:
        return False
    values = read_parameters(f"pairing {name!r}", get_adaptive(name).parameters, parameters)
    a, b, edge = (int(values[parameter]) for parameter in ("a", "b", "edge"))
    return a != b and max(a, b) < n_agents and not 0 < edge < n_agents


def _get_entry(name: str, choices: tuple[str, ...]) -> object:
    entry = catalogs.get_entry(FAMILY, name)
    if name not in choices:
        raise UnknownNameError(FAMILY.name, name, choices)
    return entry


def _split_kinds() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ids of fixed pairings (with pair) and of adaptive ones (with choose)."""
    ids = catalogs.list_ids(FAMILY)
    # By what they offer and not by a base class: a plug-in imports nothing of ours.
    is_static = {name: hasattr(catalogs.get_entry(FAMILY, name), "pair") for name in ids}
    static = tuple(name for name in ids if is_static[name])
    return static, tuple(name for name in ids if not is_static[name])
