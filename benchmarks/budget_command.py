"""Measure `fpgaflow budget` on a saved model.json: CPU seconds, and what it imports.

    python benchmarks/budget_command.py [--runs 5]

The network is the zoo's jet tagger. The goal is an answer in less than 1.5 s of CPU without a deep-learning framework.
Times depend on the machine and on what else runs there; the least of all runs is closest to the command's own.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from yardstick.networks import networks
from yardstick.stopwatch import stopwatch

HEAVY = ("tensorflow", "keras", "hls4ml", "alkaid", "pyosys", "cocotb")
GOAL_S = 1.5
SCRIPT = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
from flow.cli import main
main()
"""


def answered(command: list[str], folder: str) -> tuple[float, str]:
    """Run a command; return its CPU seconds and what it wrote to standard error."""
    with stopwatch() as taken:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return taken.cpu_s, done.stderr


def main() -> None:
    """Print the figures; fail where the goal is missed or something heavy is imported."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    (network,) = (n for n in networks() if n.name == "jet_tagger")
    network.graph()
    model = network.folder / "model.json"
    arguments = ["budget", str(model), "--part", "xcvu13p", "--budget", "50ns"]
    program = Path(sys.executable).with_name("fpgaflow")
    with tempfile.TemporaryDirectory() as folder:
        times = sorted(answered([str(program), *arguments], folder)[0] for _ in range(runs))
        _, said = answered([sys.executable, "-c", SCRIPT, *arguments], folder)
    modules = set(said.splitlines()[-1].split())
    heavy = [name for name in HEAVY if name in modules]
    print(f"fpgaflow budget on a saved jet_tagger: {times[0]:.2f} s of CPU at least, {times[-1]:.2f} s at most")
    print(f"modules imported: {len(modules):,}; of {', '.join(HEAVY)}: {', '.join(heavy) or 'none'}")
    if heavy or times[0] > GOAL_S:
        raise SystemExit(f"the goal is {GOAL_S} s and none of them")


if __name__ == "__main__":
    main()
