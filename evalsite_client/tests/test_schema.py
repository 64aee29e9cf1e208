"""The client against the schema of the running app: whatever drifts apart fails here."""

import inspect
import json
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import (
    Any,
    Literal,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)
from urllib.parse import parse_qs, urlsplit

import pytest

from evalsite_client import (
    Client,
    agents,
    alarms,
    attempts,
    audit,
    campaigns,
    checkpoints,
    errors,
    explanations,
    leaderboards,
    matches,
    names,
    outcomes,
    ratings,
    schedules,
    seasons,
    tokens,
    tournaments,
    trajectories,
    workers,
)
from evalsite_client.names import Noun
from evalsite_client.tests import fakes
from evalsite_client.tests.fakes import Seen
from evalsite_client.tests.schema_samples import Operation, Schema

SCHEMA = Schema()
MODULES = (
    *(agents, alarms, attempts, audit, campaigns, checkpoints, errors, explanations),
    *(leaderboards, matches, names, outcomes, ratings, schedules, seasons, tokens),
    *(tournaments, trajectories, workers),
)
KINDS = {
    name: kind
    for module in MODULES
    for name, kind in vars(module).items()
    if isinstance(kind, type) and kind.__module__ == module.__name__
}
COMPOSED = {"wait", "watch", "find", "download", "download_all"}
"""Methods that call others."""
OPEN_CHOICES = {"GameEnum", "PolicyEnum", "PairingEnum"}
"""A plug-in adds to these, so the client takes any text."""
INLINE = {"ChosenMatchesRequest", "ExtensionRequest", "ReasonRequest", "RemarkRequest"}
"""Are arguments of the methods."""
NOT_DECODED = {"Problem"}
"""Becomes an error, which has tests of its own."""


def _components(*, requests: bool) -> list[str]:
    """Return the names of what is answered, or sent, as objects."""
    return [
        name
        for name, node in SCHEMA.components.items()
        if node.get("type") == "object"
        and not name.startswith("Paginated")
        and name.endswith("Request") == requests
        and name not in NOT_DECODED
    ]


