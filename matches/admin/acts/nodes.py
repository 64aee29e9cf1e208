"""What an operator does with workers, and with the keys that let nodes in."""

from matches.admin.acts.base import Act, ChosenRow, ConfirmedRow, Effect, ReasonForm, refuse_act
from matches.admin.acts.holding import QuarantineAct, ReleaseAct
from matches.ledger import quarantine, server_voiding
from matches.models import NodeKey, Order, Worker
from matches.nodes import node_keys
from matches.store.formats import format_ago, format_count
from matches.store.game_servers import count_taken, read_dealt

CHANGE = "matches.change_worker"


class Quarantine(QuarantineAct[Worker]):
    """Trust a worker no more."""

    permission = CHANGE
    service = staticmethod(quarantine.quarantine_worker)
    question = "Put workers into quarantine?"
    consequence = (
        "What they have in hand is taken back and sent to others, they get nothing new, and what "
        "comes of them is refused from now on; what was recorded stays. Releasing them undoes it."
    )
    counts = "matches taken back"

    def preview_stop(self, chosen: ChosenRow[Worker]) -> Effect:
        """Return what would be taken back."""
        row = chosen.row
        if row.is_server:
            n_taken = count_taken(read_dealt())[row.node]
            last_seen = f"last seen{format_ago(row.last_seen_at, now=chosen.now)}"
            return Effect(f"{n_taken:,} of {row.slots:,} slots taken, {last_seen}", n=n_taken)
        order_sizes = list(
            Order.objects.filter(Order.is_open(), node=row.node).values_list("n_matches", flat=True)
        )
        in_hand = (
            f"{format_count(len(order_sizes), 'order')} of {sum(order_sizes):,} matches in hand"
        )
        last_seen = f"last seen{format_ago(row.last_seen_at, now=chosen.now)}"
        return Effect(
            f"{format_count(row.slots, 'slot')}, {in_hand}, {last_seen}", n=sum(order_sizes)
        )


class Release(ReleaseAct[Worker]):
    """Trust a worker again."""

    permission = CHANGE
    service = staticmethod(quarantine.release_worker)
    question = "Release workers from quarantine?"
    consequence = "They get orders and may report again. Another quarantine undoes it."


class VoidMatches(Act[Worker]):
    """Let nothing count that a game server decided."""

    name, title, icon, permission = "void", "Void its matches", "block", "matches.change_match"
    question = "Declare void what game servers decided?"
    consequence = (
        "The outcomes of their matches stay in the log, count no more, and their leaderboards are "
        "rated again. This cannot be undone; void matches can be played again."
    )
    counts = "matches that count no more"
    form = ReasonForm
    is_grave = True

    def preview_effect(self, chosen: ChosenRow[Worker]) -> Effect:
        """Return how many matches that would be."""
        row = chosen.row
        if not row.is_server:
            return refuse_act("it is no game server")
        if row.quarantined_at is None:
            return refuse_act("it may be sent matches: put it into quarantine first")
        n = server_voiding.count_matches(row.node)
        if not n:
            return refuse_act("no match that counts was decided by it")
        return Effect(f"{format_count(n, 'match', 'matches')} of {row.game}", n=n)

    def perform_act(self, chosen: ConfirmedRow[Worker]) -> str:
        n = server_voiding.void_matches_of_server(
            chosen.row.node,
            actor=chosen.actor,
            reason=str(chosen.values["reason"]),
            now=chosen.now,
        )
        return f"{format_count(n, 'match', 'matches')} of {chosen.row} count no more"


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

    def preview_effect(self, chosen: ChosenRow[NodeKey]) -> Effect:
        """Return whose key it is."""
        if chosen.row.revoked_at is not None:
            return refuse_act("is revoked already")
        return Effect(f"may play since {chosen.row.created_at:%F %R}")

    def perform_act(self, chosen: ConfirmedRow[NodeKey]) -> str:
        node_keys.revoke_node(
            chosen.row.name,
            actor=chosen.actor,
            now=chosen.now,
            reason=str(chosen.values["reason"]),
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

    def preview_effect(self, chosen: ChosenRow[NodeKey]) -> Effect:
        """Return since when it is out."""
        if chosen.row.revoked_at is None:
            return refuse_act("is admitted already")
        return Effect(f"revoked {chosen.row.revoked_at:%F %R}")

    def perform_act(self, chosen: ConfirmedRow[NodeKey]) -> str:
        node_keys.add_node(chosen.row.name, actor=chosen.actor, now=chosen.now)
        return f"{chosen.row} may log in with its new secrets"


KEY_ACTS = (Revoke(), Admit())
WORKER_ACTS = (Quarantine(), Release(), VoidMatches())
