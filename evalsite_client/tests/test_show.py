"""Tables for people: what a name may do to the terminal that shows it."""

from evalsite_client.cli.show import format_pairs, format_table

EVIL = "\x1b]0;owned\x07\x9b2Jagent\r"
SHOWN = "\ufffd]0;owned\ufffd\ufffd2Jagent\ufffd"


def test_no_name_controls_the_terminal() -> None:
    assert format_table(["name"], [[EVIL]]).splitlines()[1] == SHOWN
    assert format_pairs({"name": EVIL, "parameters": {EVIL: EVIL}}) == (
        f"name        {SHOWN}\nparameters  {SHOWN}={SHOWN}"
    )
