"""Serve a game of your own: copy this file beside yours, write a class, call serve().

    class Nim:
        game, n_seats, n_actions = "nim", 2, 3
        observation_shape, observation_dtype = (1,), "float32"

        def reset(self, seed, opening_plies, parameters):
            self.left, self.mover, rng = 15, 0, Random(seed)
            for _ in range(opening_plies):
                self.apply(rng.choice(self.legal()))

        def seat(self):  # who moves next; -1 once it is over
            return self.mover if self.left else -1

        def legal(self):  # ascending
            return [action for action in range(3) if action < self.left]

        def observation(self):  # of who moves: a numpy array, bytes or lists
            return [self.left]

        def apply(self, action):
            self.left, self.mover = self.left - action - 1, 1 - self.mover

        def returns(self):  # a number per seat, at the end
            return [-1.0, 1.0] if self.mover == 0 else [1.0, -1.0]

    serve(Nim, name="sim-1", slots=64, listen="127.0.0.1:8081")

One object is one episode. It may also have rules_version, text(), names() (of the legal actions)
and close(). What it raises fails the episode as a fault of this server. All episodes share one
thread: start more servers for more cores. A game that asks others for its state has `async def
ready(self)`, too: awaited after reset() and apply() before the state is read, while other episodes
go on. Python 3.11 and `websockets`; docs/gameservers.md has the protocol.
"""

import asyncio
import hmac
import json
import os
import re
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from math import isfinite, prod
from operator import index
from pathlib import Path
from random import random
from typing import Any
from urllib.parse import quote, urlsplit

from websockets.asyncio.client import connect
from websockets.asyncio.connection import Connection
from websockets.asyncio.server import Server as Listener
from websockets.asyncio.server import ServerConnection
from websockets.asyncio.server import serve as listen_at
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.http11 import Request, Response

PROTOCOL, MAX_SLOTS = 1, 4096
EPISODE_KINDS = ("start", "act", "end")
MAX_FRAME = 4 << 20  # text and raw bytes together
OVER = -1
NOTICE_S = 10.0  # for episodes to end once this server is told to stop
SIGN_S = 2.0
FIRST_WAIT_S, MAX_WAIT_S = 0.2, 5.0
PASS_S = 3600
GOING_AWAY = 1001
ITEM_BYTES = {
    "bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "float16": 2, "int32": 4,
    "uint32": 4, "float32": 4, "int64": 8, "uint64": 8, "float64": 8,
}  # fmt: skip

Message = dict[str, Any]
Frame = tuple[str, bytes]  # a JSON array, and the raw bytes behind it


class RefusalError(Exception):
    """Why a message is not answered with a state; reason: a word of the protocol."""

    def __init__(self, reason: str, detail: str) -> None:
        self.reason, self.detail = reason, detail[:2000]
        super().__init__(detail)


class LineRefusedError(RefusalError):
    """Why a whole line ends."""


class WrongStateError(ValueError):
    """What of a state does not fit the declared game; the message says what must."""


class ServerError(Exception):
    """Why this server cannot start; the message says what to change."""


