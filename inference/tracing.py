"""One flat program for several networks of one form: vmap, traced once, weights prepared once.

vmap alone costs more Python per layer than small networks cost arithmetic, and it splits a linear
layer into a product and a sum whose last bits differ from those of the layer. So its rules for
linear layers and convolutions are given here, the result is traced into plain tensor operations,
and all that depends on the weights alone is taken out of the program.
"""

import threading
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import torch
from torch import Tensor, fx, nn
from torch.func import functional_call, vmap
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from inference.batch_invariance import Outputs

_IMAGE = 4
# The tracer keeps what it patches in a global.
_ONE_AT_A_TIME = threading.Lock()


class Program(NamedTuple):
    """prepare(weights) is called once per set of networks, run(*prepared, rows, states) per batch.

    rows: [N, R, *shape]; states: [N, R, S]; run returns logits, values and states of N x R rows.
    """

    prepare: Callable[..., Sequence[Tensor]]
    run: Callable[..., Outputs]


def trace_program(
    module: nn.Module, weights: Sequence[Tensor], rows: Tensor, states: Tensor
) -> Program:
    """Return the program for networks like module; weights are stacked in state_dict's order.

    Raises what torch raises for a module that vmap or the tracer cannot take.
    """
    names = list(module.state_dict())
    skeleton = deepcopy(module).to("meta")

    def run_one(own: list[Tensor], observations: Tensor, memory: Tensor) -> Any:
        tensors_by_name = dict(zip(names, own, strict=True))
        return functional_call(skeleton, tensors_by_name, (observations, memory))

    def run_flat(*tensors: Tensor) -> Any:
        with _OurRules():
            return vmap(run_one)(list(tensors[:-2]), *tensors[-2:])

    with _ONE_AT_A_TIME:
        graph = make_fx(run_flat)(*weights, rows, states).graph
    graph.eliminate_dead_code()
    return _split_program(graph, len(weights))


def import_tracer() -> None:
    """Import what the first trace needs: more than a second, and 80 MB."""
    layer, shape = nn.Linear(1, 1), (2, 1, 1)
    with torch.inference_mode():
        weights = [torch.zeros(2, *weight.shape) for weight in layer.state_dict().values()]
        trace_program(_Stateless(layer), weights, torch.zeros(shape), torch.zeros(shape))


class _Stateless(nn.Module):
    """Any module as the smallest network."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, rows: Tensor, states: Tensor) -> Outputs:
        return self.inner(rows), rows.squeeze(-1), states


class _OurRules(TorchFunctionMode):
    """Sends linear layers and convolutions through the rules below while a program is traced."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is functional.linear:
            return _apply_linear(*args, **(kwargs or {}))
        if func is functional.conv2d:
            return _apply_conv2d(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def _apply_linear(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    return _Linear.apply(rows, weight, bias)  # type: ignore[no-untyped-call]


def _apply_conv2d(
    planes: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    if planes.dim() != _IMAGE or isinstance(padding, str):
        return functional.conv2d(planes, weight, bias, stride, padding, dilation, groups)
    return _Conv2d.apply(planes, weight, bias, (stride, padding, dilation, groups))  # type: ignore[no-untyped-call]


class _Rule(torch.autograd.Function):
    """An operation whose rule under vmap is ours; gradients are never asked for."""

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keep nothing."""


class _Linear(_Rule):
    @staticmethod
    def forward(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return functional.linear(rows, weight, bias)

    @staticmethod
    def vmap(info: Any, dims: Any, rows: Tensor, weight: Tensor, bias: Tensor | None) -> Any:
        """Add bias and product in one operation, as the layer alone does."""
        rows, weight, bias = _move_to_front(info.batch_size, dims, rows, weight, bias)
        run_flat = rows.reshape(info.batch_size, -1, rows.shape[-1])
        turned = weight.transpose(1, 2)
        out = run_flat.bmm(turned) if bias is None else bias.unsqueeze(1).baddbmm(run_flat, turned)
        return out.reshape(*rows.shape[:-1], -1), 0


class _Conv2d(_Rule):
    @staticmethod
    def forward(planes: Tensor, weight: Tensor, bias: Tensor | None, how: Any) -> Tensor:
        return functional.conv2d(planes, weight, bias, *how)

    @staticmethod
    def vmap(
        info: Any, dims: Any, planes: Tensor, weight: Tensor, bias: Tensor | None, how: Any
    ) -> Any:
        """Make every network a group of one wide convolution."""
        n_networks = info.batch_size
        planes, weight, bias = _move_to_front(n_networks, dims, planes, weight, bias)
        wide = planes.transpose(0, 1).flatten(1, 2)
        stride, padding, dilation, groups = how
        kernels = weight.flatten(0, 1)
        added = None if bias is None else bias.flatten()
        wider = groups * n_networks
        out = functional.conv2d(wide, kernels, added, stride, padding, dilation, wider)
        return torch.unflatten(out, 1, (n_networks, -1)).transpose(0, 1), 0


def _move_to_front(
    n_networks: int, dims: Sequence[int | None], *tensors: Tensor | None
) -> list[Any]:
    """Return the tensors with the networks as their first dimension."""
    return [
        tensor
        if tensor is None
        else tensor.expand(n_networks, *tensor.shape)
        if dim is None
        else tensor.movedim(dim, 0)
        for tensor, dim in zip(tensors, dims, strict=False)
    ]


def _split_program(graph: fx.Graph, n_weights: int) -> Program:
    """Return the program whose first part is all that depends on the weights alone."""
    places = [node for node in graph.nodes if node.op == "placeholder"]
    moving = set(places[n_weights:])
    for node in graph.nodes:
        if node.op == "output" or moving.intersection(node.all_input_nodes):
            moving.add(node)
    fixed = [node for node in graph.nodes if node not in moving]
    border = [node for node in fixed if moving.intersection(node.users)]
    owner = graph.owning_module or nn.Module()
    return Program(
        _extract_preparation(owner, fixed, border), _extract_rest(owner, graph, border, moving)
    )


def _extract_preparation(
    owner: nn.Module, fixed: Sequence[fx.Node], border: Sequence[fx.Node]
) -> Any:
    graph, copies = fx.Graph(), dict[fx.Node, fx.Node]()
    for node in fixed:
        copies[node] = graph.node_copy(node, copies.__getitem__)
    graph.output(tuple(copies[node] for node in border))
    return fx.GraphModule(owner, graph)


def _extract_rest(
    owner: nn.Module, whole: fx.Graph, border: Sequence[fx.Node], moving: set[fx.Node]
) -> Any:
    graph = fx.Graph()
    copies = {node: graph.placeholder(f"prepared_{i}") for i, node in enumerate(border)}
    for node in whole.nodes:
        if node in moving:
            copies[node] = graph.node_copy(node, copies.__getitem__)
    # Views and expansions to the shape that is there already do nothing.
    idle = {torch.ops.aten.view.default, torch.ops.aten.expand.default}
    for node in graph.nodes:
        if node.target in idle and _read_shape(node) == _read_shape(node.args[0]):
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
    return fx.GraphModule(owner, graph)


def _read_shape(node: Any) -> Any:
    value = node.meta.get("val", node.meta.get("tensor_meta"))
    return None if value is None else tuple(value.shape)
