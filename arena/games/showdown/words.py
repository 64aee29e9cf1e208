"""A battle in words: what has just happened, and how both teams stand.

The lines are the package's, as PROTOCOL.md and sim/SIM-PROTOCOL.md of it list them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

STATUSES: Final = {
    "par": "paralysed",
    "brn": "burned",
    "psn": "poisoned",
    "tox": "badly poisoned",
    "frz": "frozen",
    "slp": "asleep",
}
STATS: Final = {
    "atk": "Attack",
    "def": "Defence",
    "spa": "Special",
    "spe": "Speed",
    "accuracy": "Accuracy",
    "evasion": "Evasion",
}
"""In the first generation one stat is both special ones: of spd nothing is said."""
EFFECTS: Final = {
    **{"substitute": "substitute", "confusion": "confused", "reflect": "Reflect"},
    **{"leechseed": "seeded", "leech_seed": "seeded", "mist": "Mist", "rage": "raging"},
    **{"lightscreen": "Light Screen", "light_screen": "Light Screen"},
    **{"mustrecharge": "must recharge", "recharges": "must recharge"},
    **{"partiallytrapped": "bound", "bound": "bound", "partialtrappinglock": "binding"},
    **{"twoturnmove": "charging", "lockedmove": "thrashing", "invulnerability": "out of reach"},
    **{"disable": "move disabled", "focusenergy": "Focus Energy", "bide": "biding"},
}
"""By the package's name of it and by that of a view; others are nothing to look at."""

_CANNOT: Final = {
    "par": "{who} is paralysed and cannot move.",
    "slp": "{who} is asleep.",
    "frz": "{who} is frozen and cannot move.",
    "flinch": "{who} flinched and cannot move.",
    "recharge": "{who} has to recharge.",
    "partiallytrapped": "{who} is bound and cannot move.",
    "nopp": "{who} has no points left for {what}.",
    "Disable": "{who} cannot use {what}, which is disabled.",
}
_BEGINS: Final = {
    "Substitute": "{who} made a substitute.",
    "confusion": "{who} became confused.",
    "Leech Seed": "{who} was seeded.",
    "Bide": "{who} began to store energy.",
    "Disable": "{what} of {who} was disabled.",
    "Mimic": "{who} learned {what} by Mimic.",
    "typechange": "{who} took the type {what}.",
}
_ENDS: Final = {
    "Substitute": "The substitute of {who} broke.",
    "confusion": "{who} is no longer confused.",
    "Bide": "{who} let its energy out.",
    "Disable": "A move of {who} is no longer disabled.",
}
_WORKS: Final = {
    "confusion": "{who} is confused.",
    "Substitute": "The substitute of {who} took the hit.",
    "Haze": "All changes of stats were undone.",
    "Mist": "{who} is safe behind Mist.",
    "Bide": "{who} stores energy.",
}
_FALLS_ILL: Final = {"slp": "fell asleep", "frz": "was frozen"}
_RECOVERS: Final = {"slp": "woke up", "frz": "thawed"}
_CAUSES: Final = {
    "psn": "by poison",
    "brn": "by its burn",
    "confusion": "by hurting itself in confusion",
    "Recoil": "by recoil",
    "drain": "by draining",
}
# What takes nothing but the name of whom it is about, and what the line says behind it.
_PLAIN: Final = {
    "faint": "{who} fainted.",
    "tie": "It is a tie.",
    "win": "{who} has won.",
    "-crit": "It was a critical hit.",
    "-supereffective": "It was super effective.",
    "-resisted": "It was not very effective.",
    "-immune": "It does not affect {who}.",
    "-miss": "{who} missed.",
    "-fail": "It failed.",
    "-notarget": "There was no target.",
    "-nothing": "Nothing happened.",
    "-ohko": "It took all at once.",
    "-mustrecharge": "{who} must recharge.",
    "-prepare": "{who} prepares {what}.",
    "-hitcount": "It hit {what} times.",
    "-transform": "{who} turned into {other}.",
    "-clearallboost": "All changes of stats were undone.",
    "-fieldactivate": "Coins lie on the ground.",
    "message": "{text}",
    "-message": "{text}",
    "bigerror": "{text}",
}


