"""The client against the schema of the running app: whatever drifts apart fails here."""

import inspect
import json
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.management import CommandError, call_command

import evalsite_client.api
from evalsite.management.commands import write_client_api as generator
from evalsite_client import Client, figures
from evalsite_client.calls import Calls
from evalsite_client.tests import fakes
from evalsite_client.tests.fakes import Seen
from evalsite_client.tests.schema_samples import Operation, Schema

SCHEMA = Schema()
COMPOSED = {"wait", "watch", "find", "of_run", "download", "download_all"}
COMPOSED |= {"download_shard", "download_results", "find_latest", "fetch_weights", "upload_chunk"}
"""Methods that call others."""
API = Path(evalsite_client.api.__path__[0])


def _methods(client: Client) -> Iterator[Any]:
    for noun in vars(client).values():
        if isinstance(noun, Calls):
            public = [name for name, _ in inspect.getmembers(type(noun), inspect.isfunction)]
            yield from (getattr(noun, n) for n in public if n[0] != "_" and n not in COMPOSED)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file to upload."""
    (path := tmp_path / "weights").write_bytes(b"weights")
    return path


def _call(method: Any, file: Path) -> None:
    """Call a method with everything that it takes; go through what it returns."""
    hints = get_type_hints(method)
    names = set(inspect.signature(method).parameters) - {"progress", "key"}
    result = method(**{name: _value(name, hints[name], file) for name in names})
    if isinstance(result, Iterator):
        list(result)


def _value(name: str, kind: Any, file: Path) -> Any:
    if name == "file":
        return file
    is_union = get_origin(kind) in (Union, types.UnionType)
    options = [one for one in get_args(kind) if one is not types.NoneType] if is_union else [kind]
    if get_origin(options[0]) is Literal:
        return get_args(options[0])[0]
    values: dict[Any, Any] = {datetime: fakes.BEGIN, int: 1, float: 1.5, bool: True, str: "a"}
    origin = get_origin(options[0])
    return {Sequence: [1], Mapping: {"a": 1}}.get(origin) if origin else values.get(options[0], {})


@pytest.fixture
def called(file: Path) -> list[tuple[Operation, Seen]]:
    """Return what every method of the client calls; their answers are decoded on the way."""
    client, server = fakes.client(SCHEMA.answer)
    for method in _methods(client):
        _call(method, file)
    return [(SCHEMA.find(request), request) for request in server.requests]


def test_every_operation_has_a_method(called: list[tuple[Operation, Seen]]) -> None:
    reached = sorted(operation.name for operation, _ in called)
    # A shard's answer is a file, whose hash no sample has: test_generate fetches some.
    files = {"tournaments_shards_retrieve", "leaderboards_results_retrieve"}
    assert reached == sorted({operation.name for operation in SCHEMA.operations} - files)


def test_methods_ask_for_all_that_can_be_asked_for(called: list[tuple[Operation, Seen]]) -> None:
    for operation, request in called:
        assert set(parse_qs(urlsplit(request.url).query)) == operation.queries - {"cursor"}


def test_methods_send_all_that_can_be_sent(called: list[tuple[Operation, Seen]]) -> None:
    for operation, request in called:
        if request.headers.get("Content-Type", "").startswith("multipart/"):
            sent = {line for line in request.body.decode().split('"') if line in operation.body}
        else:
            sent = set(json.loads(request.body or b"{}"))
        assert sent == set(operation.body), operation.name


def test_every_write_has_a_key_and_nothing_else_has(called: list[tuple[Operation, Seen]]) -> None:
    keys = [request.headers.get("Idempotency-Key") for _, request in called]
    written = [
        key for (_, request), key in zip(called, keys, strict=True) if request.method == "POST"
    ]
    assert all(written)
    assert len(set(written)) == len(written) == sum(key is not None for key in keys)


def test_signatures_show_every_argument_and_docstrings_say_what_it_does() -> None:
    client, _ = fakes.client(SCHEMA.answer)
    for method in _methods(client):
        kinds = {one.kind for one in inspect.signature(method).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds
        assert inspect.getdoc(method)
    parameters = inspect.signature(client.tournaments.schedule).parameters
    assert parameters["leaderboard"].default is inspect.Parameter.empty
    assert parameters["pairing"].default == "double_round_robin"


def test_only_a_value_whose_null_differs_from_its_absence_is_sent_as_null() -> None:
    client, server = fakes.client(SCHEMA.answer)
    client.tokens.create(name="a", days=None)
    assert json.loads(server.requests[0].body) == {"name": "a", "days": None}
    client.leaderboards.open(name="a", game="chess")
    assert json.loads(server.requests[1].body) == {"name": "a", "game": "chess", "title": ""}


def test_the_committed_code_is_as_the_schema_says() -> None:
    call_command("write_client_api", "--check")


def test_code_that_is_not_as_the_schema_says_is_named_and_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generator, "FOLDER", tmp_path)
    (tmp_path / "removed.py").touch()
    with pytest.raises(CommandError, match=r"agents\.py.*removed\.py"):
        call_command("write_client_api", "--check")
    call_command("write_client_api")
    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert written == {path.name: path.read_text() for path in API.glob("*.py")}


def test_figures_are_made_of_members_that_their_class_has() -> None:
    made = {name: kind for name, kind in vars(figures).items() if name.endswith("Figures")}
    kinds = {
        name: kind
        for path in API.glob("*.py")
        for name, kind in vars(import_module(f"evalsite_client.api.{path.stem}")).items()
    }
    for name, figure in made.items():
        kind = kinds[name.removesuffix("Figures")]
        assert issubclass(kind, figure)
        assert set(get_type_hints(figure)) <= {field.name for field in fields(kind)}
