"""The driver in JavaScript as a child of this process, asked one question at a time.

For replays, tests and matches without a cluster. Play nodes do not come here: their players have
lines of their own, on which many battles go on at once (workers.lines).
"""

import json
import os
import subprocess
import threading
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from arena.errors import IllegalActionError, UnsupportedGameError
from arena.games.showdown.installed import (
    VARIABLE,
    find_folder,
    find_version,
    is_playable,
    name_package,
)

ANSWER_S: Final = 20.0
INHERITED: Final = ("HOME", "LANG", "PATH", "TMPDIR", "TZ")


class Driver:
    """The child process of one game."""

    def __init__(self, game: str, command: Sequence[str], *, answer_s: float = ANSWER_S) -> None:
        """Start it. Raises UnsupportedGameError saying what is missing."""
        if not is_playable():
            raise UnsupportedGameError(
                f"{game} needs Node.js and pokemon-showdown {name_package()}, "
                f"{find_folder()} has {find_version() or 'none'}: "
                "./run tools install showdown"
            )
        environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
        self._game, self._answer_s = game, answer_s
        self._lock, self._n_episodes = threading.Lock(), 0
        self._left: deque[int] = deque()
        self._end, self._was_late = "", False
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**environment, VARIABLE: str(find_folder())},
        )
        # Python keeps what runs, with its open input: nothing else would tell it to end.
        weakref.finalize(self, self._process.kill)
        self.ask({"kind": "hello", "protocol": 1, "game": game, "is_watched": True})

    @property
    def is_running(self) -> bool:
        """True until it has ended; one that is killed may take some time to."""
        return not self._end and self._process.poll() is None

    def number_episode(self) -> int:
        """Return a number that no battle has had."""
        with self._lock:
            self._n_episodes += 1
            return self._n_episodes

    def ask(self, message: Mapping[str, object]) -> dict[str, Any]:
        """Return the answer, an observation in it as `numbers`.

        Raises IllegalActionError, and UnsupportedGameError for a driver that fails.
        """
        with self._lock:
            # Killed where it hangs, its output ends.
            alarm = threading.Timer(self._answer_s, self._end_late)
            alarm.start()
            try:
                answer = self._exchange(message)
            except BaseException as error:
                # What is still to come would be taken for the answer to the next question.
                self._end = self._end or f"the simulator was ended by {type(error).__name__}"
                self._process.kill()
                raise
            finally:
                alarm.cancel()
        if answer["kind"] == "error":
            refusal = IllegalActionError if answer["reason"] == "illegal" else UnsupportedGameError
            raise refusal(f"{self._game}: {answer['detail']}")
        return answer

    def forget(self, episode: int) -> None:
        """Give a battle up with the next question.

        It takes no lock: garbage may be collected amid a question of the same thread.
        """
        self._left.append(episode)

    def _send(self, message: Mapping[str, object]) -> None:
        assert self._process.stdin is not None
        ends = [{"kind": "end", "episode": self._left.popleft()} for _ in range(len(self._left))]
        try:
            self._process.stdin.write(json.dumps([*ends, message]).encode() + b"\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError):
            return  # what it said last is met when its answer is read

    def _exchange(self, message: Mapping[str, object]) -> dict[str, Any]:
        if self._end:
            raise UnsupportedGameError(f"{self._game}: {self._end}")
        self._send(message)
        assert self._process.stdout is not None
        if not (line := self._process.stdout.readline()):
            self._end = self._describe_end()
            raise UnsupportedGameError(f"{self._game}: {self._end}")
        try:
            return self._read(line, message)
        except (ValueError, TypeError, KeyError) as error:
            self._end = f"the simulator says nonsense: {error}"
            raise UnsupportedGameError(f"{self._game}: {self._end}") from error

    def _read(self, line: bytes, message: Mapping[str, object]) -> dict[str, Any]:
        assert self._process.stdout is not None
        answer, *behind = json.loads(line)
        if behind:
            raw = self._process.stdout.read(behind[0]["n"])
            answer["numbers"] = np.frombuffer(raw, "<f4").astype(np.float32)
        if answer["kind"] != "error" and answer.get("episode") != message.get("episode"):
            raise ValueError(f"it answers of episode {answer.get('episode')}")
        return dict(answer)

    def _end_late(self) -> None:
        self._was_late = True
        self._process.kill()

    def _describe_end(self) -> str:
        self._process.kill()
        _, stderr = self._process.communicate()
        lines = stderr.decode(errors="replace").strip().splitlines()
        if self._was_late:
            return f"the simulator has not answered for {self._answer_s:g} s"
        why = lines[-1][:300] if lines else f"status {self._process.returncode}"
        return f"the simulator has ended: {why}"
