"""One line of a player: many episodes over one connection, a frame for all that has gathered."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress

from arena.errors import IllegalActionError, MessageError, ServerFaultError, ServerLostError
from arena.games.base import GameSpec
from arena.games.line_messages import (
    PROTOCOL,
    Act,
    End,
    ErrorMessage,
    PlayerHello,
    PlayerMessage,
    RawBytes,
    ServerHello,
    ServerMessage,
    Start,
    StateMessage,
    encode_frame,
    read_frame,
)
from arena.games.served import Position, read_position
from arena.parameters import Value
from workers.lines.transport import FrameError, LineClosedError, LineSilentError, Transport

# Said of a server that is there and takes no more: another attempt finds another one.
_BUSY = ("full", "stopping", "refused")
_ILLEGAL = "illegal"

Dial = Callable[[], Transport]
ShowWaiting = Callable[[], AbstractContextManager[None]]


class GameLine:
    """A line to one server of a game: dialled when the first answer is waited for.

    Once it has broken it stays so: every episode ends with the same error, none waits again.
    """

    def __init__(
        self,
        dial: Dial,
        spec: GameSpec,
        *,
        server: str,
        token: str = "",
        answer_s: float,
        show_waiting: ShowWaiting,
        clock: Callable[[], float],
    ) -> None:
        """dial: opens the connection; answer_s: how long an answer may take."""
        self._dial, self._spec, self._server, self._token = dial, spec, server, token
        self._answer_s, self._show_waiting, self._clock = answer_s, show_waiting, clock
        self._transport: Transport | None = None
        self._outgoing: list[PlayerMessage] = []
        # By episode: what was answered and not waited for yet, with the bytes behind its frame.
        self._answers: dict[int, tuple[StateMessage | ErrorMessage, bytes]] = {}
        self._n_started = 0
        # By episode: how many actions came with its start.
        self._n_given: dict[int, int] = {}
        self.error: ServerLostError | ServerFaultError | None = None

    def start(
        self,
        game_seed: int,
        *,
        opening_plies: int,
        parameters: Mapping[str, Value],
        actions: Sequence[int],
    ) -> int:
        """Begin an episode in which these actions were played before; return its number."""
        self._n_started = episode = self._n_started + 1
        self._n_given[episode] = len(actions)
        self._outgoing.append(
            Start(episode, game_seed, opening_plies, dict(parameters), list(actions))
        )
        return episode

    def act(self, episode: int, step: int, action: int) -> None:
        """Play an action."""
        self._outgoing.append(Act(episode, step, action))

    def end(self, episode: int) -> None:
        """Give an episode up."""
        self._forget(episode)
        if self.error is None:
            self._outgoing.append(End(episode))

    def wait(self, episode: int, step: int) -> Position:
        """Return the position after `step` actions.

        Raises ServerLostError, ServerFaultError; IllegalActionError for the actions of its start.
        """
        if episode not in self._answers:
            with self._show_waiting():
                self._receive_answer(episode)
        answer, raw = self._answers.pop(episode)
        if isinstance(answer, ErrorMessage):
            raise self._judge(answer, was_given=step > 0 and self._n_given[episode] == step)
        try:
            position = read_position(answer, raw, self._spec, step=step)
        except ServerFaultError as error:
            raise ServerFaultError(f"{self._server}: {error}") from error
        if not position.legal:
            self._forget(episode)
        return position

    def flush(self) -> None:
        """Send what has gathered; whether that succeeded shows when an answer is waited for."""
        if self._transport is not None and self._outgoing and self.error is None:
            with self._show_waiting():
                self._guard(self._send)

    def is_usable(self) -> bool:
        """Say whether another order may play on it: it has not broken, nor gone in between."""
        return self.error is None and (self._transport is None or self._transport.is_open())

    def close(self) -> None:
        """End the connection."""
        if self._transport is not None:
            self._transport.close()

    def _forget(self, episode: int) -> None:
        self._answers.pop(episode, None)
        self._n_given.pop(episode, None)

    def _receive_answer(self, episode: int) -> None:
        """Read frames until one answers the episode. Raises what the line ended with."""
        until = self._clock() + self._answer_s
        while episode not in self._answers:
            if self.error is None:
                self._guard(lambda: self._take_turn(until))
            # One that says much, and nothing of this episode, is as silent as who says nothing.
            if self._clock() >= until and episode not in self._answers and self.error is None:
                late = f"has not answered an episode for {self._answer_s:g} s"
                self._break(ServerFaultError(f"{self._server}: {late}"))
            if self.error is not None:
                raise self.error

    def _take_turn(self, until: float) -> None:
        if self._transport is None:
            self._transport = self._dial()
            self._greet(self._transport)
        self._send()
        self._sort_frame(*self._read(self._transport, until - self._clock()))

    def _guard(self, act: Callable[[], None]) -> None:
        """Do something with the connection; what goes wrong is the end of the line."""
        try:
            act()
        except LineClosedError as error:
            self._break(ServerLostError(f"{self._server}: {error}"))
        except LineSilentError as error:
            self._break(ServerFaultError(f"{self._server}: {error}"))
        except (FrameError, MessageError) as error:
            self._break(ServerFaultError(f"{self._server}: {error}"))
        except (ServerLostError, ServerFaultError) as error:
            self._break(error)

    def _break(self, error: ServerLostError | ServerFaultError) -> None:
        self.error = error
        self._outgoing.clear()
        self.close()

    def _send(self) -> None:
        if self._transport is not None and self._outgoing:
            frame = encode_frame(self._outgoing)
            self._outgoing.clear()
            self._transport.send(frame)

    def _read(self, transport: Transport, limit_s: float) -> tuple[list[ServerMessage], bytes]:
        messages = read_frame(transport.receive(max(limit_s, 0.0)))
        if messages and isinstance(behind := messages[-1], RawBytes):
            return messages[:-1], transport.receive_bytes(behind.n, self._answer_s)
        return messages, b""

    def _greet(self, transport: Transport) -> None:
        """Say what is to be played. Raises ServerFaultError where the server plays another game."""
        hello = PlayerHello(PROTOCOL, self._spec.id, self._token)
        transport.send(encode_frame([hello]))
        messages, _ = self._read(transport, self._answer_s)
        match messages:
            case [ServerHello() as answer]:
                self._compare(answer)
            case [ErrorMessage() as refusal, *_]:
                raise self._judge(refusal, was_given=False)
            case _:
                raise ServerFaultError(f"{self._server}: its first message is no hello")

    def _compare(self, hello: ServerHello) -> None:
        spec = self._spec
        pairs = (
            ("protocol", hello.protocol, PROTOCOL),
            ("game", hello.game, spec.id),
            ("rules_version", hello.rules_version, spec.rules_version),
            ("n_seats", hello.n_seats, spec.n_seats),
            ("n_actions", hello.n_actions, spec.n_actions),
            ("observation_shape", hello.observation_shape, list(spec.observation_shape)),
            ("observation_dtype", hello.observation_dtype, spec.observation_dtype),
        )
        for name, theirs, ours in pairs:
            if theirs != ours:
                raise ServerFaultError(
                    f"{self._server}: {name} is {theirs!r}, the catalog says {ours!r}"
                )

    def _sort_frame(self, messages: Sequence[ServerMessage], raw: bytes) -> None:
        for message in messages:
            match message:
                case ErrorMessage(episode=None):
                    raise self._judge(message, was_given=False)
                case StateMessage(episode=int(episode)) | ErrorMessage(episode=int(episode)):
                    # Of an episode that was given up an answer may still be under way.
                    if episode in self._n_given:
                        self._answers[episode] = (message, raw)
                case _:
                    raise ServerFaultError(f"{self._server}: a {type(message).__name__} in a game")

    def _judge(
        self, refusal: ErrorMessage, *, was_given: bool
    ) -> ServerLostError | ServerFaultError | IllegalActionError:
        """Return what an error says; was_given: it answers actions of an earlier attempt."""
        said = f"{self._server}: {refusal.reason}: {refusal.detail}".removesuffix(": ")
        if refusal.reason in _BUSY:
            return ServerLostError(said)
        if refusal.reason == _ILLEGAL and was_given:
            return IllegalActionError(said)
        return ServerFaultError(said)


def close_lines(lines: Sequence[GameLine]) -> None:
    """End connections; what they say to that does not matter any more."""
    for line in lines:
        with suppress(LineClosedError, OSError):
            line.close()
