"""`evalsite results`: bring results that were played elsewhere, strike them, export all."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace, _SubParsersAction
from pathlib import Path
from typing import Final

from evalsite_client.api.shared import Form
from evalsite_client.cli.options import (
    add_command,
    add_limit,
    add_reason,
    page_size,
    read_path,
    read_whole,
    take_rows,
    writable_file,
)
from evalsite_client.cli.show import Answer, format_table
from evalsite_client.client import Client

FORMS: Final[tuple[Form, ...]] = ("csv", "parquet", "pgn")
PARTS: Final = ("first", "second", "result", "key")
FORM: Final = ("--format", "--form")
HEAD: Final = ("id", "leaderboard", "file", "results", "known", "state", "by", "at")


def add_commands(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the commands."""
    listed = add_command(
        commands,
        "results",
        show_imports,
        examples="  evalsite results import games.csv --board chess --column first=White\n"
        "  evalsite results --board chess\n"
        '  evalsite results strike 3 --reason "the wrong file"',
    )
    listed.add_argument("-l", "--board", help="those of one leaderboard")
    add_limit(listed)
    actions = listed.add_subparsers(metavar="ACTION")
    _add_import(actions)
    _add_export(actions)
    struck = add_command(actions, "strike", strike_import)
    struck.add_argument("id", type=read_whole(1), metavar="ID", help="of the import")
    add_reason(struck, is_required=True)


def _add_import(actions: "_SubParsersAction[ArgumentParser]") -> None:
    importing = add_command(
        actions,
        "import",
        import_file,
        examples="  evalsite results import games.csv --board chess\n"
        "  evalsite results import games.parquet --board chess --column first=white "
        "--column second=black --column key=game_id\n"
        "  evalsite results import games.pgn --board chess --new-agents",
    )
    importing.add_argument("file", type=read_path, metavar="FILE", help=".csv, .parquet or .pgn")
    importing.add_argument("-l", "--board", required=True, help="the leaderboard")
    importing.add_argument(
        "--column",
        type=read_column,
        action="append",
        default=[],
        metavar="PART=NAME",
        help=f"the column (in PGN the tag) that holds a part of a row: {', '.join(PARTS)}; "
        "first may also be called white or player1, second black or player2, result score. "
        "With a key a row is known again in any file, else by its file and place",
    )
    importing.add_argument(*FORM, choices=FORMS, default="", help="as FILE ends")
    importing.add_argument(
        "--new-agents",
        action="store_true",
        help="names that are no agents of the game become imported ones: rated, never played",
    )


def _add_export(actions: "_SubParsersAction[ArgumentParser]") -> None:
    exporting = add_command(
        actions,
        "export",
        export_results,
        examples="  evalsite results export --board chess --out games.csv\n"
        "  evalsite results export --board chess --format pgn --out games.pgn && ordo -p games.pgn",
    )
    exporting.add_argument("-l", "--board", required=True, help="the leaderboard")
    exporting.add_argument(
        *FORM, choices=FORMS, help="pgn: for BayesElo and Ordo; else as FILE ends"
    )
    exporting.add_argument("--out", type=writable_file, metavar="FILE", help="else NAME.FORM")


def read_column(text: str) -> tuple[str, str]:
    """Return part and column of PART=NAME."""
    part, equals, name = text.partition("=")
    if not equals or not name or part not in PARTS:
        raise ArgumentTypeError(f"{text!r} is not PART=NAME with PART one of {', '.join(PARTS)}")
    return part, name


def import_file(client: Client, options: Namespace) -> Answer:
    """Put the results of a file on a leaderboard; the same file again changes nothing."""
    imported = client.imports.upload(
        options.file,
        leaderboard=options.board,
        columns=dict(options.column),
        form=options.format,
        adds_agents=options.new_agents,
    )
    n_known = imported.n_rows - imported.n_new
    text = f"import {imported.id}: {imported.n_new:,} new results on {imported.leaderboard}"
    text += f", {n_known:,} were there before" if n_known else ""
    text += (
        f", {imported.n_new_agents:,} new agents"
        if imported.n_new and imported.n_new_agents
        else ""
    )
    return Answer(imported, text)


def export_results(client: Client, options: Namespace) -> Answer:
    """Write all results that the ratings of a leaderboard count to a file."""
    ending = options.out.suffix.removeprefix(".") if options.out else ""
    form_name = options.format or ending
    form = next((choice for choice in FORMS if choice == form_name), FORMS[0])
    path = options.out or Path(f"{options.board}.{form}")
    client.leaderboards.download_results(options.board, path, form=form)
    return Answer({"file": str(path), "form": form}, f"{path}: {path.stat().st_size:,} bytes")


def show_imports(client: Client, options: Namespace) -> Answer:
    """List files of results that were played elsewhere, the newest first."""
    imports = client.imports.list(leaderboard=options.board, page_size=page_size(options))
    shown_imports = take_rows(imports, options)
    rows = [
        (i.id, i.leaderboard, i.file_name, i.n_rows, i.n_known, i.state, i.actor, i.created_at)
        for i in shown_imports
    ]
    return Answer(shown_imports, format_table(HEAD, rows))


def strike_import(client: Client, options: Namespace) -> Answer:
    """Let all results of an import count no more; its leaderboard is rated as without them."""
    struck = client.imports.strike(options.id, reason=options.reason)
    text = f"import {struck.id} is struck: {struck.n_struck:,} results of {struck.leaderboard} less"
    return Answer(struck, text)
