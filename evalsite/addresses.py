"""Default ports and the form of the addresses that processes of the stack share."""

BROKER_PORT = 7379
FAST_PORT = 7380


def redis_url(port: int, password: str = "") -> str:
    """Return the address of a Valkey server on this machine."""
    login = f":{password}@" if password else ""
    return f"redis://{login}127.0.0.1:{port}/0"
