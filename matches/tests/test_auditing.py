"""The audit: rows that are only added."""

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from matches.errors import LastingRowError
from matches.ledger.tournaments import open_leaderboard
from matches.models import AuditRow
from matches.store import auditing
from matches.store.auditing import CONTROL, Actor, Target
from matches.tests import factories as make


def _note(actor: Actor = CONTROL) -> AuditRow:
    target = Target("agent", 5, "level:5" * 100)
    with transaction.atomic():
        (row,) = auditing.add_audit_row(
            "agent.look", actor=actor, targets=[target], reason="", touched={"n": 1}, now=make.NOW
        )
    return AuditRow.objects.get(pk=row.pk)


@pytest.mark.django_db
def test_a_row_says_who_did_what_to_which() -> None:
    board = open_leaderboard("board", game="chess")
    user = User.objects.create(username="anna")
    auditing.add_audit_row(
        *("board.look",),
        actor=Actor.of(user),
        targets=[board],
        reason="to see",
        touched={"n": 2},
        now=make.NOW,
    )
    row = AuditRow.objects.get()
    assert (row.user, row.actor, row.action, row.at) == (user, "anna", "board.look", make.NOW)
    assert (row.target_kind, row.target_id, row.target_label) == ("leaderboard", board.pk, "board")
    assert (row.reason, row.touched, row.touched_line()) == ("to see", {"n": 2}, "n 2")


def test_a_row_says_in_words_what_was_touched() -> None:
    row = AuditRow(touched={"when": "once", "n_new_agents": 4, "n_matches": None})
    assert row.touched_line() == "when once, 4 new agents, no matches"


@pytest.mark.django_db
def test_a_row_cannot_be_changed_or_deleted() -> None:
    row = _note()
    row.reason = "better"
    with pytest.raises(LastingRowError, match="cannot be changed"):
        row.save()
    with pytest.raises(LastingRowError, match="cannot be deleted"):
        row.delete()
    for work in (AuditRow.objects.all().update, AuditRow.objects.all().delete):
        with pytest.raises(LastingRowError):
            work()
    assert AuditRow.objects.get().reason == ""


@pytest.mark.django_db
def test_a_row_outlives_its_user() -> None:
    user = User.objects.create(username="anna")
    row = _note(Actor.of(user))
    user.delete()
    row.refresh_from_db()
    assert (row.user, row.actor) == (None, "anna")


@pytest.mark.django_db
def test_a_long_label_is_cut() -> None:
    assert len(_note().target_label) == auditing.MAX_LABEL


@pytest.mark.django_db(transaction=True)
def test_nothing_is_audited_outside_of_the_transaction_of_the_act() -> None:
    with pytest.raises(RuntimeError, match="outside of the transaction"):
        auditing.add_audit_row("x", actor=CONTROL, targets=[], reason="", touched={}, now=make.NOW)


@pytest.mark.django_db(transaction=True)
def test_an_act_that_fails_leaves_no_row() -> None:
    def act() -> None:
        with transaction.atomic():
            _note()
            raise LookupError

    with pytest.raises(LookupError):
        act()
    assert not AuditRow.objects.exists()
