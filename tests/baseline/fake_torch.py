"""As much of PyTorch as a dense network asks for, on numpy: so that the program's CUDA path can be followed."""

from __future__ import annotations

import contextlib
import types
from dataclasses import dataclass, field
from typing import Any

import numpy as np


class Tensor:
    """Hold an array, and whether it is pinned."""

    def __init__(self, array, *, pinned=False):
        self.array = np.asarray(array, dtype=np.float32)
        self.pinned = pinned

    shape = property(lambda self: self.array.shape)
    device = "cuda"

    def to(self, _device):
        return self

    def reshape(self, *shape):
        return Tensor(self.array.reshape(*shape))

    def copy_(self, other, *, non_blocking=False):
        self.waited = not non_blocking
        self.array[...] = other.array

    def add_(self, value):
        self.array += value


@dataclass
class Calls:
    """Count what the device was asked for."""

    waits: int = 0
    captures: int = 0
    replays: int = 0
    recorded: list = field(default_factory=list)


def fake_torch(calls):
    """Return a module; calls: what is counted."""

    class CUDAGraph:
        def replay(self):
            calls.replays += 1

    @contextlib.contextmanager
    def graph(_graph, stream):
        calls.captures += 1
        yield

    def synchronize():
        calls.waits += 1

    torch: Any = types.ModuleType("torch")
    torch.__version__ = "0.0 (fake)"
    torch.version = types.SimpleNamespace(cuda="0.0")
    torch.inference_mode = contextlib.nullcontext
    torch.zeros = lambda shape, pin_memory=False, **_device: Tensor(np.zeros(shape), pinned=pin_memory)
    torch.from_numpy = Tensor
    torch.addmm = lambda bias, x, weights: Tensor(x.array @ weights.array + bias.array)
    torch.relu = lambda x: Tensor(np.maximum(x.array, 0))
    torch.cuda = types.SimpleNamespace(
        is_available=lambda: True,
        get_device_name=lambda: "Fake GPU",
        synchronize=synchronize,
        Stream=object,
        stream=lambda _stream: contextlib.nullcontext(),
        CUDAGraph=CUDAGraph,
        graph=graph,
    )
    return torch
