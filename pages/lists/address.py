"""What the address of a list asks for: its filters, and the form that offers them."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from arena.parameters import parse_number
from matches.models import Agent, Leaderboard, Tournament
from pages.paging import HIGHEST

MAX_TEXT = 120
TEXT, NUMBER, DAY = "search", "number", "date"
_FORMS = {"tournament": NUMBER, "seat": NUMBER, "from": DAY, "to": DAY}
# What the form says of a filter where its chip is shorter.
_FORM_LABELS = {
    "q": "Part of the name",
    "agent": "Agent, name or number",
    "tournament": "Tournament, number",
}
BAD_REQUEST = 400


class BadAddressError(Exception):
    """The address asks for what there cannot be; the message says what to do."""


class Choice(NamedTuple):
    """A list to choose from: values with their words."""

    name: str
    label: str
    chosen: str
    options: Sequence[tuple[str, str]]


class Field(NamedTuple):
    """A field of the form for what is typed; form: what HTML calls its kind."""

    name: str
    label: str
    form: str
    typed: str
    placeholder: str = "any"


class Chip(NamedTuple):
    """A filter in force in words, and the address without it."""

    label: str
    says: str
    without: str


class ListAddress:
    """The address of one list: what it says of each filter, and addresses that differ from it."""

    def __init__(
        self,
        query: QueryDict,
        route: str,
        names: Sequence[str],
        *,
        labels: Mapping[str, str] | None = None,
        repeated: str = "",
    ) -> None:
        """route: the name of the list's address. names: its filters, as the chips are ordered.

        labels: of those whose name does not say it. repeated: the filter that may stand twice.
        """
        self._given, self._path, self._names = query, reverse(route), names
        self._labels, self._repeated = labels or {}, repeated

    @property
    def is_first(self) -> bool:
        """True for the first page."""
        return "before" not in self._given

    @property
    def typed(self) -> dict[str, str]:
        """What is given for each filter, as the form shows it."""
        return {name: self.read_text(name) for name in self._names}

    def read_texts(self, name: str) -> list[str]:
        """Return all values of a filter that are not empty."""
        return [text for text in self._given.getlist(name) if text.strip()]

    def read_text(self, name: str) -> str:
        """Return the value of a filter; empty where it is not given."""
        text = self._given.get(name, "").strip()[:MAX_TEXT]
        # PostgreSQL takes no NUL.
        return text.replace("\0", "\N{REPLACEMENT CHARACTER}")

    def read_one_of(self, name: str, options: Sequence[str]) -> str:
        """Return one of the options, or nothing. Raises BadAddressError."""
        text = self.read_text(name)
        if text and text not in options:
            raise BadAddressError(f"{name} must be one of {', '.join(options)}, got {text[:40]!r}")
        return text

    def read_number(self, name: str) -> int | None:
        """Return a number, 0 or more. Raises BadAddressError."""
        text = self.read_text(name)
        number = parse_number(text, highest=HIGHEST)
        if text and number is None:
            raise BadAddressError(f"{name} must be a number, got {text[:40]!r}")
        return number

    def read_day(self, name: str) -> date | None:
        """Return a day. Raises BadAddressError."""
        text = self.read_text(name)
        try:
            day = date.fromisoformat(text) if text else None
        except ValueError as error:
            wrong = f"{name} must be a day such as 2026-11-22, got {text[:40]!r}"
            raise BadAddressError(wrong) from error
        # Beyond these no time can be reckoned with.
        if day and not date.min.year < day.year < date.max.year:
            raise BadAddressError(f"{name} must be a day of the years 2 to 9998")
        return day

    def read_tournament(self) -> int | None:
        """Return the number of a tournament. Raises BadAddressError where there is none."""
        number = self.read_number("tournament")
        if number is not None and not Tournament.objects.filter(pk=number).exists():
            raise BadAddressError(f"there is no tournament {number}")
        return number

    def read_leaderboard(self) -> int | None:
        """Return the key of the leaderboard that is named. Raises BadAddressError without one."""
        if not (name := self.read_text("leaderboard")):
            return None
        board = Leaderboard.objects.filter(name=name).values_list("pk", flat=True).first()
        if board is None:
            raise BadAddressError(f"there is no leaderboard {name!r}")
        return board

    def make(self, **changes: str | list[str]) -> str:
        """Return the address of the list, changed; it begins anew unless `before` is given."""
        same: dict[str, Any] = dict(self.typed)
        if self._repeated:
            same.pop(self._repeated, None)
            same[self._repeated] = self.read_texts(self._repeated)
        parameters = {name: value for name, value in (same | changes).items() if value}
        return f"{self._path}?{urlencode(parameters, doseq=True)}" if parameters else self._path

    def make_chip(self, name: str, says: str, **changes: str | list[str]) -> Chip:
        """Return the chip of a filter; changes: what the address without it gives instead."""
        return Chip(self.label(name), says, self.make(**(changes or {name: ""})))

    def list_chips(self, choices: Mapping[str, Choice]) -> list[Chip]:
        """Return a chip per filter in force; a choice in the words in which it is offered."""
        texts = {name: text for name, text in self.typed.items() if name != self._repeated and text}
        words = {name: dict(choice.options) for name, choice in choices.items()}
        return [
            self.make_chip(name, words.get(name, {}).get(text, text))
            for name, text in texts.items()
        ]

    def offer(
        self, name: str, options: Sequence[tuple[str, str]], *, without: str = "any"
    ) -> Choice:
        """Return the choice of a filter: none, the options, and what is chosen if it is neither.

        without: what is listed while nothing is chosen.
        """
        chosen = self.read_text(name)
        strange = [(chosen, chosen)] if chosen and chosen not in dict(options) else []
        return Choice(name, self.label(name), chosen, [("", without), *options, *strange])

    def describe_form(
        self, choices: Mapping[str, Choice], *, often: Sequence[str]
    ) -> dict[str, Any]:
        """Return what the form of a list shows. often: the filters that are not folded away."""
        folded = [name for name in self._names if name not in often]
        return {
            "fields": [choices.get(name) or self.offer_text(name) for name in often],
            "more_fields": [choices.get(name) or self.offer_text(name) for name in folded],
            "chips": self.list_chips(choices),
            "is_open": any(self.read_text(name) for name in folded),
            "is_first": self.is_first,
        }

    def offer_text(self, name: str) -> Field:
        """Return the field of a filter that is typed."""
        label = _FORM_LABELS.get(name, self.label(name))
        return Field(name, label, _FORMS.get(name, TEXT), self.read_text(name))

    def label(self, name: str) -> str:
        """Return what a filter is called."""
        return self._labels.get(name, name.capitalize())


def find_agents(texts: Sequence[str], game: str = "") -> list[Agent]:
    """Return the agents of these ids or names, in their order. Raises BadAddressError.

    A number is an id where there is such an agent, else it is a name.
    """
    words = [text.strip()[:MAX_TEXT].replace("\0", "") for text in texts]
    numbers = {word: parse_number(word, highest=HIGHEST) for word in words}
    by_id = Agent.objects.in_bulk([number for number in numbers.values() if number is not None])
    by_name: dict[str, list[Agent]] = {}
    namesakes = Agent.objects.filter(name__in=words)
    for agent in namesakes.filter(game=game) if game else namesakes:
        by_name.setdefault(agent.name, []).append(agent)
    return [
        _choose_agent(word, by_id.get(numbers[word] or 0), by_name.get(word, [])) for word in words
    ]


def _choose_agent(word: str, of_number: Agent | None, namesakes: Sequence[Agent]) -> Agent:
    if of_number is not None:
        return of_number
    if not namesakes:
        raise BadAddressError(f"there is no agent called {word!r}")
    if len(namesakes) > 1:
        choice = ", ".join(f"{agent.pk} of {agent.game}" for agent in namesakes)
        raise BadAddressError(f"several agents are called {word!r}: give the number ({choice})")
    return namesakes[0]
