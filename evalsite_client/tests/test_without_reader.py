"""Commands whose output nobody reads on: no traceback, and no status that passes for an answer."""

import os
import subprocess
import sys
from typing import Any

import pytest

from matches.models import Tournament
from matches.tests import boards

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_reader_of_the_output_may_leave(live_server: Any) -> None:
    command = f"{sys.executable} -m evalsite_client boards --url {live_server.url} | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stderr == ""


def _run_without_reader(live_server: Any, *arguments: object) -> int:
    read_end, write_end = os.pipe()
    os.close(read_end)
    words = [*map(str, arguments), "--url", live_server.url]
    command = [sys.executable, "-m", "evalsite_client", *words]
    with os.fdopen(write_end) as output:
        done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, check=False)
    assert b"Traceback" not in done.stderr
    return done.returncode


def test_without_a_reader_the_status_is_that_of_the_answer_or_says_that_there_is_none(
    live_server: Any,
) -> None:
    tournament = boards.played_board(n_matches=84)
    Tournament.objects.filter(pk=tournament.pk).update(state=Tournament.State.CANCELLED)
    assert _run_without_reader(live_server, "boards") == 0
    # Of a verdict 0 is a pass, and 1 a fail.
    assert _run_without_reader(live_server, "watch", tournament.pk) == 1
    assert _run_without_reader(live_server, "watch", tournament.pk, "--json") == 2
