"""Every act of operators with the row that it is tried on."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from django.contrib.auth.models import User
from django.db.models import Model

from matches.access import tokens
from matches.campaigns import scheduling
from matches.campaigns.starting import start_campaign
from matches.ledger import quarantine, server_voiding, tournaments, voiding
from matches.models import (
    Agent,
    Alarm,
    Attempt,
    AuditRow,
    Campaign,
    Leaderboard,
    Match,
    NodeKey,
    Outcome,
    Replacement,
    Schedule,
    Scope,
    Season,
    TokenAccess,
    Tournament,
    Worker,
)
from matches.nodes import node_keys
from matches.plans import CampaignPlan
from matches.store.auditing import CONTROL
from matches.tests import boards, factories
from matches.tests.factories import NOW
from matches.tests.imported import imported_batch


class Case(NamedTuple):
    """An act, the row it is tried on, what is entered, what it says, and what has changed then."""

    model: str
    act: str
    row: Callable[[], Model]
    fields: dict[str, Any]
    says: str
    is_done: Callable[[Model], bool]
    # Of the audit row, where that is about other rows than the one that was asked about.
    audited_as: str = ""

    def ask(self, row: Model) -> str:
        """Return the address that asks about a row."""
        return f"/admin/matches/{self.model}/ask/{self.act}/?pk={row.pk}"


def on_hold() -> Tournament:
    tournament = factories.planned()
    tournaments.pause_tournament(tournament)
    return tournament


def an_agent(**changes: Any) -> Agent:
    factories.planned()
    Agent.objects.filter(name="level:10").update(**changes)
    return Agent.objects.get(name="level:10")


def _held_agent() -> Agent:
    agent = an_agent()
    quarantine.quarantine_agent(agent, actor=CONTROL, reason="odd", now=NOW)
    return agent


def a_worker() -> Worker:
    tournament = factories.planned()
    factories.alive()
    factories.start(factories.ordered(tournament, 7))
    return Worker.objects.get()


def _held_worker() -> Worker:
    worker = a_worker()
    quarantine.quarantine_worker(worker, actor=CONTROL, reason="odd", now=NOW)
    return worker


def _held_server() -> Worker:
    """Return a game server in quarantine that has decided a match."""
    match = done_match()
    factories.serve()
    server = Worker.objects.get(capabilities=["server"])
    number = Outcome.objects.get(match=match).attempt
    Attempt.objects.update_or_create(
        match=match,
        number=number,
        defaults={"ending": "done", "server": server.node, "ended_at": NOW},
    )
    quarantine.quarantine_worker(server, actor=CONTROL, reason="odd", now=NOW)
    return server


def a_node_key() -> NodeKey:
    return node_keys.add_node("node-7", actor=CONTROL, now=NOW)


def _revoked_key() -> NodeKey:
    a_node_key()
    return node_keys.revoke_node("node-7", actor=CONTROL, now=NOW)


def done_match() -> Match:
    boards.played_board(n_matches=42)
    return Match.objects.earliest("pk")


def _void_match() -> Match:
    match = done_match()
    voiding.void_matches([match.pk], actor=CONTROL, reason="odd", now=NOW)
    return Match.objects.get(pk=match.pk)


def a_board() -> Leaderboard:
    return boards.played_board(n_matches=42).leaderboard


def _schedule(*, is_enabled: bool = True) -> Schedule:
    board = factories.planned().leaderboard
    schedule = Schedule(
        name="weekly", leaderboard=board, crontab="30 4 * * 1", n_matches=12, is_enabled=is_enabled
    )
    return scheduling.save_schedule(schedule, agents=[], actor=CONTROL, now=NOW)


def _token() -> TokenAccess:
    user = User.objects.create_user("owner")
    return tokens.issue_token(user, name="laptop", scopes=[Scope.READ], days=3)[0]


def campaign_under_way() -> Campaign:
    tournament = factories.planned()
    agents = list(tournament.agents.order_by("pk"))
    return start_campaign(
        CampaignPlan(name="which", question="best", max_matches=400),
        leaderboard=tournament.leaderboard,
        agents=agents,
    )


def an_alarm() -> Alarm:
    campaign = campaign_under_way()
    worse, better = campaign.tournament.agents.order_by("pk")[:2]
    return Alarm.objects.create(
        agent=worse, ancestor=better, campaign=campaign,
        probability=0.97, margin=1.0, level=0.95, at=NOW,
    )  # fmt: skip


def fresh(row: Any) -> Any:
    return type(row).objects.get(pk=row.pk)


def _state(state: str) -> Callable[[Model], bool]:
    return lambda row: bool(fresh(row).state == state)


REASON = {"reason": "it looks odd"}
CASES = (
    Case("tournament", "pause", factories.planned, {}, "12 matches", _state("paused")),
    Case(
        "tournament",
        "resume",
        on_hold,
        {},
        "goes on with 12 matches",
        _state("running"),
    ),
    Case(
        "tournament", "cancel", factories.planned, REASON, "12 matches of 12", _state("cancelled")
    ),
    Case(
        *("tournament", "extend", factories.planned, {"n_matches": 30}, "has 12 matches now"),
        lambda row: fresh(row).n_matches == 30,
    ),
    Case("agent", "retire", an_agent, {}, "plays in test", lambda row: fresh(row).is_retired),
    Case(
        *("agent", "unretire", lambda: an_agent(is_retired=True), {}, "on 1 leaderboard"),
        lambda row: not fresh(row).is_retired,
    ),
    Case(
        *("agent", "quarantine", an_agent, REASON, "plays in test"),
        lambda row: fresh(row).quarantine_reason == "it looks odd",
    ),
    Case(
        *("agent", "release", _held_agent, REASON, "put there"),
        lambda row: fresh(row).quarantined_at is None,
    ),
    Case(
        *("worker", "quarantine", a_worker, REASON, "1 order of 7 matches in hand"),
        lambda row: fresh(row).quarantined_at is not None,
    ),
    Case(
        *("worker", "release", _held_worker, REASON, "put there"),
        lambda row: fresh(row).quarantined_at is None,
    ),
    Case(
        *("worker", "void", _held_server, REASON, "count no more"),
        lambda row: not server_voiding.count_matches(fresh(row).node),
        audited_as="match.void",
    ),
    Case(
        *("nodekey", "revoke", a_node_key, REASON, "may play since"),
        lambda row: fresh(row).revoked_at is not None,
    ),
    Case(
        *("nodekey", "admit", _revoked_key, {}, "revoked 20"),
        lambda row: fresh(row).revoked_at is None and fresh(row).generation == 2,
    ),
    Case("match", "void", done_match, REASON, "its outcome counts no more", _state("void")),
    Case(
        *("match", "requeue", _void_match, REASON, "void: operator"),
        lambda row: Replacement.objects.filter(replaced=row.pk).exists(),
    ),
    Case(
        *("importbatch", "strike", imported_batch, REASON, "3 results of games.csv count no more"),
        lambda row: fresh(row).struck_at is not None,
    ),
    Case(
        *("leaderboard", "rerate", a_board, REASON, "42 outcomes of 7 agents"),
        lambda row: fresh(row).is_rerating,
    ),
    Case(
        *("leaderboard", "freeze", a_board, {"name": "spring"}, "7 agents, 42 outcomes"),
        lambda _: Season.objects.filter(name="spring", n_agents=7).exists(),
    ),
    Case(
        *(
            "leaderboard",
            "begin",
            a_board,
            {"name": "summer", "mode": "reset"},
            "no season: 7 agents",
        ),
        lambda row: (fresh(row).n_counted, fresh(row).season_name) == (0, "summer"),
    ),
    Case(
        *("schedule", "start", _schedule, {}, "30 4 * * 1 (UTC): 12 matches"),
        lambda row: fresh(row).n_started == 1,
    ),
    Case(
        *("schedule", "disable", _schedule, {}, "30 4 * * 1 (UTC): 12 matches"),
        lambda row: not fresh(row).is_enabled,
    ),
    Case(
        *("schedule", "enable", lambda: _schedule(is_enabled=False), {}, "12 matches"),
        lambda row: fresh(row).is_enabled,
    ),
    Case(
        *("schedule", "delete", _schedule, {}, "started 0 tournaments"),
        lambda row: not Schedule.objects.filter(pk=row.pk).exists(),
    ),
    Case(
        *("campaign", "stop", campaign_under_way, REASON, "0 matches of at most 400"),
        lambda row: fresh(row).decided_at is not None,
    ),
    Case(
        *("alarm", "acknowledge", an_alarm, REASON, "raised 2026-01-01 12:00 UTC by which"),
        lambda row: fresh(row).acknowledged_at is not None,
    ),
    Case(
        *("tokenaccess", "revoke", _token, REASON, "of owner, for read"),
        lambda row: not TokenAccess.objects.filter(pk=row.pk).exists(),
    ),
)
every_act = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.model}.{case.act}")


def form_on(page: str) -> dict[str, Any]:
    """Return the hidden fields of the page that asks, and its confirmation."""
    hidden_fields = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page)
    form: dict[str, Any] = {"confirmed": "yes"}
    for name, value in hidden_fields:
        form.setdefault(name, []).append(value)
    return form


def new_rows(before: int) -> list[str]:
    return list(AuditRow.objects.filter(pk__gt=before).values_list("action", flat=True))


def last_audit() -> int:
    newest = AuditRow.objects.first()
    return newest.pk if newest else 0
