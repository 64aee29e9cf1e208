"""Acts of operators: they ask, say what they touch, are done once, and leave an audit row."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.db.models import Model
from django.test import Client
from redis import Redis

from matches.admin.acts.base import Act
from matches.admin.acts.offering import OffersActs
from matches.models import (
    Agent,
    Alarm,
    AuditRow,
    Campaign,
    Leaderboard,
    Match,
    Outcome,
    Replacement,
    Schedule,
    Scope,
    Season,
    TokenAccess,
    Tournament,
    Worker,
)
from matches.services import quarantine, scheduling, tokens, tournaments, voiding
from matches.services.auditing import CONTROL
from matches.services.campaigns.starting import CampaignPlan, start
from matches.tests import boards, factories
from matches.tests.factories import NOW

pytestmark = pytest.mark.django_db


class Case(NamedTuple):
    """An act, the row it is tried on, what is entered, what it says, and what has changed then."""

    model: str
    act: str
    row: Callable[[], Model]
    given: dict[str, Any]
    says: str
    is_done: Callable[[Model], bool]

    def ask(self, row: Model) -> str:
        """Return the address that asks about a row."""
        return f"/admin/matches/{self.model}/ask/{self.act}/?pk={row.pk}"


def _paused() -> Tournament:
    tournament = factories.planned()
    tournaments.pause(tournament)
    return tournament


def _agent(**changes: Any) -> Agent:
    factories.planned()
    Agent.objects.filter(name="level:10").update(**changes)
    return Agent.objects.get(name="level:10")


def _held_agent() -> Agent:
    agent = _agent()
    quarantine.quarantine_agent(agent, actor=CONTROL, reason="odd", now=NOW)
    return agent


def _worker() -> Worker:
    tournament = factories.planned()
    factories.alive()
    factories.start(factories.ordered(tournament, 7))
    return Worker.objects.get()


def _held_worker() -> Worker:
    worker = _worker()
    quarantine.quarantine_worker(worker, actor=CONTROL, reason="odd", now=NOW)
    return worker


def _done_match() -> Match:
    boards.played_board(n_matches=42)
    return Match.objects.earliest("pk")


def _void_match() -> Match:
    match = _done_match()
    voiding.void([match.pk], actor=CONTROL, reason="odd", now=NOW)
    return Match.objects.get(pk=match.pk)


def _board() -> Leaderboard:
    return boards.played_board(n_matches=42).leaderboard


def _schedule(*, is_enabled: bool = True) -> Schedule:
    board = factories.planned().leaderboard
    schedule = Schedule(
        name="weekly", leaderboard=board, crontab="30 4 * * 1", n_matches=12, is_enabled=is_enabled
    )
    return scheduling.save(schedule, agents=[], actor=CONTROL, now=NOW)


def _token() -> TokenAccess:
    user = User.objects.create_user("owner")
    return tokens.issue(user, name="laptop", scopes=[Scope.READ], days=3)[0]


def _campaign() -> Campaign:
    known = factories.planned()
    agents = list(known.agents.order_by("pk"))
    return start(CampaignPlan("which", "best", 400), leaderboard=known.leaderboard, agents=agents)


def _alarm() -> Alarm:
    campaign = _campaign()
    worse, better = campaign.tournament.agents.order_by("pk")[:2]
    return Alarm.objects.create(
        agent=worse, ancestor=better, campaign=campaign,
        probability=0.97, margin=1.0, level=0.95, at=NOW,
    )  # fmt: skip


def _fresh(row: Any) -> Any:
    return type(row).objects.get(pk=row.pk)


def _state(state: str) -> Callable[[Model], bool]:
    return lambda row: bool(_fresh(row).state == state)


REASON = {"reason": "it looks odd"}
CASES = (
    Case("tournament", "pause", factories.planned, {}, "12 matches", _state("paused")),
    Case("tournament", "resume", _paused, {}, "goes on with 12 matches", _state("running")),
    Case(
        "tournament", "cancel", factories.planned, REASON, "12 matches of 12", _state("cancelled")
    ),
    Case(
        *("tournament", "extend", factories.planned, {"n_matches": 30}, "has 12 matches now"),
        lambda row: _fresh(row).n_matches == 30,
    ),
    Case("agent", "retire", _agent, {}, "plays in test", lambda row: _fresh(row).is_retired),
    Case(
        *("agent", "unretire", lambda: _agent(is_retired=True), {}, "on 1 leaderboard"),
        lambda row: not _fresh(row).is_retired,
    ),
    Case(
        *("agent", "quarantine", _agent, REASON, "plays in test"),
        lambda row: _fresh(row).quarantine_reason == "it looks odd",
    ),
    Case(
        *("agent", "release", _held_agent, REASON, "put there"),
        lambda row: _fresh(row).quarantined_at is None,
    ),
    Case(
        *("worker", "quarantine", _worker, REASON, "1 order of 7 matches in hand"),
        lambda row: _fresh(row).quarantined_at is not None,
    ),
    Case(
        *("worker", "release", _held_worker, REASON, "put there"),
        lambda row: _fresh(row).quarantined_at is None,
    ),
    Case("match", "void", _done_match, REASON, "its outcome counts no more", _state("void")),
    Case(
        *("match", "requeue", _void_match, REASON, "void: operator"),
        lambda row: Replacement.objects.filter(replaced=row.pk).exists(),
    ),
    Case(
        *("leaderboard", "rerate", _board, REASON, "42 outcomes of 7 agents"),
        lambda row: _fresh(row).is_rerating,
    ),
    Case(
        *("leaderboard", "freeze", _board, {"name": "spring"}, "7 agents, 42 outcomes"),
        lambda _: Season.objects.filter(name="spring", n_agents=7).exists(),
    ),
    Case(
        *(
            "leaderboard",
            "begin",
            _board,
            {"name": "summer", "mode": "reset"},
            "no season: 7 agents",
        ),
        lambda row: (_fresh(row).n_counted, _fresh(row).season_name) == (0, "summer"),
    ),
    Case(
        *("schedule", "start", _schedule, {}, "30 4 * * 1 (UTC): 12 matches"),
        lambda row: _fresh(row).n_started == 1,
    ),
    Case(
        *("schedule", "disable", _schedule, {}, "30 4 * * 1 (UTC): 12 matches"),
        lambda row: not _fresh(row).is_enabled,
    ),
    Case(
        *("schedule", "enable", lambda: _schedule(is_enabled=False), {}, "12 matches"),
        lambda row: _fresh(row).is_enabled,
    ),
    Case(
        *("schedule", "delete", _schedule, {}, "started 0 tournaments"),
        lambda row: not Schedule.objects.filter(pk=row.pk).exists(),
    ),
    Case(
        *("campaign", "stop", _campaign, REASON, "0 matches of at most 400"),
        lambda row: _fresh(row).decided_at is not None,
    ),
    Case(
        *("alarm", "acknowledge", _alarm, REASON, "raised 2026-01-01 12:00 UTC by which"),
        lambda row: _fresh(row).acknowledged_at is not None,
    ),
    Case(
        *("tokenaccess", "revoke", _token, REASON, "of owner, for read"),
        lambda row: not TokenAccess.objects.filter(pk=row.pk).exists(),
    ),
)
every_act = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.model}.{case.act}")


def _form(page: str) -> dict[str, Any]:
    """Return the hidden fields of the page that asks, and its confirmation."""
    found = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page)
    form: dict[str, Any] = {"confirmed": "yes"}
    for name, value in found:
        form.setdefault(name, []).append(value)
    return form


def _new_rows(before: int) -> list[str]:
    return list(AuditRow.objects.filter(pk__gt=before).values_list("action", flat=True))


def _last_audit() -> int:
    newest = AuditRow.objects.first()
    return newest.pk if newest else 0


def test_every_act_has_a_case_here() -> None:
    pages = [page for page in admin.site._registry.values() if isinstance(page, OffersActs)]
    acts = {(page.opts.model_name, act.name) for page in pages for act in page.acts}
    assert acts == {(case.model, case.act) for case in CASES}


@every_act
def test_an_act_asks_and_says_what_it_touches(
    admin_client: Client, broker: Redis, case: Case
) -> None:
    row, before = case.row(), _last_audit()
    page = admin_client.get(case.ask(row))
    assert page.status_code == 200
    text = page.content.decode()
    assert case.says in text
    assert str(row) in text
    assert "Back, change nothing" in text
    assert _new_rows(before) == []
    assert not case.is_done(row)


@every_act
def test_a_confirmed_act_is_done_and_leaves_one_audit_row(
    admin_client: Client, broker: Redis, case: Case
) -> None:
    row, before = case.row(), _last_audit()
    form = _form(admin_client.get(case.ask(row)).content.decode()) | case.given
    answer = admin_client.post(case.ask(row), form)
    assert answer.status_code == 302
    assert case.is_done(row)
    assert _new_rows(before) == [f"{case.model}.{case.act}"]
    noted = AuditRow.objects.get(pk__gt=before)
    assert (noted.actor, noted.target_kind, noted.target_id) == ("admin", case.model, row.pk)
    assert noted.reason == case.given.get("reason", "")


@every_act
def test_an_act_that_is_sent_twice_is_done_once(
    admin_client: Client, broker: Redis, case: Case
) -> None:
    row, before = case.row(), _last_audit()
    form = _form(admin_client.get(case.ask(row)).content.decode()) | case.given
    admin_client.post(case.ask(row), form)
    again = admin_client.post(case.ask(row), form, follow=True)
    assert again.status_code == 200
    said = again.content.decode()
    assert "nothing was done twice" in said or "Nothing is chosen that is still there" in said
    assert len(_new_rows(before)) == 1


@every_act
def test_who_may_only_look_is_refused(client: Client, broker: Redis, case: Case) -> None:
    row, before = case.row(), _last_audit()
    viewer = User.objects.create_user("viewer", password="look", is_staff=True)
    viewer.user_permissions.add(*Permission.objects.filter(codename__startswith="view_"))
    client.force_login(viewer)
    assert client.get(case.ask(row)).status_code == 403
    form = {"pk": row.pk, "confirmed": "yes", **case.given}
    assert client.post(case.ask(row), form).status_code == 403
    assert not case.is_done(row)
    assert _new_rows(before) == []
    page = client.get(f"/admin/matches/{case.model}/{row.pk}/change/")
    assert f"ask/{case.act}/" not in page.content.decode()


@every_act
def test_nobody_without_a_login_is_asked(client: Client, broker: Redis, case: Case) -> None:
    answer = client.get(f"/admin/matches/{case.model}/ask/{case.act}/?pk=1")
    assert answer.status_code == 302
    assert answer["Location"].startswith("/admin/login/")


@every_act
def test_the_page_of_a_row_offers_the_act(admin_client: Client, broker: Redis, case: Case) -> None:
    row = case.row()
    page = admin_client.get(f"/admin/matches/{case.model}/{row.pk}/change/").content.decode()
    assert f"ask/{case.act}/?pk={row.pk}&amp;from=row" in page


@every_act
def test_the_list_offers_the_act_for_chosen_rows(
    admin_client: Client, broker: Redis, case: Case
) -> None:
    row = case.row()
    form = {"action": case.act, "_selected_action": [row.pk]}
    answer = admin_client.post(f"/admin/matches/{case.model}/", form)
    assert answer.status_code == 302
    assert answer["Location"] == case.ask(row)


@pytest.mark.parametrize("case", [c for c in CASES if "reason" in c.given], ids=lambda c: c.act)
def test_without_a_reason_nothing_is_done_and_nothing_is_lost(
    admin_client: Client, broker: Redis, case: Case
) -> None:
    row, before = case.row(), _last_audit()
    form = _form(admin_client.get(case.ask(row)).content.decode())
    answer = admin_client.post(case.ask(row), {**form, "reason": " "})
    assert "This field is required" in answer.content.decode()
    assert not case.is_done(row)
    assert _new_rows(before) == []


def test_what_has_changed_since_it_was_asked_is_asked_anew(
    admin_client: Client, broker: Redis
) -> None:
    tournament = factories.planned()
    case = next(case for case in CASES if case.act == "cancel")
    form = _form(admin_client.get(case.ask(tournament)).content.decode()) | REASON
    tournaments.extend(tournament, 50)
    answer = admin_client.post(case.ask(tournament), form)
    text = answer.content.decode()
    assert "has changed since you were asked" in text
    assert "50 matches of 50" in text
    assert "it looks odd" in text
    assert _fresh(tournament).state != "cancelled"


def test_rows_that_are_gone_or_over_are_left_alone(admin_client: Client, broker: Redis) -> None:
    over = factories.planned()
    tournaments.cancel(over, now=NOW)
    going = factories.planned(board="other")
    address = f"/admin/matches/tournament/ask/pause/?pk={over.pk}&pk={going.pk}&pk=99999&pk=x"
    page = admin_client.get(address).content.decode()
    assert "it is cancelled already" in page
    assert "2 of the chosen are not there any more" in page
    admin_client.post(address, _form(page))
    assert (_fresh(over).state, _fresh(going).state) == ("cancelled", "paused")


def test_a_refusal_of_the_service_is_a_message_and_loses_nothing(
    admin_client: Client, broker: Redis
) -> None:
    board = _board()
    case = next(case for case in CASES if case.act == "freeze")
    first = _form(admin_client.get(case.ask(board)).content.decode()) | {"name": "spring"}
    admin_client.post(case.ask(board), first)
    second = _form(admin_client.get(case.ask(board)).content.decode())
    given = {**second, "name": "spring", "reason": "kept text"}
    answer = admin_client.post(case.ask(board), given)
    text = answer.content.decode()
    assert "has a season &#x27;spring&#x27; already" in text
    assert 'value="kept text"' in text
    again = admin_client.post(case.ask(board), {**given, "name": "summer"})
    assert again.status_code == 302
    assert set(Season.objects.values_list("name", flat=True)) == {"spring", "summer"}


def test_a_conflict_is_a_message(
    admin_client: Client, broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = _board()
    Leaderboard.objects.filter(pk=board.pk).update(n_settled=1)
    case = next(case for case in CASES if case.act == "freeze")
    form = _form(admin_client.get(case.ask(board)).content.decode()) | {"name": "spring"}
    answer = admin_client.post(case.ask(board), form)
    assert "are being computed" in answer.content.decode()
    assert not Season.objects.exists()


def test_one_row_that_is_refused_does_not_stop_the_others(
    admin_client: Client, broker: Redis
) -> None:
    small, large = factories.planned(), factories.planned(60, board="other")
    address = f"/admin/matches/tournament/ask/extend/?pk={small.pk}&pk={large.pk}"
    form = _form(admin_client.get(address).content.decode()) | {"n_matches": 30}
    answer = admin_client.post(address, form, follow=True)
    assert "it has 60 matches" in answer.content.decode()
    assert (_fresh(small).n_matches, _fresh(large).n_matches) == (30, 60)
    assert list(AuditRow.objects.values_list("target_id", flat=True)) == [small.pk]


def test_too_many_rows_are_refused_by_a_message(
    admin_client: Client, broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("matches.admin.acts.asking.MAX_CHOSEN", 1)
    rows = [factories.planned(board=name) for name in ("one", "two")]
    form = {"action": "pause", "_selected_action": [row.pk for row in rows]}
    answer = admin_client.post("/admin/matches/tournament/", form, follow=True)
    assert "Pause takes 1 tournament at a time" in answer.content.decode()


def test_an_act_that_is_not_there_is_not_found(admin_client: Client) -> None:
    assert admin_client.get("/admin/matches/tournament/ask/explode/?pk=1").status_code == 404


@pytest.mark.parametrize("name", ["tournament", "agent", "worker", "match"])
def test_the_page_of_a_row_says_why_it_stands_there(
    admin_client: Client, broker: Redis, name: str
) -> None:
    rows: dict[str, Callable[[], Model]] = {
        "tournament": _paused,
        "agent": _agent,
        "worker": _worker,
        "match": _done_match,
    }
    row = rows[name]()
    page = admin_client.get(f"/admin/matches/{name}/{row.pk}/change/").content.decode()
    assert 'class="ev-summary"' in page


def test_consequences_and_questions_are_said(admin_client: Client, broker: Redis) -> None:
    pages = [page for page in admin.site._registry.values() if isinstance(page, OffersActs)]
    acts: list[Act[Any]] = [act for page in pages for act in page.acts]
    for act in acts:
        assert act.question.endswith("?")
        undo = ("undo", "again", "cannot be", "stay", "goes on")
        assert any(word in act.consequence for word in undo), act.name


def test_outcomes_stay_whatever_is_done_to_their_match(admin_client: Client, broker: Redis) -> None:
    match = _done_match()
    before = Outcome.objects.filter(pk=match.pk).values().get()
    case = next(case for case in CASES if case.act == "void")
    form = _form(admin_client.get(case.ask(match)).content.decode()) | REASON
    admin_client.post(case.ask(match), form)
    assert Outcome.objects.filter(pk=match.pk).values().get() == before
