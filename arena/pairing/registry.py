"""Which pairings there are, by id: those that know all lineups beforehand and those that adapt."""

from collections.abc import Mapping
from typing import cast

from arena import catalogs
from arena.errors import UnknownNameError
from arena.pairing.base import COUPLE, AdaptivePairing, Pairing
from arena.parameters import Value

FAMILY = catalogs.Family("arena.pairing.catalog", "pairing", ("title",))
ORDER = "order_information"
SAMPLE = "posterior_sample"
SEEDS = "common_seeds"


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


def choose_pairing(
    question: str, parameters: Mapping[str, Value], *, n_seats: int = COUPLE
) -> tuple[str, Mapping[str, Value]]:
    """Return the pairing of a question with these parameters, and the parameters of the pairing.

    The best turns on the first two ranks, a top k on the ranks k and k + 1; all other questions are
    about the order of many.
    """
    sample, order = (SEEDS, SEEDS) if n_seats == 1 else (SAMPLE, ORDER)
    if question == "best":
        return sample, {"top": 2}
    if question == "top_k":
        return sample, {"edge": parameters["k"]}
    return order, {}


def _get_entry(name: str, choices: tuple[str, ...]) -> object:
    entry = catalogs.get_entry(FAMILY, name)
    if name not in choices:
        raise UnknownNameError(FAMILY.name, name, choices)
    return entry


def _split_kinds() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ids of those with pair and of those with choose."""
    ids = catalogs.list_ids(FAMILY)
    # By what they offer and not by a base class: a plug-in imports nothing of ours.
    is_static = {name: hasattr(catalogs.get_entry(FAMILY, name), "pair") for name in ids}
    static = tuple(name for name in ids if is_static[name])
    return static, tuple(name for name in ids if not is_static[name])
