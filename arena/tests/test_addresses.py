"""Which addresses of servers are read, and which may be connected to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.addresses import (
    LOOPBACK,
    Address,
    AddressError,
    admit,
    networks_of,
    read_address,
    read_networks,
    refuse_ip,
    unmap,
)

INSIDE = "10.1.0.0/16,fd00:1::/32"
EVERYWHERE = "0.0.0.0/0,::/0"
UNREADABLE = (
    "",
    "game",
    ":80",
    "game:",
    "game:0",
    "game:65536",
    "game:+80",
    "game: 80",
    " game:80",
    "game\n:80",
    "game:80\r\nX: 1",
    "::1:80",
    "[10.1.2.3]:80",
    "[game]:80",
    "[fe80::1%eth0]:80",
    "fe80::1%eth0:80",
    "2130706433:80",
    "127.1:80",
    "0177.0.0.1:80",
    "0x7f000001:80",
    "0x7f.0.0.1:80",
    "10.1.2.3.4:80",
    "10.1.2.256:80",
    "10.1.2.3.:80",
    "\uff11\uff10.1.2.3:80",
    "g\u0430me:80",
    "user@game:80",
    "http://10.1.2.3@evil:80",
    "http://evil#@10.1.2.3:80",
    "http://10.1.2.3:80?x=1",
    "http://10.1.2.3:80/a b",
    "http://10.1.2.3:80/..%2f",
    "http:\\\\10.1.2.3:80",
    "ftp://10.1.2.3:21",
    "file:///etc/passwd",
    "gopher://10.1.2.3:70",
    "://10.1.2.3:80",
    "-game:80",
    "game-:80",
    "ga..me:80",
    f"{'g' * 64}:80",
    f"{'game.' * 70}:80",
)
# Outside of INSIDE; those of the second list are outside of everywhere, too.
OUTSIDE = ("8.8.8.8", "10.2.0.1", "[2606:4700::1]", "[fd00:2::1]")
NOWHERE = (
    *("127.0.0.1", "127.9.9.9", "169.254.169.254", "169.254.1.1", "0.0.0.0", "255.255.255.255"),
    *("100.100.100.200", "168.63.129.16", "192.168.0.1", "172.16.0.1", "10.0.0.1", "224.0.0.1"),
    *("192.0.2.1", "198.18.0.1", "240.0.0.1", "[::1]", "[::]", "[fe80::1]", "[ff02::1]"),
    *("[::ffff:127.0.0.1]", "[::ffff:169.254.169.254]", "[::ffff:a01:203]", "[::127.0.0.1]"),
    *("[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fd00:ec2::254]", "[2001:0:1::]"),
)


@pytest.mark.parametrize("text", UNREADABLE)
def test_it_refuses_what_is_no_address_or_could_be_read_two_ways(text: str) -> None:
    with pytest.raises(AddressError, match="write") as refused:
        read_address(text)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("place", ["host:80", "host", "[::1]:80/ws", "0177.1:80", "a b:80"])
@pytest.mark.parametrize("login", ["me:hidden", "hidden", "hid/den:hidden@x"])
def test_a_refusal_does_not_repeat_a_password(login: str, place: str) -> None:
    with pytest.raises(AddressError, match=r"'\*\*\*@") as refused:
        read_address(f"wss://{login}@{place}")
    assert "hid" not in str(refused.value)


@pytest.mark.parametrize("host", OUTSIDE)
def test_it_refuses_an_address_outside_the_networks_and_names_both(host: str) -> None:
    with pytest.raises(AddressError, match=r"outside EVALSITE_SERVER_NETWORKS \(10\.1\.0\.0/16"):
        admit(read_address(f"{host}:80"), [], read_networks(INSIDE))


@pytest.mark.parametrize("host", NOWHERE)
def test_a_network_of_everything_allows_no_special_address(host: str) -> None:
    with pytest.raises(AddressError, match=r"within|no address of one host"):
        admit(read_address(f"{host}:80"), [], read_networks(EVERYWHERE))


@pytest.mark.parametrize("host", NOWHERE)
def test_nothing_listed_allows_nothing(host: str) -> None:
    with pytest.raises(AddressError):
        admit(read_address(f"{host}:80"), [], ())


@pytest.mark.parametrize(
    ("networks", "host"),
    [
        (INSIDE, "10.1.2.3"),
        (INSIDE, "[::ffff:10.1.2.3]"),
        (INSIDE, "[fd00:1::1]"),
        (LOOPBACK, "127.0.0.1"),
        (LOOPBACK, "[::1]"),
        (EVERYWHERE, "8.8.8.8"),
        ("169.254.169.254", "169.254.169.254"),
        ("169.254.0.0/16", "169.254.1.1"),
    ],
)
def test_what_is_listed_is_admitted_as_the_address_to_connect_to(networks: str, host: str) -> None:
    address = read_address(f"{host}:80")
    assert address.ip is not None
    assert admit(address, ["8.8.8.8"], read_networks(networks)) == (unmap(address.ip),)


def test_a_network_of_link_local_addresses_does_not_allow_that_of_the_metadata() -> None:
    metadata = read_address("169.254.169.254:80")
    with pytest.raises(AddressError, match=r"within 169\.254\.169\.254/32"):
        admit(metadata, [], read_networks("169.254.0.0/16"))


def test_a_name_one_of_whose_addresses_is_outside_is_refused() -> None:
    name = read_address("game:80")
    with pytest.raises(AddressError, match=r"game:80: 127\.0\.0\.1 is outside"):
        admit(name, ["10.1.2.3", "127.0.0.1"], read_networks(INSIDE))


def test_a_name_is_admitted_with_each_of_its_addresses_once() -> None:
    ips = admit(
        read_address("game:80"),
        ["10.1.2.3", "10.1.2.4", "::ffff:10.1.2.3", "fd00:1::1"],
        read_networks(INSIDE),
    )
    assert list(map(str, ips)) == ["10.1.2.3", "10.1.2.4", "fd00:1::1"]


@pytest.mark.parametrize("addresses", [[], ["fe80::1%eth0"], ["what"]])
def test_a_name_without_an_address_is_refused(addresses: list[str]) -> None:
    with pytest.raises(AddressError, match="the name game has no IP address"):
        admit(read_address("game:80"), addresses, read_networks(INSIDE))


@pytest.mark.parametrize(
    ("text", "address", "url"),
    [
        ("Game-1.example:81", Address("game-1.example", 81), "ws://game-1.example:81/"),
        ("10.1.2.3:81", Address("10.1.2.3", 81), "ws://10.1.2.3:81/"),
        ("[FD00::0:1]:81", Address("fd00::1", 81), "ws://[fd00::1]:81/"),
        ("ws://game", Address("game", 80), "ws://game:80/"),
        ("HTTPS://game/a/b-1/", Address("game", 443, True, "/a/b-1/"), "wss://game:443/a/b-1/"),
        ("wss://[::1]:9", Address("::1", 9, True), "wss://[::1]:9/"),
    ],
)
def test_an_address_is_read_with_its_scheme_and_path(text: str, address: Address, url: str) -> None:
    assert read_address(text) == address
    assert address.url() == url


def test_the_url_to_connect_to_has_the_ip_address_in_place_of_the_name() -> None:
    address = read_address("wss://game:9/x")
    (ip,) = admit(address, ["fd00:1::1"], read_networks(INSIDE))
    assert address.url(ip) == "wss://[fd00:1::1]:9/x"


@pytest.mark.parametrize("text", ["10.1.0.1/16", "everything", "10.1.0.0/33", "10.1.0.0/16;::1"])
def test_it_refuses_what_is_no_network(text: str) -> None:
    with pytest.raises(AddressError, match=r"EVALSITE_SERVER_NETWORKS: .* is no network"):
        read_networks(text)


@pytest.mark.parametrize(
    ("environ", "allowed"),
    [
        ({}, LOOPBACK),
        ({"EVALSITE_HOST": "127.0.0.1"}, LOOPBACK),
        ({"EVALSITE_HOST": "0.0.0.0"}, ""),
        ({"EVALSITE_HOST": "evalsite.example"}, ""),
        ({"EVALSITE_SERVER_NETWORKS": ""}, ""),
        ({"EVALSITE_SERVER_NETWORKS": INSIDE, "EVALSITE_HOST": "0.0.0.0"}, INSIDE),
    ],
)
def test_loopback_is_allowed_by_default_where_only_this_machine_is_served(
    environ: dict[str, str], allowed: str
) -> None:
    assert networks_of(environ) == read_networks(allowed)


@given(ip=st.ip_addresses())
def test_an_address_is_allowed_by_its_own_network_unless_it_is_none_of_one_host(ip: object) -> None:
    plain = unmap(read_address(f"[{ip}]:1" if ":" in str(ip) else f"{ip}:1").ip)  # type: ignore[arg-type]
    refusal = refuse_ip(plain, read_networks(str(plain)))
    assert refusal in ("", f"{plain} is no address of one host")


@given(text=st.text(max_size=40))
def test_any_text_is_read_or_refused_with_one_line(text: str) -> None:
    address, refusal = None, ""
    try:
        address = read_address(text)
    except AddressError as error:
        refusal = str(error)
    assert refusal.isprintable()
    assert address is None or read_address(str(address)).host == address.host
