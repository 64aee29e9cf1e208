"""One line of a player: many episodes over one connection, a frame for all that has gathered."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress

from arena.errors import (
    ArenaError,
    IllegalActionError,
    MessageError,
    ServerFaultError,
    ServerLostError,
)
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
# After a server was lost twice without an answer in between, and at most: control sends nothing to
# a server for five seconds after a loss, and must not find it refused here for an older one.
FIRST_PAUSE_S, MAX_PAUSE_S = 0.5, 4.0
# Past the limit, frames that lie there are read for so long: this machine may have stood still.
LATE_S = 0.25

Dial = Callable[[], Transport]
LineError = ServerLostError | ServerFaultError
ShowWaiting = Callable[[], AbstractContextManager[None]]


class GameLine:
    """A line to one server of a game: dialled when the first answer is waited for.

    When it breaks, every episode on it ends with the same error and none waits again; what begins
    after that is dialled for anew.
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
        """dial: opens the connection; answer_s: how long an answer may be waited for."""
        self._dial, self._spec, self._server, self._token = dial, spec, server, token
        self._answer_s, self._show_waiting, self._clock = answer_s, show_waiting, clock
        self._transport: Transport | None = None
        self._outgoing: list[PlayerMessage] = []
        self._n_started = 0
        # By episode that is open here: how many actions came with its start, and were applied.
        self._n_given: dict[int, int] = {}
        self._n_applied: dict[int, int] = {}
        # By episode: what was answered and not waited for yet.
        self._answers: dict[int, Position | ArenaError] = {}
        # By episode: what the line broke with that it was on.
        self._fates: dict[int, LineError] = {}
        # Seconds that somebody has waited for this line; by episode that was asked, as it was then.
        self._waited_s = 0.0
        self._asked_at: dict[int, float] = {}
        self._n_losses, self._dial_at = 0, 0.0
        self.error: ServerLostError | None = None
        """How it was lost last, until it has answered again."""

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
        self._n_given[episode] = self._n_applied[episode] = len(actions)
        self._asked_at[episode] = self._waited_s
        self._outgoing.append(
            Start(episode, game_seed, opening_plies, dict(parameters), list(actions))
        )
        return episode

    def act(self, episode: int, step: int, action: int) -> None:
        """Play an action."""
        if episode in self._n_given:
            self._n_applied[episode] = step + 1
            self._asked_at[episode] = self._waited_s
            self._outgoing.append(Act(episode, step, action))

    def end(self, episode: int) -> None:
        """Give an episode up."""
        if episode in self._n_given:
            self._outgoing.append(End(episode))
        self._forget_episode(episode)

    def wait(self, episode: int, step: int) -> Position:
        """Return the position after `step` actions.

        Raises ServerLostError, ServerFaultError; IllegalActionError for the actions of its start.
        """
        del step  # the line has counted them itself
        if episode not in self._answers and episode in self._n_given:
            with self._show_waiting():
                self._receive_answer(episode)
        if episode not in self._answers:
            raise self._fates[episode]
        answer = self._answers.pop(episode)
        if not isinstance(answer, Position):
            raise answer
        if not answer.legal:
            self._forget_episode(episode)
        return answer

    def dial_early(self) -> None:
        """Dial before anything is asked; that nobody answers is met when something is."""
        with self._show_waiting():
            self._guard_act(self._dial_if_closed)

    def flush(self) -> None:
        """Send what has gathered; whether that succeeded shows when an answer is waited for."""
        if self._transport is not None and self._outgoing:
            with self._show_waiting():
                self._guard_act(self._send)

    def is_usable(self) -> bool:
        """Say whether another order may play on it: it has not gone since the last one."""
        return self._transport is None or self._transport.is_open()

    def renew(self, dial: Dial, token: str) -> None:
        """Dial by the pass of a newer order, should it have to be dialled again."""
        self._dial, self._token = dial, token

    def close(self) -> None:
        """End the connection."""
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.close()

    def _forget_episode(self, episode: int) -> None:
        for record in (self._answers, self._n_given, self._n_applied, self._asked_at, self._fates):
            record.pop(episode, None)

    def _receive_answer(self, episode: int) -> None:
        """Read frames until one answers the episode, or the line breaks."""
        began = self._clock()
        # What was asked together is due together: a block may not take the limit once per episode.
        asked_at = self._asked_at.get(episode, self._waited_s)
        until = began + self._answer_s - (self._waited_s - asked_at)
        read_until: float | None = None
        while episode in self._n_given and episode not in self._answers:
            self._guard_act(lambda: self._take_turn(until))
            # One that says much, and nothing of this episode, is as silent as who says nothing.
            is_waiting = episode in self._n_given and episode not in self._answers
            if not is_waiting or (now_s := self._clock()) < until:
                continue
            read_until = read_until or now_s + LATE_S
            if now_s >= read_until:
                late = f"has not answered an episode for {self._answer_s:g} s"
                self._break_line(ServerFaultError(f"{self._server}: {late}"))
        self._waited_s += self._clock() - began

    def _take_turn(self, until: float) -> None:
        self._dial_if_closed()
        assert self._transport is not None
        self._send()
        self._sort_frame(*self._read(self._transport, until - self._clock()))

    def _dial_if_closed(self) -> None:
        if self._transport is None:
            self._transport = self._open_transport()

    def _open_transport(self) -> Transport:
        left_s = self._dial_at - self._clock()
        if self.error is not None and left_s > 0:
            raise ServerLostError(f"{self.error}; not dialled again for {left_s:.1f} s")
        transport = self._dial()
        try:
            self._greet_server(transport)
        except Exception:
            transport.close()
            raise
        return transport

    def _guard_act(self, act: Callable[[], None]) -> None:
        """Do something with the connection; what goes wrong is the end of the line."""
        try:
            act()
        except LineClosedError as error:
            self._break_line(ServerLostError(f"{self._server}: {error}"))
        except (LineSilentError, FrameError, MessageError) as error:
            self._break_line(ServerFaultError(f"{self._server}: {error}"))
        except (ServerLostError, ServerFaultError) as error:
            self._break_line(error)

    def _break_line(self, error: LineError) -> None:
        """End what is on the line with this error, but for what has been answered."""
        self._fates.update(dict.fromkeys(self._n_given, error))
        for record in (self._n_given, self._n_applied, self._asked_at):
            record.clear()
        self._outgoing.clear()
        self.close()
        if isinstance(error, ServerFaultError) or self._clock() < self._dial_at:
            # Who is at fault is tried by each episode, until control has seen enough of it. And the
            # pause is not made longer by who asks meanwhile.
            return
        self.error = error
        # At once after it has answered: most lines break because a server was started anew.
        pause_s = FIRST_PAUSE_S * 2 ** (self._n_losses - 1) if self._n_losses else 0.0
        self._dial_at = self._clock() + min(pause_s, MAX_PAUSE_S)
        self._n_losses += 1

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

    def _greet_server(self, transport: Transport) -> None:
        """Say what is to be played. Raises ServerFaultError where the server plays another game."""
        hello = PlayerHello(PROTOCOL, self._spec.id, self._token)
        transport.send(encode_frame([hello]))
        messages, _ = self._read(transport, self._answer_s)
        match messages:
            case [ServerHello() as answer]:
                self._compare_declarations(answer)
            case [ErrorMessage() as refusal, *_]:
                raise self._judge_refusal(refusal, was_given=False)
            case _:
                raise ServerFaultError(f"{self._server}: its first message is no hello")

    def _compare_declarations(self, hello: ServerHello) -> None:
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
        for name, declared, ours in pairs:
            if declared != ours:
                raise ServerFaultError(
                    f"{self._server}: {name} is {declared!r}, the catalog says {ours!r}"
                )

    def _sort_frame(self, messages: Sequence[ServerMessage], raw: bytes) -> None:
        for message in messages:
            match message:
                case ErrorMessage(episode=None):
                    raise self._judge_refusal(message, was_given=False)
                case StateMessage(episode=int(episode)) | ErrorMessage(episode=int(episode)):
                    # Of an episode that was given up an answer may still be under way.
                    if episode in self._n_given:
                        self._answers[episode] = self._read_answer(episode, message, raw)
                        self._asked_at.pop(episode, None)
                        self.error, self._n_losses = None, 0
                case _:
                    raise ServerFaultError(f"{self._server}: a {type(message).__name__} in a game")

    def _read_answer(
        self, episode: int, message: StateMessage | ErrorMessage, raw: bytes
    ) -> Position | ArenaError:
        """Return what is kept until it is waited for: of a large frame what is of the episode."""
        step = self._n_applied[episode]
        if episode not in self._asked_at:
            # Kept, it would be taken for the answer to what is asked next.
            return ServerFaultError(f"{self._server}: it answers what nobody has asked")
        if isinstance(message, ErrorMessage):
            was_given = step > 0 and self._n_given[episode] == step
            return self._judge_refusal(message, was_given=was_given)
        try:
            return read_position(message, raw, self._spec, step=step)
        except ServerFaultError as error:
            return ServerFaultError(f"{self._server}: {error}")

    def _judge_refusal(
        self, refusal: ErrorMessage, *, was_given: bool
    ) -> ServerLostError | ServerFaultError | IllegalActionError:
        """Return what an error says; was_given: it answers actions of an earlier attempt."""
        complaint = f"{self._server}: {refusal.reason}: {refusal.detail}".removesuffix(": ")
        if refusal.reason in _BUSY:
            return ServerLostError(complaint)
        if refusal.reason == _ILLEGAL and was_given:
            return IllegalActionError(complaint)
        return ServerFaultError(complaint)


def close_lines(lines: Sequence[GameLine]) -> None:
    """End connections; what they say to that does not matter any more."""
    for line in lines:
        with suppress(LineClosedError, OSError):
            line.close()
