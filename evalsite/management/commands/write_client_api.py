"""Write the types and calls of the Python client from the schema of the API."""

import re
import subprocess
import sys
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from drf_spectacular.generators import SchemaGenerator

from evalsite.client_calls import Operation, read_operations
from evalsite.client_types import Types, write_doc

FOLDER: Final = Path(settings.BASE_DIR) / "evalsite_client" / "api"
FIGURES: Final = FOLDER.parent / "figures.py"
# Whatever the folder: with the settings that hold there.
AS_IF: Final = str(FOLDER / "any.py")
SHARED: Final = "shared"
NOTE: Final = (
    "Written by `./run manage write_client_api` from the schema of the API: change that, not this."
)
IMPORTS: Final = {
    "Mapping": "collections.abc",
    "Sequence": "collections.abc",
    "dataclass": "dataclasses",
    "datetime": "datetime",
    "Any": "typing",
    "Literal": "typing",
    "quote": "urllib.parse",
    "Calls": "evalsite_client.calls",
    "Rows": "evalsite_client.records",
}


class Command(BaseCommand):
    """The command."""

    help = __doc__ or ""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take --check."""
        parser.add_argument(
            "--check", action="store_true", help="write nothing; fail if a file would change"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Write what differs, and remove what no schema asks for."""
        files = {FOLDER / f"{name}.py": text for name, text in write_modules().items()}
        stale = set(FOLDER.glob("*.py")) - set(files)
        changed = [
            path for path, text in files.items() if not path.exists() or path.read_text() != text
        ]
        if options["check"]:
            if wrong := sorted(path.name for path in [*stale, *changed]):
                names = ", ".join(wrong)
                raise CommandError(
                    f"{names} are not as the schema says: `./run manage write_client_api`"
                )
            return
        for path in changed:
            path.write_text(files[path])
        for path in stale:
            path.unlink()
        self.stdout.write(f"{len(changed)} files written, {len(stale)} removed")


def write_modules() -> dict[str, str]:
    """Return the text of every module by its name."""
    generator: Any = SchemaGenerator  # it has no types
    schema = generator().get_schema(request=None, public=True)
    figures = re.findall(r"^class (\w+)Figures", FIGURES.read_text(), flags=re.MULTILINE)
    types = Types(schema["components"]["schemas"], figures)
    nouns: dict[str, list[Operation]] = defaultdict(list)
    for operation in read_operations(types, schema):
        nouns[operation.noun].append(operation)
    homes = _find_homes(types, nouns)
    texts = {"__init__": f'"""Types and calls of the API by noun."""\n\n# {NOTE}\n'}
    for name in (SHARED, *nouns):
        parts = [types.write(part) for part, home in homes.items() if home == name]
        if own := nouns.get(name):
            parts.append(_write_class(own, types))
        texts[name] = _write_module(name, "\n\n\n".join(parts), homes, figures)
    return {name: _format(text) for name, text in texts.items()}


def _find_homes(types: Types, nouns: Mapping[str, Sequence[Operation]]) -> dict[str, str]:
    """Return the module of every component: that of the only noun which needs it, else shared."""
    homes: dict[str, str] = {}
    for noun, operations in nouns.items():
        parts: dict[str, None] = {}
        for operation in operations:
            answer = operation.find_answer()
            reference = [{"$ref": f"/{answer}"}] if answer else []
            parts |= dict.fromkeys(types.find_parts([*reference, operation.body]))
            written = operation.write()
            # Queries name no component: they are found by what they choose from.
            parts |= dict.fromkeys(
                name
                for name, node in types.components.items()
                if "enum" in node and re.search(rf"\b{name.removesuffix('Enum')}\b", written)
            )
        for part in parts:
            if types.annotate({"$ref": f"/{part}"}) in ("str", 'Literal[""]'):
                continue
            homes[part] = noun if homes.get(part, noun) == noun else SHARED
    return homes


def _write_class(operations: Sequence[Operation], types: Types) -> str:
    name = operations[0].noun.capitalize()
    name += "s" if name in types.components else ""  # the audit's rows are called as it is
    doc = write_doc(operations[0].node["description"], {})
    methods = [operation.write() for operation in operations if not operation.is_file]
    return f"class {name}(Calls):\n{doc}\n\n" + "\n\n".join(methods)


def _write_module(name: str, code: str, homes: Mapping[str, str], figures: Sequence[str]) -> str:
    """Return a module with the imports that its code needs."""
    sources = dict(IMPORTS)
    sources |= {f"{figure}Figures": "evalsite_client.figures" for figure in figures}
    shared = [part.removesuffix("Enum") for part, home in homes.items() if home == SHARED]
    sources |= dict.fromkeys(shared if name != SHARED else (), "evalsite_client.api.shared")
    used = sorted(word for word in sources if re.search(rf"\b{word}\b", code))
    imports = "\n".join(f"from {sources[word]} import {word}" for word in used)
    title = "What several nouns share." if name == SHARED else f"{name.capitalize()} of the API."
    return f"{write_doc(title, {}, indent='')}\n\n# {NOTE}\n\n{imports}\n\n\n{code}\n"


def _format(code: str) -> str:
    """Return code as `ruff` has it: sorted imports, broken lines."""
    ruff = str(Path(sys.executable).with_name("ruff"))
    for step in (["check", "--select", "I", "--fix", "-q"], ["format", "-q"]):
        command = [ruff, *step, "--stdin-filename", AS_IF, "-"]
        result = subprocess.run(command, input=code, capture_output=True, text=True, check=True)
        code = result.stdout
    return code
