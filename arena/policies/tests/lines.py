"""A line that says what a test wants it to."""

from collections.abc import Callable

from arena.conformance.lines import FirstMove

# What goes wrong: called with the text that would come, returns or raises instead.
Fault = Callable[[str], str]


class ScriptedLine(FirstMove):
    """Answers as FirstMove, unless a fault is due for the line that comes."""

    def __init__(self, **faults: Fault) -> None:
        """faults: by a word of the line that they strike; each strikes as long as it raises."""
        super().__init__()
        self.faults = faults
        self.closed = False

    def receive(self, *, within_s: float | None = None) -> str:
        """Return the next line, or what a fault makes of it."""
        line = super().receive(within_s=within_s)
        for word, fault in self.faults.items():
            if word in line:
                return fault(line)
        return line


def raising(error: Exception, *, times: int = 99) -> Fault:
    """Return a fault that raises so often, and then passes lines on."""
    left = [error] * times

    def strike(line: str) -> str:
        if left:
            raise left.pop()
        return line

    return strike
