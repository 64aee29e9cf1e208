"""Reports of one order."""

from msgspec.structs import replace

from arena.messages import BegunRow, Ending, Reason, ResultRow, Started, read_report, to_wire
from workers.reports import MAX_ROWS, MAX_TEXT, OrderReports
from workers.tests.orders import ORDER, Posted, make_order


def result(match: int, actions: str = "1 2") -> ResultRow:
    return ResultRow(match, 1, "t", Ending.DONE, [0, 1], Reason.NONE, -1, "", 2, 0, actions)


def open_reports() -> tuple[OrderReports, Posted]:
    posted = Posted()
    reports = OrderReports(
        make_order(), node="n", incarnation="i", key="k", post=posted.post, report_s=1.0, now=0.0
    )
    return reports, posted


def test_a_start_carries_the_token_of_the_order() -> None:
    reports, posted = open_reports()
    reports.report_start()
    assert posted.reports == [Started("n", "i", ORDER, "order-token", "k")]


def test_start_and_results_go_where_the_order_says() -> None:
    posted = Posted()
    order = replace(make_order(), reports="reports.3")
    reports = OrderReports(
        order, node="n", incarnation="i", key="k", post=posted.post, report_s=1.0, now=0.0
    )
    reports.report_start()
    reports.add_result(result(1))
    reports.report_end()
    assert posted.queues == ["reports.3"] * 2


def test_a_report_is_due_each_second() -> None:
    reports, _ = open_reports()
    assert not reports.is_due(0.9)
    assert reports.is_due(1.0)
    reports.flush([], now=1.0)
    assert not reports.is_due(1.9)


def test_a_full_report_is_due_at_once() -> None:
    reports, _ = open_reports()
    for match in range(MAX_ROWS):
        assert not reports.is_due(0.1)
        reports.add_result(result(match))
    assert reports.is_due(0.1)


def test_long_games_fill_a_report_too() -> None:
    reports, _ = open_reports()
    reports.add_result(result(0, actions="1" * MAX_TEXT))
    assert reports.is_due(0.1)


def test_nothing_new_is_not_reported() -> None:
    reports, posted = open_reports()
    reports.flush([], now=1.0)
    assert posted.reports == []
    reports.flush([7], now=2.0)
    reports.flush([7], now=3.0)
    reports.flush([], now=4.0)
    assert [(r.executing, r.is_last) for r in posted.results] == [([7], False), ([], False)]


def test_the_last_report_closes_the_order_even_when_it_is_empty() -> None:
    reports, posted = open_reports()
    reports.add_result(result(1))
    reports.flush([], now=1.0)
    reports.report_end()
    assert [(len(r.results), r.is_last) for r in posted.results] == [(1, False), (0, True)]


def test_more_rows_than_a_report_holds_are_sent_in_several() -> None:
    reports, posted = open_reports()
    for match in range(2 * MAX_ROWS + 1):
        reports.add_result(result(match))
    reports.report_end()
    assert [len(r.results) for r in posted.results] == [MAX_ROWS, MAX_ROWS, 1]
    assert [r.is_last for r in posted.results] == [False, False, True]
    assert len(posted.rows) == 2 * MAX_ROWS + 1


def test_a_report_can_be_read_by_its_consumer() -> None:
    reports, posted = open_reports()
    reports.add_result(result(1))
    reports.report_end()
    assert [read_report(to_wire(report)) for report in posted.reports] == posted.reports


def test_how_far_matches_are_is_reported_alone_and_within_a_limit() -> None:
    reports, posted = open_reports()
    long = "1 " * (MAX_TEXT // 2) + "1"
    begun = [BegunRow(1, 1, "t", "1 2"), BegunRow(2, 1, "t", long)]
    reports.flush([], now=1.0, begun=begun)
    reports.flush([], now=2.0)
    assert [report.begun for report in posted.results] == [begun[:1]]
