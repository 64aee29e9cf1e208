"""A file of results, read and checked as a whole before anything of it is written.

What is kept in memory is some 20 bytes a row, and the keys where it has some.
"""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final, NamedTuple

from arena.policies.spec import is_spelled
from matches.artifacts.agents import MAX_NAME
from matches.errors import BadInputError, BadRowsError
from matches.ledger.imported.columns import (
    RESULT_HINT,
    RESULTS,
    SECOND_WINS,
    Columns,
    read_result,
)
from matches.ledger.imported.readers import OpenedFile, RawRow
from matches.models import Agent, ImportedKey
from matches.models.imported import MAX_KEY
from matches.models.validation import NAMES_ARE_PRINTABLE, is_printable
from matches.store.bulk import split_batches

MAX_ROWS: Final = 5_000_000
MAX_AGENTS: Final = 100_000
MOST_NAMED: Final = 20
"""Wrong cells that are named; the others are counted."""
# Of one query.
ADDS: Final = "names become imported agents (--new-agents, adds_agents)"
_NAMES_AT_ONCE: Final = 500
_KEYS_AT_ONCE: Final = 5_000


class Cell(NamedTuple):
    """A place in the file."""

    line: int
    column: str


@dataclass
class Sheet:
    """The results of a file by row: agents as places in `names`, and who won.

    keys: as many as rows, or none. problems: by line, what is wrong.
    """

    columns: Columns
    place: str
    names: dict[str, int] = field(default_factory=dict)
    first: "array[int]" = field(default_factory=lambda: array("l"))
    second: "array[int]" = field(default_factory=lambda: array("l"))
    result: bytearray = field(default_factory=bytearray)
    lines: "array[int]" = field(default_factory=lambda: array("l"))
    keys: dict[str, int] = field(default_factory=dict)
    """The row of each key."""
    problems: list[tuple[int, str]] = field(default_factory=list)
    n_problems: int = 0
    # Where each agent is named first.
    named_at: list[Cell] = field(default_factory=list)

    def __len__(self) -> int:
        """Return how many rows it has."""
        return len(self.result)

    def change_seats(self) -> None:
        """Seat the second of each row first: the file names first who sits second in this game."""
        self.first, self.second = self.second, self.first
        self.result = bytearray(SECOND_WINS - result for result in self.result)

    def refuse(self, line: int, column: str, value: str, problem: str) -> None:
        """Note what is wrong with a cell."""
        self.refuse_row(line, f"column {column!r}, value {value!r:.80}: {problem}")

    def refuse_row(self, line: int, problem: str) -> None:
        """Note what is wrong with a row."""
        self.n_problems += 1
        if len(self.problems) < MOST_NAMED:
            self.problems.append((line, f"{self.place} {line}, {problem}"))

    def raise_problems(self) -> None:
        """Raise BadRowsError where something was wrong."""
        if not self.n_problems:
            return
        texts = [text for _, text in sorted(self.problems, key=itemgetter(0))]
        if self.n_problems > len(texts):
            texts.append(f"and {self.n_problems - len(texts):,} more; nothing was imported")
        raise BadRowsError("file", texts)


def read_sheet(opened: OpenedFile) -> Sheet:
    """Return the results of a file. Raises BadRowsError naming the cells that are wrong."""
    sheet = Sheet(opened.columns, opened.place)
    for row in opened.rows:
        if row.problem:
            sheet.refuse_row(row.line, row.problem)
        else:
            _take_row(sheet, row)
        if len(sheet) > MAX_ROWS:
            raise BadInputError("file", f"it has more than {MAX_ROWS:,} rows: split it")
    sheet.raise_problems()
    if not len(sheet):
        raise BadInputError("file", "it has no row: each is a result of two agents")
    return sheet


def _take_row(sheet: Sheet, row: RawRow) -> None:
    first = sheet.names.get(row.first)
    if first is None:
        first = _name_agent(sheet, row.line, sheet.columns.first, row.first)
    second = sheet.names.get(row.second)
    if second is None:
        second = _name_agent(sheet, row.line, sheet.columns.second, row.second)
    result = RESULTS.get(row.result)
    if result is None:
        result = _read_odd_result(sheet, row)
    if first == second and first >= 0:
        problem = "an agent that meets itself says nothing: it is the first, too"
        sheet.refuse(row.line, sheet.columns.second, row.second, problem)
    if sheet.columns.key:
        _take_key(sheet, row)
    sheet.first.append(first)
    sheet.second.append(second)
    sheet.result.append(result)
    sheet.lines.append(row.line)


