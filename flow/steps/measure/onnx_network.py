"""The float network as an ONNX model, written only where ONNX Runtime is to run it."""

from __future__ import annotations

from typing import Any

import numpy as np

from flow.baseline.float_network import FloatNetwork, Step

OPSET, IR_VERSION = 17, 8
_MERGES = {"add": "Add", "subtract": "Sub", "multiply": "Mul", "maximum": "Max", "minimum": "Min", "average": "Mean"}


class _Writer:
    """Collect the nodes and constants of a model."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, op: str, inputs: list[str], name: str, **attributes: Any) -> str:
        """Add a node and return its output's name."""
        from onnx import helper

        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def constant(self, name: str, value: Any) -> str:
        """Add a constant and return its name."""
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def shaped(self, source: str, shape: tuple[int, ...], name: str) -> str:
        """Add a reshape."""
        return self.add("Reshape", [source, self.constant(f"{name}_shape", np.array(shape, dtype=np.int64))], name)


def to_onnx(network: FloatNetwork) -> bytes:
    """Return the model's file: inputs and outputs are named as the steps are, of shape (1, *shape)."""
    from onnx import TensorProto, helper

    writer = _Writer()
    for step in network.steps:
        if step.op != "input":
            writer.shaped(_add(writer, step), (1, *step.shape), step.name)
    ports = [
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, *network.step(n).shape]) for n in names]
        for names in (network.inputs, network.outputs)
    ]
    graph = helper.make_graph(writer.nodes, "network", *ports, writer.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    return bytes(model.SerializeToString())


def _add(writer: _Writer, step: Step) -> str:  # noqa: PLR0911 (one per kind of step)
    name, source = f"{step.name}_raw", step.inputs[0]
    match step.op:
        case "dense":
            assert step.weights is not None
            row = writer.shaped(source, (1, len(step.weights)), f"{name}_row")
            weights, bias = writer.constant(f"{name}_w", step.weights), writer.constant(f"{name}_b", step.bias)
            return writer.add("Gemm", [row, weights, bias], name)
        case "conv" | "depthwise" | "pool":
            return _windowed(writer, step, name)
        case "clip" if step.high is None:
            return writer.add("Relu", [source], name)
        case "clip":
            bounds = [writer.constant(f"{name}_{k}", np.float32(b)) for k, b in enumerate((step.low, step.high))]
            return writer.add("Clip", [source, *bounds], name)
        case "prelu":
            return writer.add("PRelu", [source, writer.constant(f"{name}_w", step.weights)], name)
        case "scale":
            scaled = writer.add("Mul", [source, writer.constant(f"{name}_w", step.weights)], f"{name}_scaled")
            return writer.add("Add", [scaled, writer.constant(f"{name}_b", step.bias)], name)
        case "gather":
            flat = [writer.shaped(source, (-1,), f"{name}_{k}") for k, source in enumerate(step.inputs)]
            flat.append(writer.constant(f"{name}_zero", np.zeros(1, dtype=np.float32)))
            whole = writer.add("Concat", flat, f"{name}_all", axis=0)
            return writer.add("Gather", [whole, writer.constant(f"{name}_at", step.weights)], name, axis=0)
        case "merge":
            return writer.add(_MERGES[step.detail], list(step.inputs), name)
        case "softmax":
            return writer.add("Softmax", [source], name, axis=-1)
        case "table":
            return _looked_up(writer, step, name)
        case _:
            return source


def _windowed(writer: _Writer, step: Step, name: str) -> str:
    window = step.window
    assert window is not None
    image = writer.shaped(step.inputs[0], (1, window.rows, window.columns, window.channels), f"{name}_image")
    image = writer.add("Transpose", [image], f"{name}_first", perm=[0, 3, 1, 2])
    top, bottom, left, right = window.pads
    shape: dict[str, Any] = {
        "kernel_shape": list(window.kernel),
        "strides": list(window.stride),
        "pads": [top, left, bottom, right],
    }
    if step.op == "pool":
        counted = {} if step.detail == "max" else {"count_include_pad": int(step.detail == "average_all")}
        op = "MaxPool" if step.detail == "max" else "AveragePool"
        found = writer.add(op, [image], f"{name}_found", **shape, **counted)
    else:
        assert step.weights is not None
        depthwise = step.op == "depthwise"
        kernel = step.weights.transpose(2, 0, 1)[:, None] if depthwise else step.weights.transpose(3, 2, 0, 1)
        inputs = [image, writer.constant(f"{name}_w", kernel), writer.constant(f"{name}_b", step.bias)]
        found = writer.add("Conv", inputs, f"{name}_found", **shape, group=window.channels if depthwise else 1)
    return writer.add("Transpose", [found], name, perm=[0, 2, 3, 1])


def _looked_up(writer: _Writer, step: Step, name: str) -> str:
    from onnx import TensorProto

    assert step.weights is not None
    per_unit, offset = step.bins
    scaled = writer.add("Mul", [step.inputs[0], writer.constant(f"{name}_per", np.float32(per_unit))], f"{name}_scaled")
    number = writer.add("Cast", [scaled], f"{name}_cut", to=TensorProto.INT64)  # towards zero
    moved = writer.add("Add", [number, writer.constant(f"{name}_offset", np.int64(offset))], f"{name}_moved")
    ends = [writer.constant(f"{name}_{k}", np.int64(end)) for k, end in enumerate((0, len(step.weights) - 1))]
    inside = writer.add("Clip", [moved, *ends], f"{name}_inside")
    return writer.add("Gather", [writer.constant(f"{name}_w", step.weights), inside], name, axis=0)
