"""Time this machine's CPU at batch 1, on one core: ONNX Runtime, and hls4ml's C++ where a model file is given."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from flow.baseline.float_network import FloatNetwork
from flow.baseline.measured import Measured
from flow.baseline.timing import time_calls
from flow.errors import MissingTool


def check_onnxruntime() -> None:
    """Raise MissingTool where ONNX Runtime, or onnx, is not there."""
    absent = [name for name in ("onnxruntime", "onnx") if find_spec(name) is None]
    if absent:
        raise MissingTool(
            f"--measure cpu needs {' and '.join(absent)}, not installed here; install the extra: "
            "pip install 'fpgaflow[baseline]'"
        )


def software() -> str:
    """Return ONNX Runtime's version."""
    import onnxruntime

    return f"ONNX Runtime {onnxruntime.__version__}"


def measure_onnxruntime(network: FloatNetwork, count: int, warmup: int) -> Measured:
    """Time the network in ONNX Runtime with one thread, called from Python."""
    session = session_of(network)
    draw = np.random.default_rng(1)
    inputs = {name: draw.uniform(-1, 1, (1, *network.step(name).shape)).astype(np.float32) for name in network.inputs}
    return Measured(
        "ONNX Runtime on this CPU",
        "the network in float32 at batch 1, one thread, from and to host memory, called from Python",
        "host_to_host",
        time_calls(lambda: session.run(None, inputs), count, warmup),
    )


def session_of(network: FloatNetwork):  # type: ignore[no-untyped-def]
    """Return a session of ONNX Runtime with one thread."""
    import onnxruntime

    from flow.steps.measure.onnx_network import to_onnx

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(to_onnx(network), options, providers=["CPUExecutionProvider"])
