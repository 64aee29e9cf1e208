"""Pages as tests read them."""

import re
from html import unescape

from django.test import Client

from matches.tests.database_steps import count_steps


def get_page(client: Client, address: str, *, status: int = 200) -> str:
    """Return the HTML of a page."""
    response = client.get(address)
    assert response.status_code == status, address
    return response.content.decode()


def read_page(client: Client, address: str, *, status: int = 200) -> str:
    """Return the HTML of a page with the quotes and signs of its texts as people read them."""
    return unescape(get_page(client, address, status=status))


def get_words(client: Client, address: str) -> str:
    """Return the words of a page, without its tags, styles, scripts and title."""
    html = get_page(client, address)
    plain = re.sub(r"<(style|script|title).*?</\1>|<[^>]+>", " ", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", plain)


def count_page_steps(client: Client, address: str) -> int:
    """Return how much the database works for a page."""
    return count_steps(lambda: get_page(client, address))
