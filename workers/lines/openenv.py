"""An environment that speaks OpenEnv at the other end of a line: a WebSocket for each episode.

OpenEnv keeps one episode for each connection. To the line all of them together are one transport:
it takes the frames of docs/gameservers.md and answers them, so that what is lost, at fault or
silent is judged where it is for every other game server.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

import msgspec

from arena.errors import ArenaError, IllegalActionError
from arena.games.base import OVER
from arena.games.line_messages import (
    PROTOCOL,
    Act,
    End,
    ErrorMessage,
    PlayerHello,
    PlayerMessage,
    ServerHello,
    ServerMessage,
    Start,
    StateMessage,
)
from arena.games.openenv.episode import Episode
from arena.games.openenv.game import OpenEnvGame
from arena.games.openenv.messages import (
    CAPACITY_REACHED,
    ErrorAnswer,
    ObservationAnswer,
    StateAnswer,
    read_answer,
    write_message,
)
from workers.lines.sockets import SocketTransport
from workers.lines.transport import FrameError, LineClosedError, LineSilentError

# As long may a server take to end a session that was closed, before another one is opened.
LEAVE_S = 1.0
# Of the thread that reads a session. By default it is 8 MiB, and counts in full towards the memory
# that a player may have: 500 sessions would have ended it.
STACK_BYTES = 512 << 10
# Reasons of the protocol of game servers.
_FULL, _STOPPING, _FAULT, _ILLEGAL = "full", "stopping", "fault", "illegal"
_players: msgspec.json.Decoder[list[PlayerMessage]] = msgspec.json.Decoder(list[PlayerMessage])


class _Session:
    """One episode and its connection; `given` is still to be played again."""

    def __init__(self, socket: SocketTransport, episode: Episode, actions: Sequence[int]) -> None:
        self.socket, self.episode, self.given = socket, episode, deque(actions)

    def send(self, message: bytes) -> None:
        # Who has hung up may have said why: that is read where its answer is due.
        with suppress(LineClosedError, FrameError):
            self.socket.send(message)


class OpenEnvTransport:
    """Frames of game servers on this side, sessions of OpenEnv on the other."""

    def __init__(
        self,
        game: OpenEnvGame,
        address: str,
        *,
        server: str,
        connect: Callable[[str], SocketTransport] = SocketTransport,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Dial nobody yet: a session takes one of the few that a server has."""
        self._game, self._address, self._server = game, address, server
        self._connect, self._clock = connect, clock
        self._sessions: dict[int, _Session] = {}
        # Episodes whose server owes an answer, in the order in which it was asked.
        self._asked: deque[int] = deque()
        self._answers: list[ServerMessage] = []
        self._leaving: list[SocketTransport] = []

    def send(self, text: bytes) -> None:
        """Take a frame. Raises LineClosedError where nobody answers at the address."""
        for message in _players.decode(text):
            match message:
                case PlayerHello():
                    self._answers.append(self._make_hello())
                case Start():
                    self._start_episode(message)
                case Act(episode=number, action=action) if number in self._sessions:
                    self._sessions[number].given.append(action)
                    self._go_on(number)
                case End(episode=number) if number in self._sessions:
                    self._leave_session(number)
                case _:
                    pass  # of an episode that has ended by a fault

    def receive(self, limit_s: float) -> bytes:
        """Return a frame of what is answered. Raises LineSilentError; LineClosedError for all."""
        until = self._clock() + limit_s
        while not self._answers:
            if not self._asked:
                raise LineSilentError(f"{self._address} was asked nothing")
            self._take_answer(until)
        answers, self._answers = self._answers, []
        return msgspec.json.encode(answers)

    def receive_bytes(self, n: int, limit_s: float) -> bytes:
        """Raise FrameError: no raw bytes are announced here."""
        del limit_s
        raise FrameError(f"{n} bytes were not announced")

    def is_open(self) -> bool:
        """Say whether no session has ended by itself."""
        return all(session.socket.is_open() for session in self._sessions.values())

    def close(self) -> None:
        """End all sessions, without waiting for anybody."""
        for number in list(self._sessions):
            self._leave_session(number)
        self._hang_up(wait_s=0)

    def _make_hello(self) -> ServerHello:
        spec = self._game.spec
        return ServerHello(
            PROTOCOL, self._server, spec.id, spec.rules_version, 1, spec.n_seats, spec.n_actions,
            list(spec.observation_shape), spec.observation_dtype,
        )  # fmt: skip

    def _start_episode(self, start: Start) -> None:
        # A server that plays as many as it can has no room before the one that ended is away.
        self._hang_up(wait_s=LEAVE_S)
        try:
            with _use_small_stacks():
                socket = self._connect(self._address)
        except LineClosedError as error:
            if not self._sessions:
                raise
            # It plays on, and takes no more.
            self._refuse(start.episode, _STOPPING, str(error))
            return
        session = _Session(socket, Episode(self._game.layout), start.actions)
        self._sessions[start.episode] = session
        reset = self._game.make_reset(start.seed, start.parameters)
        session.send(write_message("reset", reset))
        self._asked.append(start.episode)

    def _ask(self, number: int, message: bytes) -> None:
        session = self._sessions[number]
        # Answers have no number: what came before the question would be taken for its answer.
        if session.socket.has_message():
            self._refuse(number, _FAULT, "a message came that nobody had asked for")
            return
        session.send(message)
        self._asked.append(number)

    def _take_answer(self, until: float) -> None:
        """Read what answers the oldest question."""
        number = self._asked[0]
        socket = self._sessions[number].socket
        try:
            text = socket.receive(max(until - self._clock(), 0.0))
        except FrameError as error:
            self._refuse(number, _FAULT, str(error))
        except LineClosedError as error:
            if socket.is_open():
                raise  # not even a ping comes back: the machine is away, and all sessions with it
            self._refuse(number, _STOPPING, str(error))
        else:
            self._asked.popleft()
            self._read(number, text)

    def _read(self, number: int, text: str) -> None:
        session = self._sessions[number]
        try:
            answer = read_answer(text)
            match answer:
                case ErrorAnswer(data=refusal):
                    is_full = refusal.code == CAPACITY_REACHED
                    self._refuse(number, _FULL if is_full else _FAULT, str(refusal))
                    return
                case ObservationAnswer(data=observation) if not session.episode.asks_state:
                    session.episode.see(observation)
                case StateAnswer(data=state) if session.episode.asks_state:
                    session.episode.see_state(state)
                case _:
                    self._refuse(number, _FAULT, f"a {type(answer).__name__} that nobody asked for")
                    return
        except ArenaError as error:
            self._refuse(number, _FAULT, str(error))
            return
        except RecursionError:
            # What is shown of it in an error may take a deeper stack than reading it did.
            self._refuse(number, _FAULT, "what it says is nested too deeply")
            return
        self._go_on(number)

    def _go_on(self, number: int) -> None:
        """Play what was chosen, until the server is to be asked or there is something to say."""
        session = self._sessions[number]
        if session.episode.asks_state:
            self._ask(number, write_message("state"))
            return
        while session.given:
            try:
                action = session.episode.choose(session.given.popleft())
            except IllegalActionError as error:
                self._refuse(number, _ILLEGAL, str(error))
                return
            if action is not None:
                self._ask(number, write_message("step", action))
                return
        self._answers.append(_make_state_message(number, session.episode))
        if session.episode.seat() == OVER:
            self._leave_session(number)

    def _refuse(self, number: int, reason: str, detail: str) -> None:
        self._answers.append(ErrorMessage(reason, detail[:2000], number))
        if number in self._sessions:
            self._leave_session(number)

    def _leave_session(self, number: int) -> None:
        session = self._sessions.pop(number)
        with suppress(ValueError):
            self._asked.remove(number)
        session.send(write_message("close"))
        self._leaving.append(session.socket)

    def _hang_up(self, *, wait_s: float) -> None:
        # Of all together: hundreds that stay would keep every other episode waiting.
        until = self._clock() + wait_s
        for socket in self._leaving:
            socket.hang_up(max(until - self._clock(), 0.0))
        self._leaving.clear()


@contextmanager
def _use_small_stacks() -> Iterator[None]:
    before = threading.stack_size(STACK_BYTES)
    try:
        yield
    finally:
        threading.stack_size(before)


def _make_state_message(number: int, episode: Episode) -> StateMessage:
    step, text = len(episode.actions), episode.text()
    if episode.seat() == OVER:
        assert episode.score is not None
        return StateMessage(number, step, OVER, returns=[episode.score], text=text)
    return StateMessage(
        number, step, 0, episode.legal(), episode.observation(), text=text, names=episode.names()
    )
