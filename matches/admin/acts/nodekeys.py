"""What an operator does with who may be a play node."""

from matches.admin.acts.base import Act, Chosen, Confirmed, ReasonForm, Touch, refused
from matches.models import NodeKey
from matches.nodes import node_keys

CHANGE = "matches.change_worker"


class Revoke(Act[NodeKey]):
    """Let a node in no more."""

    name, title, icon = "revoke", "Revoke", "key_off"
    permission = CHANGE
    question = "Revoke nodes?"
    consequence = (
        "Both servers end their connections within a second, and their reports are refused. "
        "Admitting them again gives them new secrets."
    )
    form = ReasonForm
    is_grave = True

    def touch(self, chosen: Chosen[NodeKey]) -> Touch:
        """Return whose key it is."""
        if chosen.row.revoked_at is not None:
            return refused("is revoked already")
        return Touch(f"may play since {chosen.row.created_at:%F %R}")

    def do(self, chosen: Confirmed[NodeKey]) -> str:
        """Revoke it."""
        node_keys.revoke_node(
            chosen.row.name,
            actor=chosen.actor,
            now=chosen.now,
            reason=str(chosen.given["reason"]),
        )
        return f"{chosen.row} is let in no more"


class Admit(Act[NodeKey]):
    """Let a node in again."""

    name, title, icon = "admit", "Admit", "key"
    permission = CHANGE
    question = "Admit nodes again?"
    consequence = (
        "They get new secrets: `./run manage node add NAME` prints them on the server. "
        "Revoking shuts them out again."
    )

    def touch(self, chosen: Chosen[NodeKey]) -> Touch:
        """Return since when it is out."""
        if chosen.row.revoked_at is None:
            return refused("is admitted already")
        return Touch(f"revoked {chosen.row.revoked_at:%F %R}")

    def do(self, chosen: Confirmed[NodeKey]) -> str:
        """Admit it."""
        node_keys.add_node(chosen.row.name, actor=chosen.actor, now=chosen.now)
        return f"{chosen.row} may log in with its new secrets"


ACTS = (Revoke(), Admit())
