"""`evalsite watch FOLDER`: a run is gone on with where a watch of it was stopped."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from evalsite_client import Clock, UnreachableError
from evalsite_client.api.watches import Watched, Watches, WatchVerdict
from evalsite_client.cli import following
from evalsite_client.cli.folders import Files
from evalsite_client.cli.watching import FolderWatch
from evalsite_client.nouns import Campaigns
from evalsite_client.tests.commands import Evalsite, ok
from matches.models import Campaign, Checkpoint
from matches.tests.admin_acts import an_alarm
from matches.tests.weights import GAME, added, verdict, weights

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def when_it_sleeps(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Return what lets something happen whenever the command waits."""

    def let(work: Callable[[], None]) -> None:
        monkeypatch.setattr("evalsite_client.client.Clock", lambda: Clock(sleep=lambda _: work()))

    return let


def test_the_check_of_a_checkpoint_that_was_sent_before_is_waited_for(
    evalsite: Evalsite,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    when_it_sleeps: Callable[[Callable[[], None]], None],
) -> None:
    file = tmp_path / "run" / "step_10.safetensors"
    weights(file, seed=10)
    os.utime(file, (0, 0))
    sent = added(tmp_path, "run", seed=10, step=10)  # by a watch that was stopped then
    monkeypatch.setattr(following, "wait_for_cluster", lambda _: "a cluster")

    def refuse() -> None:
        assert not Campaign.objects.exists()
        verdict(sent.checkpoint, refusal="body.weight holds NaN")

    when_it_sleeps(refuse)
    run = ("--agent", "run", "--game", GAME, "--architecture", "mlp", "--once")
    status, _, complaint = evalsite("watch", file.parent, *run)
    assert (status, "refused: file: body.weight holds NaN" in complaint) == (2, True), complaint
    assert "1 new checkpoint(s) were refused" in complaint
    assert not Campaign.objects.exists()


def test_a_check_that_nobody_can_do_says_what_it_waits_for(
    evalsite: Evalsite,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    when_it_sleeps: Callable[[Callable[[], None]], None],
) -> None:
    file = tmp_path / "run" / "step_10.safetensors"
    weights(file, seed=10)
    os.utime(file, (0, 0))
    monkeypatch.setattr(following, "wait_for_cluster", lambda _: "a cluster")

    def refuse() -> None:
        verdict(Checkpoint.objects.get(), refusal="it is over")

    when_it_sleeps(refuse)
    run = ("--agent", "run", "--game", GAME, "--architecture", "mlp", "--once")
    _, _, complaint = evalsite("watch", file.parent, *run)
    assert "waiting for a gpu worker: none is alive" in complaint


def test_a_server_that_is_away_while_a_file_is_judged_ends_no_watch(
    evalsite: Evalsite,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    when_it_sleeps: Callable[[Callable[[], None]], None],
) -> None:
    def judge(watch: FolderWatch, step: int, path: Path) -> None:
        steps.append(step)
        if len(steps) < 3:
            raise UnreachableError("it is restarted")
        raise KeyboardInterrupt

    steps: list[int] = []
    (file := tmp_path / "step_7.safetensors").touch()
    os.utime(file, (0, 0))
    monkeypatch.setattr(following, "wait_for_cluster", lambda _: "a cluster")
    monkeypatch.setattr(FolderWatch, "_judge_file", judge)
    when_it_sleeps(lambda: None)
    run = ("watch", tmp_path, "--agent", "run", "--game", GAME)
    assert evalsite(*run, "--once")[::2] == (2, "evalsite: it is restarted\n")
    status, _, complaint = evalsite(*run)
    assert (status, steps) == (130, [7, 7, 7])
    assert "step_7.safetensors: no answer, again at the next look: it is restarted" in complaint


def test_a_verdict_that_was_not_heard_of_is_told_at_the_next_look(
    evalsite: Evalsite,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    when_it_sleeps: Callable[[Callable[[], None]], None],
) -> None:
    def begin(*_: object, **__: object) -> Watched:
        begun.append(alarm.campaign_id)
        return Watched(alarm.campaign_id, alarm.campaign.tournament_id)

    def judge(watches: Watches, campaign: int, *, level: float) -> WatchVerdict:
        judged.append(campaign)
        if len(judged) == 1:
            raise UnreachableError("it is restarted")
        (kept,) = watch[0].client.alarms.list()
        return WatchVerdict("run@7", 20.0, 19.0, 21.0, 9, "run@6", level, 1.0, kept)

    def find_files(it: FolderWatch) -> Files:
        watch.append(it)
        if len(watch) > 5:
            raise KeyboardInterrupt
        # Once the server knows the verdict, the step is done.
        return Files([] if judged else [(7, file)], {}, {}, 0)

    alarm, begun, judged, watch = an_alarm(), list[int](), list[int](), list[FolderWatch]()
    (file := tmp_path / "step_7.safetensors").touch()
    monkeypatch.setattr(following, "wait_for_cluster", lambda _: "a cluster")
    monkeypatch.setattr(following, "wait_for_ratings", lambda *_, **__: None)
    monkeypatch.setattr(FolderWatch, "_admit_checkpoint", lambda *_: 7)
    monkeypatch.setattr(FolderWatch, "_find_files", find_files)
    monkeypatch.setattr(Watches, "create", begin)
    monkeypatch.setattr(Watches, "judge", judge)
    monkeypatch.setattr(Campaigns, "wait", lambda it, campaign, **_: it.get(campaign))
    when_it_sleeps(lambda: None)
    run = ("watch", tmp_path, "--agent", "run", "--game", GAME, "--stop-on-regression")
    status, output, complaint = evalsite(*run)
    assert (status, output.count("REGRESSION run@7")) == (1, 1), complaint
    assert (begun, judged) == ([alarm.campaign_id], [alarm.campaign_id] * 2)


