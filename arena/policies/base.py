"""What every policy kind offers. A policy is one kind built for one game with its parameters."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Protocol

from arena.errors import UnsupportedGameError
from arena.games.base import Game, GameSpec, State
from arena.parameters import Parameter, Value, read_parameters
from arena.seeding import SEED_BITS, derive


class Row:
    """One decision: the state, the seat that decides and the randomness that is its own."""

    __slots__ = ("game_seed", "seat", "state")

    def __init__(self, state: State, seat: int, game_seed: int) -> None:
        """Keep the state to decide in, the deciding seat and the seed of the match."""
        self.state, self.seat, self.game_seed = state, seat, game_seed

    def seed(self) -> int:
        """Return the seed of this decision: the same whenever the same match is replayed."""
        return derive("decision", self.game_seed, self.seat, len(self.state.actions))

    def rng(self) -> Random:
        """Return a generator of this decision's own, seeded by `seed`."""
        return Random(self.seed())

    def pick(self, actions: Sequence[int]) -> int:
        """Return one of the actions, uniformly by this decision's seed; cheaper than rng."""
        # A multiplication instead of a modulo: no action is likelier than another by more than
        # 2^-63, and no generator has to be set up.
        return actions[self.seed() * len(actions) >> SEED_BITS]


class Policy(Protocol):
    """A block of rows in, a block of actions out; built once and asked for many matches."""

    def act(self, rows: Sequence[Row]) -> Sequence[int]:
        """Return one action per row; must not change the states."""
        ...

    # A policy that weighs positions may also have `last_values`: of each row of the last call of
    # `act` what its seat expects of its return, a float or None. Replays draw it as a curve.


def read_last_values(policy: Policy, n_rows: int) -> list[object]:
    """Return what a policy said of the rows that it decided last; empty if it says nothing."""
    values: Sequence[object] | None = getattr(policy, "last_values", None)
    # Asked for every move: most policies say nothing.
    return [] if values is None or len(values) != n_rows else list(values)


class PolicyKind(Protocol):
    """A family of policies with declared parameters; a catalog file offers one as POLICY."""

    @property
    def id(self) -> str:
        """The name of its file."""
        ...

    @property
    def title(self) -> str:
        """What a person reads."""
        ...

    # A shipped kind also has `version`: counted up when it decides otherwise than before, so that
    # agents of it become new ones. A plug-in has the hash of its file instead.

    @property
    def is_batched(self) -> bool:
        """True when a block costs about as much as a row, so that rows are decided together."""
        ...

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What build takes; the first one may be given by position: `mcts:100`."""
        ...

    def refusal(self, spec: GameSpec) -> str | None:
        """Return why this kind cannot play the game, or None when it can."""
        ...

    def build(self, game: Game, parameters: Mapping[str, object]) -> Policy:
        """Return the policy. Raises ParameterError or UnsupportedGameError."""
        ...


def accepted(kind: PolicyKind, game: Game, parameters: Mapping[str, object]) -> Mapping[str, Value]:
    """Return every parameter that build needs, checked, defaults included.

    Raises UnsupportedGameError when the kind refuses the game, ParameterError for a parameter.
    """
    reason = kind.refusal(game.spec)
    if reason is not None:
        raise UnsupportedGameError(f"policy {kind.id!r} cannot play {game.spec.id!r}: {reason}")
    return read_parameters(kind.id, kind.parameters, parameters)
