"""What an operator does with tokens."""

from typing import Any

from matches.access import tokens
from matches.admin.acts.base import Changed, ChosenRow, ConfirmedRow, Effect, NotedAct, ReasonForm
from matches.models import TokenAccess


class Revoke(NotedAct[TokenAccess]):
    """End a token."""

    name, title, icon = "revoke", "Revoke", "key_off"
    permission = "matches.delete_tokenaccess"
    question = "Revoke tokens?"
    consequence = (
        "Whoever uses them, or a token that was made with them, is refused at once. "
        "This cannot be undone; make a new token."
    )
    form = ReasonForm
    is_grave = True

    def preview_effect(self, chosen: ChosenRow[TokenAccess]) -> Effect:
        user = chosen.row.token.user
        return Effect(f"of {user}, for {', '.join(chosen.row.scopes) or 'nothing'}")

    def change_row(self, chosen: ConfirmedRow[TokenAccess]) -> Changed:
        touched: dict[str, Any] = {"user": chosen.row.token.user.get_username()}
        n_children = touched["n_children"] = tokens.revoke_token(chosen.row)
        children = f" with {n_children} that were made with it" if n_children else ""
        return f"token {chosen.row.name} is revoked{children}", touched


ACTS = (Revoke(),)
