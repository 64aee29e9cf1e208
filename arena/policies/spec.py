"""The command-line spelling of a policy: `random`, `mcts:100`, `mcts:50,exploration=1.4`.

After the colon stand the parameters as `name=value`; the first declared one may go by its value
alone, in the first place.
"""

from collections.abc import Mapping, Sequence

from arena.errors import ArenaError, ParameterError
from arena.parameters import Parameter, Value, read_parameters
from arena.policies import registry


def parse_policy(text: str) -> tuple[str, dict[str, Value]]:
    """Return the policy kind and all its parameters, defaults included.

    Raises UnknownNameError for the kind and ParameterError for a parameter, each with the choices.
    """
    kind, colon, arguments = text.strip().partition(":")
    declared = registry.get(kind).parameters
    # `mcts:` has an empty argument, which is refused; `mcts` has none.
    texts = _read_arguments(kind, declared, arguments.split(",")) if colon else {}
    return kind, read_parameters(kind, declared, texts)


def is_spelled(text: str) -> bool:
    """Say whether a text is a kind of policy with parameters that it takes."""
    try:
        parse_policy(text)
    except ArenaError:
        return False
    return True


def format_policy(kind: str, parameters: Mapping[str, object]) -> str:
    """Return the shortest text that parse reads back; the first parameter is always shown.

    Raises UnknownNameError and ParameterError as parse does.
    """
    declared = registry.get(kind).parameters
    values = read_parameters(kind, declared, parameters)
    settings = [
        f"{parameter.name}={values[parameter.name]}" if place else f"{values[parameter.name]}"
        for place, parameter in enumerate(declared)
        if not place or values[parameter.name] != parameter.default
    ]
    return f"{kind}:{','.join(settings)}" if settings else kind


def split_policies(text: str) -> list[str]:
    """Return the policies of a list: `greedy,mcts:50,exploration=1.4,random` has three.

    A comma before `name=value` goes on with the parameters of the policy before it.
    """
    policies: list[str] = []
    for piece in text.split(","):
        # Parameters are separated by commas, too: only `name=` tells them from the next policy.
        if policies and "=" in piece.partition(":")[0]:
            policies[-1] += f",{piece}"
        else:
            policies.append(piece.strip())
    return policies


def _read_arguments(
    kind: str, declared: Sequence[Parameter], arguments: Sequence[str]
) -> dict[str, object]:
    """Return the texts of the named arguments, the first one's name filled in if it has none."""
    texts: dict[str, object] = {}
    for place, argument in enumerate(arguments):
        name, equals, value = (part.strip() for part in argument.partition("="))
        if not equals:
            if place or not declared:
                names = ", ".join(parameter.name for parameter in declared) or "none"
                raise ParameterError(kind, name, f"is no name=value: {kind} takes {names}")
            name, value = declared[0].name, name
        if name in texts:
            raise ParameterError(kind, name, "is given twice")
        texts[name] = value
    return texts