def tell_turn(view: Mapping[str, Any]) -> list[str]:
    """Return what has happened since the last choice: the turn, and a sentence for each thing."""
    log = _Log(view)
    for line in view["lines"]:
        log.read(line)
    begins = [int(line[6:]) for line in view["lines"] if line.startswith("|turn|")]
    turn = begins[0] - 1 if begins else view["turn"]
    return [*([f"Turn {turn}."] if turn and log.sentences else []), *log.sentences]


def tell_battle(view: Mapping[str, Any]) -> str:
    """Return what happened, which turn it is or how the battle ended, and how both teams stand."""
    happened, sides = tell_turn(view), map(_tell_side, (0, 1), view["sides"])
    if "|tie" in view["lines"] or any(line.startswith("|win|") for line in view["lines"]):
        parts = [
            f"The battle is over: {happened[-1][:1].lower()}{happened[-1][1:]}",
            *happened[:-1],
            *sides,
        ]
    else:
        parts = [*happened, f"Now it is turn {view['turn']}.", *sides]
    # A word of the package that we do not know may have one; people read it as a space.
    return " ".join(parts).replace("_", " ")


def name_boosts(boosts: Mapping[str, int]) -> list[str]:
    """Return the stats that are raised or lowered, with their stages."""
    return [f"{STATS[stat]} {by:+}" for stat, by in boosts.items() if stat in STATS]


def name_effects(effects: Sequence[str]) -> list[str]:
    """Return what lasts on a Pokemon."""
    return [EFFECTS[effect] for effect in effects if effect in EFFECTS]


def _tell_side(seat: int, side: Mapping[str, Any]) -> str:
    seen_pokemon = side["pokemon"]
    parts = [
        _tell_pokemon(pokemon)
        for pokemon in sorted(seen_pokemon, key=lambda shown: not shown["is_active"])
    ]
    if n_unknown := side["size"] - len(seen_pokemon):
        parts.append(f"{n_unknown} not seen yet")
    return f"Seat {seat} has {side['left']} left: {'; '.join(parts)}."


def _tell_pokemon(pokemon: Mapping[str, Any]) -> str:
    if pokemon["has_fainted"]:
        return f"{pokemon['name']}, fainted"
    marks = [
        *([STATUSES[pokemon["status"]]] if pokemon["status"] in STATUSES else []),
        *(
            name_boosts(pokemon["boosts"]) + name_effects(pokemon["effects"])
            if pokemon["is_active"]
            else []
        ),
    ]
    out = " is out" if pokemon["is_active"] else ""
    return ", ".join((f"{pokemon['name']}{out} with {pokemon['hp_text']} HP", *marks))


class _Log:
    """Reads the lines of a turn one after the other, with the HP that each Pokemon has."""

    def __init__(self, view: Mapping[str, Any]) -> None:
        self._hp = {ident: _read_hp(text) for ident, text in view["before"].items()}
        teams = [{pokemon["name"] for pokemon in side["pokemon"]} for side in view["sides"]]
        self._twins = teams[0] & teams[1]
        self.sentences: list[str] = []

    def read(self, line: str) -> None:
        """Say what a line tells, if it is anything to people."""
        _, kind, *fields = line.split("|")
        tags = [part for part in fields if part.startswith("[")]
        who, what, other = ([part for part in fields if part not in tags] + [""] * 3)[:3]
        if act := _READERS.get(kind):
            act(self, who, (what, other), tags)
        elif kind in _PLAIN and "[silent]" not in tags:
            text = "|".join(fields)
            self.say(_PLAIN[kind], who, what=what, other=self.name(what), text=text)

    def say(self, sentence: str, who: str, **more: str) -> None:
        """Add a sentence about a Pokemon."""
        words = sentence.format(who=self.name(who), **more)
        words = words[:1].upper() + words[1:]
        if words.endswith(" fainted.") and self.sentences[-1:] and "lost" in self.sentences[-1]:
            before = self.sentences[-1].removesuffix(".")
            if before.startswith(f"{words.removesuffix(' fainted.')} lost "):
                self.sentences[-1] = f"{before} and fainted."
                return
        self.sentences.append(words if words.endswith((".", "!", ")")) else f"{words}.")

    def name(self, ident: str) -> str:
        """Return the name of a Pokemon, with its seat where both sides have one of it."""
        seat, _, name = ident.partition(": ")
        if not name:
            return ident
        return f"seat {int(seat[1]) - 1}'s {name}" if name in self._twins else name

    def set_hp(self, ident: str, condition: str) -> float:
        """Note the HP of a Pokemon; return by how much of all they have risen."""
        # The same Pokemon wherever it stands: p1: Onix of p1a: Onix.
        key, now = ident[:2] + ident[ident.index(":") :], _read_hp(condition)
        before, self._hp[key] = self._hp.get(key, now), now
        return now - before


