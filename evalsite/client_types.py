"""The types of the Python client as code, written from the schema of the API."""

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

Node = Mapping[str, Any]
WIDTH: Final = 96
# Plug-ins add to these, so the client takes any text: an enumeration would refuse their answers.
OPEN_CHOICES: Final = {"GameEnum", "PolicyEnum", "PairingEnum"}
PLAIN: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
ANSWERED: Final = "tuple[{}, ...]"
SENT: Final = "Sequence[{}]"


class Types:
    """What the components of a schema are called in Python, and their classes."""

    def __init__(self, components: Mapping[str, Any], figures: Sequence[str]) -> None:
        """figures: components to which people have added properties, in a base class."""
        self.components = components
        self.figures = figures

    def annotate(self, node: Node, *, array: str = ANSWERED) -> str:
        """Return the annotation of a value; array: the form of a list."""
        text = self._annotate_given(node, array)
        return f"{text} | None" if node.get("nullable") and text != "Any" else text

    def _annotate_given(self, node: Node, array: str) -> str:
        if options := node.get("allOf") or node.get("oneOf"):
            texts = dict.fromkeys(self._annotate_given(option, array) for option in options)
            return "str" if "str" in texts else " | ".join(texts)
        if "$ref" in node:
            return self._name_choices(find_name(node))
        if "enum" in node:
            # The choices of a query come without the name of their component.
            chosen, parts = set(node["enum"]), self.components.items()
            return self._name_choices(
                next(name for name, part in parts if set(part.get("enum", ())) == chosen)
            )
        if node.get("type") == "array":
            return array.format(self.annotate(node["items"], array=array))
        if node.get("format") == "date-time":
            return "datetime"
        is_object = node.get("type") == "object"
        return "Mapping[str, Any]" if is_object else PLAIN.get(node.get("type", ""), "Any")

    def _name_choices(self, name: str) -> str:
        if name == "BlankEnum":
            return 'Literal[""]'
        return "str" if name in OPEN_CHOICES else name.removesuffix("Enum")

    def find_parts(self, node: Any) -> Iterator[str]:
        """Yield the components that a piece of schema names, each after those that it needs."""
        if isinstance(node, dict):
            if "$ref" in node:
                name = find_name(node)
                yield from self.find_parts(self.components[name])
                yield from [base] if (base := self.find_base(name)) else []
                yield name
            node = list(node.values())
        for part in node if isinstance(node, list) else ():
            yield from self.find_parts(part)

    def find_base(self, name: str) -> str | None:
        """Return the component that this one only adds to: a Tournament of a TournamentDetail."""
        members = self.components[name].get("properties", {})
        # The schema repeats the members of the one in the other; by the name it is no accident.
        for other, node in self.components.items():
            properties = node.get("properties")
            if (
                properties
                and other != name
                and other in name
                and properties.items() <= members.items()
            ):
                return other
        return None

    def write(self, name: str) -> str:
        """Return the definition of a component."""
        node = self.components[name]
        if "enum" in node:
            choices = ", ".join(f'"{choice}"' for choice in node["enum"])
            return f"{self._name_choices(name)} = Literal[{choices}]"
        base = self.find_base(name)
        inherited = self.components[base]["properties"] if base else {}
        bases = [base] if base else [f"{name}Figures"] if name in self.figures else []
        own = {key: of for key, of in node["properties"].items() if key not in inherited}
        return "\n".join(
            [
                "@dataclass(frozen=True)",
                f"class {name}({', '.join(bases)}):" if bases else f"class {name}:",
                write_doc(node["description"], {key: describe(of) for key, of in own.items()}),
                *(f"    {key}: {self.annotate(of)}" for key, of in own.items()),
            ]
        )


def find_name(node: Node) -> str:
    """Return the name of the component that a reference is to."""
    return str(node["$ref"]).rpartition("/")[2]


def describe(node: Node) -> str:
    """Return the help text of a value, without the list of its choices: the type has those."""
    return re.sub(r"(^|\n)\* `.*", "", node.get("description", ""), flags=re.DOTALL).strip()


def write_doc(text: str, members: Mapping[str, str], *, indent: str = "    ") -> str:
    """Return a docstring: a text, and a line for every member that has something to say."""
    width = WIDTH - len(indent)
    lines = [
        textwrap.fill(f"{name}: {help_text}", width, subsequent_indent="    ")
        for name, help_text in members.items()
        if help_text
    ]
    paragraphs = [textwrap.fill(paragraph, width) for paragraph in text.strip().split("\n\n")]
    written = "\n\n".join([*paragraphs, *(["\n".join(lines)] if lines else [])])
    if "\n" in written:
        written = textwrap.indent(f"{written}\n", indent).lstrip() + indent
    return f'{indent}"""{written}"""'
