"""An option of a tournament or a campaign is one field of its plan, and everybody offers it."""

from argparse import ArgumentParser
from types import ModuleType
from typing import Annotated, Any

import pytest
from django.contrib.admin import site
from django.contrib.auth.models import User
from django.db.models import PositiveSmallIntegerField
from django.test import RequestFactory
from msgspec import Meta, Struct

from evalsite.management.commands.write_client_api import write_modules
from evalsite_client.cli import flags
from matches.admin.campaigns import StartForm
from matches.admin.options import add_options
from matches.admin.schedules import ScheduleForm as WhenForm
from matches.admin.tournaments import ScheduleForm
from matches.api.campaigns import CampaignQuestionSerializer, NewCampaignSerializer
from matches.api.schedules import NewScheduleSerializer
from matches.api.tournaments import NewTournamentSerializer
from matches.management.clientfiles import write_source
from matches.models import Campaign, Schedule, Tournament
from matches.options import options_of
from matches.plans import CampaignPlan, TournamentPlan, schedule_options

LIMIT = Annotated[int, Meta(ge=2, le=9)]
NEW = Meta(title="Cups of tea", description="How many cups of tea there are.")


class WiderTournament(TournamentPlan, frozen=True, kw_only=True):
    """One with an option more."""

    n_cups: Annotated[LIMIT | None, NEW] = None


class WiderCampaign(CampaignPlan, frozen=True, kw_only=True):
    """One with the same option more."""

    n_cups: Annotated[LIMIT | None, NEW] = None


OF_TOURNAMENT = options_of(WiderTournament)
OF_CAMPAIGN = options_of(WiderCampaign)
OF_SCHEDULE = schedule_options(WiderTournament, WiderCampaign)


@pytest.fixture
def wider(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the API take the option, as if it were one of ours."""
    monkeypatch.setattr(NewTournamentSerializer, "options", OF_TOURNAMENT)
    monkeypatch.setattr(NewCampaignSerializer, "options", OF_CAMPAIGN)
    monkeypatch.setattr(NewScheduleSerializer, "options", OF_SCHEDULE)


def test_the_api_takes_it(wider: None) -> None:
    for form in (NewTournamentSerializer, NewCampaignSerializer, NewScheduleSerializer):
        field = form().fields["n_cups"]
        assert (field.help_text, field.allow_null, field.required) == (NEW.description, True, False)
        assert field.run_validation(3) == 3
    assert "n_cups" not in CampaignQuestionSerializer().fields


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("form", "options", "model"),
    [
        (ScheduleForm, OF_TOURNAMENT, Tournament),
        (StartForm, OF_CAMPAIGN, Campaign),
        (WhenForm, OF_SCHEDULE, Schedule),
    ],
)
def test_the_admin_asks_for_it(
    form: Any,
    options: Any,
    model: Any,
    rf: RequestFactory,
    admin_user: User,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    field = add_options(form, options)().fields["n_cups"]
    assert (field.label, field.help_text) == (NEW.title, NEW.description)
    with pytest.raises(Exception, match="greater than or equal to 2"):
        field.clean("1")
    page = site._registry[model]
    monkeypatch.setattr(type(page), "options", options)
    (request := rf.get("/")).user = admin_user
    assert "n_cups" in page.get_form(request).base_fields


def test_the_command_line_has_a_flag_for_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(write_source(WiderTournament, WiderCampaign), (made := ModuleType("options")).__dict__)
    written = {"tournament": made.TOURNAMENT, "campaign": made.CAMPAIGN, "schedule": made.SCHEDULE}
    monkeypatch.setattr(flags, "PLANS", written)
    for plan in written:
        flags.add_plan_flags(parser := ArgumentParser(), plan)
        needed = ["--name", "a", "-n", "2"] if plan == "tournament" else []
        needed = ["--max-matches", "2"] if plan == "campaign" else needed
        values = flags.plan_from_flags(parser.parse_args([*needed, "--n-cups", "3"]), plan)
        assert values["n_cups"] == 3
        with pytest.raises(SystemExit):
            parser.parse_args([*needed, "--n-cups", "10"])
        assert "argument --n-cups: must be 2..9, got 10" in capsys.readouterr().err


def test_the_calls_of_the_client_take_it(wider: None) -> None:
    modules = write_modules()
    for noun in ("tournaments", "campaigns", "schedules"):
        assert "n_cups: int | None = None" in modules[noun]
        assert f"n_cups: {NEW.description}" in modules[noun]


COLUMNS = [
    (model, option)
    for plan, model in ((TournamentPlan, Tournament), (CampaignPlan, Campaign))
    for option in options_of(plan)
    if any(field.name == option.name for field in model._meta.get_fields())
]


@pytest.mark.parametrize(("model", "option"), COLUMNS)
def test_a_column_takes_what_the_plan_takes(model: Any, option: Any) -> None:
    """The database checks the same limits: who gets past a form meets the same words."""
    column = model._meta.get_field(option.name)
    limits = {
        type(v).__name__: v.limit_value for v in column.validators if hasattr(v, "limit_value")
    }
    if option.minimum is not None and "MinValueValidator" in limits:
        assert limits["MinValueValidator"] <= option.minimum
    if option.maximum is not None and "MaxValueValidator" in limits:
        assert limits["MaxValueValidator"] >= option.maximum
    if isinstance(column, PositiveSmallIntegerField) and option.maximum is not None:
        assert option.maximum <= 32_767  # of PostgreSQL; SQLite sets no limit
    if option.kind == "text":
        assert column.max_length == option.max_length


def test_a_plan_is_a_struct_whose_other_fields_are_no_options() -> None:
    names = {option.name for option in options_of(TournamentPlan)}
    assert issubclass(TournamentPlan, Struct)
    assert set(TournamentPlan.__struct_fields__) - names == {"key"}
