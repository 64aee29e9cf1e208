"""Words of verdicts, with a place for the name of each agent."""

from collections.abc import Sequence

# Of pairs that go the other way round, in a sentence.
_MOST_NAMED = 12


def list_places(n: int) -> str:
    """Return places for n names: "{}, {} and {}"."""
    places = ["{}"] * n
    return " and ".join([", ".join(places[:-1]), places[-1]] if n > 1 else places)


def name_upsets(order: Sequence[int], upsets: Sequence[tuple[int, int]]) -> str:
    """Return a statement of the agents of an order: who beats somebody who stands before it.

    These come first, as a long statement is cut.
    """
    place = {agent: n for n, agent in enumerate(order)}
    ranked = " > ".join(f"{{{n}}}" for n in range(len(order)))
    named = [f"{{{place[one]}}} beats {{{place[other]}}}" for one, other in upsets[:_MOST_NAMED]]
    if len(upsets) > _MOST_NAMED:
        named.append(f"{len(upsets) - _MOST_NAMED} more go the other way round")
    return f"there is no order of all: {', '.join(named)}; all other pairs are as in {ranked}"
