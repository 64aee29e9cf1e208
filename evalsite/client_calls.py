"""The calls of the Python client as code: a class per noun, a method per operation."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from evalsite.client_types import SENT, Node, Types, describe, find_name, write_doc
from matches.api.idempotency import HEADER

ROOT: Final = "/api/v1/"
# What people say instead of "create", "retrieve" and "destroy".
NAMES: Final = {
    "agents_create": "register",
    "campaigns_create": "start",
    "datasets_create": "build",
    "datasets_destroy": "delete",
    "leaderboards_comparison_retrieve": "compare",
    "leaderboards_create": "open",
    "leaderboards_ratings_history_list": "rating_history",
    "leaderboards_ratings_retrieve": "rating",
    "nodes_create": "join",
    "runs_create": "start",
    "schedules_create": "add",
    "schedules_destroy": "remove",
    "tokens_destroy": "revoke",
    "tournaments_create": "schedule",
}
PLAIN_NAMES: Final = {"list": "list", "retrieve": "get", "create": "create"}
# Of imports another word: Python takes "import" for no name.
SINGULARS: Final = {"matches": "match", "imports": "batch"}
# The view says of these what its noun is, not what they do.
DOCS: Final = {
    "list": "Yield {}, fetched page by page as they are asked for.",
    "retrieve": "Return one {}.",
    "audit_list": "Yield what was done, the newest first.",
    "datasets_destroy": "Delete a dataset with its files; what was learned from it stays.",
    "schedules_destroy": "Remove a schedule; its tournaments stay.",
    "tokens_destroy": "End a token and all that were made with it.",
}
REQUIRED: Final = ""


@dataclass(frozen=True)
class Argument:
    """One argument of a method; sent: its name in the query, the body or the path."""

    name: str
    kind: str
    default: str
    doc: str
    sent: str

    def write(self) -> str:
        """Return it as a signature has it."""
        return f"{self.name}: {self.kind}" + (f" = {self.default}" if self.default else "")


class Operation:
    """One method of one address, as a method of the client."""

    def __init__(self, types: Types, address: str, method: str, node: Node) -> None:
        """address, method, node: as the schema has them."""
        self.types, self.method, self.node = types, method, node
        self.name: str = node["operationId"]
        self.noun, *self.further = address.removeprefix(ROOT).strip("/").split("/")
        self.subject = SINGULARS.get(self.noun, self.noun.removesuffix("s"))
        self.verb = self.name.rpartition("_")[2]
        content = {}
        if "requestBody" in node:
            content = node["requestBody"]["content"]
        answer = next(of for code, of in node["responses"].items() if code[0] == "2")
        self.answered = answer.get("content", {})
        is_download = bool(self.answered) and "application/json" not in self.answered
        # A file goes as it is read: that is written by hand.
        self.is_file = "multipart/form-data" in content or is_download
        self.is_paged = any(
            parameter["name"] == "page_size" for parameter in node.get("parameters", ())
        )
        self.takes_key = any(
            parameter["name"] == HEADER for parameter in node.get("parameters", ())
        )
        self.is_plain = self.name == f"{self.noun}_{self.verb}"
        body = next(iter(content.values()))["schema"] if content else None
        self.body = types.components[find_name(body)] if body else {"properties": {}}

    def find_answer(self) -> str:
        """Return the component that is answered, of a list that of its rows; empty for none."""
        if "application/json" not in self.answered:
            return ""
        name = find_name(self.answered["application/json"]["schema"])
        if not name.startswith("Paginated"):
            return name
        return find_name(self.types.components[name]["properties"]["results"]["items"])

    def write(self) -> str:
        """Return the method."""
        arguments = list(self._list_arguments())
        first = [argument.write() for argument in arguments if self._is_positional(argument)]
        named = [argument.write() for argument in arguments if not self._is_positional(argument)]
        named.sort(key=lambda text: " = " in text)
        named += ["page_size: int | None = None"] if self.is_paged else []
        named += ["key: str | None = None"] if self.takes_key else []
        signature = ", ".join(["self", *first, *(["*", *named] if named else [])])
        answer = self.find_answer() or "None"
        shown = f"Rows[{answer}]" if self.verb == "list" else answer
        general = DOCS.get(self.verb, "") if self.is_plain else ""
        general = general.format(self.noun if self.verb == "list" else self.subject)
        text = DOCS.get(self.name) or general or self.node["description"]
        doc = write_doc(
            text, {argument.name: argument.doc for argument in arguments}, indent="        "
        )
        call = self._write_call(arguments, answer)
        return f"    def {self.find_method()}({signature}) -> {shown}:\n{doc}\n        {call}"

    def find_method(self) -> str:
        """Return what the method is called."""
        if self.name in NAMES:
            return NAMES[self.name]
        middle = self.name.removeprefix(f"{self.noun}_").removesuffix(f"_{self.verb}")
        return PLAIN_NAMES[self.verb] if self.is_plain else middle.replace("explanation", "explain")

    def _is_positional(self, argument: Argument) -> bool:
        """Say whether it comes without its name: what the address or a comparison is about."""
        is_asked = self.verb == "retrieve" and not argument.default
        return argument.sent.startswith("{") or is_asked or argument.name == self.noun

    def _list_arguments(self) -> Iterator[Argument]:
        """Yield what the address takes, then the query, then the body."""
        for part in self.further:
            if part.startswith("{"):
                is_number = part in ("{id}", "{agent}")
                name = "agent" if part == "{agent}" else self.subject
                yield Argument(name, "int" if is_number else "str", REQUIRED, "", part)
        for node in self.node.get("parameters", ()):
            if node["in"] == "query" and node["name"] not in ("cursor", "page_size"):
                name = node["name"].partition("__")[0]
                kind, default = self.types.annotate(node["schema"]), REQUIRED
                if not node.get("required"):
                    kind, default = f"{kind} | None", "None"
                yield Argument(name, kind, default, describe(node), node["name"])
        for name, node in self.body["properties"].items():
            kind, default = self.types.annotate(node, array=SENT), REQUIRED
            if name not in self.body.get("required", ()):
                preset = node.get("default")
                # What has no default of one word is left out, so the server has its way.
                default = repr(preset) if isinstance(preset, str | int | float) else "None"
                kind = f"{kind} | None" if default == "None" and "None" not in kind else kind
            yield Argument(name, kind, default, describe(node), name)

    def _write_call(self, arguments: Sequence[Argument], answer: str) -> str:
        sent = [argument for argument in arguments if not argument.sent.startswith("{")]
        members = [f'"{argument.sent}": {argument.name}' for argument in sent]
        members += ['"page_size": page_size'] if self.is_paged else []
        call_arguments = [f"{{{', '.join(members)}}}"] if members else []
        if self.method == "delete":
            return f"self._transport.delete({self._write_path(arguments)})"
        if self.method == "post":
            call_arguments.append("key=key" if self.takes_key else "key=None")
        # None asks for what the server has by itself; where it has another default None is a value.
        has_default = [argument for argument in sent if argument.default not in ("None", REQUIRED)]
        if nullable := [
            f'"{argument.name}"' for argument in has_default if argument.kind.endswith("| None")
        ]:
            call_arguments.append(f"nullable=({', '.join(nullable)},)")
        call = {"list": "rows", "retrieve": "get"}.get(self.verb, "post")
        written = ", ".join([answer, self._write_path(arguments), *call_arguments])
        return f"return self._{call}({written})"

    def _write_path(self, arguments: Sequence[Argument]) -> str:
        """Return the path; a text in it is quoted: it may hold a slash."""
        path = "/".join([self.noun, *self.further])
        for argument in arguments:
            shown = argument.name if argument.kind == "int" else f"quote({argument.name}, safe='')"
            path = (
                path.replace(argument.sent, f"{{{shown}}}")
                if argument.sent.startswith("{")
                else path
            )
        return f'f"{path}"' if "{" in path else f'"{path}"'


def read_operations(types: Types, schema: Mapping[str, Any]) -> list[Operation]:
    """Return the operations of a schema in the order of their addresses."""
    return [
        Operation(types, address, method, node)
        for address, methods in schema["paths"].items()
        for method, node in methods.items()
        if re.match(ROOT + r"\w", address)
    ]
