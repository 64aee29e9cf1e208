"""A stub of Cassandra: the native protocol's handshake, and enough of it to take prepared inserts.

It is no database: it answers what the driver asks at its start, prepares one statement, and keeps
the bytes of each row by the row's key. Source: Cassandra's native_protocol_v4.spec.
"""

import socketserver
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

ERROR, STARTUP, READY, OPTIONS, SUPPORTED = 0x00, 0x01, 0x02, 0x05, 0x06
QUERY, RESULT, PREPARE, EXECUTE, REGISTER = 0x07, 0x08, 0x09, 0x0A, 0x0B
VOID, ROWS, PREPARED = 1, 2, 4
PROTOCOL_ERROR, SYNTAX_ERROR = 0x000A, 0x2000
VERSION, ANSWERS = 4, 0x80
# The driver tries the version before where it reads these words.
UNSUPPORTED: Final = "Invalid or unsupported protocol version; the greatest is 4"
PREPARED_ID: Final = b"insert"
# Types of values by their numbers in the protocol.
BIGINT, BOOLEAN, FLOAT, INT, TEXT, VARINT, DATE, LIST = 0x2, 0x4, 0x8, 0x9, 0xD, 0xE, 0x11, 0x20
TYPES: Final = {
    "shard": TEXT,
    "day": DATE,
    "sequence": VARINT,
    "client": TEXT,
    "number": BIGINT,
    "game": TEXT,
    "policy_version": INT,
    "episode": BIGINT,
    "step": INT,
    "observation": LIST,
    "next_observation": LIST,
    "action": INT,
    "reward": FLOAT,
    "terminated": BOOLEAN,
    "truncated": BOOLEAN,
    "log_prob": FLOAT,
}
KEY: Final = (0, 1)
"""Places of the partition key."""

LOCAL: Final = {
    "key": "local",
    "cluster_name": "stub",
    "data_center": "here",
    "rack": "one",
    "release_version": "4.0.0",
    "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
}

Values = tuple[bytes | None, ...]


class Server(socketserver.ThreadingTCPServer):
    """Listens on loopback; statements and rows are what it was sent."""

    allow_reuse_address = daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Connection)
        self.statements: list[str] = []
        self.rows: dict[Values, Values] = {}
        self.n_inserts = 0
        self.lock = threading.Lock()

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class Connection(socketserver.StreamRequestHandler):
    """Answers the frames of one connection."""

    server: Server

    def handle(self) -> None:
        while head := self.rfile.read(9):
            version, _, stream, opcode, length = struct.unpack(">BBhBI", head)
            body = self.rfile.read(length)
            if version != VERSION:
                answer = ERROR, struct.pack(">i", PROTOCOL_ERROR) + text(UNSUPPORTED)
            else:
                answer = self._answer(opcode, body)
            kind, content = answer
            frame = struct.pack(">BBhBI", VERSION | ANSWERS, 0, stream, kind, len(content))
            self.wfile.write(frame + content)

    def _answer(self, opcode: int, body: bytes) -> tuple[int, bytes]:
        if opcode == OPTIONS:
            return SUPPORTED, describe_server()
        if opcode in (STARTUP, REGISTER):
            return READY, b""
        if opcode == EXECUTE:
            return self._insert(body)
        (length,) = struct.unpack_from(">I", body)
        statement = body[4 : 4 + length].decode()
        with self.server.lock:
            self.server.statements.append(statement)
        if opcode == PREPARE:
            return RESULT, describe_insert()
        if statement.startswith("SELECT"):
            return RESULT, answer_query(statement)
        return RESULT, struct.pack(">i", VOID)

    def _insert(self, body: bytes) -> tuple[int, bytes]:
        (length,) = struct.unpack_from(">H", body)
        # Consistency, then flags, of which the lowest says that values follow.
        _, flags, n_values = struct.unpack_from(">HBH", body, 2 + length)
        if body[2 : 2 + length] != PREPARED_ID or not flags & 1 or n_values != len(TYPES):
            return ERROR, struct.pack(">i", SYNTAX_ERROR) + text("no insert of ours")
        values = tuple(read_values(body, 2 + length + 5, n_values))
        with self.server.lock:
            self.server.rows[values[:3]] = values
            self.server.n_inserts += 1
        return RESULT, struct.pack(">i", VOID)


def text(words: str) -> bytes:
    """Return a [string]."""
    return struct.pack(">H", len(words)) + words.encode()


def describe_server() -> bytes:
    """Return what the server can: a version of its language, no compression."""
    names = {"CQL_VERSION": ["3.4.5"], "COMPRESSION": []}
    count = struct.Struct(">H").pack
    lists = (
        text(name) + count(len(values)) + b"".join(map(text, values))
        for name, values in names.items()
    )
    return count(len(names)) + b"".join(lists)


def answer_query(statement: str) -> bytes:
    """Return the rows of a query: what the server says of itself, of all else nothing."""
    head = struct.pack(">iii", ROWS, 1, len(LOCAL)) + text("system") + text("local")
    columns = b"".join(text(name) + _spell_type(TEXT) for name in LOCAL)
    if "system.local" not in statement:
        return head + columns + struct.pack(">i", 0)
    values = (struct.pack(">i", len(value)) + value.encode() for value in LOCAL.values())
    return head + columns + struct.pack(">i", 1) + b"".join(values)


def describe_insert() -> bytes:
    """Return what a client learns of the insert: the types of its values, no result."""
    places = b"".join(struct.pack(">H", place) for place in KEY)
    head = struct.pack(">iii", 1, len(TYPES), len(KEY)) + places
    columns = b"".join(text(name) + _spell_type(kind) for name, kind in TYPES.items())
    values = head + text("experience") + text("steps") + columns
    prepared = struct.pack(">H", len(PREPARED_ID)) + PREPARED_ID
    return struct.pack(">i", PREPARED) + prepared + values + struct.pack(">ii", 4, 0)


def _spell_type(kind: int) -> bytes:
    return struct.pack(">HH", LIST, FLOAT) if kind == LIST else struct.pack(">H", kind)


def read_values(body: bytes, place: int, n_values: int) -> Iterator[bytes | None]:
    """Yield so many [value]s; None is null."""
    for _ in range(n_values):
        (length,) = struct.unpack_from(">i", body, place)
        place += 4 + max(0, length)
        yield None if length < 0 else body[place - length : place]


def read_row(values: Sequence[bytes | None]) -> dict[str, Any]:
    """Return a row as Python's values, but for its day."""
    named = zip(TYPES.items(), values, strict=True)
    return {name: _read_value(kind, value) for (name, kind), value in named}


def _read_value(kind: int, value: bytes | None) -> Any:
    if value is None:
        return None
    if kind == LIST:
        (n,) = struct.unpack_from(">i", value)
        return [one[0] for one in struct.iter_unpack(">4xf", value[4:])][:n]
    if kind == TEXT:
        return value.decode()
    if kind == VARINT:
        return int.from_bytes(value, "big", signed=True)
    forms = {BIGINT: ">q", BOOLEAN: ">?", FLOAT: ">f", INT: ">i", DATE: ">I"}
    return struct.unpack(forms[kind], value)[0]


@contextmanager
def running_stub() -> Iterator[Server]:
    """Run the stub in a thread of this process."""
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
