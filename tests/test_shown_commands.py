"""Every command that a page tells its reader to type is one that our command lines take."""

import html
import re
import shlex
from pathlib import Path

import pytest

from evalsite_client.cli.main import build_parser
from launcher import cli
from launcher.folders import ROOT

TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
_CODE = re.compile(r"<code>((?:\./run|evalsite)\b.*?)</code>", re.DOTALL)
_DEFAULT = re.compile(r'\{\{[^}]*default:"([^"]*)"\s*\}\}')
_VALUE = re.compile(r"\{\{.*?\}\}")


def read_commands(path: Path) -> list[str]:
    """Return the commands of a template, with a name in the place of each value."""
    commands = _CODE.findall(path.read_text(encoding="utf-8"))
    filled = (_VALUE.sub("NAME", _DEFAULT.sub(r"\1", html.unescape(text))) for text in commands)
    return [text.replace("\\\n", " ") for text in filled]


def is_passed_on(command: str) -> bool:
    """Say whether its options are another program's."""
    return shlex.split(command)[1:2] in [[name] for name in cli.PASSED_ON]


SHOWN = {command for path in TEMPLATES for command in read_commands(path)}
COMMANDS = sorted(command for command in SHOWN if not is_passed_on(command))


def test_pages_show_commands_of_both_programs() -> None:
    assert {command.split()[0] for command in COMMANDS} == {"./run", "evalsite"}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_a_page_shows_can_be_typed(command: str) -> None:
    program, *words = shlex.split(command)
    is_asked = program == "evalsite" or (words and cli.is_for_server(words))
    parser = build_parser() if is_asked else cli.build_parser()
    try:
        parser.parse_args(words)
    except SystemExit:
        pytest.fail(f"{command!r} is refused")
