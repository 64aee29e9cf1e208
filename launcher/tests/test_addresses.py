import socket

import pytest

from launcher.addresses import (
    Ports,
    check_bound,
    check_server_address,
    describe_bound,
    find_place,
    redis_url,
    without_password,
)
from launcher.errors import SetupError


def test_ports_come_from_the_environment_and_else_from_the_defaults() -> None:
    ports = Ports.from_environment({"EVALSITE_PORT": "9000", "EVALSITE_FAST_PORT": "9001"})
    assert (ports.web, ports.fast, ports.flower) == (9000, 9001, Ports().flower)
    assert Ports.from_environment(ports.environment()) == ports


@pytest.mark.parametrize("text", ["", "x", "-1", "0", "65536", "1.5", " 80"])
def test_it_refuses_what_is_no_port_and_names_the_variable(text: str) -> None:
    with pytest.raises(SetupError, match="EVALSITE_FLOWER_PORT"):
        Ports.from_environment({"EVALSITE_FLOWER_PORT": text})


def test_a_busy_port_is_named_with_its_owner_and_the_variable_to_change() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ports = Ports(web=taken.getsockname()[1])
        with pytest.raises(SetupError, match=rf"port {ports.web} is in use.*EVALSITE_PORT"):
            ports.require_free(["web"], host="127.0.0.1")


def test_all_busy_ports_are_named_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = taken.getsockname()[1]
        with pytest.raises(SetupError) as caught:
            Ports(web=number, broker=number).require_free(["web", "broker"], host="127.0.0.1")
    assert len(str(caught.value).splitlines()) == 2


def test_a_host_that_is_not_ours_is_named() -> None:
    with pytest.raises(SetupError, match=r"EVALSITE_HOST is '192\.0\.2\.1'"):
        Ports.free().require_free(["web"], host="192.0.2.1")


def test_free_ports_can_be_used() -> None:
    Ports.free().require_free(["web", "flower", "broker", "fast"], host="127.0.0.1")


def test_an_address_is_shown_without_its_password() -> None:
    assert without_password("redis://:s3cret@127.0.0.1:7/0") == "redis://:***@127.0.0.1:7/0"
    assert without_password(redis_url(7)) == "redis://127.0.0.1:7/0"


@pytest.mark.parametrize("end", ["", "/", "//", "/0", "//3", "/0?ssl_cert_reqs=none"])
def test_an_address_may_name_its_database_in_each_way_that_programs_read(end: str) -> None:
    check_server_address("REDIS_URL", f"rediss://user:p%40@[::1]:6379{end}")


def test_a_socket_is_an_address_of_each_server_but_the_broker() -> None:
    check_server_address("FAST_REDIS_URL", "unix:///run/fast.sock?db=1")
    with pytest.raises(SetupError, match="REDIS_URL is a socket; the queues take"):
        check_server_address("REDIS_URL", "unix:///run/broker.sock")


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::", "224.0.0.1", "server.example", "1"])
def test_what_no_other_machine_can_call_is_no_address_to_bind(host: str) -> None:
    with pytest.raises(SetupError, match="must be one IP address of this machine"):
        check_bound(host)


def test_an_address_of_another_machine_cannot_be_bound() -> None:
    with pytest.raises(SetupError, match=r"--bind 192\.0\.2\.1: no address of this machine"):
        check_bound("192.0.2.1")
    assert check_bound("127.0.0.2") == "127.0.0.2"


def test_ports_of_broker_and_fast_store_are_looked_at_where_they_are_opened() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.2", 0))
        taken.listen()
        ports = Ports(broker=taken.getsockname()[1])
        with pytest.raises(SetupError, match="set EVALSITE_BROKER_PORT"):
            ports.require_free(["broker"], host="127.0.0.1", bind="127.0.0.2")
        ports.require_free(["broker"], host="127.0.0.2")


def test_who_is_bound_tells_nodes_its_address_unless_told_otherwise() -> None:
    variables = describe_bound({}, "192.0.2.1", Ports(web=81))
    assert variables == {
        "EVALSITE_ALLOWED_HOSTS": "127.0.0.1,localhost,[::1],192.0.2.1",
        "EVALSITE_SITE_URL": "http://192.0.2.1:81",
    }
    assert describe_bound({}, "2001:db8::1", Ports())["EVALSITE_ALLOWED_HOSTS"].endswith(
        ",[2001:db8::1]"
    )
    own = {"EVALSITE_SITE_URL": "https://site"}
    assert describe_bound(own, "192.0.2.1", Ports())["EVALSITE_SITE_URL"] == "https://site"


@pytest.mark.parametrize(
    "url", ["redis://a:b@localhost:6379/1", "redis://127.0.0.1", "rediss://LOCALHOST/0"]
)
def test_one_server_is_one_place_however_its_address_is_written(url: str) -> None:
    assert find_place(url) == "127.0.0.1:6379"


def test_other_servers_are_other_places() -> None:
    urls = ["redis://127.0.0.1:6380", "redis://[::1]:6379", "redis://broker:6379/0"]
    assert [find_place(url) for url in urls] == ["127.0.0.1:6380", "[::1]:6379", "broker:6379"]


def test_sockets_are_told_apart_by_their_paths() -> None:
    urls = ["unix:///run/a.sock", "unix://user:b@/run//a%2Esock?db=1", "unix:///run/b.sock"]
    assert [find_place(url) for url in urls] == [
        *("unix:/run/a.sock", "unix:/run/a.sock"),
        "unix:/run/b.sock",
    ]
