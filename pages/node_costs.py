"""What a tournament took of nodes, in words: the numbers of its report."""

from collections.abc import Iterator

from matches.ledger.node_costs import ClassUse, NodeReport
from pages.system_costs import format_hours

LabelledText = tuple[str, str]
NO_CLASS = "no class"


def describe_nodes(report: NodeReport) -> list[LabelledText]:
    """Return node-hours and money by class, what was saved and what was thrown away."""
    return list(_describe(report)) if report.node_hours else []


def _describe(report: NodeReport) -> Iterator[LabelledText]:
    yield "Node-hours", f"{format_hours(3600 * report.node_hours)}{_list_classes(report.classes)}"
    if report.money is not None:
        unpriced_s = 3600 * report.unpriced_hours
        unpriced = f", and {format_hours(unpriced_s)} h of unknown price" if unpriced_s > 1 else ""
        yield "Money", f"{report.money:,.2f}{unpriced}"
    if report.saved is not None:
        yield "Saved against on demand", f"{report.saved:,.2f}"
    share = report.thrown_share or 0.0
    yield "Thrown away", f"{100 * share:.1f} % of the work, as nodes went or attempts failed"


def _list_classes(classes: list[ClassUse]) -> str:
    if len(classes) == 1 and not classes[0].machine_class:
        return ""
    parts = [_describe_class(use) for use in classes if use.node_hours]
    return f": {', '.join(parts)}"


def _describe_class(use: ClassUse) -> str:
    money = "" if use.money is None else f" ({use.money:,.2f})"
    return f"{use.machine_class or NO_CLASS} {format_hours(3600 * use.node_hours)}{money}"
