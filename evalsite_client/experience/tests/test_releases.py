"""Following a run: versions are taken when they are later, whole and playable, else never."""

import json
from collections.abc import Callable
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from requests import Response

from evalsite_client import AnswerError, ChecksumError, Retries, WaitTimeoutError
from evalsite_client.downloads import CHUNK
from evalsite_client.errors import NotThereError
from evalsite_client.experience.releases import Follower
from evalsite_client.experience.tests.made import GAME, make_version, make_weights
from evalsite_client.tests import fakes
from evalsite_client.tests.fakes import FakeTime, answer, in_turn, problem, raw

URL = "/files/training/poles/a?signature=b"
Told = Callable[[], Response]


def _tell(number: int, content: bytes, **other: Any) -> Told:
    version = make_version(content, version=number, url=URL)
    return lambda: answer(version | other, ETag=f'"{version["sha256"]}"')


def _send(content: bytes) -> Told:
    return lambda: raw(content)


def _follower(
    *answers: Told, time: FakeTime | None = None
) -> tuple[Follower, fakes.FakeServer, list[str]]:
    lines: list[str] = []
    retries = Retries(n_attempts=2)
    client, server = fakes.client(in_turn(*answers), token="t", time=time, retries=retries)
    return Follower(client.models, "poles", GAME, say=lines.append), server, lines


def test_a_version_is_fetched_without_the_token_and_taken(tmp_path: Path) -> None:
    content = make_weights(tmp_path)
    follower, server, _ = _follower(_tell(3, content), _send(content))
    assert follower.follow()
    assert follower.version == 3
    assert follower.policy is not None
    assert follower.policy.compute_logits(np.zeros((1, 4), np.float32)).shape == (1, 2)
    assert [request.url for request in server.requests] == [
        f"{fakes.BASE}/api/v1/models/poles/latest/",
        f"{fakes.BASE}{URL}",
    ]
    assert "Authorization" not in server.requests[1].headers


def test_a_link_may_lead_to_another_server(tmp_path: Path) -> None:
    content, elsewhere = make_weights(tmp_path), "http://bucket.test/poles?signature=b"
    follower, server, _ = _follower(_tell(3, content, url=elsewhere), _send(content))
    assert follower.follow()
    assert server.requests[1].url == elsewhere
    assert "Authorization" not in server.requests[1].headers


def test_a_version_that_is_known_costs_one_short_answer(tmp_path: Path) -> None:
    content = make_weights(tmp_path)
    follower, server, _ = _follower(_tell(3, content), _send(content), lambda: answer(None, 304))
    assert [follower.follow(), follower.follow()] == [True, False]
    assert server.requests[2].headers["If-None-Match"] == f'"{sha256(content).hexdigest()}"'


def test_an_older_version_is_not_taken_and_that_is_said_once(tmp_path: Path) -> None:
    newer, older = make_weights(tmp_path), make_weights(tmp_path, seed=2)
    follower, server, lines = _follower(
        _tell(3, newer), _send(newer), _tell(2, older), lambda: answer(None, 304)
    )
    assert [follower.follow() for _ in range(3)] == [True, False, False]
    assert follower.version == 3
    assert lines == ["version 2 is older than 3: not taken"]
    assert server.requests[3].headers["If-None-Match"] == f'"{sha256(older).hexdigest()}"'


class _Counting(BytesIO):
    n_read = 0

    def read(self, size: int | None = -1, /) -> bytes:
        piece = super().read(size)
        self.n_read += len(piece)
        return piece


def test_a_file_that_is_longer_than_it_should_be_is_not_read_to_its_end(tmp_path: Path) -> None:
    bodies = [_Counting(bytes(10 * CHUNK)) for _ in range(2)]
    longer = [raw(b"") for _ in bodies]
    for response, body in zip(longer, bodies, strict=True):
        response.raw = body
    left = iter(longer)
    follower, _, _ = _follower(_tell(3, make_weights(tmp_path)), *[lambda: next(left)] * 2)
    with pytest.raises(ChecksumError):
        follower.follow()
    assert [body.n_read for body in bodies] == [CHUNK, CHUNK]


