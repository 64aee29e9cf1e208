"""Residual convolutional network over boards of planes, rows and columns."""

from collections.abc import Mapping

from torch import Tensor, nn

from arena.parameters import Parameter
from inference.architectures.base import accepted

_BOARD = ("planes", "rows", "columns")
_CHANNELS = Parameter("channels", 32, "width of every convolution", 1, 1024)
_BLOCKS = Parameter("blocks", 4, "residual blocks of two convolutions", 0, 64)
_VALUE_WIDTH = Parameter("value_width", 64, "hidden layer of the value head", 1, 4096)
_POLICY_PLANES = 2
_VALUE_PLANES = 1


class Block(nn.Module):
    """Two 3 x 3 convolutions added to what came in. No norm: one would fold into the weights."""

    def __init__(self, channels: int) -> None:
        """Begin as the identity, so that deep ones train without a norm."""
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)
        nn.init.zeros_(self.second.weight)
        nn.init.zeros_(self.second.bias)  # type: ignore[arg-type]

    def forward(self, planes: Tensor) -> Tensor:
        """Return planes of the same shape."""
        change: Tensor = self.second(self.first(planes).relu())
        return (planes + change).relu()


class ResidualCnn(nn.Module):
    """Blocks on the board, then a head of 1 x 1 convolutions each for policy and value."""

    def __init__(
        self, board: tuple[int, int, int], n_actions: int, channels: int, blocks: int, width: int
    ) -> None:
        """Take planes, rows and columns of the board and the sizes."""
        super().__init__()
        n_cells = board[1] * board[2]
        self.stem = nn.Conv2d(board[0], channels, 3, padding=1)
        self.blocks = nn.Sequential(*(Block(channels) for _ in range(blocks)))
        self.policy_planes = nn.Conv2d(channels, _POLICY_PLANES, 1)
        self.policy = nn.Linear(_POLICY_PLANES * n_cells, n_actions)
        self.value_planes = nn.Conv2d(channels, _VALUE_PLANES, 1)
        self.value_hidden = nn.Linear(_VALUE_PLANES * n_cells, width)
        self.value = nn.Linear(width, 1)

    def forward(self, observations: Tensor, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits, values in -1..1 and the (empty) states."""
        features = self.blocks(self.stem(observations).relu())
        logits = self.policy(self.policy_planes(features).relu().flatten(1))
        value = self.value_hidden(self.value_planes(features).relu().flatten(1)).relu()
        return logits, self.value(value).squeeze(-1).tanh(), states


class ResidualCnnArchitecture:
    """Takes boards only."""

    id = "rescnn"
    title = "Residual convolutional network"
    parameters = (_CHANNELS, _BLOCKS, _VALUE_WIDTH)

    def refusal(self, observation_shape: tuple[int, ...]) -> str | None:
        """Return why the shape is no board, or None."""
        if len(observation_shape) == len(_BOARD):
            return None
        return f"must be [{', '.join(_BOARD)}], got {list(observation_shape)}: take mlp instead"

    def state_size(self, parameters: Mapping[str, object]) -> int:  # noqa: ARG002 - the protocol
        """Return 0."""
        return 0

    def build(
        self, observation_shape: tuple[int, ...], n_actions: int, parameters: Mapping[str, object]
    ) -> ResidualCnn:
        """Return the module. Raises ParameterError."""
        chosen = accepted(self, observation_shape, parameters)
        channels, blocks, width = (int(chosen[parameter.name]) for parameter in self.parameters)
        planes, rows, columns = observation_shape
        return ResidualCnn((planes, rows, columns), n_actions, channels, blocks, width)


ARCHITECTURE = ResidualCnnArchitecture()
