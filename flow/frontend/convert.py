"""The whole conversion: from a loaded model to a graph that is proven to compute what hls4ml's C simulation does."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flow.errors import UserError, VerificationError
from flow.fixed import FixedArray, IntArray
from flow.frontend.border import knobs_used, to_graph, write_files
from flow.frontend.csim import CompiledCsim, build_csim, compile_csim, write_csim
from flow.frontend.fidelity import Fidelity, measure, overflow_notes, probe_inputs, quantize_inputs
from flow.frontend.source import Knobs, Source
from flow.graph.graph import Asked, Graph, evaluate
from flow.graph.passes import run_passes

REFERENCE_STRATEGY = "latency"


@dataclass(frozen=True, slots=True, eq=False)
class Conversion:
    """Hold the result of a reference conversion.

    graph: after all passes, with the wishes of the source's configuration. inputs, outputs: raw integers of the
    vectors and of hls4ml's C simulation for them, by node name, shape (batch, *shape). framework: float outputs of the
    source by label. notes: for the reader.
    """

    graph: Graph
    fidelity: Fidelity
    inputs: dict[str, IntArray]
    outputs: dict[str, IntArray]
    framework: dict[str, NDArray[np.float64]]
    notes: tuple[str, ...]


def convert(source: Source, inputs: tuple[NDArray[np.float64], ...], folder: Path) -> Conversion:
    """Convert a model and check every step of the conversion.

    inputs: float vectors in declared order, shape (batch, *input shape). folder: scratch space for two hls4ml
    projects. Raises UserError for what hls4ml or this project cannot do or converts into another function, and
    VerificationError when the evaluator and a C simulation differ in a single bit.
    """
    _check_shapes(source, inputs)
    model = source.convert(folder / "reference")
    raw_graph = to_graph(model, name=source.name, label_of=source.label_of)
    wide_model = source.convert(folder / "generous", generous=True)
    wide_graph = to_graph(wide_model, name=source.name, label_of=source.label_of)
    # g++ runs beside the framework; hls4ml itself stays in this thread
    with ThreadPoolExecutor(2) as pool:
        built = pool.submit(build_csim, write_csim(model, folder / "reference"), folder / "reference")
        wide_built = pool.submit(build_csim, write_csim(wide_model, folder / "generous"), folder / "generous")
        probes = probe_inputs(inputs, wide_graph)
        framework, probed = source.predict(inputs), source.predict(probes)
        raw, wide_raw = quantize_inputs(inputs, raw_graph), quantize_inputs(probes, wide_graph)
        values, wide_values = evaluate(raw_graph, raw), evaluate(wide_graph, wide_raw)
        csim, wide_csim = built.result(), wide_built.result()
    outputs = equal_to_csim(raw_graph, raw, values, csim)
    equal_to_csim(wide_graph, wide_raw, wide_values, wide_csim)
    fidelity = measure(
        labels=source.labels,
        reference=raw_graph,
        reference_values=values,
        framework=framework,
        generous=wide_graph,
        generous_values=wide_values,
        probed=probed,
    )
    wrapping = overflow_notes(source.labels, raw_graph, framework)
    notes = tuple(dict.fromkeys((*source.notes, *raw_graph.notes, *wrapping)))
    asked = _asked(source, raw_graph)
    graph = run_passes(replace(raw_graph, notes=notes, asked=asked, io_type=source.io_type))
    checked = evaluate(graph, raw)
    for name in graph.outputs:
        _equal(graph, name, checked[name].raw, outputs[name], who="the graph after its passes")
    return Conversion(graph, fidelity, raw, outputs, dict(framework), notes)


def _asked(source: Source, graph: Graph) -> tuple[Asked, ...]:
    """Return the wishes for layers with a kernel; hls4ml's knobs mean nothing for the others."""
    kernels = {node.label for node in graph.nodes if node.kind in ("dense", "conv", "depthwise")}
    return tuple(
        Asked(label, knobs.reuse_factor, knobs.strategy) for label, knobs in source.asked.items() if label in kernels
    )


