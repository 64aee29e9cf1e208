"""Schedules: each time that is due starts what it shall once, however often that is said."""

import json
from datetime import datetime
from threading import Barrier, Thread
from typing import Any

import pytest
from django.db import IntegrityError, connection
from django.db.transaction import atomic
from django_celery_beat.models import ClockedSchedule, CrontabSchedule, PeriodicTask
from redis import Redis

from matches import dispatch, tasks
from matches.artifacts.agents import register_spelled_agent, retire_agent
from matches.campaigns import overdue_schedules, scheduling
from matches.errors import BadInputError, ConflictError
from matches.ledger import planning, quarantine
from matches.ledger.tournaments import cancel_tournament, enter_agents
from matches.models import (
    Agent,
    AuditRow,
    Schedule,
    ScheduleRun,
    Tournament,
)
from matches.operations.explanations import schedule as schedules
from matches.tests import factories as make
from matches.tests.schedules import (
    ANNA,
    HOUR,
    explain_schedule,
    open_hourly_board,
    register_levels,
    save_hourly,
    start_due,
)

pytestmark = pytest.mark.django_db


def test_beat_is_told_in_the_same_transaction(db: None) -> None:
    schedule = save_hourly(timezone="Europe/Berlin")
    task = PeriodicTask.objects.get(pk=schedule.periodic_task_id)
    assert (task.task, task.queue) == (dispatch.SCHEDULE_TOURNAMENT, dispatch.CONTROL_QUEUE)
    assert (json.loads(task.args), task.enabled, task.one_off) == ([schedule.pk], True, False)
    assert task.crontab is not None
    assert (task.crontab.minute, task.crontab.hour) == ("0", "*")
    assert str(task.crontab.timezone) == "Europe/Berlin"


def test_what_was_due_and_has_no_run_is_started_by_the_tick_once(broker: Redis) -> None:
    once = save_hourly(name="once", crontab="", once_at=make.NOW)
    hourly = save_hourly(name="hourly")
    for seconds, n_started in ((-1, 0), (3, 0), (6, 2), (7, 0), (HOUR + 4, 0), (HOUR + 6, 1)):
        assert overdue_schedules.start_overdue(now=make.later(seconds)) == n_started
        Tournament.objects.update(state="done")
    # Beat's message, late or doubled, finds nothing to do.
    assert start_due(once) is None
    assert start_due(hourly, hours=1) is None
    assert sorted(Tournament.objects.values_list("name", flat=True)) == [
        "hourly 2026-01-01 12:00",
        "hourly 2026-01-01 13:00",
        "once 2026-01-01 12:00",
    ]


def test_the_tick_makes_up_for_no_time_before_a_schedule_was_enabled(broker: Redis) -> None:
    schedule = save_hourly()
    scheduling.switch_schedule(schedule, is_enabled=False, actor=ANNA, now=make.later(-60))
    scheduling.switch_schedule(schedule, is_enabled=True, actor=ANNA, now=make.later(60))
    assert overdue_schedules.start_overdue(now=make.later(70)) == 0
    assert overdue_schedules.start_overdue(now=make.later(HOUR + 10)) == 1


