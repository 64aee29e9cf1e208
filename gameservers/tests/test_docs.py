"""What docs/gameservers.md shows is so."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec

from arena.games.line_messages import Act, End, PlayerHello, Start, read_frame
from gameservers import sdk

PAGE = (Path(__file__).parents[2] / "docs" / "gameservers.md").read_text(encoding="utf-8")


def find_blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_game_of_the_page_is_served() -> None:
    program = find_blocks("python")[0]
    *_, call = program.strip().splitlines()
    names: dict[str, Any] = {}
    exec(program.replace("from sdk", "from gameservers.sdk").replace(call, ""), names)

    line = sdk.Line(sdk.Server(names["Nim"], name="sim-1"))
    line.receive('[{"kind":"hello","protocol":1,"game":"nim"}]')
    ((text, _),) = line.receive('[{"kind":"start","episode":1,"seed":1,"actions":[2,2,2,2,2]}]')

    assert len(program.splitlines()) < 33
    assert call.startswith("serve(Nim, ")
    assert json.loads(text)[0]["returns"] == [1.0, -1.0]


def test_the_environment_of_the_page_is_a_game_of_ten_lines() -> None:
    (program,) = (block for block in find_blocks("python") if "OpenEnvGame(" in block)
    names: dict[str, Any] = {}
    exec(program, names)
    spec = names["GAME"].spec

    assert len([line for line in program.splitlines() if line and line[0] != "#"]) <= 11
    assert (spec.n_actions, spec.max_steps, spec.is_replayable) == (3, 400, False)
    assert spec.observation_shape == (10,)


def test_the_messages_of_the_page_are_those_of_the_code() -> None:
    from_player, from_server = find_blocks("json")
    for line in from_player.splitlines():
        msgspec.json.decode(line, type=PlayerHello | Start | Act | End)

    assert len(read_frame(f"[{','.join(from_server.splitlines())}]")) == 5
    assert {"hello", "start", "act", "end"} == set(re.findall('"kind":"(.*?)"', from_player))


def test_every_reason_of_the_sdk_is_on_the_page() -> None:
    source = Path(sdk.__file__).read_text(encoding="utf-8")
    reasons = set(re.findall(r'Error\(\s*"(\w+)"', source)) | {"fault", "stopping"}

    assert {"full", "illegal", "bad_message", "unknown_game", "refused"} < reasons
    assert all(f"`{reason}`" in PAGE for reason in reasons)
