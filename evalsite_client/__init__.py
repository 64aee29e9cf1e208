"""The typed client of evalsite's REST API; `evalsite` on the command line is built on it.

with Client("https://evalsite.example.org", token="...") as client:
    client.tournaments.wait(7)
    for rating in client.leaderboards.ratings("connect-four"):
        print(rating.rank, rating.agent.name, rating.mu)
"""

from evalsite_client.client import Client
from evalsite_client.errors import (
    AnswerError,
    ChecksumError,
    ClientError,
    ConflictError,
    InputError,
    NotAllowedError,
    NotThereError,
    ProblemError,
    Refusal,
    ThrottledError,
    UnreachableError,
    WaitTimeoutError,
)
from evalsite_client.progress import Progress
from evalsite_client.records import Rows, to_records
from evalsite_client.retries import NEVER, Clock, Retries

__all__ = [
    "NEVER",
    "AnswerError",
    "ChecksumError",
    "Client",
    "ClientError",
    "Clock",
    "ConflictError",
    "InputError",
    "NotAllowedError",
    "NotThereError",
    "ProblemError",
    "Progress",
    "Refusal",
    "Retries",
    "Rows",
    "ThrottledError",
    "UnreachableError",
    "WaitTimeoutError",
    "to_records",
]
