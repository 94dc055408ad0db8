"""Measure the way from a .keras file to verified RTL, step by step: all of `fpgaflow run` but synthesis.

    python benchmarks/conversion_time.py [MODEL] [--cold]

MODEL is the zoo's jet_tagger unless said. Each step's wall and CPU seconds are printed, those of child processes
(compilers, C simulation, RTL simulation) included. The run's folder and the cache of solved adder graphs are empty at
the start; Verilator's runtime, which is compiled once per machine, is there unless --cold. The goal is a minute on
two idle cores, at most two; on a busy machine look at the CPU seconds.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from yardstick.stopwatch import stopwatch


@contextlib.contextmanager
def timed(name: str) -> Iterator[None]:
    """Print how long a step took."""
    with stopwatch() as taken:
        yield
    print(f"{name:<62} {taken.wall_s:>8.1f} {taken.cpu_s:>8.1f}", flush=True)


def main() -> None:
    """Run and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="jet_tagger")
    parser.add_argument("--cold", action="store_true", help="compile Verilator's runtime too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        if not options.cold:
            from flow.simulate.verilator import cache_folder, find_toolchain, prepare_runtime

            prepare_runtime(find_toolchain(), waves=False)
            known = cache_folder()
        os.environ["FPGAFLOW_CACHE"] = str(Path(scratch) / "cache")
        if not options.cold:
            (Path(scratch) / "cache").mkdir()
            for runtime in known.glob("verilator-*"):
                (Path(scratch) / "cache" / runtime.name).symlink_to(runtime)
        run(options.model, Path(scratch) / "run")


def run(model: str, folder: Path) -> None:
    """Go the whole way and print each step's times."""
    print(f"{f'{model}, from file to verified RTL':<62} {'wall s':>8} {'CPU s':>8}")
    with timed("all"):
        from flow.progress import Progress
        from flow.steps.context import Options
        from flow.steps.run import run_to

        class Timed(Progress):
            """Time the steps that a run tells of."""

            @contextlib.contextmanager
            def step(self, name: str) -> Iterator[Callable[[str], None]]:
                with timed(f"  {name}"):
                    yield lambda _: None

        report = run_to("simulate", Options(model, out=folder), Timed(None))
    assert report.bit_exact is not None
    print(f"{report.bit_exact.vectors:,} vectors, {report.bit_exact.mismatches} differ")


if __name__ == "__main__":
    main()
