"""The float network in PyTorch, which is imported only where it is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from flow.baseline.float_network import FloatNetwork, Step

Tensors = dict[str, Any]


class TorchNetwork:
    """Run a float network on a device; its weights lie there."""

    def __init__(self, network: FloatNetwork, device: str) -> None:
        """device: as PyTorch names it, "cuda" or "cpu"."""
        import torch

        self.network = network
        self._torch = torch
        self._weights: Tensors = {}
        self._bias: Tensors = {}
        self._shares: Tensors = {}  # here, since nothing may come from the host while a graph is captured
        for step in network.steps:
            if step.weights is not None:
                self._weights[step.name] = torch.from_numpy(_laid_out(step)).to(device)
            if step.bias is not None:
                self._bias[step.name] = torch.from_numpy(np.array(step.bias)).to(device)
            if step.detail == "average" and step.window is not None and any(step.window.pads):
                self._shares[step.name] = torch.from_numpy(_shares(step)).to(device)

    def __call__(self, inputs: Tensors) -> tuple[Any, ...]:
        """Return the outputs for inputs of shape (1, *shape) on the device, in declared order."""
        values: Tensors = dict(inputs)
        for step in self.network.steps:
            if step.op != "input":
                found = self._run(step, [values[name] for name in step.inputs])
                values[step.name] = found.reshape(1, *step.shape)
        return tuple(values[name] for name in self.network.outputs)

    def _run(self, step: Step, args: list[Any]) -> Any:  # noqa: PLR0911 (one per kind of step)
        torch, x = self._torch, args[0]
        weights: Any = self._weights.get(step.name)
        bias: Any = self._bias.get(step.name)
        match step.op:
            case "dense":
                return torch.addmm(bias, x.reshape(1, -1), weights)
            case "conv" | "depthwise" | "pool":
                return self._windowed(step, x, weights, bias)
            case "clip":
                return torch.relu(x) if step.high is None else torch.clamp(x, step.low, step.high)
            case "prelu":
                return torch.clamp(x, min=0) + weights * torch.clamp(x, max=0)
            case "scale":
                return torch.addcmul(bias, x, weights)
            case "gather":
                flat = torch.cat([*(a.reshape(-1) for a in args), torch.zeros(1, device=x.device)])
                return flat[weights]
            case "merge":
                return self._merged(step.detail, *args)
            case "softmax":
                return torch.softmax(x, dim=-1)
            case "table":
                number = torch.trunc(x * step.bins[0]).long() + step.bins[1]
                return weights[torch.clamp(number, 0, len(weights) - 1)]
            case _:
                return x

    def _windowed(self, step: Step, x: Any, weights: Any, bias: Any) -> Any:
        torch, window = self._torch, step.window
        assert window is not None
        functional = torch.nn.functional
        image = x.reshape(1, window.rows, window.columns, window.channels).permute(0, 3, 1, 2)  # channels last stays
        top, bottom, left, right = window.pads
        outside = float("-inf") if step.detail == "max" else 0.0
        if any(window.pads):
            image = functional.pad(image, (left, right, top, bottom), value=outside)
        if step.op != "pool":
            groups = window.channels if step.op == "depthwise" else 1
            found = functional.conv2d(image, weights, bias, window.stride, groups=groups)
        elif step.detail == "max":
            found = functional.max_pool2d(image, window.kernel, window.stride)
        else:
            found = functional.avg_pool2d(image, window.kernel, window.stride)
            if step.name in self._shares:
                found = found * self._shares[step.name]
        return found.permute(0, 2, 3, 1)

    def _merged(self, op: str, a: Any, b: Any) -> Any:
        torch = self._torch
        if op == "average":
            return (a + b) / 2
        names = {"add": "add", "subtract": "sub", "multiply": "mul", "maximum": "maximum", "minimum": "minimum"}
        return getattr(torch, names[op])(a, b)


def _laid_out(step: Step) -> Any:
    """Return weights in PyTorch's order: output channels first, then input channels, rows, columns."""
    weights = step.weights
    assert weights is not None
    if step.op == "conv":
        return np.ascontiguousarray(weights.transpose(3, 2, 0, 1))
    if step.op == "depthwise":
        return np.ascontiguousarray(weights.transpose(2, 0, 1)[:, None])
    return np.array(weights)


def _shares(step: Step) -> Any:
    """Return, for an average that leaves cells outside the image out, cells of the window over cells inside."""
    assert step.window is not None
    taps = step.window.taps()
    shares = taps.shape[1] / (taps >= 0).sum(axis=1)
    return shares.reshape(1, 1, *step.window.positions).astype(np.float32)
