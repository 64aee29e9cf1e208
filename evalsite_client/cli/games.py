"""Commands of games: list them, show what an agent must know of one, try one of OpenSpiel's."""

import re
from argparse import ArgumentParser, Namespace, _SubParsersAction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from evalsite_client.api.games import Reference
from evalsite_client.cli.options import add_command, make_common_options, read_seconds
from evalsite_client.cli.plugins import SECONDS, check_file
from evalsite_client.cli.show import Answer, format_table
from evalsite_client.client import Client
from evalsite_client.errors import InputError

HEAD: Final = ("name", "title", "seats", "actions", "observation")
ENGINE: Final = "openspiel"
SOURCE: Final = (
    '"""{name} of OpenSpiel."""\n\n'
    "from arena.games.openspiel import OpenSpielGame\n\n"
    'GAME = OpenSpielGame("{name}")\n'
)


def add_commands(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the command with its actions; alone it lists."""
    parser = add_command(
        commands,
        "games",
        list_games,
        examples="  evalsite games\n  evalsite games show connect_four\n"
        "  evalsite games try openspiel:pentago",
    )
    actions = parser.add_subparsers(metavar="ACTION")
    common = [make_common_options()]
    show = actions.add_parser("show", help="observations, actions and results", parents=common)
    show.add_argument("game", help="its name, as `evalsite games` lists it")
    show.set_defaults(run=show_game)
    trying = actions.add_parser(
        "try", help="check a game of OpenSpiel without a server, and say its file", parents=common
    )
    trying.add_argument("game", metavar="openspiel:NAME")
    trying.add_argument("--limit", type=read_seconds, default=SECONDS, metavar="S", help="a check")
    trying.set_defaults(run=try_game)


def list_games(client: Client, options: Namespace) -> Answer:
    """List the games that can be played; `games show NAME` tells more of one."""
    del options
    games = list(client.games.list())
    rows = [
        (game.id, game.title, game.n_seats, game.n_actions, _format_shape(game.observation_shape))
        for game in games
    ]
    return Answer(games, format_table(HEAD, rows))


def show_game(client: Client, options: Namespace) -> Answer:
    """Show what who trains an agent must know of a game."""
    reference = client.games.get(options.game)
    return Answer(reference, "\n\n".join(_list_sections(reference)))


def try_game(client: Client, options: Namespace) -> Answer:
    """Run all checks on a game of OpenSpiel, and say which file adds it."""
    name = _read_name(options.game)
    source = SOURCE.format(name=name)
    with TemporaryDirectory() as root:
        folder = Path(root) / "games"
        folder.mkdir()
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
        options.file, options.game = folder / f"{name}.py", []
        checked = check_file(client, options)
    if checked.status:
        return checked
    hint = f"To add it, write this to games/{name}.py in a folder that EVALSITE_PLUGINS names:"
    return Answer(checked.value, f"{checked.text}\n\n{hint}\n\n{source}")


def _read_name(spelled: str) -> str:
    engine, _, name = spelled.partition(":")
    if engine != ENGINE or not re.fullmatch(r"[a-z0-9_]+", name):
        raise InputError(
            "game", f"must be {ENGINE}:NAME, such as {ENGINE}:pentago, got {spelled!r:.80}"
        )
    return name


def _list_sections(reference: Reference) -> list[str]:
    facts = format_table(("", ""), [(fact.name, fact.says) for fact in reference.facts])
    observed = [
        (str(part.first) if part.first == part.last else f"{part.first} to {part.last}", part.holds)
        for part in reference.observation
    ]
    actions = [(action.action, ", ".join(action.names)) for action in reference.actions]
    left_out = f"\n{reference.n_left_out} more are not listed" if reference.n_left_out else ""
    return [
        f"{reference.title} ({reference.id})",
        facts.lstrip("\n"),
        f"how it begins: {reference.start}",
        format_table(("first axis", "what a seat observes"), observed),
        *filter(None, (reference.observation_note,)),
        f"{format_table(('number', 'action'), actions)}{left_out}",
    ]


def _format_shape(shape: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"