def equal_to_csim(
    graph: Graph, raw: Mapping[str, IntArray], values: Mapping[str, FixedArray], csim: CompiledCsim
) -> dict[str, IntArray]:
    """Return the C simulation's outputs by node; raise VerificationError unless `values` equal them bit for bit."""
    simulated = csim.run_raw(tuple(raw[name] for name in graph.inputs))
    outputs = {}
    for name, flat in zip(graph.outputs, simulated, strict=True):
        outputs[name] = flat.reshape(-1, *graph.node(name).shape)
        _equal(graph, name, values[name].raw, outputs[name], who="the evaluator")
    return outputs


def _equal(graph: Graph, name: str, ours: IntArray, theirs: IntArray, *, who: str) -> None:
    wrong = np.argwhere(ours.astype(object) != theirs.astype(object))
    if len(wrong):
        vector, *element = (int(k) for k in wrong[0])
        at = tuple(wrong[0])
        raise VerificationError(
            f"output '{graph.node(name).label}': {len(wrong)} of {ours.size} values differ; first in vector {vector}, "
            f"element {tuple(element)}: {who} says {ours[at]}, "
            f"hls4ml's C simulation {theirs[at]} (raw {graph.node(name).type})"
        )


def write_project(
    source: Source,
    folder: Path,
    knobs: Mapping[str, Knobs],
    *,
    graph: Graph,
    inputs: Mapping[str, IntArray],
    scratch: Path,
) -> tuple[str, ...]:
    """Write the hls4ml project that a plan configures into `folder`; return notes.

    knobs: by layer label; other strategies than the reference's are for dense layers. Where there are any, the
    project's C simulation is compiled in `scratch` and compared with `graph` on the raw `inputs`. Raises
    VerificationError when they differ. The notes say which layers these are, and where hls4ml uses another reuse factor
    than planned: it has only those that divide n_in, and n_in times those that divide n_out
    (`FPGABackend.get_closest_reuse_factor` of hls4ml 1.3 takes the nearest).
    """
    model = source.convert(folder, knobs=knobs)
    used = knobs_used(model, source.label_of)
    changed = [label for label, knob in knobs.items() if knob.strategy.lower() != REFERENCE_STRATEGY]
    notes = []
    if changed:
        csim = compile_csim(model, scratch)
        equal_to_csim(graph, inputs, evaluate(graph, dict(inputs)), csim)
        notes.append(f"{_strategies(knobs, changed)}: the C simulation equals the reference's")
    write_files(model, folder)
    for label in changed:
        planned, theirs = knobs[label].reuse_factor, used[label].reuse_factor
        if planned != theirs:
            notes.append(f"layer '{label}': reuse factor {planned} planned, hls4ml uses {theirs}")
    return tuple(notes)


def _strategies(knobs: Mapping[str, Knobs], labels: list[str]) -> str:
    return ", ".join(f"{knobs[label].strategy} in '{label}'" for label in labels)


def _check_shapes(source: Source, inputs: tuple[NDArray[np.float64], ...]) -> None:
    """Raise UserError unless the vectors fit the model's inputs."""
    shapes = source.input_shapes
    if len(inputs) != len(shapes):
        raise UserError(
            f"{source.name} has {len(shapes)} inputs ({', '.join(shapes)}); {len(inputs)} arrays were given"
        )
    for (label, shape), x in zip(shapes.items(), inputs, strict=True):
        if x.shape[1:] != shape or not len(x):
            raise UserError(f"input '{label}' takes vectors of shape {shape}; the array has shape {x.shape}")
        if len(x) != len(inputs[0]):
            raise UserError(f"input '{label}' has {len(x)} vectors, the first input {len(inputs[0])}")
        if not np.all(np.isfinite(x)):
            raise UserError(f"input '{label}': the vectors hold NaN or infinity")
