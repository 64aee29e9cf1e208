import json
from typing import Any

import pytest

from gameservers.head.tests.running import free_port, hello, running_head, serving, wait_until

OUTSIDE = "10.0.0.1:8081"


def test_a_server_of_the_list_is_found_looked_at_and_reported_with_its_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gameservers.head.looking.EVERY_S", 0.05)
    messages: list[Any] = [hello(load={"cpu": 0.1})]
    absent = f"127.0.0.1:{free_port()}"
    answering = serving(lambda: json.dumps(messages))
    with answering as address, running_head(addresses=[address, absent, OUTSIDE]) as head:
        wait_until(lambda: "sim-1" in head.rows(), "it is healthy")
        rows = head.rows()
        assert (rows["sim-1"]["state"], rows["sim-1"]["cpu"]) == ("healthy", 0.1)
        assert rows["sim-1"]["address"].startswith(address)
        assert rows["sim-1"]["latency_ms"] > 0
        assert "cannot be reached" in rows[absent]["reason"]
        assert "outside EVALSITE_SERVER_NETWORKS" in rows[OUTSIDE]["reason"]
        messages[:] = [{"kind": "error", "reason": "stopping", "detail": ""}]
        wait_until(lambda: "stopping" in head.rows()["sim-1"]["reason"], "it refuses")
        assert head.rows()["sim-1"]["state"] == "unreachable"
        messages[:] = [hello()]
        status, answer = head.call("/discover", b"")
        states = {row["name"]: row["state"] for row in json.loads(answer)["discovered"]}
        assert (status, states["sim-1"]) == (200, "healthy")
        assert json.loads(answer)["sources"][0]["servers"] == 3


def test_only_a_pass_lets_others_discover() -> None:
    with running_head() as head:
        status, answer = head.call("/discover", b"", headers={"Origin": "http://evil.example"})
        assert (status, b"a pass for discover" in answer) == (403, True)
        assert head.call("/discover")[0] == 405
