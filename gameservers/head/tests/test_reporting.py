import pytest

from arena.acl import role_password, role_rules, role_user
from arena.credentials import with_login
from arena.messages import Alive
from gameservers.head.reporting import Reporter, make_alive, make_publisher
from gameservers.head.servers import ServerBoard, State
from gameservers.head.tests.test_servers import FIRST, find, made_hello
from inference.publisher import PublishError
from inference.tests.servers import Server

KEY = "7" * 64


def healthy_board() -> ServerBoard:
    board = ServerBoard()
    board.note_found([FIRST], now=1)
    board.note_hello(find(board, FIRST), made_hello(labels={"class": "spot"}), now=2)
    return board


def test_a_sign_of_life_says_what_control_needs() -> None:
    (server,) = healthy_board().list_healthy()
    assert server.hello
    alive = make_alive(server, server.hello, key=KEY)
    assert (alive.node, alive.game, alive.address) == ("sim-1", "connect_four", FIRST.address)
    assert (alive.slots, alive.capabilities) == (64, ["server"])
    assert alive.versions == {"rules": "1", "protocol": "1"}
    assert alive.load == {"cpu": 0.5, "memory": 0.25}
    assert (alive.labels, alive.incarnation) == ({"class": "spot"}, server.incarnation)


async def test_only_healthy_servers_are_reported_and_a_broker_that_is_away_is_said() -> None:
    sent: list[Alive] = []
    is_away = False

    def publish(report: Alive) -> None:
        if is_away:
            raise PublishError("refused")
        sent.append(report)

    board, reporter = healthy_board(), Reporter(publish, key=KEY)
    await reporter.report(board.list_healthy())
    find(board, FIRST).become(State.UNREACHABLE, "hangs", now=3)
    await reporter.report(board.list_healthy())
    assert [report.node for report in sent] == ["sim-1"]
    is_away = True
    await reporter.report(healthy_board().list_healthy())
    assert reporter.trouble == "refused"
    is_away = False
    await reporter.report(healthy_board().list_healthy())
    assert (reporter.trouble, len(sent)) == ("", 2)


@pytest.mark.slow
def test_reports_reach_the_queue_of_a_real_broker_as_the_heads_user() -> None:
    broker = Server()
    try:
        for user, rule in role_rules("secret", "broker").items():
            broker.client.execute_command("ACL", "SETUSER", user, *rule.split())
        login = (role_user("head"), role_password("secret", "broker", "head"))
        publisher = make_publisher(with_login(broker.url, *login))
        (server,) = healthy_board().list_healthy()
        assert server.hello
        alive = make_alive(server, server.hello, key=KEY)
        publisher.publish_report(alive)
        publisher.publish_doorbell(0, "a")
        assert broker.reports() == [alive]
        assert broker.doorbells() == 1
    finally:
        broker.kill()
