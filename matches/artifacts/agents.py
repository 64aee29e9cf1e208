"""Register and retire agents."""

from collections.abc import Mapping

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from arena.errors import ArenaError
from arena.parameters import read_parameters
from arena.policies import registry as policies
from arena.policies.spec import parse_policy
from matches.errors import BadInputError, ConflictError
from matches.models import IMPORTED, Agent, Checkpoint
from matches.models.choices import Placement
from matches.models.validation import find_first_refusal
from matches.models.versions import is_same_version, short_version
from matches.store import selectors
from matches.store.catalog import policy_problem

MAX_NAME = 120


def register_agent(
    name: str,
    *,
    game: str,
    policy: str,
    parameters: Mapping[str, object] | None = None,
    checkpoint: str = "",
) -> Agent:
    """Return the agent of this name, made of the code that is here; it may have been there before.

    `checkpoint` is the hash of a stored one, or the name of an agent that has it. Raises
    BadInputError when a value is refused or another agent has the name.
    """
    weights = find_weights(checkpoint, game=game) if checkpoint else None
    agent = Agent(
        name=name,
        game=game,
        policy=policy,
        parameters=dict(parameters or {}),
        checkpoint=weights,
        placement=choose_placement(weights),
    )
    namesakes = Agent.objects.filter(game=game, name=name)
    namesake = namesakes.first()
    if namesake is None:
        try:
            with transaction.atomic():
                return save_agent(agent)
        except (BadInputError, IntegrityError):
            # Of two that come at once the second one finds the name taken.
            namesake = namesakes.first()
            if namesake is None:
                raise
    # Not the version: other code under the same name makes the next version of it.
    if not _is_same(namesake, agent):
        raise BadInputError(
            "name",
            f"{name!r} is already an agent of {game} with policy {namesake.policy} "
            f"{namesake.parameters}: choose another name",
        )
    return renew_agent(namesake)


def _is_same(agent_a: Agent, agent_b: Agent) -> bool:
    if (agent_a.policy, agent_a.checkpoint_id) != (agent_b.policy, agent_b.checkpoint_id):
        return False
    try:
        declared = policies.get(agent_a.policy).parameters
        # Who left a parameter out meant its default, as a spelling says it.
        parameters = [
            read_parameters(agent_a.policy, declared, agent.parameters)
            for agent in (agent_a, agent_b)
        ]
    except ArenaError:
        return bool(agent_a.parameters == agent_b.parameters)
    return parameters[0] == parameters[1]


def save_agent(agent: Agent) -> Agent:
    """Save an agent that the checks of its fields accept. Raises BadInputError."""
    try:
        agent.full_clean()
    except ValidationError as error:
        raise to_bad_input(error) from error
    agent.save()
    return agent


def renew_agent(agent: Agent) -> Agent:
    """Return this agent, or a new version of it where its code differs from the local code.

    The old version keeps its results under a name that tells its version, and is retired: its code
    is not here any more. Raises BadInputError when the new code cannot play the game.
    """
    if is_same_version(agent.version, read_version_here(agent)):
        return agent
    fresh = Agent(
        name=agent.name,
        game=agent.game,
        policy=agent.policy,
        parameters=agent.parameters,
        checkpoint=agent.checkpoint,
        placement=agent.placement,
    )
    fresh.is_renewed = True
    with transaction.atomic():
        # Of two that come at once the second one finds the name taken by the new version.
        old = Agent.objects.select_for_update().get(pk=agent.pk)
        if old.newer_id is not None:
            return renew_agent(Agent.objects.get(pk=old.newer_id))
        n_before = Agent.objects.filter(newer__name=old.name, game=old.game).count()
        suffix = f" (version {n_before + 1}, {short_version(old.version)})"
        # Its results stay under a name of their own: other code is another competitor.
        old_name = old.name[: MAX_NAME - len(suffix)] + suffix
        Agent.objects.filter(pk=old.pk).update(name=old_name, is_retired=True)
        save_agent(fresh)
        Agent.objects.filter(pk=old.pk).update(newer=fresh)
    return fresh


def read_version_here(agent: Agent) -> str:
    """Return the version that its code has here. Raises BadInputError where there is none."""
    try:
        return agent.version_here
    except ArenaError as error:
        raise BadInputError("policy", str(error)) from error


def retire_agent(agent: Agent) -> None:
    """Enter an agent in no new tournament; those under way go on."""
    _set_retired(agent, is_retired=True)


def unretire_agent(agent: Agent) -> None:
    """Enter an agent in tournaments again. Raises ConflictError for one that nothing can play."""
    if agent.policy == IMPORTED:
        raise ConflictError(f"{agent.name!r} stays retired: {policy_problem(IMPORTED)}")
    _set_retired(agent, is_retired=False)


def choose_placement(checkpoint: Checkpoint | None) -> str:
    """Return where an agent's network runs; the verdict of its check may change that."""
    return (checkpoint.placement if checkpoint else "") or Placement.LOCAL.value


def to_bad_input(error: ValidationError, *, field: str = "") -> BadInputError:
    """Return the first refusal of a model as an error that names its field, or this one."""
    name, refusal = find_first_refusal(error)
    return BadInputError(field or name, refusal)


def register_spelled_agent(text: str, *, game: str, copy: int = 1) -> Agent:
    """Return the agent spelled as on the command line, such as `alphabeta:4`.

    An agent with a checkpoint goes by its name. The second and later copies of one spelling are
    agents of their own, named `...#2`.
    """
    # By name first: a spelling does not say which weights.
    networked = Agent.objects.filter(game=game, name=text, checkpoint__isnull=False).first()
    if networked is not None:
        return renew_agent(networked)
    policy, parameters = parse_policy(text)
    # Copies of one spelling are rated apart, as agents of their own.
    name = text if copy == 1 else f"{text}#{copy}"
    return register_agent(name, game=game, policy=policy, parameters=parameters)


def _set_retired(agent: Agent, *, is_retired: bool) -> None:
    Agent.objects.filter(pk=agent.pk).update(is_retired=is_retired)
    agent.is_retired = is_retired


def find_weights(text: str, *, game: str, field: str = "checkpoint") -> Checkpoint:
    """Return the stored checkpoint that a text means. Raises BadInputError naming the field."""
    checkpoint = selectors.find_checkpoint(text, game=game)
    if checkpoint is None:
        raise BadInputError(
            field, f"{text!r} is no SHA-256 of a checkpoint and no agent of {game} with one"
        )
    return checkpoint
