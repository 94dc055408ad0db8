"""A small network folded in every way at once: what the deliberate faults are made in."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from flow.engines.engine import Choice
from flow.engines.folded import Folded
from flow.graph.graph import Graph, evaluate
from flow.rtl.signature import Signature
from flow.rtl.top import write_rtl
from flow.simulate.vectors import Vectors, expected
from tests.conformance.random_designs import RandomDesign
from tests.conformance.random_folds import build
from tests.conformance.small_design import small_graph
from tests.networks import vectors

FIRST = Folded(("fc1", "relu"), "output_serial", 8, 6, 2, 2, "bram", "dsp", read=2, multiply=1, add=1, finish=2)
"""12 steps; a beat of 2 leaves every 4 cycles."""
SECOND = Folded(("fc2",), "input_serial", 6, 4, 2, 3, "lutrom", "dsp_pair", read=1, multiply=2, add=2, finish=1)
"""2 steps for each beat that comes, idle cycles between; 2 beats of 3 leave."""


@cache
def folded_graph() -> Graph:
    """Return 8-6-4 with a quantized ReLU and 6-bit weights."""
    return small_graph()


def folded_design(choices: tuple[Choice, ...] = (FIRST, SECOND)) -> RandomDesign:
    """Return the hardware of `folded_graph`: an output-serial engine that feeds an input-serial one."""
    return build(folded_graph(), choices, np.random.default_rng(1))


@cache
def folded_vectors() -> Vectors:
    """Return vectors and all that is due for them."""
    graph = folded_graph()
    raw = vectors(np.random.default_rng(5), graph, 200)
    return expected(folded_design().signature, evaluate(graph, raw))


def write_folded(folder: Path) -> Signature:
    """Write the design into a folder."""
    design = folded_design()
    return write_rtl(folder, design.modules, design.signature)
