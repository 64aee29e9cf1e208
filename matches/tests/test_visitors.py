"""Whose address counts: the one that the outermost of our proxies saw, never one of the client."""

from typing import Any

import pytest
from django.test import RequestFactory

from matches.access.visitors import find_client_address, find_counted_address


def _request(forwarded: str | None, peer: str) -> Any:
    headers = {} if forwarded is None else {"x-forwarded-for": forwarded}
    return RequestFactory().get("/", REMOTE_ADDR=peer, headers=headers)


@pytest.mark.parametrize(
    ("n_proxies", "forwarded", "peer", "client"),
    [
        (0, None, "192.0.2.1", "192.0.2.1"),
        (0, "203.0.113.9", "192.0.2.1", "192.0.2.1"),
        (0, "203.0.113.9", "127.0.0.1", "127.0.0.1"),
        (1, "203.0.113.9", "10.0.0.1", "203.0.113.9"),
        (1, "6.6.6.6, 203.0.113.9", "10.0.0.1", "203.0.113.9"),
        (2, "6.6.6.6, 203.0.113.9, 10.0.0.2", "10.0.0.1", "203.0.113.9"),
        (2, "203.0.113.9", "10.0.0.1", "203.0.113.9"),
        (1, None, "10.0.0.1", "10.0.0.1"),
        (1, "unknown", "10.0.0.1", "10.0.0.1"),
        (1, "203.0.113.9:4711", "10.0.0.1", "203.0.113.9"),
        (1, "[2001:db8::7]:4711", "10.0.0.1", "2001:db8::7"),
        (1, "::ffff:203.0.113.9", "10.0.0.1", "203.0.113.9"),
        (0, None, "", "0.0.0.0"),
    ],
)
def test_the_address_of_a_client(
    n_proxies: int, forwarded: str | None, peer: str, client: str, settings: Any
) -> None:
    settings.EVALSITE_PROXIES = n_proxies
    assert find_client_address(_request(forwarded, peer)) == client


def test_addresses_of_one_ipv6_customer_count_as_one() -> None:
    near = [_request(None, f"2001:db8:1:2::{n}") for n in (1, 2)]
    assert {find_counted_address(request) for request in near} == {"2001:db8:1:2::"}
    assert find_counted_address(_request(None, "2001:db8:1:3::1")) == "2001:db8:1:3::"
    assert find_counted_address(_request(None, "192.0.2.1")) == "192.0.2.1"
