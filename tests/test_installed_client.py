"""What `pip install .` gives: the client and `evalsite` alone, used far from any clone.

What it does with a server stands in tests/test_gate_and_watch.py.
"""

from pathlib import Path

from tests.installed import link, run

CORE = ("numpy", "scipy", "msgspec", "packaging", "trueskill")


def test_the_command_runs_with_requests_alone(python: Path) -> None:
    done = run(python, "-m", "evalsite_client", "--help")
    assert done.returncode == 0, done.stderr
    for command in ("evaluate", "campaign", "gate", "watch", "checkpoints", "schedule", "token"):
        assert f"\n    {command} " in done.stdout
    loaded = "import evalsite_client.cli.main, sys; print(*sys.modules)"
    modules = {name.partition(".")[0] for name in run(python, "-c", loaded).stdout.split()}
    assert "evalsite_client" in modules
    assert not modules & {"django", "celery", "redis", "numpy", "arena", "inference", "torch"}


def test_without_torch_converting_says_what_is_missing(python: Path) -> None:
    refused = run(python, "-m", "evalsite_client", "checkpoints", "convert", "x")
    assert refused.returncode == 2
    assert "torch: is not installed here" in refused.stderr


def test_the_pure_core_is_a_library(python: Path) -> None:
    (site,) = python.parent.parent.glob("lib/python*/site-packages")
    link(site, CORE)
    code = (
        "from arena.games import registry; game = registry.get('skill_game'); "
        "print(game.spec.n_seats)"
    )
    done = run(python, "-c", code)
    assert done.stdout == "2\n", done.stderr
