"""Games of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from dataclasses import dataclass
from urllib.parse import quote

from evalsite_client.calls import Calls
from evalsite_client.records import Rows


@dataclass(frozen=True)
class Game:
    """A game of the catalog, or of a plug-in."""

    id: str
    title: str
    n_seats: int
    n_actions: int
    observation_shape: tuple[int, ...]
    observation_dtype: str


@dataclass(frozen=True)
class Fact:
    """A property of a game in words."""

    name: str
    says: str


@dataclass(frozen=True)
class Slice:
    """What the planes, or numbers, from first to last of an observation hold."""

    first: int
    last: int
    holds: str


@dataclass(frozen=True)
class NamedAction:
    """An action by its number, and what players call it, most often first."""

    action: int
    names: tuple[str, ...]


@dataclass(frozen=True)
class Reference:
    """What who trains an agent must know of a game.

    observation: Along its first axis; may be unknown.
    observation_note: Whose view it is, and the other axes.
    actions: Those met in random play, 400 at most.
    n_left_out: How many other actions there are.
    start: A first position in words.
    """

    id: str
    title: str
    facts: tuple[Fact, ...]
    observation: tuple[Slice, ...]
    observation_note: str
    actions: tuple[NamedAction, ...]
    n_left_out: int
    start: str


class Games(Calls):
    """List the games."""

    def list(self) -> Rows[Game]:
        """Yield games, fetched page by page as they are asked for."""
        return self._rows(Game, "games")

    def get(self, game: str) -> Reference:
        """Return one game."""
        return self._get(Reference, f"games/{quote(game, safe='')}")
