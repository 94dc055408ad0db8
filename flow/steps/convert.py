"""From a model file to `model.json`, `conversion.json` and `vectors.npz`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flow.files import write_whole
from flow.fixed import from_float
from flow.graph.graph import Graph
from flow.graph.nodes import Input
from flow.graph.passes import run_passes
from flow.graph.store import load_graph, to_json
from flow.report.report import ConversionReport, FidelityReport, conversion_to_json
from flow.samples import Samples, accuracy, evaluated, random_inputs, save_samples
from flow.simulate.vectors import UserVectors, user_vectors
from flow.steps.context import Context

if TYPE_CHECKING:
    from flow.frontend.convert import Conversion


def convert(run: Context) -> None:
    """Bring the model's graph, its fidelity and the vectors up to date."""
    if run.is_graph:
        _adopt_graph(run)
        return
    project = run.project
    inputs = run.conversion_digest()
    if project.is_current("convert", inputs, (project.model, project.conversion, project.inputs)):
        run.progress.skip("convert", "nothing changed")
        return
    with run.progress.step("convert: hls4ml, its C simulation, fidelity") as tell:
        graph, count = _convert_model(run)
        project.record("convert", inputs)
        tell(f"{len(graph.nodes)} nodes; {count:,} vectors equal the C simulation bit for bit")


def _convert_model(run: Context) -> tuple[Graph, int]:
    # the front end brings hls4ml and perhaps TensorFlow: only a model file that must be read pays for them
    from flow.frontend.border import to_graph
    from flow.frontend.convert import convert as convert_source
    from flow.frontend.load import load

    source = load(run.subject.path, run.config)
    with run.project.scratch() as scratch:
        typed = to_graph(source.convert(scratch / "types"), name=source.name, label_of=source.label_of)
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
    path, count = run.vector_source()
    if path is not None:
        return user_vectors(path, input_nodes(graph), clip=run.options.clip)
    drawn = random_inputs(graph, count)
    floats = tuple(np.asarray(drawn[n.name] * n.type.step, dtype=np.float64) for n in input_nodes(graph))
    return UserVectors(floats, None, 0)


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
        notes.append(f"{given.clipped} input values lay outside the input type and were clipped, as asked.")
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
    graph = run_passes(load_graph(run.subject.path))
    own = project.model.exists() and project.model.samefile(run.subject.path)
    if not own:
        write_whole(project.model, to_json(graph))
    if own and project.inputs.exists() and run.options.vectors is None:
        return
    path, count = run.vector_source()
    if path is None:
        inputs, labels, clipped = random_inputs(graph, count), None, 0
    else:
        given = user_vectors(path, input_nodes(graph), clip=run.options.clip)
        inputs = {n.name: from_float(x, n.type) for n, x in zip(input_nodes(graph), given.inputs, strict=True)}
        labels, clipped = _classes(given.labels), given.clipped
    samples = replace(evaluated(graph, inputs), labels=labels)
    notes = ["A saved graph has no framework to compare with: the reference is the integer evaluator."]
    if clipped:
        notes.append(f"{clipped} input values lay outside the input type and were clipped, as asked.")
    save_samples(project.inputs, graph, samples)
    report = ConversionReport(
        reference="the integer evaluator",
        vectors=len(next(iter(inputs.values()))),
        fidelity=(),
        framework_accuracy=None,
        hls4ml_accuracy=accuracy(samples.outputs[graph.outputs[0]], labels),
        notes=tuple(notes),
    )
    write_whole(project.conversion, conversion_to_json(report))