class Server:
    """What is served, and the slots that all lines share. Raises ServerError for a bad class."""

    def __init__(
        self,
        make: Callable[[], Any],
        *,
        name: str,
        slots: int = 64,
        key: str = "",
        labels: Mapping[str, str] | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.make, self.name, self.slots, self.key, self.now = make, name, slots, key, now
        self.labels = dict(labels or {})
        self.n_running, self.n_ended, self.is_stopping = 0, 0, False
        if not re.fullmatch(r"[A-Za-z0-9_.-]{1,60}", name):
            raise ServerError(f"name is {name!r}: must be 1 to 60 of A-Z a-z 0-9 _ . -")
        if type(slots) is not int or not 1 <= slots <= MAX_SLOTS:
            raise ServerError(f"slots is {slots!r}: must be 1 to {MAX_SLOTS}")
        game = make()
        try:
            self.game, self.dtype = str(game.game or ""), str(game.observation_dtype)
            self.rules_version = read_count("rules_version", getattr(game, "rules_version", 1))
            self.n_seats = read_count("n_seats", game.n_seats)
            self.n_actions = read_count("n_actions", game.n_actions)
            self.shape = read_shape(game.observation_shape)
        except AttributeError as error:
            raise ServerError(f"{error}: such attributes say what the game is") from error
        if not self.game:
            raise ServerError("game is empty: must be the id of its catalog file")
        if self.dtype not in ITEM_BYTES:
            choices = ", ".join(ITEM_BYTES)
            raise ServerError(f"observation_dtype is {self.dtype!r}: must be one of {choices}")
        self.n_bytes = prod(self.shape) * ITEM_BYTES[self.dtype]

    def hello(self) -> Message:
        load = {**measure_load(), "playing": self.n_running, "episodes": self.n_ended}
        return {
            "kind": "hello", "protocol": PROTOCOL, "name": self.name, "game": self.game,
            "rules_version": self.rules_version, "slots": self.slots, "n_seats": self.n_seats,
            "n_actions": self.n_actions, "observation_shape": self.shape,
            "observation_dtype": self.dtype, "load": load, "labels": self.labels,
        }  # fmt: skip


def read_count(name: str, value: Any) -> int:
    with suppress(TypeError):
        if (count := index(value)) >= 1:
            return count
    raise ServerError(f"{name} is {value!r:.80}: must be a whole number of 1 or more")


def read_shape(value: Any) -> list[int]:
    if not isinstance(value, (tuple, list)):
        raise ServerError(f"observation_shape is {value!r:.80}: must be a tuple, such as (4,)")
    return [read_count("a number of observation_shape", size) for size in value]


def read_returns(value: Any, n_seats: int) -> list[float]:
    with suppress(TypeError, ValueError, OverflowError):
        returns = [float(entry) for entry in value]
        if len(returns) == n_seats and all(map(isfinite, returns)):
            return returns
    seats = f"{n_seats} finite numbers, one per seat"
    raise WrongStateError(f"returns() is {value!r:.200}: must be {seats}")


class Episode:
    """One game in progress. Raises WrongStateError for no state of the declared game."""

    def __init__(self, server: Server, game: Any) -> None:
        self.server, self.game, self.step = server, game, 0
        self.seat, self.legal = OVER, list[int]()
        self.is_awaited = hasattr(game, "ready")

    def look(self) -> None:
        """Read from the game who moves and what is legal."""
        self.seat = int(self.game.seat())
        self.legal = [] if self.seat == OVER else [int(action) for action in self.game.legal()]

    def play(self, action: Any) -> None:
        """Apply an action. Raises RefusalError and changes nothing where it is not legal."""
        if type(action) is not int or action not in self.legal:
            raise RefusalError("illegal", f"{action!r:.80} is not in {self.legal!r:.200}")
        self.game.apply(action)
        self.step += 1
        self.legal = []
        if not self.is_awaited:
            self.look()

    def show(self, number: int) -> tuple[Message, bytes]:
        """Return the state message, and the observation where it goes as raw bytes."""
        state = {"kind": "state", "episode": number, "step": self.step, "seat": self.seat}
        if hasattr(self.game, "text"):
            state["text"] = str(self.game.text())
        if self.seat == OVER:
            state["returns"] = read_returns(self.game.returns(), self.server.n_seats)
            return state, b""
        state["legal"] = self.legal
        if hasattr(self.game, "names"):
            state["names"] = [str(name) for name in self.game.names()]
        observation = self.game.observation()
        if isinstance(observation, (list, tuple, int, float)):
            return {**state, "observation": observation}, b""
        return state, self._read_bytes(observation)

    def _read_bytes(self, observation: Any) -> bytes:
        server, is_array = (
            self.server,
            hasattr(observation, "tobytes") and hasattr(observation, "dtype"),
        )
        raw = observation.tobytes() if is_array else bytes(observation)
        form = f"{observation.dtype} {list(observation.shape)}" if is_array else f"{len(raw)} bytes"
        declared = f"{server.dtype} {server.shape}"
        if (is_array and form != declared) or len(raw) != server.n_bytes:
            rule = f"must be {declared}, {server.n_bytes} bytes"
            raise WrongStateError(f"observation() is {form}: {rule}")
        return raw


class Line:
    """What one player says and hears: frames in, frames out. Its episodes die with it."""

    def __init__(self, server: Server) -> None:
        self.server, self.episodes = server, dict[int, Episode]()
        self.is_greeted = self.is_over = False
        # Episodes whose answer waits for their game, and what waits for it.
        self.awaited, self.waits = list[int](), dict[int, asyncio.Task[None]]()

    def receive(self, text: str | bytes) -> list[Frame]:
        """Return the answers to all messages of a frame; the line is closed once `is_over`."""
        frames = Frames()
        try:
            for message in read_frame(text):
                if self.is_greeted:
                    self._answer(message, frames)
                else:
                    frames.add(self._greet(message))
        except LineRefusedError as refusal:
            self.close()
            frames.add({"kind": "error", "reason": refusal.reason, "detail": refusal.detail})
        return frames.take()

    def hand_back(self) -> list[Frame]:
        """Give up what runs, because this server stops."""
        self.close()
        frames = Frames()
        stops = {"kind": "error", "reason": "stopping", "detail": f"{self.server.name} stops"}
        frames.add(stops)
        return frames.take()

    def close(self) -> None:
        self.is_over = True
        for number in list(self.episodes):
            self._forget(number)

    def _greet(self, message: Message) -> Message:
        server, game = self.server, message.get("game")
        if message.get("kind") != "hello" or message.get("protocol") != PROTOCOL:
            rule = f"a hello with protocol {PROTOCOL} comes first"
            raise LineRefusedError("bad_message", f"{rule}, not {message!r:.200}")
        if not game:  # who only asks who this is needs no pass, and nothing begins
            return server.hello()
        token = str(message.get("token", ""))
        if server.key and (fault := refuse_pass(server.key, token, server.name, server.now())):
            raise LineRefusedError("refused", fault)
        if game != server.game:
            raise LineRefusedError(
                "unknown_game", f"{server.name} plays {server.game}, not {game!r:.80}"
            )
        self.is_greeted = True
        return server.hello()

    def _answer(self, message: Message, frames: "Frames") -> None:
        kind, number = message.get("kind"), message.get("episode")
        if type(number) is not int or not 0 <= number < 2**63 or kind not in EPISODE_KINDS:
            raise LineRefusedError(
                "bad_message", f"no start, act or end of an episode: {message!r:.200}"
            )
        if kind == "end":
            return self._forget(number)
        with self._report_faults(number, frames):
            play = self._start if kind == "start" else self._act
            episode = play(number, message)
            if episode.is_awaited:
                self.awaited.append(number)
            else:
                self._show(number, episode, frames)
        return None

    async def answer_awaited(self, number: int) -> list[Frame]:
        """Return the answer of an episode once its game is ready."""
        frames, episode = Frames(), self.episodes[number]
        with self._report_faults(number, frames):
            await episode.game.ready()
            episode.look()
            self._show(number, episode, frames)
        self.waits.pop(number, None)
        return frames.take()

    def _show(self, number: int, episode: Episode, frames: "Frames") -> None:
        frames.add(*episode.show(number))
        if episode.seat == OVER:
            self._forget(number)
            self.server.n_ended += 1

    @contextmanager
    def _report_faults(self, number: int, frames: "Frames") -> Iterator[None]:
        """Answer an episode with what goes wrong in it."""
        try:
            yield
            return
        except RefusalError as refusal:
            reason, detail = refusal.reason, refusal.detail
            if reason == "fault":
                self._forget(number)
        except WrongStateError as error:
            # It names what is wrong, and every episode may have it: a line will do.
            say(f"{self.server.name}: {error}")
            self._forget(number)
            reason, detail = "fault", str(error)[:2000]
        except Exception as error:
            # Raised by the game: the player hears of it, who runs this server sees where.
            traceback.print_exc()
            self._forget(number)
            reason, detail = "fault", f"{type(error).__name__}: {error}"[:2000]
        frames.add({"kind": "error", "episode": number, "reason": reason, "detail": detail})

    def _start(self, number: int, message: Message) -> Episode:
        server, seed = self.server, message.get("seed")
        plies, actions = message.get("opening_plies", 0), message.get("actions", [])
        parameters = message.get("parameters", {})
        if server.is_stopping:
            raise RefusalError("stopping", f"{server.name} stops and begins nothing")
        if number in self.episodes:
            raise RefusalError("bad_message", f"episode {number} has begun already")
        if (type(seed), type(plies), type(parameters), type(actions)) != (int, int, dict, list):
            raise RefusalError("bad_message", f"start with an odd field: {message!r:.200}")
        if server.n_running >= server.slots:
            raise RefusalError("full", f"all {server.slots} slots of {server.name} are taken")
        episode = self.episodes[number] = Episode(server, server.make())
        server.n_running += 1
        episode.game.reset(seed, plies, parameters)
        if episode.is_awaited:
            if actions:
                self._forget(number)
                raise RefusalError("bad_message", f"{server.game} begins without actions only")
            return episode
        episode.look()
        try:
            for action in actions:
                episode.play(action)
        except RefusalError:
            self._forget(number)
            raise
        return episode

    def _act(self, number: int, message: Message) -> Episode:
        episode, step = self.episodes.get(number), message.get("step")
        if episode is None:
            raise RefusalError("bad_message", f"episode {number} is not open on this line")
        if step != episode.step:
            raise RefusalError("bad_message", f"step is {step!r:.80}: must be {episode.step}")
        episode.play(message.get("action"))
        return episode

    def _forget(self, number: int) -> None:
        episode, wait = self.episodes.pop(number, None), self.waits.pop(number, None)
        if episode is None:
            return
        with suppress(ValueError):
            self.awaited.remove(number)
        # Unless it is the wait itself that has failed.
        if wait is not None and wait is not asyncio.current_task():
            wait.cancel()
        self.server.n_running -= 1
        try:
            getattr(episode.game, "close", lambda: None)()
        except Exception:
            # What it held may leak, but no match hangs on it.
            traceback.print_exc()


class Frames:
    """Answers, gathered into as few frames as the limit allows."""

    def __init__(self) -> None:
        self.done, self.texts, self.raw, self.size = list[Frame](), list[str](), bytearray(), 0

    def add(self, message: Message, raw: bytes = b"") -> None:
        """Take an answer. Raises WrongStateError for no JSON, or more than a frame holds."""
        try:
            text = json.dumps(message, allow_nan=False, separators=(",", ":"))
        except (TypeError, ValueError) as error:
            raise WrongStateError(
                f"the state is no JSON, which has finite numbers: {error}"
            ) from error
        # Beside it: where its bytes begin, and the message that counts them.
        size = len(text) + len(raw) + 64
        if size > MAX_FRAME:
            raise WrongStateError(f"a state of {size} bytes: a frame holds {MAX_FRAME}")
        if self.size + size > MAX_FRAME:
            self._end_frame()
        self.texts.append(f'{text[:-1]},"at":{len(self.raw)}}}' if raw else text)
        self.raw += raw
        self.size += size

    def take(self) -> list[Frame]:
        self._end_frame()
        return self.done

    def _end_frame(self) -> None:
        if self.raw:
            self.texts.append(f'{{"kind":"bytes","n":{len(self.raw)}}}')
        if self.texts:
            self.done.append((f"[{','.join(self.texts)}]", bytes(self.raw)))
        self.texts, self.raw, self.size = [], bytearray(), 0


def read_frame(text: str | bytes) -> list[Message]:
    """Return the messages of a frame. Raises LineRefusedError."""
    if len(text) > MAX_FRAME:
        raise LineRefusedError("bad_message", f"a frame of more than {MAX_FRAME} bytes")
    try:
        messages = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LineRefusedError("bad_message", f"no JSON: {error}") from error
    if isinstance(messages, dict):
        messages = [messages]
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise LineRefusedError(
            "bad_message", f"a frame is an array of messages, not {messages!r:.200}"
        )
    return messages


def make_pass(key: str, subject: str, until: int) -> str:
    text = f"pass:{until}:{subject}".encode(errors="replace")
    return f"{subject}.{until}.{hmac.digest(key.encode(), text, 'sha256').hex()}"


def refuse_pass(key: str, text: str, subject: str, now: float) -> str:
    """Return why a pass does not let its holder in; empty where it does."""
    signed, _, signature = text.rpartition(".")
    named_subject, _, until = signed.rpartition(".")
    if not re.fullmatch(r"[0-9]{1,18}", until):
        return "no pass: it must be <subject>.<until>.<signature>"
    own_pass = make_pass(key, named_subject, int(until)).rpartition(".")[2]
    if not hmac.compare_digest(signature.encode(errors="replace"), own_pass.encode()):
        return "a pass that was made with another key: ask for a new one"
    if named_subject != subject:
        return f"a pass for {named_subject:.80}, not for {subject}: ask for one of its own"
    return "" if int(until) >= now else f"the pass ended {now - int(until):.0f} s ago"


def measure_load() -> dict[str, float]:
    """Return processes that compute or wait for it per core, and the share of memory in use."""
    load: dict[str, float] = {}
    with suppress(AttributeError, OSError):
        load["cpu"] = round(os.getloadavg()[0] / (os.cpu_count() or 1), 3)
    with suppress(OSError, KeyError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        sizes = {words[0]: int(words[1]) for words in map(str.split, lines)}
        load["memory"] = round(1 - sizes["MemAvailable:"] / sizes["MemTotal:"], 3)
    return load


class Sockets:
    """The lines of a server over WebSockets: those that it dials, and those that players dial."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.open: dict[Line, tuple[Connection, asyncio.Lock]] = {}
        self.channels = set[asyncio.Task[None]]()
        self.head: Connection | None = None
        self.is_attended = False

    async def talk(self, socket: Connection) -> None:
        """Answer one player until either goes."""
        line, lock = Line(self.server), asyncio.Lock()
        self.open[line] = socket, lock
        try:
            while not line.is_over:
                frames = line.receive(await socket.recv())
                for number in line.awaited:
                    answer = self._answer_later(line, number, socket, lock)
                    line.waits[number] = asyncio.create_task(answer)
                line.awaited.clear()
                async with lock:
                    await send(socket, frames)
        except ConnectionClosed:
            pass
        finally:
            del self.open[line]
            line.close()

    async def _answer_later(
        self, line: Line, number: int, socket: Connection, lock: asyncio.Lock
    ) -> None:
        frames = await line.answer_awaited(number)
        with suppress(ConnectionClosed):
            async with lock:
                await send(socket, frames)

    async def dial(self, head: str, token: str) -> None:
        """Offer the slots to the head, again and again while it is away."""
        wait_s, last_reason = FIRST_WAIT_S, ""
        while not self.server.is_stopping:
            try:
                await self._attend(head, token)
                reason = f"{head} has hung up"
            except (OSError, TimeoutError, WebSocketException, RefusalError) as error:
                reason = explain(error, head)
            if self.is_attended:
                wait_s, last_reason = FIRST_WAIT_S, ""
            if reason != last_reason and not self.server.is_stopping:
                say(f"{reason}; trying again until it answers")
            self.head, self.is_attended, last_reason = None, False, reason
            # Not all servers at once when their head comes back.
            await asyncio.sleep(wait_s * (0.5 + random()))
            wait_s = min(2 * wait_s, MAX_WAIT_S)

    async def stop(self, notice_s: float) -> None:
        """Let what runs end for so long; then hand it back."""
        self.server.is_stopping = True
        if self.head:
            with suppress(ConnectionClosed):
                await self.head.send('{"kind":"leaving"}')
        with suppress(TimeoutError):
            async with asyncio.timeout(notice_s):
                while self.server.n_running:
                    await asyncio.sleep(0.05)
        for line, (socket, lock) in list(self.open.items()):
            with suppress(ConnectionClosed):
                async with lock:
                    await send(socket, line.hand_back())
                await socket.close(GOING_AWAY, "stopping")

    async def _attend(self, head: str, token: str) -> None:
        """Say who this is, over and over as a sign of life; open a line for each player."""
        async with connect(f"{head}/serve?name={quote(self.server.name)}") as socket:
            signs = asyncio.create_task(self._give_signs(socket, token))
            try:
                async for text in socket:
                    for message in read_frame(text):
                        self._obey(head, message)
            finally:
                signs.cancel()

    async def _give_signs(self, socket: Connection, token: str) -> None:
        name, key = self.server.name, self.server.key
        if key and not token:
            token = make_pass(key, f"serve:{name}", int(self.server.now()) + PASS_S)
        with suppress(ConnectionClosed):
            while not self.server.is_stopping:
                await socket.send(json.dumps([{**self.server.hello(), "token": token}]))
                self.head = socket
                await asyncio.sleep(SIGN_S)

    def _obey(self, head: str, message: Message) -> None:
        kind = message.get("kind")
        if kind == "error":
            raise RefusalError("refused", str(message.get("detail")))
        if kind == "accepted":
            self.is_attended = True
            say(f"{self.server.name} is known to the head at {head}")
        if kind == "dial":
            channel = quote(str(message.get("channel")), safe="")
            task = asyncio.create_task(self._open_channel(f"{head}/serve/{channel}"))
            # The event loop alone would let go of it.
            self.channels.add(task)
            task.add_done_callback(self.channels.discard)

    async def _open_channel(self, url: str) -> None:
        try:
            async with connect(url, max_size=MAX_FRAME, compression=None) as socket:
                await self.talk(socket)
        except (OSError, TimeoutError, WebSocketException) as error:
            say(explain(error, url))


async def send(socket: Connection, frames: list[Frame]) -> None:
    for text, raw in frames:
        await socket.send(text)
        if raw:
            await socket.send(raw)


async def run(
    server: Server,
    stop: asyncio.Event,
    *,
    listen: str = "",
    dial: str = "",
    token: str = "",
    notice_s: float = NOTICE_S,
) -> None:
    """Serve until `stop`, then stop in good order. Raises ServerError."""
    sockets, listener, head = Sockets(server), None, read_head(dial) if dial else ""
    if listen:
        listener = await start_listener(sockets, listen)
    calling = asyncio.create_task(sockets.dial(head, token)) if head else None
    await stop.wait()
    if listener:
        listener.close(close_connections=False)
    await sockets.stop(notice_s)
    if calling:
        calling.cancel()


async def start_listener(sockets: Sockets, listen: str) -> Listener:
    server = sockets.server
    parts = urlsplit(f"//{listen}")
    try:
        host, port = parts.hostname or "127.0.0.1", parts.port
    except ValueError:
        port = None
    if port is None:
        raise ServerError(f"listen is {listen!r}: must be HOST:PORT, such as 0.0.0.0:8081")

    def answer_health(socket: ServerConnection, request: Request) -> Response | None:
        if request.path != "/health":
            return None
        return socket.respond(HTTPStatus.OK, json.dumps(server.hello()))

    try:
        listener = await listen_at(
            sockets.talk, host, port, max_size=MAX_FRAME, compression=None,
            # A page in somebody's browser is no player.
            origins=[None], process_request=answer_health,
        )  # fmt: skip
    except OSError as error:
        # The text of asyncio repeats the address.
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise ServerError(f"cannot listen at {listen}: {why}") from error
    port = listener.sockets[0].getsockname()[1]
    say(f"{server.name} serves {server.game} at ws://{host}:{port} with {server.slots} slots")
    return listener


def read_head(address: str) -> str:
    """Return the address of a head as ws://host:port. Raises ServerError."""
    full = address if "://" in address else f"ws://{address}"
    parts = urlsplit(full.replace("http", "ws", 1) if full.startswith("http") else full)
    try:
        is_sound = parts.scheme in ("ws", "wss") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_sound = False
    if not is_sound:
        raise ServerError(f"the head is {address!r}: must be an address such as ws://head:8080")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def explain(error: Exception, url: str) -> str:
    """Return in one line what went wrong at an address, and what to check."""
    if isinstance(error, RefusalError):
        return f"{url} refuses this server: {error}"
    if isinstance(error, InvalidStatus):
        body = error.response.body.decode(errors="replace").strip() or "is it an evaluation head?"
        return f"{url} answers HTTP {error.response.status_code}: {body:.300}"
    if isinstance(error, ConnectionClosed):
        return f"lost the line to {url} ({error})"
    if isinstance(error, WebSocketException):
        return f"{url} speaks no WebSocket ({error}): is it an evaluation head?"
    check = "check host and port, that the head runs there, and the firewall between"
    return f"cannot reach {url} ({error or 'no answer'}): {check}"


def say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def serve(  # noqa: PLR0913 - each is one thing that its user decides
    make: Callable[[], Any],
    *,
    name: str,
    slots: int = 64,
    listen: str = "",
    dial: str = "",
    key: str = "",
    token: str = "",
    labels: Mapping[str, str] | None = None,
    notice_s: float = NOTICE_S,
) -> None:
    """Serve a game until SIGTERM or Ctrl-C; make: its class, or what returns a new episode.

    listen: HOST:PORT where players dial it. dial: the address of an evaluation head through which
    they come; token: the pass to show there. key: of passes; without it whoever comes may play.
    labels: what to say of this machine, such as {"class": "spot"}.
    notice_s: how long episodes may still end after SIGTERM; a second one ends them at once.
    """

    async def serve_here() -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()

        def take_signal() -> None:
            stop.set()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)  # a second one ends it at once

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, take_signal)
        await run(server, stop, listen=listen, dial=dial, token=token, notice_s=notice_s)

    try:
        if not (listen or dial):
            raise ServerError("neither listen nor dial is given: how should players come?")
        server = Server(make, name=name, slots=slots, key=key, labels=labels)
        asyncio.run(serve_here())
    except ServerError as error:
        say(f"{name}: {error}")
        sys.exit(2)


def serve_pipes(make: Callable[[], Any], *, name: str = "child", slots: int = 64) -> None:
    """Serve a game as a child process of a player, over stdin and stdout, until stdin ends."""
    out = os.fdopen(os.dup(1), "wb")
    # What the game prints goes to stderr: between frames it would be a fault.
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the player, which ends its child
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        line = Line(Server(make, name=name, slots=slots))
        if hasattr(make(), "ready"):
            raise ServerError("a game with ready() cannot be a child process: use serve()")
    except ServerError as error:
        say(f"{name}: {error}")
        sys.exit(2)
    while not line.is_over and (text := sys.stdin.buffer.readline(MAX_FRAME + 2)):
        for answer, raw in line.receive(text):
            out.write(answer.encode() + b"\n" + raw)
        out.flush()
    line.close()
