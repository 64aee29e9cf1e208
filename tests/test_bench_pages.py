"""The benchmark of pages: it knows every page, fills a database and measures it, in small."""

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.urls import get_resolver, include, path

from benchmarks import pages
from benchmarks.field import addresses, examples, people
from benchmarks.field.addresses import ForgottenError
from benchmarks.field.drawn import draw_matches
from benchmarks.field.measuring import find_p95
from evalsite.health import healthz


class _Anything(defaultdict[str, str]):
    def __missing__(self, key: str) -> str:
        return "1"


@pytest.mark.django_db
def test_every_page_and_list_has_an_example() -> None:
    User.objects.create_superuser(people.ADMIN, password=None)
    all_addresses = addresses.find_addresses(_Anything())
    paths = {address.path for address in all_addresses}
    for page in ("/", "/system/", "/admin/", "/api/docs/", "/api/v1/workers/1/explanation/"):
        assert page in paths
    assert any(path.startswith("/admin/matches/worker/?o=") for path in paths)
    assert all(f"sort={sort}" in str(paths) for sort in ("-trend", "forfeits"))


def test_a_new_page_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    new = path("below/", include([path("new/", healthz, name="brand-new")]))
    monkeypatch.setattr(get_resolver(), "url_patterns", [new], raising=False)
    with pytest.raises(ForgottenError, match="brand-new"):
        addresses.find_pages()


def test_a_new_filter_and_a_new_list_of_the_api_are_not_forgotten() -> None:
    name = {"name": "colour", "in": "query"}
    with pytest.raises(ForgottenError, match="colour"):
        list(addresses.find_queries("/api/v1/agents/", [name]))
    with pytest.raises(ForgottenError, match="IN_PATH for /api/v1/new/"):
        list(addresses.find_queries("/api/v1/new/{id}/", [{"name": "id", "in": "path"}]))


def test_a_list_is_asked_for_its_largest_page_first_and_last() -> None:
    size, cursor = ({"name": name, "in": "query"} for name in ("page_size", "cursor"))
    assert list(addresses.find_queries("/api/v1/tokens/", [size, cursor])) == [
        "/api/v1/tokens/?page_size=100000",
        "/api/v1/tokens/?page_size=100000&cursor={deep_id}",
    ]


@pytest.mark.django_db
def test_a_page_that_a_model_has_besides_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    User.objects.create_superuser(people.ADMIN, password=None)
    monkeypatch.delitem(examples.ADMIN_EXTRAS, "matches_schedule_echo")
    with pytest.raises(ForgottenError, match="matches_schedule_echo"):
        list(addresses.find_admin_pages())


def test_one_agent_is_in_a_tenth_of_the_matches() -> None:
    drawn = draw_matches(50, 3_001, seed=1)
    counts = np.bincount(np.concatenate((drawn.first, drawn.second)))
    assert (drawn.first != drawn.second).all()
    assert counts[0] > 2 * counts[1:].mean()


@pytest.mark.parametrize("seed", range(4))
def test_this_agent_forfeits_one_however_few_are_drawn(seed: int) -> None:
    drawn = draw_matches(200, 1_000, seed=seed)
    guilty = np.where(drawn.losing_seat == 0, drawn.first, drawn.second)
    assert (drawn.is_forfeit & drawn.is_counted & (guilty == 0)).any()


def test_the_same_seed_draws_the_same_matches() -> None:
    one, other = draw_matches(20, 100, seed=3), draw_matches(20, 100, seed=3)
    assert (one.first == other.first).all()
    assert (one.result == other.result).all()


def test_p95_is_a_time_that_was_measured() -> None:
    assert find_p95(range(1, 41)) == 38
    assert find_p95([7.0]) == 7.0


@pytest.mark.slow
@pytest.mark.long
def test_the_benchmark_in_small(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    figures = tmp_path / "figures.json"
    # A tenth of the agents is more than a page of a board: what only a full page asks is compared.
    few = ["--agents", "2500", "--matches", "10000", "--repeats", "1"]
    assert pages.main([*few, "--keep", str(tmp_path / "kept"), "--json", str(figures)]) == 0
    report = json.loads(figures.read_text())
    assert (report["agents"], report["matches"], report["grown"]) == (2_500, 10_000, [])
    assert report["p95_ms_max"] == max(one["p95_ms"] for one in report["endpoints"])
    assert {"path", "p95_ms", "queries"} <= report["endpoints"][0].keys()
    assert "slowest" in capfd.readouterr().out


def test_figures_that_cannot_be_written_are_refused_before_the_work(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(SystemExit) as refusal:
        pages.main(["--json", str(tmp_path)])
    assert refusal.value.code == 2
    assert "is a folder" in capsys.readouterr().err
