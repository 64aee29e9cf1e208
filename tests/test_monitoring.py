"""Every metric that a dashboard or an alert names exists, with the labels that it asks for."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from redis import Redis

from arena.messages import Serving
from arena.queues import serving_key
from evalsite.metrics import registry
from inference.metrics import Metrics, gpu_metrics
from inference.settings import Settings
from inference.tests.echo import EchoEngine
from matches.models import RecorderMark
from matches.operations.system import pushing
from matches.store.attempt_counters import AttemptCounter, Kind
from matches.store.clock import db_now
from matches.tests import factories

pytestmark = pytest.mark.django_db

DEPLOY = Path(__file__).parents[1] / "deploy"
OURS = re.compile(r"\b((?:evalsite|inference|process)_[a-z_0-9]+)(?:\{([^}]*)\})?")
GIVEN = {"job", "instance"}
"""Labels that Prometheus gives every metric."""


def _names(text: str) -> dict[str, set[str]]:
    """Return the labels of every sample of an exposition, by its name."""
    labels: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels.setdefault(sample.name, set()).update(sample.labels)
    return labels


@pytest.fixture
def metric_labels(broker: Redis, valkey_url: str) -> dict[str, set[str]]:
    """Return what web and gpu worker tell while they have something of everything to tell."""
    now = db_now()
    tournament = factories.planned(40)
    factories.alive(now=now)
    factories.alive(node="gpu-1", capabilities=["gpu"], now=now)
    factories.start(factories.ordered(tournament, 8, now=now), now=now)
    factories.ordered(tournament, 8, now=now)
    RecorderMark.objects.create(pk=1, marked_at=now)
    tally = AttemptCounter()
    tally.note([Kind("done", "")])
    tally.flush(now=now)
    serving = Serving("gpu-1", [0], 5, 3, 812.0, 40.0, 6_496.0, 6.0, 22.0, 0)
    broker.set(serving_key("gpu-1"), msgspec.json.encode(serving))
    pushing.push_sample(now=now)
    worker = Metrics(Settings(fast_url=valkey_url, metrics_port=1), EchoEngine())
    worker.count_slice({"requests": 1})
    labels = _names(generate_latest(registry).decode()) | _names(
        generate_latest(worker.registry).decode()
    )
    labels |= {metric.name: {"gpu"} for metric in gpu_metrics(lambda: "93, 1024\n")}
    labels["evalsite_http_request_seconds_bucket"] = {"le", "method", "route", "status"}
    return labels


def _dashboard() -> Any:
    return json.loads((DEPLOY / "grafana" / "evalsite.json").read_text())


def _rules() -> list[dict[str, Any]]:
    read = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text())
    return [rule for group in read["groups"] for rule in group["rules"]]


def _expressions() -> list[str]:
    panels = _dashboard()["panels"]
    drawn = [target["expr"] for panel in panels for target in panel["targets"]]
    return drawn + [rule["expr"] for rule in _rules()]


def test_every_metric_that_is_named_exists_with_its_labels(
    metric_labels: dict[str, set[str]],
) -> None:
    named = [use for expression in _expressions() for use in OURS.findall(expression)]
    assert len(named) > 30
    for name, matchers in named:
        assert name in metric_labels, f"{name} is not told by anybody"
        labels = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers))
        assert labels <= metric_labels[name] | GIVEN, (
            f"{name} has no {labels - metric_labels[name]}"
        )


@pytest.mark.skipif(shutil.which("promtool") is None, reason="Prometheus is not installed")
def test_alerts_tell_of_the_part_that_is_away_and_no_other() -> None:
    rules = str(DEPLOY / "prometheus" / "alerts_test.yml")
    subprocess.run(["promtool", "test", "rules", rules], check=True)


def test_expressions_are_whole() -> None:
    for expression in _expressions():
        for opening, closing in ("()", "{}", "[]"):
            assert expression.count(opening) == expression.count(closing), expression
        assert expression.count('"') % 2 == 0, expression


def test_legends_name_labels_that_their_metrics_have(metric_labels: dict[str, set[str]]) -> None:
    for panel in _dashboard()["panels"]:
        for target in panel["targets"]:
            legend_labels = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            has = {
                label for name, _ in OURS.findall(target["expr"]) for label in metric_labels[name]
            }
            assert legend_labels <= has | GIVEN, panel["title"]


def test_panels_lie_beside_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in _dashboard()["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
    ids = [panel["id"] for panel in _dashboard()["panels"]]
    assert len(ids) == len(set(ids))


def test_every_alert_says_what_and_where_to_look() -> None:
    names = [rule["alert"] for rule in _rules()]
    assert len(names) == len(set(names))
    for rule in _rules():
        assert {"summary", "description"} <= rule["annotations"].keys(), rule["alert"]
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert re.fullmatch(r"\d+[sm]", rule["for"])


def test_the_example_configuration_names_the_rules_beside_it() -> None:
    folder = DEPLOY / "prometheus"
    read = yaml.safe_load((folder / "prometheus.yml").read_text())
    assert all((folder / name).is_file() for name in read["rule_files"])
    assert [job["job_name"] for job in read["scrape_configs"]] == ["evalsite", "evalsite-gpu"]
