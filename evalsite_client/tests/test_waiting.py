"""A wait shows how far a tournament is, outlives a restart of the server, and ends clean."""

import os
import pty
import termios
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from requests import Response

from evalsite_client import NEVER, NotThereError, ProblemError, Progress, WaitTimeoutError
from evalsite_client.cli import following, gates
from evalsite_client.errors import UnreachableError
from evalsite_client.progress import Pace, ProgressLine, format_duration
from evalsite_client.retries import AWAY_S, ask_again
from evalsite_client.tests import fakes
from evalsite_client.tests.fakes import FakeTime, Seen, answer, broken, problem
from evalsite_client.tests.schema_samples import Schema

SCHEMA = Schema()
COUNTS = ("n_forfeits", "n_replaced", "n_void", "n_cancelled", "n_retried", "n_refused")


def _tournament(state: str, n_done: int, **other: Any) -> dict[str, Any]:
    sample = SCHEMA.sample({"$ref": "#/components/schemas/TournamentDetail"})
    fields = {"name": "cup", "n_matches": 100, "state": state, "n_done": n_done}
    return {**sample, **dict.fromkeys(COUNTS, 0), **fields, **other}


def _explanation(*waits_for: str) -> dict[str, Any]:
    sample: dict[str, Any] = SCHEMA.sample({"$ref": "#/components/schemas/Explanation"})
    return {**sample, "waits_for": list(waits_for)}


def _server(
    *looks: Callable[[], Response], waits_for: tuple[str, ...] = ()
) -> Callable[[Seen], Response]:
    """Answer one look after the other, the last for ever; an explanation is always the same."""
    left = list(looks)

    def answering(request: Seen) -> Response:
        if request.url.endswith("/explanation/"):
            return answer(_explanation(*waits_for))
        return (left.pop(0) if len(left) > 1 else left[0])()

    return answering


def _look(state: str, n_done: int = 0, **other: Any) -> Callable[[], Response]:
    return lambda: answer(_tournament(state, n_done, **other))


def test_it_returns_the_finished_tournament_and_tells_of_every_look() -> None:
    looks = (_look("scheduled"), _look("running", 20), _look("running", 40), _look("done", 100))
    client, server = fakes.client(_server(*looks, waits_for=("control",)))
    reports: list[Progress] = []
    tournament = client.tournaments.wait(1, progress=reports.append, poll_s=2)
    assert (tournament.state, tournament.is_over, tournament.n_closed) == ("done", True, 100)
    assert [one.matches_per_s for one in reports] == [None, 10, 10, 100 / 6]
    assert [one.eta_s for one in reports] == [None, 8, 6, 0]
    assert [one.waits_for for one in reports] == [("control",), (), (), ()]
    explanations = [one.url for one in server.requests if one.url.endswith("/explanation/")]
    assert len(explanations) == 1


def test_what_does_not_move_is_explained() -> None:
    looks = (_look("running", 5), _look("running", 5), _look("cancelled", 5, n_cancelled=95))
    client, _ = fakes.client(_server(*looks, waits_for=("a gpu node",)))
    reports: list[Progress] = []
    tournament = client.tournaments.wait(1, progress=reports.append)
    assert tournament.state == "cancelled"
    assert "waits for a gpu node" in reports[1].line()
    assert "waits for" not in reports[2].line()


def test_a_timeout_ends_the_wait_and_says_how_far_it_is() -> None:
    time = FakeTime()
    client, _ = fakes.client(_server(_look("running", 7)), time=time)
    with pytest.raises(WaitTimeoutError, match="7/100"):
        client.tournaments.wait(1, progress=lambda _: None, timeout_s=5)
    assert time.now_s == 5


def test_a_restart_of_the_server_is_waited_for() -> None:
    looks = (_look("running", 1), broken, lambda: problem(503, "starting"), _look("done", 100))
    client, _ = fakes.client(_server(*looks), retries=NEVER)
    reports: list[Progress] = []
    assert client.tournaments.wait(1, progress=reports.append).state == "done"
    assert "no answer: " in reports[1].line()
    assert "starting" in reports[2].line()
    assert not reports[3].trouble


