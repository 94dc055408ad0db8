"""Time a GPU: a launch, copies there and back, and the network itself, launch by launch and as one CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from flow.baseline.float_network import FloatNetwork
from flow.baseline.measured import Measured
from flow.baseline.timing import time_calls
from flow.errors import MissingTool, UserError

BYTES = 256  # of the copies that are timed without a network
DEVICES = ("cuda", "cpu")


def check_torch(device: str) -> None:
    """Raise UserError where PyTorch, or the CUDA device that it is to use, is not there."""
    if find_spec("torch") is None:
        raise MissingTool(
            "--measure gpu needs PyTorch, which is not installed here (it is no part of fpgaflow): on the machine with "
            "the GPU, install it as pytorch.org says, in the same environment, and run this again"
        )
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        raise UserError(
            f"--measure gpu: PyTorch {torch.__version__} finds no CUDA device here; run this on the machine with the "
            "GPU (--device cpu only tries the program out, its times are no GPU's)"
        )


def software(device: str) -> str:
    """Return PyTorch's version and CUDA's."""
    import torch

    return f"PyTorch {torch.__version__}" + (f", CUDA {torch.version.cuda}" if device == "cuda" else "")


def device_name(device: str, host: str) -> str:
    """Return what the device calls itself."""
    import torch

    return str(torch.cuda.get_device_name()) if device == "cuda" else f"no GPU: {host}"


def measure_gpu(network: FloatNetwork | None, device: str, count: int, warmup: int) -> tuple[Measured, ...]:
    """Time everything, one call after another, each waiting for its end; network: None for the fixed costs alone."""
    import torch

    if device == "cpu":
        torch.set_num_threads(1)
    where = "on the GPU" if device == "cuda" else "on the CPU: no GPU"
    found: list[Measured] = []

    def add(name: str, what: str, call: Callable[[], object], *, whole: bool = False) -> None:
        timing = time_calls(call, count, warmup)
        found.append(Measured(name if device == "cuda" else f"{name} ({where})", what, _span(whole=whole), timing))

    wait: Callable[[], object] = torch.cuda.synchronize if device == "cuda" else lambda: None
    with torch.inference_mode():
        one = torch.zeros(1, device=device)
        add("one launch", f"add 1 to one number {where} and wait for it, from Python", lambda: (one.add_(1), wait()))
        there, back = _pinned(torch, (BYTES // 4,), device), _pinned(torch, (BYTES // 4,), device)
        on = torch.zeros(BYTES // 4, device=device)

        def round_trip() -> None:
            on.copy_(there, non_blocking=True)
            back.copy_(on, non_blocking=True)
            wait()

        add(
            "copy there and back",
            f"{BYTES} bytes of pinned host memory to the device and back, from Python",
            round_trip,
        )
        if network is not None:
            for name, what, call in _inferences(torch, network, device, wait):
                add(name, what, call, whole=True)
    return tuple(found)


def _span(*, whole: bool) -> Any:
    return "host_to_host" if whole else None


def _pinned(torch: Any, shape: tuple[int, ...], device: str) -> Any:
    return torch.zeros(shape, pin_memory=device == "cuda")


def _inferences(
    torch: Any, network: FloatNetwork, device: str, wait: Callable[[], object]
) -> list[tuple[str, str, Callable[[], object]]]:
    """Return the ways to call the network: name, what it does, the call."""
    from flow.steps.measure.torch_network import TorchNetwork

    model = TorchNetwork(network, device)
    shapes = {name: (1, *network.step(name).shape) for name in (*network.inputs, *network.outputs)}
    host = {name: _pinned(torch, shapes[name], device) for name in network.inputs}
    draw = np.random.default_rng(1)
    for tensor in host.values():
        tensor.copy_(torch.from_numpy(draw.uniform(-1, 1, tuple(tensor.shape)).astype(np.float32)))
    on = {name: torch.zeros(shapes[name], device=device) for name in network.inputs}
    results = [_pinned(torch, shapes[name], device) for name in network.outputs]

    def infer() -> None:
        for name, tensor in host.items():
            on[name].copy_(tensor, non_blocking=True)
        for result, output in zip(results, model(on), strict=True):
            result.copy_(output, non_blocking=True)

    def launched() -> None:
        infer()
        wait()

    said = "inputs from pinned host memory, the network in float32 at batch 1, outputs back, from Python"
    ways: list[tuple[str, str, Callable[[], object]]] = [
        ("the network, launched layer by layer", said, launched),
    ]
    if device == "cuda":
        # what is chosen and allocated on first use must not be captured: first on the stream that captures
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            infer()
        wait()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            infer()

        def replayed() -> None:
            graph.replay()
            wait()

        ways.append(("the network, one CUDA graph", f"{said}, captured once and replayed", replayed))
    return ways