def _read_hp(condition: str) -> float:
    """Return the share of all HP of 120/300 par, 53/100 or 0 fnt."""
    left, _, most = condition.partition(" ")[0].partition("/")
    return float(left) / float(most) if most else 0.0


def _read_cause(tags: Sequence[str]) -> str:
    """Return what a line says of where something comes from."""
    for tag in tags:
        if tag.startswith("[from] "):
            return tag.removeprefix("[from] ").removeprefix("move: ")
    return ""


Details = tuple[str, str]
Reader = Callable[[_Log, str, Details, Sequence[str]], None]


def _tell_entry(log: _Log, who: str, details: Details, tags: Sequence[str]) -> None:
    del tags
    log.set_hp(who, details[1])
    log.say(f"Seat {int(who[1]) - 1} sent out {{who}}.", who)


def _tell_move(log: _Log, who: str, details: Details, tags: Sequence[str]) -> None:
    cause = _read_cause(tags)
    called = f", called by {cause}" if cause not in ("", details[0]) else ""
    log.say("{who} used {what}{called}.", who, what=details[0], called=called)


def _tell_hp_change(log: _Log, who: str, details: Details, tags: Sequence[str]) -> None:
    by = log.set_hp(who, details[0])
    if not (percent := round(100 * abs(by))):
        percent = 1 if by else 0
    cause = _read_cause(tags)
    words = _CAUSES.get(cause, f"by {cause}" if cause else "")
    verb = "recovered" if by > 0 else "lost"
    if percent:
        because = f" {words}" if words else ""
        log.say(f"{{who}} {verb} {percent} %{because}.", who)


def _tell_ailment(log: _Log, who: str, details: Details, tags: Sequence[str]) -> None:
    if "[silent]" not in tags:
        verb = _FALLS_ILL.get(details[0], f"was {STATUSES.get(details[0], details[0])}")
        log.say("{who} {verb}.", who, verb=verb)


def _tell_recovery(log: _Log, who: str, details: Details, tags: Sequence[str]) -> None:
    if "[silent]" not in tags:
        verb = _RECOVERS.get(details[0], f"is no longer {STATUSES.get(details[0], details[0])}")
        log.say("{who} {verb}.", who, verb=verb)


def _change_stat(verb: str) -> Reader:
    def tell(log: _Log, who: str, details: Details, tags: Sequence[str]) -> None:
        del tags
        if details[0] in STATS:
            words = f"{verb} by {details[1]}" if int(details[1]) else "does not change"
            log.say("{stat} of {who} {words}.", who, stat=STATS[details[0]], words=words)

    return tell


def _make_effect_reader(sentences: Mapping[str, str], otherwise: str) -> Reader:
    def tell(log: _Log, who: str, details: Details, tags: Sequence[str]) -> None:
        if "[silent]" not in tags:
            effect = details[0].removeprefix("move: ")
            sentence = sentences.get(effect, otherwise)
            log.say(sentence, who, effect=effect, what=details[1])

    return tell


_READERS: Final[Mapping[str, Reader]] = {
    "switch": _tell_entry,
    "drag": _tell_entry,
    "move": _tell_move,
    "cant": _make_effect_reader(_CANNOT, "{who} cannot move."),
    "-damage": _tell_hp_change,
    "-heal": _tell_hp_change,
    "-sethp": _tell_hp_change,
    "-status": _tell_ailment,
    "-curestatus": _tell_recovery,
    "-boost": _change_stat("rose"),
    "-unboost": _change_stat("fell"),
    "-start": _make_effect_reader(_BEGINS, "{who} has {effect}."),
    "-end": _make_effect_reader(_ENDS, "{effect} of {who} ended."),
    "-activate": _make_effect_reader(_WORKS, "{effect} of {who} works."),
}
