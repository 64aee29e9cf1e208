"""The table of rights for operators: a row for each program, what it may do at each server."""

from arena.acl import ANY_NODE, ROLES, SERVERS, format_table


def test_the_table_tells_of_every_program_at_every_server() -> None:
    head, _, *rows = format_table().splitlines()
    assert head.count("|") == len(SERVERS) + 2
    assert [row.split(":")[0].strip("| ") for row in rows] == [*ROLES, f"play node `{ANY_NODE}`"]
    assert all(row.replace(r"\|", "").count("|") == head.count("|") for row in rows)


def test_a_program_without_a_user_at_a_server_has_a_cell_that_says_so() -> None:
    for name, row in zip(ROLES, format_table().splitlines()[2:], strict=False):
        cells = row.strip("| ").split(" | ")[1:]
        for server, cell in zip(SERVERS, cells, strict=True):
            assert (cell == "no user") == (ROLES[name].rights_at(server) is None)


def test_rights_are_told_as_commands_keys_and_channels() -> None:
    table = format_table().replace(r"\|", "|")
    (web,) = (row for row in table.splitlines() if row.startswith("| web:"))
    broker = ROLES["web"].rights_at("broker")
    assert broker is not None
    assert all(f"{grant.commands} `{grant.keys}`" in web for grant in broker.grants)
    with_channels = [role.rights_at(name) for role in ROLES.values() for name in SERVERS]
    channel_texts = [
        f"channels `{rights.channels}`" for rights in with_channels if rights and rights.channels
    ]
    assert channel_texts
    assert all(words in table for words in channel_texts)
