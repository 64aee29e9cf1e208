"""The admin's pages of runs and releases: each act asks, is done once, and leaves an audit row."""

from dataclasses import dataclass

import pytest
from django.contrib import admin
from django.db.models import Model
from django.test import Client
from redis import Redis

from experience.models import Release, TrainingRun
from experience.tests import made
from matches.admin.offering import OffersActs
from matches.models import AuditRow
from matches.tests.admin_acts import REASON, form_on

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Case:
    """An act, on a row in some state."""

    model: type[Model]
    act: str
    before: str
    after: str
    audited_as: str

    def make_row(self) -> Model:
        """Return the row; of a run that goes on."""
        run = made.begun()
        if self.model is TrainingRun:
            TrainingRun.objects.update(state=self.before)
            return run
        return made.published(run, 1, self.before)

    def address(self, row: Model) -> str:
        """Return where it is asked about."""
        name = self.model._meta.model_name
        return f"/admin/experience/{name}/ask/{self.act}/?pk={row.pk}&from=row"


CASES = (
    Case(TrainingRun, "stop", "running", "stopped", "training_run.stop"),
    Case(TrainingRun, "resume", "failed", "running", "training_run.resume"),
    Case(Release, "retire", "released", "retired", "release.retire"),
    Case(Release, "release", "held", "released", "release.release"),
)


def test_every_act_has_a_case_here() -> None:
    pages = [page for page in admin.site._registry.values() if isinstance(page, OffersActs)]
    own = [page for page in pages if page.opts.app_label == "experience"]
    acts = {(page.model, act.name) for page in own for act in page.acts}
    assert acts == {(case.model, case.act) for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.act)
def test_an_act_is_offered_asked_about_and_done_once(
    admin_client: Client, stream_server: Redis, case: Case
) -> None:
    row = case.make_row()
    page = admin_client.get(f"/admin/experience/{case.model._meta.model_name}/{row.pk}/change/")
    assert f"ask/{case.act}/" in page.content.decode()
    form = form_on(admin_client.get(case.address(row)).content.decode()) | REASON
    for _ in range(2):
        assert admin_client.post(case.address(row), form).status_code == 302
    assert case.model._default_manager.get().state == case.after  # type: ignore[attr-defined]
    assert AuditRow.objects.filter(action=case.audited_as).count() == 1
    again = admin_client.get(case.address(row)).content.decode()
    assert f"it is {case.after}" in again


def test_the_secret_of_a_run_is_on_no_page(admin_client: Client, stream_server: Redis) -> None:
    run = made.begun()
    for address in ("", f"{run.pk}/change/", f"{run.pk}/history/"):
        page = admin_client.get(f"/admin/experience/trainingrun/{address}")
        assert page.status_code == 200
        assert run.token not in page.content.decode()
