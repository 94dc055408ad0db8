"""Measure, and keep what was found where later reports look for it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from flow.baseline.float_network import float_network
from flow.baseline.measured import FORMAT, Measured, Measurement, load_measurement, measurement_to_json
from flow.baseline.timing import MOST_CALLS, timing_of
from flow.baseline.work import fingerprint
from flow.errors import UserError
from flow.files import write_whole
from flow.graph.graph import Graph
from flow.progress import Progress
from flow.samples import random_inputs
from flow.steps.context import Context, Options, open_context
from flow.steps.convert import graph_of
from flow.steps.measure import machine

Kind = Literal["gpu", "cpu"]
FOLDER = "measured"
COUNT, WARMUP = 10_000, 1_000
VECTORS = 64  # that hls4ml's C++ takes in turn


def measure(
    kind: Kind,
    options: Options | None,
    *,
    device: str = "cuda",
    count: int = COUNT,
    warmup: int = WARMUP,
    output: Path | None = None,
    progress: Progress | None = None,
) -> tuple[Measurement, Path]:
    """Time a network on this machine and write the file that reports read; return both.

    options: of the model; None measures a GPU's fixed costs alone. output: the file, by default in the run's folder.
    Raises UserError for what is missing here or cannot be timed.
    """
    if not 1 <= count <= MOST_CALLS or not 0 <= warmup <= MOST_CALLS:
        raise UserError(f"--count {count}, --warmup {warmup}: time between 1 and {MOST_CALLS:,} calls")
    if options is None and kind == "cpu":
        raise UserError("--measure cpu times a network: name a MODEL")
    _check(kind, device)
    if options is None and output is None:
        raise UserError("--measure gpu without a MODEL has no run's folder to write to: give --output FILE.json")
    run = None if options is None else open_context(options, progress or Progress.silent())
    if run is None or run.is_graph:
        found = _measured(kind, run, device, count, warmup)
    else:
        with run.project.opened():
            found = _measured(kind, run, device, count, warmup)
    if output is None:
        assert run is not None
        output = run.project.folder / FOLDER / f"{kind}.json"
    write_whole(output, measurement_to_json(found))
    return found, output


def measurements_of(run: Context) -> tuple[Measurement, ...]:
    """Return what reports of a run take into account: files given, the request's, and those in the run's folder."""
    found = sorted((run.project.folder / FOLDER).glob("*.json"))
    paths = dict.fromkeys(path.resolve() for path in (*run.options.measured, *map(Path, run.request.measured), *found))
    return tuple(map(load_measurement, paths))


def _check(kind: Kind, device: str) -> None:
    if kind == "gpu":
        from flow.steps.measure.gpu import check_torch

        check_torch(device)
    else:
        from flow.steps.measure.cpu import check_onnxruntime

        check_onnxruntime()


def _measured(kind: Kind, run: Context | None, device: str, count: int, warmup: int) -> Measurement:
    graph = None if run is None else graph_of(run)
    host = machine.processor()
    with machine.one_core() as pinned:
        if kind == "gpu":
            from flow.steps.measure.gpu import device_name, measure_gpu, software

            results = measure_gpu(None if graph is None else float_network(graph), device, count, warmup)
            name, with_what = device_name(device, host), software(device)
        else:
            assert run is not None
            assert graph is not None
            results, with_what = _on_cpu(run, graph, count, warmup)
            name = host
    return Measurement(
        format=FORMAT,
        kind=kind,
        device=name,
        host=host,
        software=with_what,
        pinned=pinned,
        model=None if run is None else run.subject.name,
        network=None if graph is None else fingerprint(graph),
        date=machine.today(),
        results=results,
    )


def _on_cpu(run: Context, graph: Graph, count: int, warmup: int) -> tuple[tuple[Measured, ...], str]:
    from flow.steps.measure.cpu import measure_onnxruntime, software

    results = [measure_onnxruntime(float_network(graph), count, warmup)]
    if run.is_graph:
        return tuple(results), software()
    try:
        results.append(_in_cpp(run, graph, count, warmup))
    except UserError as error:
        run.progress.warn(f"hls4ml's C++ is left out: {error}")
        return tuple(results), software()
    return tuple(results), f"{software()}; g++"


def _in_cpp(run: Context, graph: Graph, count: int, warmup: int) -> Measured:
    from flow.frontend.csim_timing import FLAGS, time_csim
    from flow.frontend.load import load

    drawn = random_inputs(graph, VECTORS)
    with run.progress.step("compile hls4ml's C++ and time it"), run.project.scratch() as scratch:
        model = load(run.subject.path, run.config).convert(scratch / "hls4ml")
        times = time_csim(model, scratch / "hls4ml", tuple(drawn[name] for name in graph.inputs), count, warmup)
    return Measured(
        "hls4ml's C++ on this CPU",
        "the C simulation (ap_fixed types, strategy latency): written to be exact, not to be fast on a CPU; "
        f"g++ {FLAGS[2]}, called from C++",
        "host_to_host",
        timing_of(times, warmup),
    )
