"""What who trains an agent must know of a game, read from the game itself."""

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from random import Random
from typing import NamedTuple

from arena.games.base import OVER, Game, GameSpec
from arena.games.observations import Part

# Names of actions are met by playing at random: enough for all of most games, some of all.
N_GAMES, MAX_STEPS, MAX_NAMED, MAX_NAMES = 20, 3_000, 400, 3


class Fact(NamedTuple):
    """One property of a game in words."""

    name: str
    says: str


class Slice(NamedTuple):
    """What the planes or numbers from first to last of an observation hold."""

    first: int
    last: int
    holds: str


class NamedAction(NamedTuple):
    """An action by its number, and what it was called where it was legal, most often first."""

    action: int
    names: tuple[str, ...]


class Reference(NamedTuple):
    """All of it. actions: those met in random play, the first 400; n_left_out: how many others."""

    id: str
    title: str
    facts: tuple[Fact, ...]
    observation: tuple[Slice, ...]
    observation_note: str
    actions: tuple[NamedAction, ...]
    n_left_out: int
    start: str


def describe_game(game: Game, version: str = "") -> Reference:
    """Return the reference of a game; version: of its rules, as `registry.version` says it."""
    spec = game.spec
    names = _name_actions(game)
    named_actions = tuple(
        NamedAction(action, names[action]) for action in sorted(names)[:MAX_NAMED]
    )
    return describe_spec(spec, version)._replace(
        actions=named_actions,
        n_left_out=spec.n_actions - len(named_actions),
        start=game.start(1, opening_plies=spec.opening_plies).describe(),
    )


def describe_spec(spec: GameSpec, version: str = "") -> Reference:
    """Return the reference without what only playing shows: actions and the first position."""
    return Reference(
        spec.id,
        spec.title,
        tuple(_list_facts(spec, version)),
        tuple(_number_parts(spec.observation_parts)),
        spec.observation_note,
        (),
        spec.n_actions,
        "",
    )


def _list_facts(spec: GameSpec, version: str) -> Iterator[Fact]:
    seats = f"{spec.n_seats}"
    if spec.teams:
        sides = (f"team {team}: {_list_seats(spec.teams, team)}" for team in range(spec.n_sides))
        seats += f", in teams ({'; '.join(sides)})"
    yield Fact("seats", seats)
    if spec.suite:
        yield Fact("task of", spec.suite)
    yield Fact("actions", f"{spec.n_actions:,}, numbered from 0; a mask says which are legal")
    shape = " x ".join(map(str, spec.observation_shape))
    yield Fact(
        "observation",
        f"{spec.observation_dtype} [{shape}], {prod(spec.observation_shape):,} numbers",
    )
    yield Fact("result", _tell_result(spec))
    yield Fact("chance", "yes, drawn from the game seed" if spec.has_chance else "none")
    yield Fact("hidden information", "yes" if spec.has_hidden_information else "none")
    yield Fact("openings", _tell_openings(spec))
    yield Fact("longest episode", f"{spec.max_steps:,} decisions of all seats together")
    yield Fact("replayed", "yes, from game seed and actions" if spec.is_replayable else "cannot be")
    yield Fact("a node needs", spec.capability)
    for parameter in spec.parameters:
        says = f"{parameter.help}; {parameter.default!r} by default"
        yield Fact(f"parameter {parameter.name}", says)
    yield Fact("version of the rules", version or str(spec.rules_version))


def _list_seats(teams: Sequence[int], team: int) -> str:
    return " and ".join(str(seat) for seat, own in enumerate(teams) if own == team)


def _tell_result(spec: GameSpec) -> str:
    if spec.n_seats == 1:
        low, high = spec.score_range or (0.0, 1.0)
        margin = f"; a difference up to {spec.score_margin:g} is a draw"
        return (
            f"a score from {low:g} to {high:g}, compared on equal game seeds"
            f"{margin if spec.score_margin else ''}"
        )
    kind = "that add up to 0" if spec.is_zero_sum else "of their own"
    return f"seats are ranked by returns {kind}; equal returns share a rank"


def _tell_openings(spec: GameSpec) -> str:
    if not spec.opening_plies:
        return "none"
    return f"{spec.opening_plies} random actions drawn from the game seed, unless said otherwise"


def _number_parts(parts: Sequence[Part]) -> Iterator[Slice]:
    first = 0
    for part in parts:
        yield Slice(first, first + part.size - 1, part.holds)
        first += part.size


def _name_actions(game: Game) -> Mapping[int, tuple[str, ...]]:
    """Return what actions were called in random games, the same at each call."""
    rng, n_steps = Random(1), 0
    counts: dict[int, dict[str, int]] = {}
    for seed in range(N_GAMES):
        state = game.start(seed, opening_plies=0)
        while state.to_move() != OVER and n_steps < MAX_STEPS:
            legal = state.legal_actions()
            for action in legal:
                names = counts.setdefault(action, {})
                # Of one that has a name already only now and then: asking costs more than playing.
                if not names or rng.random() < 1 / (1 + sum(names.values())):
                    name = state.action_name(action)
                    names[name] = names.get(name, 0) + 1
            state.apply(legal[int(rng.random() * len(legal))])
            n_steps += 1
    return {
        action: tuple(sorted(names, key=lambda name: (-names[name], name))[:MAX_NAMES])
        for action, names in counts.items()
    }
