from datetime import UTC, datetime

import pytest

from matches.errors import BadInputError, ConflictError
from matches.models import AuditRow, NodeKey
from matches.nodes import node_keys
from matches.store.auditing import COMMAND_LINE

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def add(name: str) -> NodeKey:
    return node_keys.add_node(name, actor=COMMAND_LINE, now=NOW)


def revoke(name: str) -> NodeKey:
    return node_keys.revoke_node(name, actor=COMMAND_LINE, now=NOW)


def test_a_node_is_added_once_and_keeps_its_secrets() -> None:
    first, second = add("node-7"), add("node-7")
    assert first == second
    assert node_keys.derive_secret(first, "broker") == node_keys.derive_secret(second, "broker")
    assert list(AuditRow.objects.values_list("action", "target_label")) == [
        ("nodekey.admit", "node-7")
    ]


def test_a_revoked_node_is_not_admitted_and_comes_back_with_other_secrets() -> None:
    before = node_keys.derive_secret(add("node-7"), "reports")
    revoke("node-7")
    assert node_keys.find_key("node-7") is None
    assert node_keys.derive_secret(add("node-7"), "reports") != before
    assert node_keys.find_key("node-7") is not None


def test_replaced_secrets_differ_from_those_before() -> None:
    before = node_keys.derive_secret(add("node-7"), "fast")
    key = node_keys.replace_secrets("node-7", actor=COMMAND_LINE, now=NOW)
    assert node_keys.derive_secret(key, "fast") != before


def test_only_a_node_that_is_admitted_is_revoked() -> None:
    with pytest.raises(ConflictError, match="no node 'node-7' is admitted"):
        revoke("node-7")


def test_set_up_adds_what_is_missing_and_leaves_a_revoked_node_out() -> None:
    add("node-1")
    revoke("node-1")
    node_keys.add_missing(["node-1", "node-2"], actor=COMMAND_LINE, now=NOW)
    assert node_keys.find_key("node-1") is None
    assert node_keys.find_key("node-2") is not None


@pytest.mark.parametrize("name", ["", "a b", "node-1 ~*", "x" * 61])
def test_a_name_that_is_none_is_refused_with_the_rule(name: str) -> None:
    with pytest.raises(BadInputError, match="1 to 60 of the characters"):
        add(name)


def test_no_node_has_the_name_by_which_the_head_takes_its_answers() -> None:
    with pytest.raises(BadInputError, match="'head': the evaluation head's answers"):
        add("head")


@pytest.mark.parametrize(("first", "second"), [("a", "node-a"), ("node-a", "a")])
def test_two_names_never_share_a_user(first: str, second: str) -> None:
    add(first)
    with pytest.raises(BadInputError, match=f"too like the node '{first}'"):
        add(second)
