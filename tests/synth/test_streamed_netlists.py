"""The netlist of a small streamed design, rows and waiting beats in the family's memories, does what is due."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from flow.device.parts import find_part
from flow.engines.align import Fifo
from flow.fixed import FixedType, Overflow, Rounding
from flow.graph.graph import Graph, evaluate
from flow.graph.nodes import Conv, Input, Merge
from flow.graph.window import Window
from flow.rtl.top import write_rtl
from flow.simulate.result import SimulationResult
from flow.simulate.runner import simulate
from flow.simulate.vectors import expected
from flow.synth.netlist import netlist_for_simulation
from flow.synth.yosys import synthesize
from tests.networks import vectors
from tests.streaming import build, by_pixels, streamed

pytestmark = pytest.mark.eda
CAMPAIGN = pytest.mark.campaign
BLOCK = {"LFE5U-25F": "DP16KD", "xc7a100t": "RAMB18E1", "xcvu13p": "RAMB18E2", "iCE40UP5K": "SB_RAM40_4K"}
LUT_RAM = {"LFE5U-25F": "TRELLIS_DPR16X4", "xc7a100t": "RAM32M", "xcvu13p": "RAM32M16"}
NUMBER = FixedType(9, 3)
"""Of 2 channels, so that 8 beats that wait are too many for registers."""


def around_a_convolution() -> Graph:
    """Return a 3 x 3 convolution of an image of 4 x 7 pixels, added to the image."""
    rng, wide = np.random.default_rng(7), FixedType(20, 8)
    window = Window(4, 7, 2, (3, 3), (1, 1), (1, 1, 1, 1))
    kind = FixedType(4, 1)
    nodes = (
        Input(name="x", label="x", inputs=(), shape=(4, 7, 2), type=NUMBER),
        Conv(
            name="conv",
            label="conv",
            inputs=("x",),
            shape=(4, 7, 2),
            type=FixedType(9, 3, True, Rounding.RND, Overflow.SAT),
            window=window,
            weights=rng.integers(kind.lo, kind.hi + 1, (3, 3, 2, 2)),
            bias=rng.integers(kind.lo, kind.hi + 1, 2),
            weight_type=kind,
            bias_type=kind,
            accumulator=wide,
        ),
        Merge(name="sum", label="sum", inputs=("x", "conv"), shape=(4, 7, 2), type=FixedType(10, 4), op="add"),
    )
    return Graph("around", nodes, ("x",), ("sum",))


@pytest.mark.parametrize(
    "name", ["LFE5U-25F", "xc7a100t", *(pytest.param(part, marks=CAMPAIGN) for part in ("xcvu13p", "iCE40UP5K"))]
)
def test_rows_and_waiting_beats_in_memories_pass(name: str, tmp_path: Path) -> None:
    graph = around_a_convolution()
    choices = (streamed(graph, ("conv",), 1, store="bram", depth=2), streamed(graph, ("sum",), 1))
    design = build(graph, choices, by_pixels(graph, 1, beats_out=True))
    assert design.flow is not None
    (fifo,) = (block.what for block in design.flow.blocks if isinstance(block.what, Fifo))
    assert fifo.store == "lutram"
    signature = write_rtl(tmp_path, design.modules, design.signature)
    result = synthesize(tmp_path, find_part(name))
    cells = dict(result.cells)
    assert BLOCK[name] in cells
    assert name not in LUT_RAM or LUT_RAM[name] in cells
    files = netlist_for_simulation(tmp_path, result)
    right = files.netlist.read_text()
    checked = expected(signature, evaluate(graph, vectors(np.random.default_rng(3), graph, 60)))

    def simulated(change: Callable[[str], str]) -> SimulationResult:
        files.netlist.write_text(change(right))
        return simulate(tmp_path, vectors=checked, seeds=(1,), netlist=files.netlist, cell_models=files.cell_models)

    found = simulated(str)
    assert found.passed, found.failures
    assert (found.latency_simulated, found.interval_simulated) == (design.timeline.latency, design.timeline.interval)
    if name == "LFE5U-25F":
        assert simulated(without_an_address_bit).mismatches > 0


def without_an_address_bit(netlist: str) -> str:
    """Write every word of the rows where the address has no lowest bit."""
    changed, count = re.subn(r"\.ADA5\([^)]*\)", ".ADA5(1'h0)", netlist)
    assert count
    return changed
