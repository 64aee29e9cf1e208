"""The checkpoint files of a folder: which are to be judged, and why the others are not."""

from pathlib import Path

import pytest

from arena import checkpoints
from evalsite_client.cli.folders import find_files, find_run, read_game
from evalsite_client.cli.spelled import read_step
from evalsite_client.errors import InputError

LATER = 4e9
"""Seconds since the epoch at which every file is whole."""


def test_of_each_file_that_is_not_judged_it_is_said_why(tmp_path: Path) -> None:
    for name in ("final", "step_10", "step_30", "step_40"):
        (tmp_path / f"{name}.safetensors").touch()
    files = find_files(tmp_path, {10: "it was judged before"}, now_s=LATER)
    assert [step for step, _ in files.new] == [30, 40]
    assert {path.stem: reason for path, reason in files.left_out.items()} == {
        "step_10": "it was judged before",
        "final": "its name has no step, such as step_1000",
    }
    newest = tmp_path / "step_40.safetensors"
    soon = find_files(tmp_path, {}, now_s=newest.stat().st_mtime)
    assert soon.left_out[newest] == "it is being written"


def test_a_file_of_a_clock_that_is_ahead_is_judged(tmp_path: Path) -> None:
    (file := tmp_path / "step_9.safetensors").touch()
    changed_s = file.stat().st_mtime
    assert find_files(tmp_path, {}, now_s=changed_s - 3_600).new == [(9, file)]
    assert find_files(tmp_path, {}, now_s=changed_s - 1).new == []


def test_a_link_to_nothing_is_left_out_until_something_is_there(tmp_path: Path) -> None:
    link, target = tmp_path / "step_9.safetensors", tmp_path / "weights"
    link.symlink_to(target)
    assert "a link to nothing" in find_files(tmp_path, {}, now_s=LATER).left_out[link]
    target.touch()
    assert find_files(tmp_path, {}, now_s=LATER).new == [(9, link)]


def test_links_that_nobody_can_follow_are_left_out(tmp_path: Path) -> None:
    for name in ("step_9.safetensors", "notes.txt"):
        (tmp_path / name).symlink_to("x" * 300)  # longer than a name may be
    files = find_files(tmp_path, {}, now_s=LATER)
    assert (len(files.left_out), files.n_others) == (1, 0)


def test_a_folder_that_is_none_or_names_a_step_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no folder"):
        find_files(tmp_path / "none", {}, now_s=LATER)
    for name in ("step_7", "7_steps", "step_8"):
        (tmp_path / f"{name}.safetensors").touch()
    files = find_files(tmp_path, {}, now_s=LATER)
    assert [step for step, _ in files.new] == [8]
    assert {path.stem for path in files.refused} == {"step_7", "7_steps"}
    assert all("are of one step, 7" in reason for reason in files.refused.values())
    with pytest.raises(InputError, match="both of step 7"):
        find_run(tmp_path)


@pytest.mark.parametrize(
    "name",
    ["model_step_48.pt", "ckpt-000123.safetensors", "step=5.x", "1.5M.pt", "200k.pt", "final.pt"],
)
def test_the_step_of_a_name_is_read_as_the_server_reads_it(name: str) -> None:
    assert read_step(name) == checkpoints.read_step(name)


@pytest.mark.parametrize("header", [b"{x}", b'{"__metadata__":[]}', b"{\xff}"])
def test_a_header_that_cannot_be_read_is_named_and_no_traceback(
    header: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "step_1.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    assert find_run(tmp_path) == [(1, path)]
    with pytest.raises(InputError, match="no whole safetensors file"):
        read_game(path)
