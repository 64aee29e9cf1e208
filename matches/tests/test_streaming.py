"""Answers in pieces: made one by one, the way that the server takes them, without a warning."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.files import File
from django.http import StreamingHttpResponse
from django.test import AsyncClient, AsyncRequestFactory, Client, RequestFactory

from matches.store import blobs
from matches.store.streaming import stream_pieces

N = 1_000
STATIC = "/static/evalsite/site.css"
CSS = settings.BASE_DIR / "static/evalsite/site.css"


@pytest.fixture(autouse=True)
def _loud() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


class Maker:
    """Makes pieces and counts them."""

    def __init__(self) -> None:
        self.n_made = 0

    def make_pieces(self) -> Iterator[bytes]:
        for _ in range(N):
            self.n_made += 1
            yield b"x"


@pytest.mark.parametrize("reads_database", [True, False])
async def test_under_asgi_a_piece_is_made_when_the_one_before_was_sent(
    reads_database: bool,
) -> None:
    maker, request = Maker(), AsyncRequestFactory().get("/")
    pieces = stream_pieces(request, maker.make_pieces(), reads_database=reads_database)
    answer, n_sent = StreamingHttpResponse(pieces), 0
    async for piece in answer:
        n_sent += 1
        assert piece == b"x"
        assert maker.n_made == n_sent, "made before it is sent: the whole would lie in memory"
    assert n_sent == N


def test_under_wsgi_too() -> None:
    maker, request = Maker(), RequestFactory().get("/")
    answer = StreamingHttpResponse(stream_pieces(request, maker.make_pieces()))
    for n_sent, _ in enumerate(answer, 1):
        assert maker.n_made == n_sent


async def test_what_is_streamed_the_wrong_way_fails_every_test() -> None:
    with pytest.raises(Warning, match="must consume synchronous iterators"):
        _ = [piece async for piece in StreamingHttpResponse(iter([b"x"]))]


@pytest.mark.django_db
@pytest.mark.parametrize("factory", [RequestFactory(), AsyncRequestFactory()])
def test_a_file_is_closed_with_its_answer(factory: RequestFactory, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    file = File(path.open("rb"))
    answer = blobs.stream_file(factory.get("/"), file, "0" * 64, content_type="text/plain")
    assert not file.closed
    answer.close()
    assert file.closed


@pytest.mark.django_db
async def test_static_files_are_streamed_as_the_web_server_takes_them() -> None:
    client: Any = AsyncClient()
    answer = await client.get(STATIC)
    content = b"".join([piece async for piece in answer])
    assert content == CSS.read_bytes()
    assert answer["Content-Length"] == str(len(content))
    part = await client.get(STATIC, headers={"Range": "bytes=5-9"})
    assert b"".join([piece async for piece in part]) == content[5:10]
    since = {"If-Modified-Since": answer["Last-Modified"]}
    unchanged = await client.get(STATIC, headers=since)
    assert unchanged.status_code == 304


@pytest.mark.django_db
def test_static_files_are_streamed_to_the_client_of_tests(client: Client) -> None:
    answer: Any = client.get(STATIC)
    assert b"".join(answer) == CSS.read_bytes()
