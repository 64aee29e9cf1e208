from itertools import product

import pytest

from arena.credentials import (
    Purpose,
    gpu_key,
    head_key,
    is_node_name,
    join_key,
    node_secret,
    node_user,
    pass_key,
    role_secret,
    trainer_key,
)

PURPOSES: tuple[Purpose, ...] = ("broker", "fast", "reports")


def test_every_purpose_name_generation_and_key_has_a_secret_of_its_own() -> None:
    cases = product(("key", "other key"), PURPOSES, ("node-1", "node-11", "1"), (1, 2, 11))
    secrets = [node_secret(*case) for case in cases]
    roles = [role_secret("key", *case) for case in product(("broker", "fast"), ("web", "beat"))]
    assert len({*secrets, *roles}) == len(secrets) + len(roles)


def test_reports_of_each_kind_of_program_have_a_key_of_their_own() -> None:
    assert len({gpu_key("key"), head_key("key"), trainer_key("key"), trainer_key("other")}) == 4


def test_who_may_make_passes_may_not_let_machines_join() -> None:
    keys = {make("key") for make in (join_key, pass_key, gpu_key, head_key, trainer_key)}
    assert len(keys) == 5
    assert all(make("key") != make("other") for make in (join_key, pass_key))


def test_a_secret_needs_no_quoting_and_stays_the_same() -> None:
    secret = node_secret("key", "broker", "node-1", 1)
    assert secret == node_secret("key", "broker", "node-1", 1)
    assert len(secret) == 64
    assert secret.isalnum()


@pytest.mark.parametrize(("name", "user"), [("node-1", "node-1"), ("gaming-pc", "node-gaming-pc")])
def test_a_user_of_a_node_is_never_that_of_a_role(name: str, user: str) -> None:
    assert node_user(name) == user


@pytest.mark.parametrize("name", ["node-1", "a", "A_b.c-9", "x" * 60])
def test_a_plain_name_is_taken(name: str) -> None:
    assert is_node_name(name)


@pytest.mark.parametrize(
    "name", ["", "x" * 61, "a b", "a\n", "ä", "*", "a:b", "a>b", "{a}", "%R~x"]
)
def test_a_name_that_could_mean_more_in_a_rule_is_refused(name: str) -> None:
    assert not is_node_name(name)
