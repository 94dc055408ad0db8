"""How long the optimum of a large design space takes: 20 runs with 50 ways each, and networks of dense layers.

Prints process times, in seconds, of exploring the space and of the solver: python benchmarks/planner_optimum.py
"""

from __future__ import annotations

from itertools import pairwise
from time import process_time

import numpy as np

from flow.device.delays import delays_of
from flow.device.parts import find_part
from flow.engines.dataflow import whole_tensors
from flow.fixed import FixedType, Overflow, Rounding
from flow.graph.graph import Graph
from flow.graph.nodes import AnyNode, Dense, Input, Relu
from flow.plan import options
from flow.plan.footprint import NO_LIMIT
from flow.plan.optimum import Optimum
from flow.plan.options import Segment, space_of

PART = "xcvu9p"
WITHIN_NS = 3.0
WAYS = 50
CASES = (
    ("20 layers, 50 choices each", (24,) * 21, WAYS),
    ("16-64-32-32-5, all choices", (16, 64, 32, 32, 5), None),
    ("10 layers of 32, all choices", (32,) * 11, None),
)


def network(sizes: tuple[int, ...]) -> Graph:
    """Return dense layers of 6-bit weights, each with a ReLU."""
    rng, weight = np.random.default_rng(0), FixedType(6, 1)
    nodes: list[AnyNode] = [Input(name="x", label="x", inputs=(), shape=(sizes[0],), type=FixedType(6, 2))]
    for k, (n_in, n_out) in enumerate(pairwise(sizes)):
        source, wide = nodes[-1], FixedType(20, 11)
        dense = Dense(
            name=f"d{k}",
            label=f"d{k}",
            inputs=(source.name,),
            shape=(n_out,),
            type=wide,
            weights=rng.integers(weight.lo, weight.hi + 1, (n_in, n_out)),
            bias=rng.integers(weight.lo, weight.hi + 1, (n_out,)),
            weight_type=weight,
            bias_type=weight,
            accumulator=wide,
        )
        kind = FixedType(6, 2, False, Rounding.RND_CONV, Overflow.SAT)
        nodes += [dense, Relu(name=f"r{k}", label=f"r{k}", inputs=(dense.name,), shape=(n_out,), type=kind)]
    return Graph(name="layers", nodes=tuple(nodes), inputs=("x",), outputs=(nodes[-1].name,))


def spread(found: tuple[options.Option, ...], count: int) -> tuple[options.Option, ...]:
    """Return so many options, evenly out of all."""
    return tuple(found[k] for k in np.linspace(0, len(found) - 1, min(count, len(found))).round().astype(int))


def main() -> None:
    """Print a table."""
    part, every = find_part(PART), options.Options.of
    delays = delays_of(part)
    print(f"{'space':30} {'limit':>7} {'moves':>6} {'explore s':>9} {'solve s':>8} {'gap':>6}")
    for title, sizes, ways in CASES:
        options.Options.of = every if ways is None else lambda *asked, **more: spread(every(*asked, **more), WAYS - 1)
        space = space_of(network(sizes), part, delays)
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
