"""From a model file to `model.json`, `conversion.json` and `vectors.npz`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flow.device.parts import find_part
from flow.errors import UserError
from flow.files import write_whole
from flow.fixed import IntArray, from_float
from flow.graph.graph import Graph
from flow.graph.nodes import Input
from flow.graph.passes import run_passes
from flow.graph.store import load_graph, to_json
from flow.plan.planner import check_size
from flow.report.report import ConversionReport, FidelityReport, conversion_to_json
from flow.samples import Samples, accuracy, evaluated, random_inputs, save_samples
from flow.simulate.vectors import UserVectors, user_vectors
from flow.steps.context import Context

if TYPE_CHECKING:
    from flow.frontend.convert import Conversion

MOST_ELEMENTS = 1 << 27  # of all tensors over all vectors: a gigabyte of integers
CLIPPED = "{} input values lay outside the input type and were clipped, as asked."


def convert(run: Context, *, renew: bool = False) -> None:
    """Bring the model's graph, its fidelity and the vectors up to date.

    What was changed by hand is kept and named, unless `renew`.
    """
    project = run.project
    outputs = (project.model, project.conversion, project.inputs)
    if run.is_own_graph:
        if run.options.vectors is None and not project.changed("convert") and all(p.exists() for p in outputs):
            return
        _adopt_graph(run)
        project.record("convert", run.conversion_digest(), outputs)
        return
    inputs = run.conversion_digest()
    changed = project.changed("convert")
    if project.is_current("convert", inputs):
        run.progress.skip("convert", "nothing changed")
    elif changed and project.ran_on("convert", inputs) and not renew:
        run.progress.warn(f"changed by hand, used as it is: {', '.join(changed)} (fpgaflow build renews it)")
    elif run.is_graph:
        _adopt_graph(run)
        project.record("convert", inputs, outputs)
    else:
        with run.progress.step("convert: hls4ml, its C simulation, fidelity") as tell:
            graph, count = _convert_model(run)
            project.record("convert", inputs, outputs)
            tell(f"{len(graph.nodes)} nodes; {count:,} vectors equal the C simulation bit for bit")


def graph_of(run: Context) -> Graph:
    """Return the graph of a model: a saved one or a list of layers as it is, any other as it is converted."""
    if not run.is_graph:
        convert(run)
        return load_graph(run.project.model)
    sketched = run.subject.graph
    graph = run_passes(load_graph(run.subject.path) if sketched is None else sketched)
    if run.options.config is not None:
        cure = "convert its model again" if sketched is None else "the list and [precision] of a request say it"
        what = "a saved graph" if sketched is None else "a layer list"
        raise UserError(f"--config {run.options.config}: the precision of {what} is settled; {cure}")
    if sketched is None and run.request.precision:
        raise UserError(
            "[precision] of the request: the precision of a saved graph is settled; convert its model again"
        )
    _user_vectors(run, graph)
    return graph


def _convert_model(run: Context) -> tuple[Graph, int]:
    # the front end brings hls4ml and perhaps TensorFlow: only a model file that must be read pays for them
    from flow.frontend.border import to_graph
    from flow.frontend.convert import convert as convert_source
    from flow.frontend.load import load

    source = load(run.subject.path, run.config)
    with run.project.scratch() as scratch:
        typed = to_graph(source.convert(scratch / "types"), name=run.subject.name, label_of=source.label_of)
        typed = replace(typed, io_type=source.io_type)
        check_size(run_passes(typed), find_part(run.request.part))
        given = _given_vectors(run, typed)
        done = convert_source(source, given.inputs, scratch)
    graph = replace(done.graph, name=run.subject.name)
    samples = Samples(done.inputs, done.outputs, _classes(given.labels))
    write_whole(run.project.model, to_json(graph))
    save_samples(run.project.inputs, graph, samples)
    write_whole(run.project.conversion, conversion_to_json(_shown(done, given, samples)))
    return graph, len(given.inputs[0])


def _given_vectors(run: Context, graph: Graph) -> UserVectors:
    """Return the user's vectors, or random ones over the whole range of the inputs' types."""
    given = _user_vectors(run, graph)
    if given is not None:
        return given
    drawn = _random(run, graph)
    floats = tuple(np.asarray(drawn[n.name] * n.type.step, dtype=np.float64) for n in input_nodes(graph))
    return UserVectors(floats, None, 0)


def _user_vectors(run: Context, graph: Graph) -> UserVectors | None:
    path, _ = run.vector_source()
    return None if path is None else user_vectors(path, input_nodes(graph), clip=run.options.clip)


def _random(run: Context, graph: Graph) -> dict[str, IntArray]:
    _, count = run.vector_source()
    elements = sum(node.size for node in graph.nodes)
    most = max(MOST_ELEMENTS // elements, 1)
    if run.options.vectors is not None and count > most:
        raise UserError(f"--vectors {count}: {graph.name} has {elements:,} values in each; draw at most {most:,}")
    return random_inputs(graph, min(count, most))


def input_nodes(graph: Graph) -> tuple[Input, ...]:
    """Return the graph's input nodes in declared order."""
    return tuple(node for name in graph.inputs if isinstance(node := graph.node(name), Input))


def _classes(labels: NDArray[Any] | None) -> NDArray[np.int64] | None:
    """Return labels that are classes; others (targets of a regression) have no accuracy here."""
    if labels is None or labels.ndim != 1 or labels.dtype.kind not in "iu":
        return None
    return labels.astype(np.int64)


def _shown(done: Conversion, given: UserVectors, samples: Samples) -> ConversionReport:
    output = done.graph.outputs[0]
    scores = done.framework.get(done.graph.node(output).label)
    notes = list(done.notes)
    if given.clipped:
        notes.append(CLIPPED.format(given.clipped))
    layers = done.fidelity.layers
    return ConversionReport(
        reference="hls4ml's C simulation",
        vectors=len(given.inputs[0]),
        fidelity=tuple(FidelityReport(x.label, x.max_abs_error, x.generous_error) for x in layers),
        framework_accuracy=None if scores is None else accuracy(scores, samples.labels),
        hls4ml_accuracy=accuracy(done.outputs[output], samples.labels),
        notes=tuple(notes),
    )


def _adopt_graph(run: Context) -> None:
    """Take a saved graph; without its framework the evaluator is the reference."""
    project = run.project
    graph = graph_of(run)
    check_size(graph, find_part(run.request.part))
    given = _user_vectors(run, graph)
    if given is None:
        inputs, labels, clipped = _random(run, graph), None, 0
    else:
        inputs = {n.name: from_float(x, n.type) for n, x in zip(input_nodes(graph), given.inputs, strict=True)}
        labels, clipped = _classes(given.labels), given.clipped
    samples = replace(evaluated(graph, inputs), labels=labels)
    what = "A saved graph has no framework" if run.subject.graph is None else "A layer list has no trained network"
    notes = [f"{what} to compare with: the reference is the integer evaluator."]
    if clipped:
        notes.append(CLIPPED.format(clipped))
    report = ConversionReport(
        reference="the integer evaluator",
        vectors=len(next(iter(inputs.values()))),
        fidelity=(),
        framework_accuracy=None,
        hls4ml_accuracy=accuracy(samples.outputs[graph.outputs[0]], labels),
        notes=tuple(notes),
    )
    if not run.is_own_graph:
        write_whole(project.model, to_json(graph))
    save_samples(project.inputs, graph, samples)
    write_whole(project.conversion, conversion_to_json(report))
