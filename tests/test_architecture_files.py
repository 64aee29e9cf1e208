"""What architectures declare, read from their files without torch."""

import ast
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from arena import architecture_files
from arena.parameters import Parameter
from inference.architectures import registry


def test_it_reads_what_the_shipped_ones_declare() -> None:
    declared = architecture_files.list_declared()
    assert set(declared) >= {"gru", "mlp", "rescnn", "transformer"}
    for name in registry.names():
        assert list(declared[name]) == list(registry.get(name).parameters)


def write_plugin(root: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    folder = root / "architectures"
    folder.mkdir()
    (folder / "net_of_mine.py").write_text(source)
    monkeypatch.setenv("EVALSITE_PLUGINS", str(root))


def test_a_plugin_is_read_and_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (
        'raise SystemExit("it was run")\n'
        "MOST = 9\n"
        "UNPLAIN = read_it_somewhere()\n"
        "class Net:\n"
        '    parameters = (Parameter("n", -1, help=f"up to {MOST}", maximum=MOST),)\n'
        "    weights = nn.Parameter(MOST)\n"
    )
    write_plugin(tmp_path, monkeypatch, source)
    declared = architecture_files.list_declared()["net_of_mine"]
    assert declared == [Parameter("n", -1, "up to 9", maximum=9)]


@pytest.mark.parametrize(
    "source",
    [
        'Parameter("n", len("ab"), "")',
        "Parameter(unknown)",
        'Parameter("n", -"m", "")',
        "Parameter()",
        "class",
    ],
)
def test_of_what_is_not_plain_nothing_is_known(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_plugin(tmp_path, monkeypatch, source)
    assert "net_of_mine" not in architecture_files.list_declared()


def test_what_came_without_its_source_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_plugin(tmp_path, monkeypatch, "")
    (tmp_path / "architectures" / "compiled.pyc").write_bytes(b"")
    assert "compiled" not in architecture_files.list_declared()


def test_no_two_files_are_parsed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parse, parsing, most = ast.parse, list[Any](), 0

    def parse_slowly(*arguments: Any, **options: Any) -> Any:
        nonlocal most
        parsing.append(arguments)
        most = max(most, len(parsing))
        Event().wait(0.01)
        module = parse(*arguments, **options)
        parsing.remove(arguments)
        return module

    monkeypatch.setattr(ast, "parse", parse_slowly)
    architecture_files._read_file.cache_clear()
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(architecture_files.list_architectures) for _ in range(4)]:
            done.result(30)
    assert most == 1
