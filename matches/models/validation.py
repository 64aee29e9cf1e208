"""Checks of what users enter against the catalogs of the pure core, for the models' clean."""

from collections.abc import Mapping
from math import isfinite
from typing import Any
from unicodedata import category

from django.core.exceptions import ValidationError
from django.db import models

from arena.errors import ArenaError, ParameterError
from arena.games import registry as games
from arena.games.base import CHILD, Game
from arena.games.served import can_replay
from arena.pairing import registry as pairings
from arena.parameters import read_parameters
from arena.policies import registry as policies
from arena.policies.base import Policy
from arena.policies.network_policy import NetworkPolicy
from arena.policies.spec import is_spelled, parse_policy
from matches.models.checkpoint import Checkpoint

MOST_PLIES = 1_000
"""Of an opening: a game may last for ever, and a small integer of the database ends at 32,767."""
MAX_ERROR = 200
"""Characters of what a plug-in raises."""
_JOINER = "\u200d"
NAMES_ARE_PRINTABLE = "a name has printable characters only"


def is_printable(text: str) -> bool:
    """Say whether a name is printable and cannot be mistaken for another name."""
    return all(map(_is_shown, text))


def replace_unprintable(text: str) -> str:
    """Return a title with a question mark for what cannot be read: older names may hold such."""
    return "".join(letter if _is_shown(letter) else "?" for letter in text)


def _is_shown(letter: str) -> bool:
    # Spaces of other widths are common in titles, and the joiner makes one sign of several.
    return letter.isprintable() or letter == _JOINER or category(letter) == "Zs"


def check_name(name: str, *, field: str = "name") -> None:
    """Refuse a name that is not printable or could be mistaken for another name."""
    if not is_printable(name):
        raise ValidationError({field: f"{name!r:.150}: {NAMES_ARE_PRINTABLE}"})


def is_named_anew(row: models.Model, *, field: str = "name") -> bool:
    """Say whether a row is new or has another name: what it was called before, it may be called."""
    old_name = {"pk": row.pk, field: getattr(row, field)}
    return row.pk is None or not type(row)._default_manager.filter(**old_name).exists()


def check_game(game: str, parameters: object) -> Game:
    """Return the game under its parameters. Raises ValidationError naming the field."""
    try:
        unconfigured = games.get(game)
    except ArenaError as error:
        raise ValidationError({"game": str(error)}) from error
    checked = _check_mapping("game_parameters", parameters)
    try:
        return unconfigured.configured(checked)
    except ArenaError as error:
        raise ValidationError({"game_parameters": str(error)}) from error
    # Whatever else the code of a plug-in raises.
    except Exception as error:
        why = f"{game} cannot be configured: {_describe(error)}"
        raise ValidationError({"game": why}) from error


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:MAX_ERROR]


def check_opening(game: Game, plies: int) -> None:
    """Refuse opening plies that no match can begin with. Raises ValidationError."""
    if plies > MOST_PLIES:
        raise ValidationError({"opening_plies": f"{plies}: must be 0..{MOST_PLIES}"})
    if plies and not game.spec.is_replayable:
        why = f"must be 0, as {game.spec.id} cannot be replayed: {plies}"
        raise ValidationError({"opening_plies": why})
    # Tried once here: what is refused would fail on every node. A child process needs what only
    # nodes must have.
    if not plies or not can_replay(game) or game.spec.served == CHILD:
        return
    try:
        game.start(0, opening_plies=plies)
    except ArenaError as error:
        raise ValidationError({"opening_plies": str(error)}) from error
    # Whatever else the code of a plug-in raises.
    except Exception as error:
        why = f"{game.spec.id} cannot begin after {plies} plies: {_describe(error)}"
        raise ValidationError({"opening_plies": why}) from error


def check_policy(game: str, policy: str, parameters: object) -> Policy:
    """Return the policy, built once. Raises ValidationError naming the field that is wrong."""
    rules = check_game(game, {})
    if ":" in policy and is_spelled(policy):
        kind_name, values = parse_policy(policy)
        settings = ", ".join(f"{name}={value}" for name, value in values.items())
        message = f"{policy!r} is {kind_name!r} with parameters {settings}: name both"
        raise ValidationError({"policy": message})
    try:
        kind = policies.get(policy)
        refusal = policies.find_refusal(policy, rules.spec)
    except ArenaError as error:
        raise ValidationError({"policy": str(error)}) from error
    if refusal is not None:
        able = ", ".join(policies.list_able(rules.spec))
        message = f"{policy} cannot play {game}: {refusal}; these can: {able}"
        raise ValidationError({"policy": message})
    checked = _check_mapping("parameters", parameters)
    try:
        return kind.build(rules, checked)
    except ArenaError as error:
        raise ValidationError({"parameters": str(error)}) from error
    # Whatever else the code of a plug-in raises.
    except Exception as error:
        why = f"{policy} cannot be built: {_describe(error)}"
        raise ValidationError({"policy": why}) from error


def check_spelling(name: str, policy: str, parameters: Mapping[str, Any]) -> None:
    """Refuse a name that spells another policy than the agent's own: it would play in its place."""
    if not is_spelled(name):
        return
    own = policy, read_parameters(policy, policies.get(policy).parameters, parameters)
    if parse_policy(name) != own:
        refusal = f"{name!r} spells another policy than this agent's: choose another name"
        raise ValidationError({"name": refusal})


def check_checkpoint(policy: Policy, kind: str, game: str, checkpoint: Checkpoint | None) -> None:
    """Refuse a network without weights, weights without a network, and those of another game."""
    is_networked = isinstance(policy, NetworkPolicy)
    if checkpoint is None:
        if is_networked:
            refusal = f"policy {kind} needs one: add it with its agent, or name a stored one"
            raise ValidationError({"checkpoint": refusal})
    elif not is_networked:
        raise ValidationError({"checkpoint": f"policy {kind} has no network: leave it empty"})
    elif checkpoint.game != game:
        raise ValidationError({"checkpoint": f"{checkpoint} is of {checkpoint.game}, not {game}"})


def check_pairing(pairing: str, parameters: object) -> None:
    """Refuse an unknown pairing, naming those there are, and parameters that it does not take."""
    checked = _check_mapping("pairing_parameters", parameters)
    try:
        if pairing in pairings.adaptive_names():
            pairings.get_adaptive(pairing).configured(checked)
        else:
            pairings.get(pairing)
            read_parameters(pairing, (), checked)
    except ParameterError as error:
        raise ValidationError({"pairing_parameters": str(error)}) from error
    except ArenaError as error:
        names = ", ".join(sorted((*pairings.names(), *pairings.adaptive_names())))
        refusal = f"unknown pairing {pairing!r}: choose one of {names}"
        raise ValidationError({"pairing": refusal}) from error


def find_first_refusal(error: ValidationError) -> tuple[str, str]:
    """Return the first field that is refused, and why."""
    name, errors = next(iter(error.error_dict.items()))
    # Django refuses an unknown choice, and so does our check, which names the choices.
    ours = [refusal for refusal in errors if refusal.code != "invalid_choice"] or errors
    return name, "; ".join(message for refusal in ours for message in refusal.messages)


def validate_finite(value: float) -> None:
    """Refuse NaN and infinity, which pass every comparison with a limit."""
    if not isfinite(value):
        raise ValidationError(f"must be a finite number, got {value}")


def _check_mapping(field: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ValidationError({field: f"must be an object of names and values, got {value!r}"})
    return value
