"""Register agents."""

from collections.abc import Mapping

from django.core.exceptions import ValidationError

from arena.policies.spec import parse
from matches.errors import BadInputError
from matches.models import Agent


def register(
    name: str, *, game: str, policy: str, parameters: Mapping[str, object] | None = None
) -> Agent:
    """Return the agent of that name, new or the same as before.

    Raises BadInputError when a value is refused or another agent has the name.
    """
    wanted = Agent(name=name, game=game, policy=policy, parameters=dict(parameters or {}))
    found = Agent.objects.filter(game=game, name=name).first()
    if found is not None:
        return _same(found, wanted)
    try:
        wanted.full_clean()
    except ValidationError as error:
        raise _bad_input(error) from error
    wanted.save()
    return found or wanted


def register_spelled(text: str, *, game: str, copy: int = 1) -> Agent:
    """Return the agent spelled as on the command line, such as `alphabeta:4`.

    The second and later copies of one spelling are agents of their own, named `...#2`.
    """
    policy, parameters = parse(text)
    name = text if copy == 1 else f"{text}#{copy}"
    return register(name, game=game, policy=policy, parameters=parameters)


def _same(found: Agent, wanted: Agent) -> Agent:
    same = ("policy", "parameters", "checkpoint_id")
    if any(getattr(found, field) != getattr(wanted, field) for field in same):
        raise BadInputError(
            "name",
            f"{wanted.name!r} is already an agent of {wanted.game} with policy {found.policy} "
            f"{found.parameters}: choose another name",
        )
    return found


def _bad_input(error: ValidationError) -> BadInputError:
    field, messages = next(iter(error.message_dict.items()))
    return BadInputError(field, "; ".join(messages))
