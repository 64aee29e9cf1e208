"""Which server and token a command has by itself."""

from pathlib import Path

import pytest

from evalsite_client.cli.access import find_access, is_on_this_machine


@pytest.mark.parametrize("slash", ["", "/"])
@pytest.mark.parametrize("written", ["http://127.0.0.1:8000", "http://127.0.0.1:8000/"])
def test_a_slash_at_the_end_of_the_address_does_not_hide_the_token(
    tmp_path: Path, written: str, slash: str
) -> None:
    (tmp_path / "client.env").write_text(f"EVALSITE_URL={written}\nEVALSITE_TOKEN=secret\n")
    environment = {"EVALSITE_VAR": str(tmp_path), "EVALSITE_URL": f"http://127.0.0.1:8000{slash}"}
    assert find_access(None, None, environment).token == "secret"
    assert find_access(environment.pop("EVALSITE_URL"), None, environment).token == "secret"
    assert is_on_this_machine({**environment, "EVALSITE_URL": f"http://127.0.0.1:8000{slash}"})
    assert find_access("http://127.0.0.1:80001", None, environment).token is None
