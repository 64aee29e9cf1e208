"""What an operator does with imports of results."""

from typing import Final

from matches.admin.acts.base import Act, ChosenRow, ConfirmedRow, Effect, ReasonForm, refuse_act
from matches.ledger.imported import striking
from matches.models import ImportBatch

MOST: Final = 50_000
"""Matches that are struck here: an act is one transaction, which nobody else writes beside."""


class Strike(Act[ImportBatch]):
    """Let all results of an import count no more."""

    name, title, icon = "strike", "Strike", "block"
    permission = "matches.change_leaderboard"
    question = "Strike imports?"
    consequence = (
        "Their results stay in the log, count no more, and their leaderboards are rated as if they "
        "had never come. This cannot be undone; the same file may be imported again."
    )
    form = ReasonForm
    is_grave = True
    takes_many = False

    def preview_effect(self, chosen: ChosenRow[ImportBatch]) -> Effect:
        """Return how many results count no more then."""
        row = chosen.row
        n_done = row.tournament.n_done
        if row.struck_at is not None and not n_done:
            return refuse_act("it is struck already")
        if n_done > MOST:
            command = f"`evalsite results strike {row.pk}` does it in pieces"
            return refuse_act(
                f"it has {n_done:,} results, more than one transaction takes: {command}"
            )
        says = f"{n_done:,} results of {row.file_name} count no more on {row.leaderboard}"
        return Effect(says, seen=f"{n_done}", n=n_done)

    def perform_act(self, chosen: ConfirmedRow[ImportBatch]) -> str:
        reason = chosen.values["reason"]
        struck = striking.strike_import(
            chosen.row, actor=chosen.actor, reason=reason, now=chosen.now
        )
        return f"{struck.batch} is struck: {struck.n_struck:,} results count no more"


ACTS = (Strike(),)
