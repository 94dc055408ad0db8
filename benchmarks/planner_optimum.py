"""How long the optimum of a large design space takes: 20 runs with 50 ways each, and networks of dense layers.

Prints process times, in seconds, of exploring the space and of the solver: python benchmarks/planner_optimum.py
"""

from __future__ import annotations

from time import process_time

import numpy as np

from flow.device.delays import delays_of
from flow.device.parts import find_part
from flow.engines.dataflow import whole_tensors
from flow.plan import options
from flow.plan.footprint import NO_LIMIT
from flow.plan.optimum import Optimum
from flow.plan.options import Segment, space_of
from flow.sketch.assemble import to_graph
from flow.sketch.chain import chain_sketch

PART = "xcvu9p"
WITHIN_NS = 3.0
WAYS = 50
CASES = (
    ("20 layers, 50 choices each", "-".join(["24"] * 21), WAYS),
    ("16-64-32-32-5, all choices", "16-64-32-32-5", None),
    ("10 layers of 32, all choices", "-".join(["32"] * 11), None),
)


def spread(found: tuple[options.Option, ...], count: int) -> tuple[options.Option, ...]:
    """Return so many options, evenly out of all."""
    return tuple(found[k] for k in np.linspace(0, len(found) - 1, min(count, len(found))).round().astype(int))


def main() -> None:
    """Print a table."""
    part, every = find_part(PART), options.Options.of
    delays = delays_of(part)
    print(f"{'space':30} {'limit':>7} {'moves':>6} {'explore s':>9} {'solve s':>8} {'gap':>6}")
    for title, layers, ways in CASES:
        options.Options.of = every if ways is None else lambda *asked, **more: spread(every(*asked, **more), WAYS - 1)
        space = space_of(to_graph(chain_sketch(layers, "6")), part, delays)
        begun = process_time()
        search = Optimum(
            space, Segment.of(WITHIN_NS, space.step_ns, delays), NO_LIMIT, NO_LIMIT, (whole_tensors(space.graph),)
        )
        explored = process_time() - begun
        fewest = search.best("cycles", NO_LIMIT).built
        for factor in (2, 5, 20):
            if fewest is None:
                continue
            begun = process_time()
            best = search.best("area", fewest.cycles * factor)
            took, limit = process_time() - begun, fewest.cycles * factor
            moves, gap = len(search.moves.moves), best.proof.gap
            print(f"{title:30} {limit:7,} {moves:6,} {explored:9.2f} {took:8.2f} {gap:6.3f}", flush=True)


if __name__ == "__main__":
    main()
