"""The schema of the running app: its operations, and values that are as it says."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from drf_spectacular.generators import SchemaGenerator
from requests import Response

from evalsite_client.tests.fakes import Seen, answer


@dataclass(frozen=True)
class Operation:
    """One method of one address."""

    name: str
    method: str
    pattern: re.Pattern[str]
    queries: frozenset[str]
    body: Mapping[str, Any]
    status: int
    answered: Mapping[str, Any] | None


class Schema:
    """What the server says of itself."""

    def __init__(self) -> None:
        generator: Any = SchemaGenerator  # it has no types
        self.raw: Any = generator().get_schema(request=None, public=True)
        self.components: Mapping[str, Any] = self.raw["components"]["schemas"]
        self.operations = tuple(self._operations())

    def _operations(self) -> Iterator[Operation]:
        for address, methods in self.raw["paths"].items():
            for method, operation in methods.items():
                if operation["operationId"] != "root_retrieve":
                    yield self._operation(address, method, operation)

    def _operation(self, address: str, method: str, operation: Any) -> Operation:
        status = next(code for code in operation["responses"] if code.startswith("2"))
        # What else may be sent is the same in another form.
        sent, *_ = operation.get("requestBody", {}).get("content", {"": {"schema": {}}}).values()
        content = operation["responses"][status].get("content", {})
        return Operation(
            name=operation["operationId"],
            method=method.upper(),
            pattern=re.compile(re.sub(r"\{\w+\}", "[^/]+", address)),
            queries=frozenset(
                p["name"] for p in operation.get("parameters", ()) if p["in"] == "query"
            ),
            body=self.resolved(sent["schema"]).get("properties", {}),
            status=int(status),
            answered=next(iter(content.values()))["schema"] if content else None,
        )

    def resolved(self, node: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what a reference stands for."""
        if "$ref" in node:
            component: Mapping[str, Any] = self.components[node["$ref"].rpartition("/")[2]]
            return component
        return node

    def find(self, request: Seen) -> Operation:
        """Return the operation that a request calls."""
        path = unquote(urlsplit(request.url).path)
        (operation,) = (
            one
            for one in self.operations
            if one.method == request.method and one.pattern.fullmatch(path) and _is_own(one, path)
        )
        return operation

    def answer(self, request: Seen) -> Response:
        """Return an answer as the schema has it."""
        called = self.find(request)
        body = None if called.answered is None else self.sample(called.answered)
        return answer(body, called.status)

    def sample(self, node: Mapping[str, Any]) -> Any:
        """Return a value of a type, nothing of it empty but where a list goes on."""
        node = self.resolved(node)
        if "enum" in node:
            return node["enum"][0]
        for combined in ("allOf", "oneOf"):
            if combined in node:
                return self.sample(node[combined][0])
        if "properties" in node:
            return {
                name: None
                if name in ("next", "previous") and "uri" in str(inner)
                else self.sample(inner)
                for name, inner in node["properties"].items()
            }
        if node.get("type") == "array":
            return [self.sample(node["items"])]
        if node.get("format") == "date-time":
            return "2026-01-01T00:00:00Z"
        samples = {"integer": 1, "number": 1.5, "boolean": True, "string": "a", "object": {"a": 1}}
        return samples.get(node.get("type", ""), {"any": 1})


def _is_own(operation: Operation, path: str) -> bool:
    """Tell /trajectories/manifest/ from /trajectories/{id}/, should that come."""
    return "[^/]+" not in operation.pattern.pattern or "/trajectories/manifest/" not in path