def test_a_server_that_stays_away_is_given_up() -> None:
    time = FakeTime()
    client, _ = fakes.client(
        _server(_look("running", 1), lambda: problem(503, "away")), time=time, retries=NEVER
    )
    with pytest.raises(ProblemError, match="away"):
        client.tournaments.wait(1, is_shown=False)
    assert AWAY_S < time.now_s < AWAY_S + 5


def test_a_server_is_away_from_the_moment_at_which_it_was_first_called_in_vain() -> None:
    time = FakeTime()
    n_calls = 0

    def fail_slowly() -> str:
        nonlocal n_calls
        n_calls += 1
        if n_calls == 1:
            return "there"
        time.sleep(50)  # such as all the attempts of one call
        raise UnreachableError("away")

    with pytest.raises(UnreachableError):
        for _ in ask_again(fail_slowly, time.clock(), poll_s=1):
            pass
    assert time.now_s < AWAY_S + 50, "the first call in vain counts, too"


def test_a_refusal_ends_the_wait_at_once() -> None:
    client, _ = fakes.client(lambda _: problem(404, "there is none"))
    with pytest.raises(NotThereError, match="there is none"):
        client.tournaments.wait(1)
    client, _ = fakes.client(_server(_look("running"), lambda: problem(404, "it was deleted")))
    with pytest.raises(NotThereError, match="it was deleted"):
        client.tournaments.wait(1, is_shown=False)


def test_progress_goes_to_stderr_unless_told_otherwise(capsys: Any) -> None:
    for is_shown in (True, False):
        client, _ = fakes.client(_server(_look("done", 100)))
        client.tournaments.wait(1, is_shown=is_shown)
        output = capsys.readouterr()
        assert ("cup (done)" in output.err, output.out) == (is_shown, "")


def test_ctrl_c_leaves_the_terminal_at_the_start_of_a_line(monkeypatch: Any) -> None:
    terminal = _Terminal()
    monkeypatch.setattr("sys.stderr", terminal)

    def interrupted() -> Response:
        raise KeyboardInterrupt

    client, _ = fakes.client(_server(_look("running", 5), interrupted))
    with pytest.raises(KeyboardInterrupt):
        client.tournaments.wait(1)
    assert terminal.getvalue().endswith("5/100\n")


def _sample(name: str, **fields: Any) -> Callable[[], Response]:
    sample = SCHEMA.sample({"$ref": f"#/components/schemas/{name}"})
    return lambda: answer({**sample, **fields})


def _away() -> Response:
    return problem(503, "starting")


def test_a_campaign_is_waited_for_over_a_restart_of_the_server() -> None:
    looks = (_sample("CampaignDetail", decided_at=None), broken, _away, _sample("CampaignDetail"))
    client, _ = fakes.client(_server(*looks), retries=NEVER)
    ends: list[bool] = []
    troubles: list[str] = []
    campaign = client.campaigns.wait(
        1, progress=lambda now: ends.append(now.is_over), trouble=troubles.append
    )
    assert (campaign.is_over, ends) == (True, [False, True])
    assert [("reset" in one, "starting" in one) for one in troubles] == [
        *((True, False), (False, True)),
    ]


def test_a_checkpoint_is_waited_for_over_a_restart_of_the_server() -> None:
    looks = (_sample("Checkpoint", state="checking"), broken, _sample("Checkpoint", state="ready"))
    client, _ = fakes.client(_server(*looks), retries=NEVER)
    assert client.checkpoints.wait("a").state == "ready"


def test_a_gate_is_waited_for_over_a_restart_of_the_server() -> None:
    looks = (_sample("Gate", is_over=False), broken, _away, _sample("Gate", is_over=True))
    client, _ = fakes.client(_server(*looks), retries=NEVER)
    terminal = _Terminal()
    gates.wait_for_gate(client, 1, following.Lines(client, terminal))
    assert "no answer: starting" in terminal.getvalue()


def test_an_evaluation_that_stands_still_says_what_it_waits_for() -> None:
    still = _look("running", 5, problem="", finished_at=None)
    client, server = fakes.client(_server(still, waits_for=("room: a disk",)))
    out = StringIO()
    following.follow_tournament(client, 1, out, timeout_s=20, fraction=1.0)
    # Once every STILL_S, not at each look.
    assert len([one for one in server.requests if one.url.endswith("/explanation/")]) == 6
    first, *later = out.getvalue().splitlines()
    assert first.startswith("5/100 - Pending: 95")
    assert first.endswith(", waits for room: a disk")
    assert later