def _name_agent(sheet: Sheet, line: int, column: str, value: str) -> int:
    """Return the place of an agent that is named for the first time; -1 where it has no name."""
    name = value.strip()
    if name in sheet.names:
        place = sheet.names[value] = sheet.names[name]
        return place
    problem = ""
    if not name:
        problem = "name the agent"
    elif len(name) > MAX_NAME:
        problem = f"a name has at most {MAX_NAME} characters, it has {len(name)}"
    elif not is_printable(name):
        problem = NAMES_ARE_PRINTABLE
    elif len(sheet.named_at) == MAX_AGENTS:
        problem = f"at most {MAX_AGENTS:,} agents are taken"
    if problem:
        sheet.refuse(line, column, value, problem)
        return -1
    place = len(sheet.named_at)
    sheet.named_at.append(Cell(line, column))
    sheet.names[name] = sheet.names[value] = place
    return place


def _read_odd_result(sheet: Sheet, row: RawRow) -> int:
    result = read_result(row.result)
    if result is not None:
        return result
    problem = RESULT_HINT
    if row.result.strip() == "*":
        problem = "the game is not over: leave it out"
    sheet.refuse(row.line, sheet.columns.result, row.result, problem)
    return 0


def _take_key(sheet: Sheet, row: RawRow) -> None:
    key, column = row.key.strip(), sheet.columns.key
    if not key:
        sheet.refuse(row.line, column, row.key, "each row needs a key, or none has one")
    elif len(key) > MAX_KEY or not key.isprintable():
        problem = f"a key has 1 to {MAX_KEY} printable characters"
        sheet.refuse(row.line, column, row.key, problem)
    elif key in sheet.keys:
        first_line = sheet.lines[sheet.keys[key]]
        sheet.refuse(row.line, column, row.key, f"{sheet.place} {first_line} has it already")
    else:
        sheet.keys[key] = len(sheet)


def find_agents(sheet: Sheet, *, game: str) -> dict[str, int]:
    """Return the agents of the game that the file names, by name."""
    keys_by_name: dict[str, int] = {}
    for names in split_batches(sheet.names, _NAMES_AT_ONCE):
        rows = Agent.objects.filter(game=game, name__in=names)
        keys_by_name.update(rows.values_list("name", "pk"))
    return keys_by_name


def refuse_unknown_agents(sheet: Sheet, known_agents: Mapping[str, int], *, game: str) -> None:
    """Raise BadRowsError naming those that are no agents of the game."""
    for name, place in sheet.names.items():
        if name == name.strip() and name not in known_agents:
            line, column = sheet.named_at[place]
            problem = f"{game} has no agent of this name: correct it, or say that {ADDS}"
            sheet.refuse(line, column, name, problem)
    sheet.raise_problems()


def refuse_spellings(sheet: Sheet, known_agents: Mapping[str, int]) -> None:
    """Raise BadRowsError naming new agents whose name is how a policy kind is spelled.

    Nobody could enter that policy in the game any more: its name would be taken for good.
    """
    for name, place in sheet.names.items():
        if name == name.strip() and name not in known_agents and is_spelled(name):
            line, column = sheet.named_at[place]
            problem = "a policy is spelled so: register it, or give the one you mean another name"
            sheet.refuse(line, column, name, problem)
    sheet.raise_problems()


def find_known_rows(
    sheet: Sheet, board: int, lineups: Sequence[str], ranks: Sequence[str]
) -> set[int]:
    """Return the rows that are on the leaderboard already, by their keys.

    lineups, ranks: what each agent's place and each result is written as. Raises BadRowsError for
    a key that was imported with another result.
    """
    known_rows: set[int] = set()
    for keys in split_batches(sheet.keys, _KEYS_AT_ONCE):
        rows = ImportedKey.objects.filter(leaderboard=board, key__in=keys)
        for key, lineup, was in rows.values_list("key", "match__lineup", "match__outcome__ranks"):
            row = sheet.keys[key]
            known_rows.add(row)
            own = f"{lineups[sheet.first[row]]},{lineups[sheet.second[row]]}"
            if own != lineup or ranks[sheet.result[row]] != was:
                problem = "another result was imported under this key: strike that import first"
                sheet.refuse(sheet.lines[row], sheet.columns.key, key, problem)
    sheet.raise_problems()
    return known_rows
