"""Draws docs/replays.svg: every game as its replay draws it, in the light and in the dark.

`python docs/replays.py` makes it from matches that are played for it.

Each match is played by a search where its game can be searched, else at random, from a fixed seed,
so that the same code draws the same sheet.
"""

import re
import sys
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from arena.games import registry as games  # noqa: E402
from arena.games.base import OVER, Game, State  # noqa: E402
from arena.games.pictures import Grid, Picture, check_picture  # noqa: E402
from arena.policies import registry as policies  # noqa: E402
from arena.policies.base import Policy, Row  # noqa: E402
from pages import drawings  # noqa: E402

SHEET = ROOT / "docs" / "replays.svg"
STYLES = ROOT / "static" / "evalsite" / "replay.css"
SITE = ROOT / "static" / "evalsite" / "site.css"
SEED, N_COLUMNS, WIDTH, HEIGHT, TITLE, GAP = 6, 5, 190, 176, 22, 14
LONGEST = {
    "chess": 34,
    "go_9x9": 44,
    "backgammon": 24,
    "othello": 30,
    "breakthrough": 26,
    "hex": 122,
    "llmserve_static_workload": 12,
    "llmserve_bursty_workload": 12,
    "llmserve_adversarial_multitenant": 12,
}
"""Where a match is drawn before its end: most of its pieces are gone by then, or all look alike."""


def play(name: str) -> tuple[Game, Grid | Picture, Grid | Picture]:
    """Return a game and its last two drawings of a match."""
    game, rng = games.get(name), Random(SEED)
    state = game.start(SEED, opening_plies=game.spec.opening_plies)
    policy = build_policy(game)
    before = after = draw(game, state)
    while state.to_move() != OVER and len(state.actions) < LONGEST.get(name, 60):
        if policy:
            (action,) = policy.act([Row(state, state.to_move(), SEED)])
        else:
            action = rng.choice(list(state.legal_actions()))
        state.apply(int(action))
        before, after = after, draw(game, state)
    return game, before, after


def build_policy(game: Game) -> Policy | None:
    """Return a search that may look into the game; None where it would see what is hidden."""
    kind = policies.get("mcts")
    return None if kind.refusal(game.spec) else kind.build(game, {"simulations": 40})


def draw(game: Game, state: State) -> Grid | Picture:
    """Return the position with all that is hidden."""
    drawn: Grid | Picture = game.picture(state, None)  # type: ignore[attr-defined]
    return drawn


def draw_games() -> list[str]:
    """Return every game as a symbol with its title below."""
    symbols = []
    for name in games.names():
        game, before, after = play(name)
        if isinstance(after, Grid):
            assert isinstance(before, Grid)
            after = after.draw_cells(before)
        picture = check_picture(after)
        inner = "".join(drawings.draw_shape(shape) for shape in picture.shapes)
        box = f'viewBox="{drawings.box_of(picture)}" width="{WIDTH}" height="{HEIGHT - TITLE}"'
        symbols.append(
            f'<g id="{name}"><svg {box}>{inner}</svg><text class="title" x="{WIDTH / 2}" '
            f'y="{HEIGHT - 8}">{game.spec.title}</text></g>'
        )
    return symbols


def style_sheet() -> str:
    """Return the rules of the page's own style sheets for the two halves of the sheet."""
    site, own = SITE.read_text(), STYLES.read_text()
    page, tints = (
        re.findall(r"^ *:root {(.*?)}", text, re.DOTALL | re.MULTILINE) for text in (site, own)
    )
    # In the dark only what differs is given anew.
    dark = "".join((page[0], tints[0], page[1], tints[1]))
    lines = [line.replace(".drawn ", "") for line in own.splitlines()]
    shapes = [line for line in lines if re.match(r"(\.(fill|line|text)-|text|:is)", line)]
    title = ".title{font:13px system-ui,sans-serif;fill:var(--ink)}"
    rules = (f".light-half{{{page[0]}{tints[0]}}}", f".dark-half{{{dark}}}", *shapes, title)
    return re.sub(r"\s+", " ", "".join(rules))


def draw_sheet() -> str:
    """Return the sheet: all games in the light, and once more in the dark."""
    symbols = draw_games()
    names = re.findall(r'<g id="(\w+)">', "".join(symbols))
    n_rows = -(-len(names) // N_COLUMNS)
    width = N_COLUMNS * (WIDTH + GAP) + GAP
    half = n_rows * (HEIGHT + GAP) + GAP
    parts = []
    for n, kind in enumerate(("light-half", "dark-half")):
        uses = "".join(
            f'<use href="#{name}" x="{GAP + at % N_COLUMNS * (WIDTH + GAP)}" '
            f'y="{GAP + at // N_COLUMNS * (HEIGHT + GAP)}"/>'
            for at, name in enumerate(names)
        )
        ground = f'<rect width="{width}" height="{half}" style="fill:var(--surface)"/>'
        parts.append(f'<g class="{kind}" transform="translate(0 {n * half})">{ground}{uses}</g>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {2 * half}">'
        f"<title>Every game as its replay draws it, in the light and in the dark</title>"
        f"<style>{style_sheet()}</style><defs>{''.join(symbols)}</defs>{''.join(parts)}</svg>\n"
    )


if __name__ == "__main__":
    SHEET.write_text(draw_sheet())