def test_a_gate_that_stands_still_says_what_it_waits_for() -> None:
    looks = [*[_sample("Gate", is_over=False)] * 40, _sample("Gate", is_over=True)]
    client, _ = fakes.client(_server(*looks, waits_for=("room: a disk",)))
    out = StringIO()
    gates.wait_for_gate(client, 1, following.Lines(client, out))
    assert out.getvalue().splitlines()[-1].endswith(", waits for room: a disk")


def test_ratings_are_waited_for_over_a_restart_of_the_server() -> None:
    looks = (_sample("Report", is_rated=False), broken, _sample("Report", is_rated=True))
    client, _ = fakes.client(_server(*looks), retries=NEVER)
    report, lag = following.wait_for_ratings(client, 1, limit_s=10)
    assert (report.is_rated, lag) == (True, "")


class _Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def _progress(state: str = "running", n_done: int = 50, **other: Any) -> Progress:
    reports: list[Progress] = []
    client, _ = fakes.client(_server(_look(state, n_done, **other), _look("done", 100)))
    client.tournaments.wait(1, progress=reports.append)
    return reports[0]


def test_a_line_is_cut_to_the_terminal_and_overwritten() -> None:
    terminal = _Terminal()
    wide, narrow = (ProgressLine(terminal, width=lambda w=w: w) for w in (200, 40))  # type: ignore[misc]
    wide(_progress(n_forfeits=3))
    narrow(_progress(n_forfeits=3))
    narrow(_progress(n_forfeits=3, n_void=2, n_retried=1_000))
    wide.close()
    wide.close()
    lines = terminal.getvalue().split("\r\x1b[K")[1:]
    assert lines[0] == "cup (running) [############............] 50%, 50/100, 3 forfeits"
    assert lines[1] == "cup (running) 50%, 50/100, 3 forfeits"
    assert lines[2] == "cup (running) 52%, 52/100, 3 forfeits,…\n"


@pytest.mark.parametrize(("columns", "width"), [(40, 39), (200, 120), (0, 79)])
def test_a_line_of_a_gate_is_as_wide_as_the_terminal_that_it_is_written_to(
    columns: int, width: int
) -> None:
    client, _ = fakes.client(_server())
    terminal, side = pty.openpty()
    # stdout is no terminal here, as after `--json > file`.
    termios.tcsetwinsize(side, (24, columns))
    with os.fdopen(side, "w") as out, os.fdopen(terminal, "rb", buffering=0) as screen:
        following.Lines(client, out).show("x" * 120)
        assert screen.read(1_000).count(b"x") == width


def test_elsewhere_a_line_comes_now_and_then_and_with_every_change() -> None:
    time = FakeTime()
    looks = [_look("running", n) for n in range(15)]
    client, _ = fakes.client(_server(*looks, _look("done", 100)), time=time)
    stream = StringIO()
    client.tournaments.wait(1, progress=ProgressLine(stream))
    lines = stream.getvalue().splitlines()
    assert [line.partition(",")[0].split()[1] for line in lines] == [
        *("(running)", "(running)", "(done)"),
    ]


def test_the_pace_is_that_of_the_last_half_minute() -> None:
    pace = Pace()
    for second in range(0, 100, 10):
        rate = pace.measure_rate(second, n_closed=second if second < 50 else 50)
    assert rate == 0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "0 s"),
        (61, "1 min 01 s"),
        (3_660, "1 h 01 min"),
        (59.7, "1 min 00 s"),
        (1e9, "over a year"),
    ],
)
def test_durations_are_written_as_people_do(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_who_answers_for_networks_or_serves_games_is_no_play_node() -> None:
    sample = SCHEMA.sample({"$ref": "#/components/schemas/Worker"})
    kinds = {"node-1": ["cpu"], "gpu-1": ["gpu"], "sim-1": ["server"]}
    alive = {**sample, "is_alive": True, "quarantined_at": None}
    rows = [{**alive, "node": name, "capabilities": has} for name, has in kinds.items()]
    page = {"next": None, "previous": None, "results": rows}
    client, _ = fakes.client(lambda _: answer(page))
    assert [worker.node for worker in following.find_play_nodes(client)] == ["node-1"]
