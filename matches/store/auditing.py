"""Keep who did what, to what and why: written in the transaction of the act itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db import connection
from django.db.models import Model

from matches.errors import BadInputError
from matches.models import AuditRow

MAX_REASON = 500
MAX_LABEL = 200
BATCH = 500


@dataclass(frozen=True)
class Actor:
    """Who does something: a user, or a part of the system by its name."""

    name: str
    user_id: int | None = None
    token: str = ""
    """Name of the API token that it is done with."""

    @classmethod
    def of(cls, user: AbstractBaseUser | AnonymousUser, *, token: str = "") -> "Actor":
        """Return the actor that a user is."""
        return cls(user.get_username(), user.pk, token)


CONTROL = Actor("control")
COMMAND_LINE = Actor("command line")


class Target(NamedTuple):
    """The row that an act changes, with its name at that time."""

    kind: str
    id: int | None
    label: str

    @classmethod
    def of(cls, row: Model) -> "Target":
        """Return the target that a row is."""
        return cls(str(row._meta.model_name), row.pk, str(row))


def add_audit_row(
    action: str,
    *,
    actor: Actor,
    targets: Sequence[Model | Target],
    reason: str,
    touched: Mapping[str, Any],
    now: datetime,
) -> list[AuditRow]:
    """Return a new row for each target. Call it inside the transaction of the act."""
    audit_targets = [
        target if isinstance(target, Target) else Target.of(target) for target in targets
    ]
    return add_audit_rows(
        action, [(target, touched) for target in audit_targets], actor=actor, reason=reason, now=now
    )


def add_audit_rows(
    action: str,
    touched: Sequence[tuple[Target, Mapping[str, Any]]],
    *,
    actor: Actor,
    reason: str,
    now: datetime,
) -> list[AuditRow]:
    """Return a new row for each target with what was touched of it, as `add_audit_row` does."""
    # Outside of it, an act could be kept without its row, or a row without its act.
    if not connection.in_atomic_block:
        raise RuntimeError(f"{action} is audited outside of the transaction that does it")
    return AuditRow.objects.bulk_create(
        (
            AuditRow(
                at=now,
                user_id=actor.user_id,
                actor=actor.name,
                token=actor.token,
                action=action,
                target_kind=target.kind,
                target_id=target.id,
                target_label=target.label[:MAX_LABEL],
                reason=reason,
                touched=dict(of_target),
            )
            for target, of_target in touched
        ),
        batch_size=BATCH,
    )


def check_reason(reason: str) -> str:
    """Return a reason without blanks around it. Raises BadInputError where there is none."""
    text = reason.strip()
    if not text:
        raise BadInputError("reason", "say why: it is kept with what was done")
    if len(text) > MAX_REASON:
        raise BadInputError("reason", f"at most {MAX_REASON} characters, got {len(text)}")
    return text
