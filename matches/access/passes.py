"""Passes to the evaluation head: for the decisions of an agent, or for what is done through it."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from django.conf import settings

from arena.agent_passes import AskedAgent, make_agent_pass
from arena.credentials import NAME_RULE, is_node_name, pass_key
from arena.errors import UnknownNameError
from arena.games import registry
from arena.messages import AgentOrder
from arena.passes import make_pass
from matches.errors import BadInputError, ConflictError
from matches.models import Agent
from matches.store import signing

MAX_DAYS = 365
NETWORK = "network"
SERVE, DISCOVER, EVALUATE = "serve", "discover", "evaluate"
PURPOSES = {
    SERVE: "to dial in as a game server, by this name or without one by any",
    DISCOVER: "to have the head look for servers",
    EVALUATE: "to ask checkpoints of its CHECKPOINT_BUCKET",
}


class Pass(NamedTuple):
    """A pass, which is kept nowhere, and when it ends."""

    token: str
    expires_at: datetime


def grant_agent_pass(agent: Agent, *, now: datetime) -> Pass:
    """Return a pass for the decisions of an agent, good for about a day, as its link is.

    Raises ConflictError for an agent that the head cannot answer for.
    """
    checkpoint = agent.checkpoint
    if checkpoint is None or agent.policy != NETWORK:
        raise ConflictError(
            f"agent {agent.name} is of the policy {agent.policy}, which decides on positions: only "
            f"agents of the policy {NETWORK} answer observations"
        )
    if agent.quarantined_at is not None:
        raise ConflictError(f"agent {agent.name} is in quarantine: {agent.quarantine_reason}")
    try:
        spec = registry.get(agent.game).spec
    except UnknownNameError as error:
        raise ConflictError(f"the game of agent {agent.name} is not here: {error}") from error
    until = signing.find_end(now)
    pass_agent = AskedAgent(
        agent=agent.pk,
        name=agent.name,
        game=agent.game,
        observation_shape=list(spec.observation_shape),
        n_actions=spec.n_actions,
        plays=AgentOrder(
            policy=agent.policy,
            parameters=agent.parameters,
            checkpoint=checkpoint.sha256,
            placement=agent.placement,
            source=signing.sign_link("GET", signing.checkpoint_path(checkpoint.sha256), now=now),
            state_size=checkpoint.state_size,
        ),
    )
    return Pass(
        make_agent_pass(pass_key(settings.SECRET_KEY), pass_agent, until=until), _to_datetime(until)
    )


def grant_head_pass(purpose: str, *, name: str, days: int, now: datetime) -> Pass:
    """Return a pass for one of PURPOSES. Raises BadInputError for a name that cannot be one."""
    if name and purpose != SERVE:
        raise BadInputError("name", f"is {name!r:.100}: only a pass for {SERVE!r} has one")
    if name and not is_node_name(name):
        raise BadInputError("name", f"is {name!r:.100}: must be {NAME_RULE}")
    # The colon also without a name: the pass of a server is for its name, which has none.
    subject = f"{purpose}:{name}"
    until = int((now + timedelta(days=days)).timestamp())
    return Pass(make_pass(pass_key(settings.SECRET_KEY), subject, until=until), _to_datetime(until))


def _to_datetime(until: int) -> datetime:
    return datetime.fromtimestamp(until, UTC)