def test_one_schedule_that_fails_keeps_no_other_from_being_started(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, _ = save_hourly(name="broken"), save_hourly(name="sound")
    start_due = scheduling.start_due

    def fail(schedule_id: int, *, now: datetime) -> object:
        if schedule_id == broken.pk:
            raise ConflictError("in a moment")
        return start_due(schedule_id, now=now)

    monkeypatch.setattr(scheduling, "start_due", fail)
    with pytest.raises(ConflictError):
        overdue_schedules.start_overdue(now=make.later(10))
    assert [row.name for row in Tournament.objects.all()] == ["sound 2026-01-01 12:00"]


def test_a_time_that_is_due_has_its_tournament(broker: Redis) -> None:
    schedule = save_hourly(move_s=1.5)
    tournament = start_due(schedule)
    assert tournament is not None
    assert (tournament.name, tournament.n_matches) == ("hourly 2026-01-01 12:00", 6)
    assert (tournament.seed, tournament.move_s, tournament.state) == (0, 1.5, "scheduled")
    assert list(tournament.agents.order_by("pk")) == register_levels()
    schedule.refresh_from_db()
    assert (schedule.last_tournament, schedule.n_started) == (tournament, 1)
    assert planning.plan_scheduled(now=make.NOW) == 6


def test_a_time_that_is_told_twice_has_one_tournament(broker: Redis) -> None:
    schedule = save_hourly()
    assert start_due(schedule) is not None
    assert scheduling.start_due(schedule.pk, now=make.later(300)) is None
    assert Tournament.objects.count() == 1
    assert ScheduleRun.objects.get().due_at == make.NOW


@pytest.mark.django_db(transaction=True)
def test_two_that_come_at_once_make_one_tournament(broker: Redis) -> None:
    schedule = save_hourly()
    barrier = Barrier(2)

    def work() -> None:
        try:
            barrier.wait()
            start_due(schedule)
        finally:
            connection.close()

    threads = [Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (Tournament.objects.count(), ScheduleRun.objects.count()) == (1, 1)


def test_of_two_that_are_saved_at_once_with_one_name_the_second_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    save_hourly()
    # As if the other one had been saved after this one looked for its name.
    monkeypatch.setattr(Schedule, "validate_unique", lambda *_, **__: None)
    with pytest.raises(BadInputError, match="there is a schedule 'hourly' already"), atomic():
        save_hourly()
    assert Schedule.objects.count() == 1


def test_another_rule_of_the_database_is_not_taken_for_a_name_that_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scheduling, "_check_schedule", lambda *_, **__: None)
    with pytest.raises(IntegrityError, match="schedule_has_one_time"), atomic():
        save_hourly(crontab="")


def test_the_next_tournament_has_other_games(broker: Redis) -> None:
    schedule = save_hourly(seed=7)
    for hours in (0, 1):
        tournament = start_due(schedule, hours=hours)
        assert tournament is not None
        assert tournament.seed == 7 + hours
        cancel_tournament(tournament, now=make.NOW)


def test_a_time_is_passed_over_while_the_tournament_before_is_not_over(broker: Redis) -> None:
    schedule = save_hourly()
    first = start_due(schedule)
    assert first is not None
    assert start_due(schedule, hours=1) is None
    schedule.refresh_from_db()
    problem = f"tournament: the one before, {first.pk}, is still scheduled"
    assert (schedule.problem, schedule.n_skipped) == (problem, 1)
    assert ScheduleRun.objects.latest("due_at").problem == problem
    assert AuditRow.objects.filter(action="schedule.skip").exists()
    cancel_tournament(first, now=make.NOW)
    assert start_due(schedule, hours=2) is not None
    schedule.refresh_from_db()
    assert schedule.problem == ""


def test_without_agents_all_of_the_board_take_part(broker: Redis) -> None:
    agents = [*register_levels(), register_spelled_agent("level:70", game="skill_game")]
    enter_agents(open_hourly_board(), agents)
    schedule = save_hourly(agents=[])
    retire_agent(agents[0])
    quarantine.quarantine_agent(agents[1], actor=ANNA, reason="it stalls", now=make.NOW)
    tournament = start_due(schedule)
    assert tournament is not None
    assert list(tournament.agents.order_by("pk")) == agents[2:]


def test_too_few_agents_are_a_reason_to_pass_over(broker: Redis) -> None:
    schedule = save_hourly(agents=[])
    assert start_due(schedule) is None
    schedule.refresh_from_db()
    assert "needs 2 agents or more" in schedule.problem


def test_a_chosen_agent_in_quarantine_is_a_reason_to_pass_over(broker: Redis) -> None:
    schedule = save_hourly()
    quarantine.quarantine_agent(register_levels()[0], actor=ANNA, reason="it stalls", now=make.NOW)
    assert start_due(schedule) is None
    schedule.refresh_from_db()
    assert "'level:10' is in quarantine" in schedule.problem


def test_a_single_time_is_due_once(broker: Redis) -> None:
    schedule = save_hourly(crontab="", once_at=make.NOW)
    task = PeriodicTask.objects.get(pk=schedule.periodic_task_id)
    assert task.one_off
    assert task.clocked is not None
    assert task.clocked.clocked_time == make.NOW
    assert scheduling.next_due(schedule, now=make.later(-9)) == make.NOW
    assert scheduling.start_due(schedule.pk, now=make.later(-9)) is None
    assert start_due(schedule) is not None
    schedule.refresh_from_db()
    assert not schedule.is_enabled
    assert scheduling.next_due(schedule, now=make.later(9)) is None


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        ({"crontab": "61 * * * *"}, "crontab: .*30 4"),
        ({"crontab": ""}, "crontab: give a crontab, or once_at"),
        ({"once_at": make.later(99)}, "crontab: give a crontab, or once_at"),
        ({"crontab": "", "once_at": make.later(-HOUR)}, "once_at: 2026-01-01 11:00 UTC is over"),
        ({"timezone": "Mars"}, "timezone: 'Mars' is not known"),
        ({"n_matches": 0}, "n_matches: "),
        ({"pairing": "lottery"}, "pairing: "),
        ({"trajectory_days": 3}, "trajectory_days: no trajectories are kept"),
        ({"name": ""}, "name: "),
        ({"seed": -1}, "seed: "),
        ({"max_money": 5.0}, "max_money: it belongs to a question: name one, or leave it out"),
        ({"margin": 1.0}, "margin: it belongs to a question"),
        ({"parameters": {"k": 2}}, "parameters: it belongs to a question"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_nothing(options: Any, refusal: str, db: None) -> None:
    with pytest.raises(BadInputError, match=refusal):
        save_hourly(**options)
    assert not Schedule.objects.exists()
    assert not PeriodicTask.objects.filter(task=dispatch.SCHEDULE_TOURNAMENT).exists()


def test_agents_of_another_game_are_refused(db: None) -> None:
    others = [register_spelled_agent(text, game="chess") for text in ("random", "random")]
    with pytest.raises(BadInputError, match="plays chess"):
        save_hourly(agents=[*register_levels(), *others[:1]])


def test_a_change_reaches_beat(db: None) -> None:
    schedule = save_hourly()
    schedule.crontab = "15 3 * * *"
    scheduling.save_schedule(schedule, agents=register_levels()[:2], actor=ANNA, now=make.NOW)
    task = PeriodicTask.objects.get(pk=schedule.periodic_task_id)
    assert task.crontab is not None
    assert (task.crontab.minute, task.crontab.hour) == ("15", "3")
    assert schedule.agents.count() == 2
    assert not CrontabSchedule.objects.filter(minute="0", hour="*").exists()
    schedule.crontab, schedule.once_at = "", make.later(60)
    scheduling.save_schedule(schedule, agents=[], actor=ANNA, now=make.NOW)
    task.refresh_from_db()
    assert (task.crontab, task.clocked, task.one_off) == (None, ClockedSchedule.objects.get(), True)
    actions = list(AuditRow.objects.order_by("pk").values_list("action", flat=True))
    assert actions == ["schedule.add", "schedule.change", "schedule.change"]


def test_a_disabled_schedule_starts_nothing(broker: Redis) -> None:
    schedule = save_hourly()
    for _ in range(2):
        scheduling.switch_schedule(schedule, is_enabled=False, actor=ANNA, now=make.NOW)
    assert not PeriodicTask.objects.get(pk=schedule.periodic_task_id).enabled
    assert scheduling.next_due(schedule, now=make.NOW) is None
    assert start_due(schedule) is None
    assert scheduling.switch_schedule(schedule, is_enabled=True, actor=ANNA, now=make.NOW)
    assert start_due(schedule, hours=1) is not None
    actions = list(AuditRow.objects.order_by("pk").values_list("action", flat=True))
    assert actions == ["schedule.add", "schedule.disable", "schedule.enable", "schedule.start"]


def test_a_time_that_is_over_is_not_enabled_again(broker: Redis) -> None:
    schedule = save_hourly(crontab="", once_at=make.NOW)
    start_due(schedule)
    with pytest.raises(BadInputError, match="is over"):
        scheduling.switch_schedule(schedule, is_enabled=True, actor=ANNA, now=make.later(60))


def test_nothing_is_due_that_was_due_before_the_schedule_was_made(broker: Redis) -> None:
    schedule = save_hourly()
    assert scheduling.start_due(schedule.pk, now=make.later(-HOUR / 3)) is None
    assert scheduling.start_due(77, now=make.NOW) is None


def test_a_schedule_that_is_deleted_leaves_its_tournaments(broker: Redis) -> None:
    schedule = save_hourly()
    start_due(schedule)
    scheduling.delete_schedule(schedule, actor=ANNA, reason="the season is over", now=make.NOW)
    assert Tournament.objects.count() == 1
    left = (Schedule.objects, ScheduleRun.objects, CrontabSchedule.objects.filter(hour="*"))
    assert not any(rows.filter(minute="0").exists() for rows in left[2:])
    assert not any(rows.exists() for rows in left[:2])
    assert not PeriodicTask.objects.filter(task=dispatch.SCHEDULE_TOURNAMENT).exists()
    assert AuditRow.objects.latest("pk").action == "schedule.delete"


def test_the_task_does_it_and_names_the_tournament(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule = save_hourly()
    monkeypatch.setattr(tasks, "db_now", lambda: make.later(2))
    assert tasks.schedule_tournament(schedule.pk) == Tournament.objects.get().pk
    assert tasks.schedule_tournament(schedule.pk) is None


def test_a_schedule_says_what_it_waits_for(broker: Redis) -> None:
    schedule = save_hourly()
    before = explain_schedule(schedule, make.later(-60))
    assert before.next_at == make.NOW
    assert "its time: 2026-01-01 12:00 UTC" in before.waits_for
    first = start_due(schedule)
    assert first is not None
    start_due(schedule, hours=1)
    after = explain_schedule(schedule, make.later(HOUR + 60))
    assert f"tournament {first.pk} to end: it is scheduled" in after.waits_for
    assert "passed over" in after.summary
    assert after.notes == ("1 tournament started, 1 time passed over",)
    scheduling.switch_schedule(schedule, is_enabled=False, actor=ANNA, now=make.NOW)
    disabled = explain_schedule(schedule, make.NOW)
    assert (disabled.state, disabled.waits_for) == ("disabled", ("somebody to enable it",))


def test_a_schedule_says_what_to_do_about_agents_that_may_not_play(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule = save_hourly()
    first, second, third = schedule.agents.order_by("pk")
    Agent.objects.filter(pk=second.pk).update(is_retired=True, newer=third)
    Agent.objects.filter(pk=first.pk).update(quarantined_at=make.NOW, quarantine_reason="loud")
    explained = explain_schedule(schedule, make.later(-60))
    assert explained.waits_for[:2] == (
        f"agent {second} to be unretired, or {third}, its newer version, to be named in its place",
        f"agent {first} to be released: in quarantine, loud",
    )
    assert explained.next == "control passes it over, as long as its agents cannot play"
    Agent.objects.update(is_retired=True)
    monkeypatch.setattr(schedules, "MAX_NAMED", 1)
    explained = explain_schedule(schedule, make.later(-60))
    assert explained.waits_for[:2] == (
        f"agent {first} to be unretired, or another agent to be named in its place",
        "2 more agents to be unretired or replaced",
    )


def test_a_single_time_that_is_over_waits_for_nothing(broker: Redis) -> None:
    schedule = save_hourly(crontab="", once_at=make.NOW)
    start_due(schedule)
    assert explain_schedule(schedule, make.later(60)).waits_for == ()
