"""How many clicks from the home page the answers to a user's five questions are."""

import re
from html import unescape

import pytest
from django.test import Client
from redis import Redis

from matches.models import Outcome
from tests import gallery

pytestmark = pytest.mark.django_db
FOUR_IN_A_COLUMN = "3 2 3 2 3 2 3"


class Visitor:
    """Somebody who begins at the home page and only follows links."""

    def __init__(self, client: Client) -> None:
        self._client, self.n_clicks = client, 0
        self.address, self.page = "", ""
        self._open("/")

    def click(self, pattern: str) -> None:
        """Follow the first link of the page's own part whose address is like the pattern."""
        links = [unescape(link) for link in re.findall(r'<a\b[^>]*?\shref="([^"]+)"', self.main)]
        like = [link for link in links if re.search(pattern, link)]
        assert like, f"no link like {pattern} on {self.address}"
        self.n_clicks += 1
        self._open(like[0])

    @property
    def main(self) -> str:
        """The page without header and footer, which are the same everywhere."""
        return self.page[self.page.index("<main") : self.page.index("</main>")]

    @property
    def text(self) -> str:
        """The words of the page."""
        return " ".join(unescape(re.sub(r"<[^>]+>", " ", self.main)).split())

    def _open(self, address: str) -> None:
        response = self._client.get(address)
        assert response.status_code == 200, address
        self.address, self.page = address, response.content.decode()


@pytest.fixture
def visitor(client: Client, broker: Redis) -> Visitor:
    """Return a visitor of a site with a board of search agents and a training run."""
    gallery.pages_of_a_board()
    gallery.make_busy(broker)
    return Visitor(client)


def _row(visitor: Visitor, name: str) -> dict[str, str]:
    """Return what the board says of an agent."""
    rows = visitor.main.split('<tr role="row" id="agent-')[1:]
    fields = [dict(re.findall(r'data-field="(\w+)"[^>]*>([^<]*)<', row)) for row in rows]
    return next(row for row in fields if row["name"] == name)


def test_which_checkpoint_is_best_and_how_sure(visitor: Visitor) -> None:
    visitor.click(r"^/leaderboards/connect-four/$")
    best = _row(visitor, "selfplay@4096")
    assert float(best["of_run"].strip("<> %")) > 50
    assert re.fullmatch(r"\d+-\d+", best["place"])
    assert float(best["low"]) < float(best["high"])
    assert visitor.n_clicks <= 2


def test_why_an_agent_lost(visitor: Visitor) -> None:
    Outcome.objects.update(actions=FOUR_IN_A_COLUMN)
    visitor.click(r"^/leaderboards/connect-four/$")
    visitor.click(r"^/matches/\?leaderboard=connect-four&agent=\d+&counted=yes&result=lost$")
    visitor.click(r"^/matches/\d+/$")
    assert visitor.n_clicks <= 3
    assert "lost" in visitor.text
    assert re.search(r"Step (\d+) of \1\b", visitor.text), "not at the losing move"


def test_whether_training_is_still_improving(visitor: Visitor) -> None:
    visitor.click(r"^/leaderboards/connect-four/$")
    assert visitor.n_clicks <= 2
    assert "Strength by training step" in visitor.text
    assert "selfplay : 8 checkpoints" in visitor.text


def test_what_it_costs_and_whether_the_cluster_is_healthy(visitor: Visitor) -> None:
    assert "play nodes" in visitor.text
    visitor.click(r"^/system/$")
    assert visitor.n_clicks <= 1
    assert "matches at once" in visitor.text


def test_the_games_of_one_agent_against_another(visitor: Visitor) -> None:
    visitor.click(r"^/leaderboards/connect-four/$")
    visitor.click(r"^/compare/\d+/\d+/")
    assert visitor.n_clicks == 2
    visitor.click(r"^/matches/\d+/$")
    assert visitor.n_clicks <= 3
