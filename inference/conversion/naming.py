"""Which tensor of a foreign file is which of an architecture: by name, by shape, or as told."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from arena.errors import CheckpointFileError

Shape = tuple[int, ...]
Shapes = Mapping[str, Shape]
Signature = tuple[tuple[str, Shape], ...]
_NUMBER = re.compile(r"[0-9]+")
_SHOWN = 6
_HINT = "name it with --map OLD=NEW (a layer or one tensor); --map OLD= drops it"


def rename_tensors(names: Iterable[str], prefixes: Mapping[str, str]) -> dict[str, str]:
    """Return the name after for each name before, as the user told; dropped names are left out.

    A mapping holds for a tensor or for all tensors of a layer; the longest that fits wins. Raises
    CheckpointFileError for one that fits nothing.
    """
    after: dict[str, str] = {}
    unused = set(prefixes)
    for name in names:
        fitting = [old for old in prefixes if name == old or name.startswith(f"{old}.")]
        best = max(fitting, key=len, default=None)
        unused.discard(best or "")
        if best is None:
            after[name] = name
        elif prefixes[best]:
            after[name] = prefixes[best] + name.removeprefix(best)
    if unused:
        raise CheckpointFileError(f"--map {min(unused)}: there is no such tensor or layer")
    return after


def pair_tensors(stored: Shapes, expected: Shapes) -> dict[str, str]:
    """Return the given name of each expected one.

    Equal names are one; of the rest, layers of a shape that occurs once are one, and layers of one
    shape whose names differ in numbers only follow each other by these. Raises CheckpointFileError
    where that leaves a doubt, or anything over.
    """
    equal = {name: name for name, shape in expected.items() if stored.get(name) == shape}
    ours = _group_layers({name: shape for name, shape in expected.items() if name not in equal})
    stored_layers = _group_layers(
        {name: shape for name, shape in stored.items() if name not in equal}
    )
    _check_all_there(ours, stored_layers)
    for signature, layers in ours.items():
        pairs = zip(layers, _order_layers(stored_layers[signature], layers), strict=True)
        for new, old in pairs:
            equal.update({_join_name(new, leaf): _join_name(old, leaf) for leaf, _ in signature})
    return equal


def renamed_layers(pairs: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the layers (old, new) whose name changes; pairs: old tensor by new."""
    layers = {
        (old.rpartition(".")[0] or old, new.rpartition(".")[0] or new) for new, old in pairs.items()
    }
    return sorted((old, new) for old, new in layers if old != new)


def _group_layers(shapes: Shapes) -> dict[Signature, list[str]]:
    """Return the layers by what they consist of: the shapes of their weight, bias ..."""
    parts: dict[str, list[tuple[str, Shape]]] = defaultdict(list)
    for name, shape in shapes.items():
        layer, _, leaf = name.rpartition(".")
        parts[layer].append((leaf, shape))
    layers: dict[Signature, list[str]] = defaultdict(list)
    for layer, part in parts.items():
        layers[tuple(sorted(part))].append(layer)
    return layers


def _check_all_there(
    expected: Mapping[Signature, list[str]], stored: Mapping[Signature, list[str]]
) -> None:
    over = {
        signature: (stored.get(signature, []), expected.get(signature, []))
        for signature in {**expected, **stored}
        if len(expected.get(signature, [])) != len(stored.get(signature, []))
    }
    if not over:
        return
    lost = [
        _describe_layer(new, signature) for signature, (_, news) in over.items() for new in news
    ]
    left = [
        _describe_layer(old, signature) for signature, (olds, _) in over.items() for old in olds
    ]
    raise CheckpointFileError(
        f"the file does not fit: the architecture wants {_list_names(lost)}; "
        f"the file has {_list_names(left)}. Choose other --parameter, or {_HINT}"
    )


def _order_layers(olds: list[str], news: list[str]) -> list[str]:
    """Return the old layers in the order of the new ones, where it cannot be doubted."""
    patterns = {_NUMBER.sub("#", old) for old in olds}
    places = {new.split(".")[0] for new in news}
    if len(news) > 1 and (len(patterns) > 1 or len(places) > 1):
        raise CheckpointFileError(
            f"{_list_names(olds)} have the same shapes, so which is which of {_list_names(news)} "
            f"is not certain: {_HINT}"
        )
    return sorted(olds, key=lambda old: [int(number) for number in _NUMBER.findall(old)])


def _join_name(layer: str, leaf: str) -> str:
    return f"{layer}.{leaf}" if layer else leaf


def _describe_layer(layer: str, signature: Signature) -> str:
    parts = ", ".join(f"{leaf} {list(shape)}" for leaf, shape in signature)
    return f"{layer} ({parts})" if layer else parts


def _list_names(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return (", ".join(names[:_SHOWN]) or "nothing more") + more
