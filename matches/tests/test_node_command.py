from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings

from arena.acl import Server, role_password
from arena.credentials import head_key, node_secret, pass_key, trainer_key
from matches.models import NodeKey

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _servers(settings: Settings) -> None:
    settings.SECRET_KEY = "key"
    settings.REDIS_URL = "redis://evalsite-commands:p@broker:6379/0"
    settings.FAST_REDIS_URL = "redis://evalsite-commands:q@fast:6379/0"
    settings.EVALSITE_SITE_URL = "http://site"
    settings.EVALSITE_UNENFORCED = []


def run(*words: str) -> dict[str, str]:
    out = StringIO()
    call_command("node", *words, stdout=out)
    return dict(line.split("=", 1) for line in out.getvalue().splitlines() if "=" in line)


def test_adding_a_node_prints_its_environment_and_again_the_same() -> None:
    expected = {
        "REDIS_URL": f"redis://node-7:{node_secret('key', 'broker', 'node-7', 1)}@broker:6379/0",
        "EVALSITE_INFERENCE_URL": (
            f"redis://node-7:{node_secret('key', 'fast', 'node-7', 1)}@fast:6379/0"
        ),
        "EVALSITE_SITE_URL": "http://site",
        "EVALSITE_NODE": "node-7",
        "EVALSITE_NODE_KEY": node_secret("key", "reports", "node-7", 1),
    }
    assert run("add", "node-7") == expected
    assert run("add", "node-7") == expected
    assert run("replace", "node-7").keys() == expected.keys()
    assert not set(run("add", "node-7").values()) & {expected["EVALSITE_NODE_KEY"]}


def test_a_revoked_node_is_listed_as_such() -> None:
    run("add", "node-7")
    run("revoke", "node-7")
    out = StringIO()
    call_command("node", "list", stdout=out)
    assert "node-7" in out.getvalue()
    assert "revoked 20" in out.getvalue()
    assert NodeKey.objects.get().revoked_at is not None


@pytest.mark.parametrize("words", [("add", "a b"), ("revoke", "node-9"), ("replace", "node-9")])
def test_a_wrong_name_is_an_error_with_what_would_do(words: tuple[str, str]) -> None:
    with pytest.raises(CommandError) as caught:
        run(*words)
    assert words[1] in str(caught.value)
    assert caught.value.returncode == 2


def test_gpu_workers_have_addresses_of_their_own() -> None:
    printed = run("gpu")
    password = role_password("key", "fast", "gpu")
    assert printed["FAST_REDIS_URL"] == f"redis://evalsite-gpu:{password}@fast:6379/0"


def test_a_trainer_elsewhere_has_addresses_and_a_key_of_its_own(settings: Settings) -> None:
    settings.STREAM_REDIS_URL = "redis://evalsite-commands:r@stream:6379/0"
    servers: tuple[Server, ...] = ("broker", "stream")
    passwords = {server: role_password("key", server, "trainer") for server in servers}
    assert run("trainer") == {
        "REDIS_URL": f"redis://evalsite-trainer:{passwords['broker']}@broker:6379/0",
        "STREAM_REDIS_URL": f"redis://evalsite-trainer:{passwords['stream']}@stream:6379/0",
        "EVALSITE_SITE_URL": "http://site",
        "EVALSITE_NODE_KEY": trainer_key("key"),
    }
    settings.EVALSITE_UNENFORCED = ["stream"]
    assert run("trainer")["STREAM_REDIS_URL"] == settings.STREAM_REDIS_URL


def test_where_no_experience_is_kept_no_trainer_is_told_of_it(settings: Settings) -> None:
    settings.STREAM_REDIS_URL = ""
    with pytest.raises(CommandError, match="up --experience") as caught:
        run("trainer")
    assert caught.value.returncode == 2


def test_a_head_elsewhere_has_addresses_and_keys_of_its_own_and_not_the_secret_key(
    settings: Settings,
) -> None:
    printed = run("head")
    password = role_password("key", "broker", "head")
    assert printed["REDIS_URL"] == f"redis://evalsite-head:{password}@broker:6379/0"
    assert printed["EVALSITE_NODE_KEY"] == head_key("key")
    assert printed["EVALSITE_PASS_KEY"] == pass_key("key")
    assert settings.SECRET_KEY not in printed.values()


def test_without_users_at_a_server_a_node_gets_the_address_that_was_given(
    settings: Settings,
) -> None:
    settings.EVALSITE_UNENFORCED = ["broker", "fast"]
    settings.REDIS_URL = "redis://:shared@hosted/0"
    printed = run("add", "node-7")
    assert printed["REDIS_URL"] == "redis://:shared@hosted/0"
    assert "EVALSITE_INFERENCE_URL" not in printed


def test_several_nodes_are_added_one_after_the_other_or_none_of_them() -> None:
    out = StringIO()
    call_command("node", "add", "a-1", "a-2", stdout=out)
    blocks = out.getvalue().strip().split("\n\n")
    assert [line for block in blocks for line in block.splitlines() if "_NODE=" in line] == [
        "EVALSITE_NODE=a-1",
        "EVALSITE_NODE=a-2",
    ]
    with pytest.raises(CommandError, match="'b 2' is no name of a node"):
        call_command("node", "add", "b-1", "b 2", stdout=out)
    assert set(NodeKey.objects.values_list("name", flat=True)) == {"a-1", "a-2"}


def test_an_invitation_is_the_command_to_type_on_the_other_machine() -> None:
    out = StringIO()
    call_command("node", "invite", "far-1", "--minutes", "5", stdout=out)
    head, token = out.getvalue().split(" --token ")
    assert head == "./run node --join http://site"
    assert token.startswith("far-1:1.")
    assert not NodeKey.objects.exists(), "nobody is let in before it is used"
    with pytest.raises(CommandError, match="0"):
        call_command("node", "invite", "far-2", "--minutes", "0")
