"""Transformer encoder: a board's cells, or chunks of any other observation, are its tokens."""

from collections.abc import Mapping
from math import ceil, sqrt

import torch
from torch import Tensor, nn

from arena.errors import ParameterError
from arena.parameters import Parameter
from inference.architectures.base import Heads, accepted, floats

_WIDTH = Parameter("width", 64, "floats per token; a multiple of heads", 1, 1024)
_DEPTH = Parameter("depth", 2, "encoder layers", 1, 32)
_HEADS = Parameter("heads", 4, "attention heads", 1, 64)
_CHUNK = Parameter("chunk", 16, "floats per token where the observation is no board", 1, 4096)
_MAX_TOKENS = 1024
_BOARD = ("planes", "rows", "columns")
_WIDER = 4


class EncoderLayer(nn.Module):
    """Attention and two linear layers, each after a norm and added to what came in."""

    def __init__(self, width: int, n_heads: int) -> None:
        """Take the sizes; width is a multiple of n_heads."""
        super().__init__()
        self._n_heads = n_heads
        self.attention_norm = nn.LayerNorm(width)
        self.mix = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.wide = nn.Linear(width, _WIDER * width)
        self.narrow = nn.Linear(_WIDER * width, width)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return tokens [B, T, width] of the same shape."""
        tokens = tokens + self.out(self._mix_tokens(self.mix(self.attention_norm(tokens))))
        wide: Tensor = self.wide(self.norm(tokens))
        narrow: Tensor = self.narrow(nn.functional.gelu(wide))
        return tokens + narrow

    def _mix_tokens(self, mixed: Tensor) -> Tensor:
        """Return [B, T, width] from queries, keys and values [B, T, 3 width]."""
        n_tokens = mixed.shape[1]
        split = mixed.reshape(-1, n_tokens, 3, self._n_heads, mixed.shape[2] // 3 // self._n_heads)
        query, key, value = split.permute(2, 0, 3, 1, 4).unbind(0)
        scores = query @ key.transpose(-2, -1) / sqrt(query.shape[-1])
        attended: Tensor = (scores.softmax(-1) @ value).transpose(-3, -2).flatten(-2)
        return attended


class Transformer(nn.Module):
    """Tokens with learned places, encoder layers, heads on the mean of the tokens."""

    def __init__(
        self, tokens: tuple[int, int], n_actions: int, width: int, depth: int, n_heads: int
    ) -> None:
        """Take number and size of the tokens, and the sizes of the layers."""
        super().__init__()
        self._n_tokens, self._token_size = tokens
        self.stem = nn.Linear(self._token_size, width)
        self.places = nn.Parameter(torch.randn(self._n_tokens, width) * 0.02)
        self.layers = nn.Sequential(*(EncoderLayer(width, n_heads) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        self.heads = Heads(width, n_actions)

    def forward(self, observations: Tensor, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits, values in -1..1 and the (empty) states."""
        tokens = self.layers(self.stem(self._split_tokens(observations)) + self.places)
        return *self.heads(self.norm(tokens).mean(-2)), states

    def _split_tokens(self, observations: Tensor) -> Tensor:
        """Return [B, T, size]: what all planes say of each cell, or chunks padded with zeros."""
        if observations.dim() == 1 + len(_BOARD):
            return observations.flatten(2).transpose(1, 2)
        flat = observations.flatten(1)
        missing = self._n_tokens * self._token_size - flat.shape[1]
        padded: Tensor = nn.functional.pad(flat, (0, missing))
        return padded.reshape(-1, self._n_tokens, self._token_size)


class TransformerArchitecture:
    """Takes any observation of at most 1,024 tokens."""

    id = "transformer"
    title = "Transformer encoder"
    parameters = (_WIDTH, _DEPTH, _HEADS, _CHUNK)

    def refusal(self, observation_shape: tuple[int, ...]) -> str | None:
        """Return why a board has too many cells, or None."""
        n_cells = floats(observation_shape[1:])
        if len(observation_shape) != len(_BOARD) or n_cells <= _MAX_TOKENS:
            return None
        return f"has {n_cells} cells: at most {_MAX_TOKENS} are attended to"

    def state_size(self, parameters: Mapping[str, object]) -> int:  # noqa: ARG002 - the protocol
        """Return 0."""
        return 0

    def build(
        self, observation_shape: tuple[int, ...], n_actions: int, parameters: Mapping[str, object]
    ) -> Transformer:
        """Return the module. Raises ParameterError."""
        chosen = accepted(self, observation_shape, parameters)
        width, depth, n_heads, chunk = (
            int(chosen[parameter.name]) for parameter in self.parameters
        )
        if width % n_heads:
            raise ParameterError(self.id, "width", f"must be a multiple of heads {n_heads}")
        # Number and size of the tokens: of a board its cells, of all else chunks.
        tokens = ceil(floats(observation_shape) / chunk), chunk
        if len(observation_shape) == len(_BOARD):
            tokens = floats(observation_shape[1:]), observation_shape[0]
        if tokens[0] > _MAX_TOKENS:
            needed = ceil(floats(observation_shape) / _MAX_TOKENS)
            raise ParameterError(self.id, "chunk", f"must be at least {needed} for so many floats")
        return Transformer(tokens, n_actions, width, depth, n_heads)


ARCHITECTURE = TransformerArchitecture()
