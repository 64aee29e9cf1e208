"""What a match runner in a test is given, and what it has said."""

import tempfile
from collections.abc import Sequence

from arena.messages import Ending, Reason
from arena.move_notes import MoveNote, pack_notes, unpack_notes
from workers.current_call import SIZE, CallMemory, Phase
from workers.wire import Assignment, EndedMatch, Message, Progress


class PlayerReports:
    """Keeps what a player would send."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def send(self, message: Message) -> None:
        self.messages.append(message)

    @property
    def ended(self) -> dict[int, EndedMatch]:
        rows = [row for news in self.news for row in news.ended]
        assert len({row.index for row in rows}) == len(rows)
        return {row.index: row for row in rows}

    @property
    def news(self) -> list[Progress]:
        return [message for message in self.messages if isinstance(message, Progress)]

    @property
    def actions(self) -> dict[int, list[int]]:
        by_match: dict[int, list[int]] = {}
        for news in self.news:
            for index, action in zip(news.acted[::3], news.acted[1::3], strict=True):
                by_match.setdefault(index, []).append(action)
        return by_match

    @property
    def notes(self) -> dict[int, list[MoveNote]]:
        by_match: dict[int, list[int]] = {}
        for news in self.news:
            for index, note in zip(news.acted[::3], news.acted[2::3], strict=True):
                by_match.setdefault(index, []).append(note)
        return {
            index: unpack_notes(pack_notes(notes), len(notes)) for index, notes in by_match.items()
        }


class Lookout(CallMemory):
    """A call memory that keeps what it showed."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor)
        self.calls: list[tuple[int, int, Phase]] = []
        self.blocks: list[tuple[int, list[int]]] = []

    def show_call(self, index: int, seat: int, phase: Phase) -> None:
        self.calls.append((index, seat, phase))
        super().show_call(index, seat, phase)

    def show_block(self, agent: int, indices: Sequence[int]) -> None:
        super().show_block(agent, indices)
        self.blocks.append((agent, self.read_block()))


def new_lookout() -> Lookout:
    """Return one on a file of its own; close it."""
    with tempfile.TemporaryFile() as shared:
        shared.truncate(SIZE)
        return Lookout(shared.fileno())


def items(n: int, actions: Sequence[int] = ()) -> list[Assignment]:
    return [Assignment(i, 1, i + 1, [0, 1], list(actions)) for i in range(n)]


def fate(row: EndedMatch) -> tuple[Ending, Reason, int, list[int]]:
    return row.ending, row.reason, row.seat, row.ranks
