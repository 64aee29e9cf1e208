"""What a plug-in file says that it needs, in its own comments: inline script metadata (PEP 723).

The same block is read by uv, pipx and others. It is checked before the file runs, so that a node
that lacks something says what, and how it is installed.
"""

import re
import tomllib
from collections.abc import Iterator
from importlib import metadata
from platform import python_version
from shlex import quote

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from arena.errors import CatalogError

# As the specification has it, of this one kind of block.
_BLOCK = re.compile(r"(?m)^# /// script$\s(?P<content>(?:^#(?:| .*)$\s)+)^# ///$")


def require_dependencies(source: bytes) -> None:
    """Raise CatalogError unless all is here that the code declares; without a block all is."""
    # Some editors begin a file with a mark of its encoding, which Python passes over, too.
    text = source.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
    declared = _read_block(text)
    _require_python(declared.get("requires-python", ""))
    missing = list(_list_missing(declared.get("dependencies", [])))
    if missing:
        needed = ", ".join(f"{requirement} ({why})" for requirement, why in missing)
        install = " ".join(quote(requirement) for requirement, _ in missing)
        raise CatalogError(f"needs {needed}: .venv/bin/python -m pip install {install}")


def _read_block(text: str) -> dict[str, object]:
    blocks = [match["content"] for match in _BLOCK.finditer(text)]
    if len(blocks) > 1:
        raise CatalogError(f"has {len(blocks)} blocks `# /// script`: keep one")
    # Each line loses its "# ", or the "#" that stands alone.
    content = "".join(line[2:] if line[1:2] == " " else line[1:] for line in _split(blocks))
    try:
        return tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        raise CatalogError(f"its block `# /// script` is no TOML: {error}") from error


def _split(blocks: list[str]) -> list[str]:
    return "".join(blocks).splitlines(keepends=True)


def _require_python(needed: object) -> None:
    try:
        # A Python built between two releases calls itself 3.13.0+, which is no version to compare.
        own_version = python_version().rstrip("+")
        is_met = SpecifierSet(str(needed)).contains(own_version, prereleases=True)
    except InvalidSpecifier as error:
        raise CatalogError(f"requires-python must be such as >=3.11, got {needed!r}") from error
    if not is_met:
        raise CatalogError(f"needs Python {needed}, and this is {python_version()}")


def _list_missing(dependencies: object) -> Iterator[tuple[str, str]]:
    """Yield what is declared and not here, with what is wrong."""
    if not isinstance(dependencies, list):
        raise CatalogError(f"dependencies must be a list, got {dependencies!r:.80}")
    for text in dependencies:
        try:
            requirement = Requirement(str(text))
        except InvalidRequirement as error:
            raise CatalogError(f"dependencies has {text!r:.80}: {error}") from error
        is_meant = requirement.marker is None or requirement.marker.evaluate()
        if is_meant and (why := _find_fault(requirement)):
            yield str(text), why


def _find_fault(requirement: Requirement) -> str:
    try:
        version = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return "not installed"
    is_met = requirement.specifier.contains(version, prereleases=True)
    return "" if is_met else f"{version} is installed"