@pytest.mark.parametrize("is_short", [True, False])
def test_a_file_with_another_hash_is_fetched_again_and_then_refused(
    is_short: bool, tmp_path: Path
) -> None:
    content, other = make_weights(tmp_path), make_weights(tmp_path, seed=2)
    sent = content[:-4] if is_short else other[-len(content) :].rjust(len(content))
    follower, _, _ = _follower(_tell(3, content), _send(sent), _send(content))
    assert follower.follow()
    follower, _, _ = _follower(_tell(3, content), _send(sent), _send(sent))
    with pytest.raises(ChecksumError, match=f"instead of {sha256(content).hexdigest()}"):
        follower.follow()
    assert (follower.version, follower.policy) == (-1, None)


def test_what_could_not_be_taken_is_asked_for_again(tmp_path: Path) -> None:
    content = make_weights(tmp_path)
    follower, server, _ = _follower(
        _tell(3, content), _send(b"x"), _send(b"x"), _tell(3, content), _send(content)
    )
    with pytest.raises(ChecksumError):
        follower.follow()
    assert follower.follow()
    assert "If-None-Match" not in server.requests[3].headers


@pytest.mark.parametrize(
    ("other", "error", "refusal"),
    [
        ({"game": "acrobot"}, AnswerError, "run poles plays acrobot, not cart_pole"),
        ({"size": 0}, AnswerError, "has 0 bytes"),
        ({"size": 2**40}, AnswerError, "at most 268435456 are taken"),
        ({"url": ""}, NotThereError, "has no file any more"),
        ({"version": "3"}, AnswerError, "Version.version is not a whole number"),
    ],
    ids=range(5),
)
def test_a_version_that_cannot_be_played_is_refused(
    other: dict[str, Any], error: type[Exception], refusal: str, tmp_path: Path
) -> None:
    follower, _, _ = _follower(_tell(3, make_weights(tmp_path), **other))
    with pytest.raises(error, match=refusal):
        follower.follow()


def test_weights_sealed_for_another_game_are_refused(tmp_path: Path) -> None:
    content = make_weights(tmp_path, game="acrobot")
    follower, _, _ = _follower(_tell(3, content), _send(content))
    with pytest.raises(AnswerError, match="game 'acrobot', not 'cart_pole'"):
        follower.follow()


def test_a_state_is_asked_for(tmp_path: Path) -> None:
    content = make_weights(tmp_path)
    client, server = fakes.client(in_turn(_tell(3, content), _send(content)))
    Follower(client.models, "poles", GAME, is_released=True, say=print).follow()
    assert server.requests[0].url.endswith("/latest/?released=true")


def test_the_first_version_is_waited_for(tmp_path: Path) -> None:
    content, time = make_weights(tmp_path), FakeTime()
    missing = [lambda: problem(404)] * 12
    follower, _, lines = _follower(*missing, _tell(0, content), _send(content), time=time)
    follower.wait_for_first(60, time.clock())
    assert (follower.version, time.now_s) == (0, 12)
    assert lines == ["waits for the first version of run poles"] * 2


def test_it_is_not_waited_for_longer_than_said() -> None:
    time = FakeTime()
    follower, _, _ = _follower(*[lambda: problem(404, "gone")] * 5, time=time)
    with pytest.raises(WaitTimeoutError, match="run poles has no version after 3 s: gone"):
        follower.wait_for_first(3, time.clock())
    assert time.now_s == 3


def test_the_answer_of_the_server_is_json() -> None:
    follower, _, _ = _follower(lambda: raw(json.dumps({}).encode(), kind="text/plain"))
    with pytest.raises(AnswerError, match="answers no JSON"):
        follower.follow()
