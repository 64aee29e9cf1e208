"""Rows become flat records, as pandas and csv take them."""

import csv
import io
import sys
from collections.abc import Mapping
from types import SimpleNamespace

import pytest

from evalsite_client import to_records
from evalsite_client.tests import fakes
from evalsite_client.tests.schema_samples import Schema


def test_records_are_flat_and_name_what_lay_within_by_both_names() -> None:
    client, _ = fakes.client(Schema().answer)
    ratings = list(client.leaderboards.ratings("connect-four"))
    (record,) = to_records(ratings)
    assert (record["agent_id"], record["agent_name"]) == (1, "a")
    assert record["mu"] == ratings[0].mu
    assert not any(isinstance(value, Mapping) for value in record.values())


def test_parameters_are_columns_of_their_own() -> None:
    client, _ = fakes.client(Schema().answer)
    (record,) = to_records(client.agents.list())
    assert record["parameters_a"] == 1


def test_records_are_written_as_csv() -> None:
    client, _ = fakes.client(Schema().answer)
    records = to_records(client.seasons.rows(1))
    file = io.StringIO()
    writer = csv.DictWriter(file, fieldnames=list(records[0]))
    writer.writeheader()
    writer.writerows(records)
    assert file.getvalue().splitlines()[0].startswith("rank,agent,name,mu,sd")


def test_a_list_is_a_frame_where_pandas_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = SimpleNamespace(DataFrame=lambda records: ("frame", records))
    monkeypatch.setitem(sys.modules, "pandas", frames)
    client, _ = fakes.client(Schema().answer)
    rows = client.leaderboards.ratings("connect-four")
    kind, records = rows.to_pandas()
    assert kind == "frame"
    assert records[0]["agent_name"] == "a"
    assert rows.to_records() == []


def test_without_pandas_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    client, _ = fakes.client(Schema().answer)
    with pytest.raises(ImportError, match="pip install pandas"):
        client.agents.list().to_pandas()