def _methods(client: Client) -> Iterator[Any]:
    for noun in vars(client).values():
        if isinstance(noun, Noun):
            public = [name for name, _ in inspect.getmembers(type(noun), inspect.isfunction)]
            yield from (getattr(noun, n) for n in public if n[0] != "_" and n not in COMPOSED)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file to upload."""
    (path := tmp_path / "weights").write_bytes(b"weights")
    return path


def _call(method: Any, file: Path) -> None:
    """Call a method with everything that it takes; go through what it returns."""
    hints = get_type_hints(method, include_extras=True)
    hints.pop("return")
    given: dict[str, Any] = {}
    for name, kind in hints.items():
        if get_origin(kind) is not None and is_typeddict(get_args(kind)[0]):  # Unpack
            inner = get_type_hints(get_args(kind)[0])
            given |= {field: _value(field, of, file) for field, of in inner.items()}
        elif name not in ("progress", "key"):
            given[name] = _value(name, kind, file)
    found = method(**given)
    if isinstance(found, Iterator):
        list(found)


def _value(name: str, kind: Any, file: Path) -> Any:
    if name == "file":
        return file
    options = [option for option in _options(kind) if option is not types.NoneType]
    if get_origin(options[0]) is Literal:
        return get_args(options[0])[0]
    values: dict[Any, Any] = {datetime: fakes.BEGIN, int: 1, float: 1.5, bool: True, str: "a"}
    origin = get_origin(options[0])
    return {Sequence: [1], Mapping: {"a": 1}}.get(origin) if origin else values.get(options[0])


def _options(kind: Any) -> Sequence[Any]:
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else [kind]


@pytest.fixture
def called(file: Path) -> list[tuple[Operation, Seen]]:
    """Return what every method of the client calls; their answers are decoded on the way."""
    client, server = fakes.client(SCHEMA.answer)
    for method in _methods(client):
        _call(method, file)
    return [(SCHEMA.find(seen), seen) for seen in server.seen]


def test_every_operation_has_a_method(called: list[tuple[Operation, Seen]]) -> None:
    reached = sorted(operation.name for operation, _ in called)
    assert reached == sorted(operation.name for operation in SCHEMA.operations)


def test_methods_ask_for_all_that_can_be_asked_for(called: list[tuple[Operation, Seen]]) -> None:
    for operation, seen in called:
        assert set(parse_qs(urlsplit(seen.url).query)) == operation.queries - {"cursor"}


def test_methods_send_all_that_can_be_sent(called: list[tuple[Operation, Seen]]) -> None:
    for operation, seen in called:
        if seen.headers.get("Content-Type", "").startswith("multipart/"):
            sent = {line for line in seen.body.decode().split('"') if line in operation.body}
        else:
            sent = set(json.loads(seen.body or b"{}"))
        assert sent == set(operation.body), operation.name


def test_every_write_has_a_key_and_nothing_else_has(called: list[tuple[Operation, Seen]]) -> None:
    keys = [seen.headers.get("Idempotency-Key") for _, seen in called]
    written = [key for (_, seen), key in zip(called, keys, strict=True) if seen.method == "POST"]
    assert all(written)
    assert len(set(written)) == len(written) == sum(key is not None for key in keys)


def test_what_is_answered_has_a_class_and_no_class_is_left_over() -> None:
    decoded = {name for name, kind in KINDS.items() if is_dataclass(kind)}
    assert decoded == set(_components(requests=False))


@pytest.mark.parametrize("name", _components(requests=False))
def test_a_class_has_the_members_of_the_schema(name: str) -> None:
    kind = KINDS[name]
    hints = get_type_hints(kind)
    known = SCHEMA.components[name]["properties"]
    assert {field.name for field in fields(kind)} == set(known)
    wrong = {member: hints[member] for member in hints if not _fits(hints[member], known[member])}
    assert not wrong


@pytest.mark.parametrize("name", sorted({*_components(requests=True)} - INLINE))
def test_what_is_sent_has_the_members_of_the_schema(name: str) -> None:
    kind = KINDS[name.removesuffix("Request")]
    hints = get_type_hints(kind)
    known = SCHEMA.components[name]
    taken = set(known["properties"]) - {"file"}
    assert set(hints) == taken
    required = {
        member
        for member, hint in get_type_hints(kind, include_extras=True).items()
        if get_origin(hint) is Required
    }
    assert required == set(known["required"]) - {"file"}
    wrong = {m: hints[m] for m in taken if not _fits(hints[m], known["properties"][m])}
    assert not wrong


def _fits(kind: Any, node: Mapping[str, Any]) -> bool:
    """Say whether a type takes exactly what the schema has."""
    if kind is Any:
        return not node.get("type") and "$ref" not in node
    options = [option for option in _options(kind) if option is not types.NoneType]
    is_nullable = len(options) < len(_options(kind))
    return is_nullable == node.get("nullable", False) and _fits_value(options[0], node)


def _fits_value(kind: Any, node: Mapping[str, Any]) -> bool:
    choices = _choices(node)
    if choices is not None:
        return kind is str if choices is ANY else set(get_args(kind)) == choices
    if "allOf" in node:
        node = node["allOf"][0]
    if "$ref" in node:
        return str(node["$ref"]).endswith(f"/{getattr(kind, '__name__', '')}")
    if get_origin(kind) in (tuple, Sequence):
        return bool(node.get("type") == "array") and _fits(get_args(kind)[0], node["items"])
    if get_origin(kind) is Mapping:
        return bool(node.get("type", "object") == "object")
    is_time = node.get("format") == "date-time"
    return bool(kind is (datetime if is_time else _PLAIN.get(str(node.get("type")))))


ANY: frozenset[str] = frozenset()
_PLAIN = {"string": str, "integer": int, "number": float, "boolean": bool}


def _choices(node: Mapping[str, Any]) -> frozenset[str] | None:
    """Return the texts that are taken, ANY where plug-ins add to them, None for another type."""
    combined: Iterable[Any] = node.get("oneOf") or node.get("allOf") or [node]
    found: set[str] = set()
    for option in combined:
        name = str(option.get("$ref", "")).rpartition("/")[2]
        if name in OPEN_CHOICES:
            return ANY
        inner = SCHEMA.resolved(option)
        if "enum" not in inner:
            return None
        found |= set(inner["enum"])
    return frozenset(found)
