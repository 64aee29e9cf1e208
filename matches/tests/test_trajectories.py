"""Pieces of trajectories: put under the link of their order, named by outcomes, deleted in time."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest
from django.test import Client
from redis import Redis

from arena.messages import Ending, MatchOrder, MatchOrderRow, Reason, ResultRow
from matches import control
from matches.artifacts import trajectories
from matches.ledger import recording
from matches.ledger.tournaments import cancel_tournament
from matches.models import Attempt, Match, Order, Outcome, Tournament, TrajectoryPiece, Uncounted
from matches.store import blobs, signing
from matches.store.clock import db_now
from matches.tests import factories as make

pytestmark = pytest.mark.django_db

PIECE = b"the rows of some matches"
NAME = sha256(PIECE).hexdigest()


@pytest.fixture(autouse=True)
def _storage(tmp_path: Path, settings: Any) -> None:
    folder = {"location": str(tmp_path / "kept")}
    backend = "django.core.files.storage.FileSystemStorage"
    kept = {"BACKEND": backend, "OPTIONS": folder}
    settings.STORAGES = {**settings.STORAGES, "trajectories": kept}


@pytest.fixture
def tournament(broker: Redis) -> Tournament:
    make.alive()
    return make.planned(4, keeps_trajectories=True)


@pytest.fixture
def order(tournament: Tournament) -> MatchOrder:
    order = make.ordered(tournament)
    make.start(order)
    return order


def _put(
    order: MatchOrder, content: bytes = PIECE, *, name: str = NAME, link: str = ""
) -> tuple[int, str]:
    fresh = signing.sign_link("PUT", signing.trajectories_path(order.order), now=db_now())
    path, _, query = (link or fresh).partition("?")
    response = Client().put(f"{path}/{name}?{query}", content, "application/octet-stream")
    return response.status_code, response.content.decode()


def _make_result(row: MatchOrderRow) -> ResultRow:
    return msgspec.structs.replace(make.first_wins(row), trajectory=NAME)


# The link and the PUT


def test_an_order_carries_a_link_for_its_pieces_and_only_for_them(order: MatchOrder) -> None:
    path, _, query = order.trajectories.partition("?")
    query_values = dict(part.split("=") for part in query.split("&"))
    assert path == f"/files/trajectories/{order.order}"
    assert signing.find_link_problem("PUT", path, query_values, now=make.NOW) is None
    assert signing.find_link_problem("GET", path, query_values, now=make.NOW) is not None


def test_an_order_of_a_tournament_that_keeps_none_has_no_link(broker: Redis) -> None:
    make.alive()
    assert make.ordered(make.planned(4)).trajectories == ""


def test_a_piece_is_stored_under_its_hash_and_may_be_put_again(
    order: MatchOrder, tournament: Tournament
) -> None:
    assert [_put(order)[0], _put(order)[0]] == [201, 200]
    piece = TrajectoryPiece.objects.get()
    assert (piece.sha256, piece.n_bytes, piece.tournament) == (NAME, len(PIECE), tournament)
    assert (piece.order.hex, piece.expires_at) == (order.order, None)
    file = blobs.open_file(piece.path, storage="trajectories")
    assert file is not None
    with file:
        assert file.read() == PIECE


@pytest.mark.parametrize(
    ("changes", "status", "refusal"),
    [
        ({"name": "0" * 64}, 400, "came for 0000"),
        ({"name": NAME.upper()}, 400, "no SHA-256"),
        ({"name": "x"}, 400, "no SHA-256"),
        ({"link": "/files/trajectories/00?until=1"}, 403, "signed link"),
        ({"content": PIECE[:-1]}, 400, "send it again"),
    ],
)
def test_what_is_not_as_told_is_refused_and_nothing_is_stored(
    order: MatchOrder, tmp_path: Path, changes: dict[str, object], status: int, refusal: str
) -> None:
    answer_status, text = _put(order, **changes)  # type: ignore[arg-type]
    assert (answer_status, refusal in text) == (status, True), text
    assert not TrajectoryPiece.objects.exists()
    assert list(tmp_path.rglob("*.parquet")) == []


def test_the_link_of_another_order_does_not_do(order: MatchOrder, tournament: Tournament) -> None:
    other = signing.sign_link("PUT", signing.trajectories_path("0" * 32), now=db_now())
    mixed = f"{signing.trajectories_path(order.order)}?{other.partition('?')[2]}"
    assert _put(order, link=mixed)[0] == 403


def test_an_unknown_order_is_refused(order: MatchOrder) -> None:
    unknown = msgspec.structs.replace(order, order="0" * 32)
    assert _put(unknown)[0] == 404


def test_a_tournament_that_keeps_none_takes_none(order: MatchOrder, tournament: Tournament) -> None:
    Tournament.objects.update(keeps_trajectories=False)
    assert _put(order)[0] == 404


def test_a_tournament_that_is_over_takes_no_more(order: MatchOrder, tournament: Tournament) -> None:
    cancel_tournament(tournament, now=make.NOW)
    assert _put(order)[0] == 410


@pytest.mark.parametrize("limit", ["MAX_PIECE_BYTES", "MAX_ORDER_BYTES"])
def test_too_much_is_refused(
    order: MatchOrder, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(trajectories, limit, len(PIECE) + 3)
    assert _put(order)[0] == 201
    content = b"more" if limit == "MAX_ORDER_BYTES" else b"m" * (len(PIECE) + 4)
    assert _put(order, content, name=sha256(content).hexdigest())[0] == 413


def test_only_put_with_a_length_will_do(order: MatchOrder) -> None:
    path, _, query = order.trajectories.partition("?")
    assert Client().post(f"{path}/{NAME}?{query}").status_code == 405
    link = signing.sign_link("PUT", path, now=db_now()).partition("?")[2]
    assert Client().generic("PUT", f"{path}/{NAME}?{link}").status_code == 411


def test_the_link_of_an_order_fetches_nothing(order: MatchOrder) -> None:
    _put(order)
    path, _, query = order.trajectories.partition("?")
    assert Client().get(f"{path}/{NAME}?{query}").status_code == 403


def test_a_piece_is_fetched_by_a_link_of_its_own(order: MatchOrder) -> None:
    _put(order)
    link = signing.sign_link("GET", signing.piece_path(order.order, NAME), now=db_now())
    response: Any = Client().get(link)
    assert response.status_code == 200
    assert b"".join(response.streaming_content) == PIECE
    gone = signing.sign_link("GET", signing.piece_path(order.order, "0" * 64), now=db_now())
    assert Client().get(gone).status_code == 404


# What the recorder makes of it


def test_an_outcome_names_its_piece(order: MatchOrder) -> None:
    _put(order)
    recording.record_report(make.finished(order, _make_result), now=make.NOW)
    assert set(Outcome.objects.values_list("trajectory", flat=True)) == {NAME}


@pytest.mark.parametrize("name", ["", NAME])
def test_an_outcome_without_a_stored_piece_is_a_failed_attempt(
    order: MatchOrder, name: str
) -> None:
    report = make.finished(
        order,
        lambda row: msgspec.structs.replace(_make_result(row), trajectory=name),
        is_last=False,
    )
    recorded = recording.record_report(report, now=make.NOW)
    assert (recorded.n_closed, recorded.n_given_back) == (0, len(order.matches))
    assert set(Match.objects.values_list("state", flat=True)) == {Match.State.PENDING}
    attempt = Attempt.objects.first()
    assert attempt is not None
    assert (attempt.ending, attempt.reason) == (Attempt.Ending.FAILED, "error")
    assert "not stored" in attempt.detail


def test_a_forfeit_may_leave_nothing(order: MatchOrder) -> None:
    report = make.finished(
        order,
        lambda row: make.result(row, ending=Ending.FORFEIT, seat=0, reason=Reason.CRASH),
    )
    assert recording.record_report(report, now=make.NOW).n_closed == len(order.matches)


def test_a_piece_of_another_tournament_does_not_count(order: MatchOrder) -> None:
    _put(order)
    other = make.planned(4, board="other", keeps_trajectories=True)
    theirs = make.ordered(other)
    make.start(theirs)
    report = make.finished(theirs, _make_result, is_last=False)
    assert recording.record_report(report, now=make.NOW).n_closed == 0


def test_where_none_are_kept_a_named_piece_is_ignored(broker: Redis) -> None:
    make.alive()
    order = make.ordered(make.planned(4))
    make.start(order)
    recording.record_report(make.finished(order, _make_result), now=make.NOW)
    assert set(Outcome.objects.values_list("trajectory", flat=True)) == {""}


def test_unrated_outcomes_are_not_counted(broker: Redis) -> None:
    make.alive()
    tournament = make.planned(4, is_rated=False)
    order = make.ordered(tournament)
    make.start(order)
    recording.record_report(make.finished(order), now=make.NOW)
    tournament.refresh_from_db()
    assert (tournament.n_done, tournament.state) == (4, Tournament.State.DONE)
    assert not Uncounted.objects.exists()
    assert not tournament.leaderboard.rating_set.exists()


# Retention


def test_pieces_go_when_their_days_are_over(order: MatchOrder, tournament: Tournament) -> None:
    Tournament.objects.update(trajectory_days=2)
    _put(order)
    piece = TrajectoryPiece.objects.get()
    assert trajectories.delete_expired_pieces(now=make.later(0)) == 0
    assert piece.expires_at is not None
    assert (piece.expires_at - piece.created_at).days == 2
    Order.objects.filter(tournament=tournament).update(state=Order.State.CLOSED)
    control.do_duties(now=piece.expires_at + (piece.expires_at - piece.created_at))
    assert not TrajectoryPiece.objects.exists()
    assert blobs.open_file(piece.path, storage="trajectories") is None


def test_pieces_without_days_stay(order: MatchOrder) -> None:
    _put(order)
    assert trajectories.delete_expired_pieces(now=make.later(10**9)) == 0