@pytest.mark.parametrize(("n_alarms", "expected"), [(0, 2), (1, 1)])
def test_refused_checkpoints_end_it_with_2_after_the_others_unless_one_is_worse(
    n_alarms: int,
    expected: int,
    evalsite: Evalsite,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for step in (1, 2, 3):
        (file := tmp_path / f"step_{step}.safetensors").write_bytes(b"no weights")
        os.utime(file, (0, 0))
    monkeypatch.setattr(following, "wait_for_cluster", lambda _: "a cluster")
    monkeypatch.setattr(FolderWatch, "_catch_up", lambda it: setattr(it, "n_alarms", n_alarms))
    run = ("--agent", "run", "--game", GAME, "--architecture", "mlp", "--once")
    status, _, complaint = evalsite("watch", tmp_path, *run)
    assert (status, complaint.count(".safetensors: refused: ")) == (expected, 3), complaint
    assert "3 new checkpoint(s) were refused" in complaint


def test_of_a_folder_without_safetensors_it_says_how_to_make_some(
    evalsite: Evalsite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.cleanrl_model", "b.pt", "c.zip"):
        (tmp_path / name).touch()
    monkeypatch.setattr(following, "wait_for_cluster", lambda _: "a cluster")
    run = ("watch", tmp_path, "--agent", "run", "--game", GAME, "--once")
    output = ok(evalsite(*run))
    assert "none of the 3 file(s) there is a *.safetensors" in output
    assert "`evalsite checkpoints convert`" in output
    (tmp_path / "step_x.safetensors").touch()
    assert "file(s) there" not in ok(evalsite(*run))


def test_a_refused_file_comes_again_once_it_is_another_and_two_of_a_step_end_no_watch(
    evalsite: Evalsite,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    when_it_sleeps: Callable[[Callable[[], None]], None],
) -> None:
    def write(name: str, content: bytes, changed_s: int) -> None:
        (file := tmp_path / f"{name}.safetensors").write_bytes(content)
        os.utime(file, (changed_s, changed_s))

    def write_rest() -> None:
        write("best_8", b"of the same step", 2)
        write("step_7", b"half of it, and the rest", 2)
        looks.append(len(looks))
        if looks[-1] == 3:
            raise KeyboardInterrupt

    looks: list[int] = []
    write("step_7", b"half of it", 1)
    write("step_8", b"no weights", 1)
    (tmp_path / "step_9.safetensors").symlink_to(tmp_path / "none")
    monkeypatch.setattr(following, "wait_for_cluster", lambda _: "a cluster")
    when_it_sleeps(write_rest)
    run = ("watch", tmp_path, "--agent", "run", "--game", GAME, "--architecture", "mlp")
    status, output, complaint = evalsite(*run)
    assert (status, complaint.count("step_7.safetensors: refused: ")) == (130, 2), complaint
    assert "best_8.safetensors and step_8.safetensors are of one step, 8" in output
    assert output.count("step_9.safetensors: it was taken away, is a link to nothing") == 1


def test_two_new_files_of_one_step_end_a_single_look_with_2(
    evalsite: Evalsite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("best_8", "step_8"):
        (file := tmp_path / f"{name}.safetensors").touch()
        os.utime(file, (0, 0))
    monkeypatch.setattr(following, "wait_for_cluster", lambda _: "a cluster")
    run = ("watch", tmp_path, "--agent", "run", "--game", GAME, "--architecture", "mlp", "--once")
    status, _, complaint = evalsite(*run)
    assert (status, "2 new checkpoint(s) were refused" in complaint) == (2, True), complaint


def test_of_two_files_of_a_step_the_one_that_is_left_there_is_judged(
    evalsite: Evalsite,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    when_it_sleeps: Callable[[Callable[[], None]], None],
) -> None:
    def take_one_away() -> None:
        if not (best := tmp_path / "best_8.safetensors").exists():
            raise KeyboardInterrupt
        best.unlink()

    for name in ("best_8", "step_8"):
        (file := tmp_path / f"{name}.safetensors").write_bytes(b"no weights")
        os.utime(file, (0, 0))
    monkeypatch.setattr(following, "wait_for_cluster", lambda _: "a cluster")
    when_it_sleeps(take_one_away)
    run = ("watch", tmp_path, "--agent", "run", "--game", GAME, "--architecture", "mlp")
    status, _, complaint = evalsite(*run)
    assert (status, complaint.count("step_8.safetensors: refused: ")) == (130, 1), complaint


def test_a_file_without_a_step_that_is_written_over_and_over_is_told_of_once(
    evalsite: Evalsite,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    when_it_sleeps: Callable[[Callable[[], None]], None],
) -> None:
    def write_latest() -> None:
        looks.append(len(looks))
        (tmp_path / "latest.safetensors").write_bytes(b"weights" * len(looks))
        if looks[-1] == 3:
            raise KeyboardInterrupt

    looks: list[int] = []
    monkeypatch.setattr(following, "wait_for_cluster", lambda _: "a cluster")
    when_it_sleeps(write_latest)
    run = ("watch", tmp_path, "--agent", "run", "--game", GAME, "--architecture", "mlp")
    status, output, _ = evalsite(*run)
    assert (status, output.count("latest.safetensors")) == (130, 1), output
