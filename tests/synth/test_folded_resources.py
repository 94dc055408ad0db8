"""DSP blocks and block RAM of folded and mixed designs are what was predicted, engine by engine and in total.

Two designs that are counted in every `make test` stand in test_folded_netlists.py.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flow.device.parts import Part, find_part
from flow.engines.engine import Choice
from flow.engines.folded import Folded, Multiplier
from flow.engines.folded_cost import folded_resources
from flow.fixed import FixedType
from flow.graph.graph import Graph
from flow.plan.planner import make_plan
from flow.plan.request import Request
from flow.rtl.design import realize
from flow.rtl.top import write_rtl
from flow.synth.yosys import synthesize
from tests.conformance.random_folds import build, draw_choices, draw_graph
from tests.folding import dense_graph
from tests.plan.graphs import dense_network
from tests.synth.folded_networks import expect_blocks, predicted

pytestmark = [pytest.mark.eda, pytest.mark.campaign]
PARTS = ("LFE5U-25F", "xc7a100t", "xcvu13p")
STORES_AS_DRAWN = (3002, 3008, 3010)
ALL_IN_BLOCKS = (3003, 3009, 3013, 3015, 3017, 3021)


def fitted(graph: Graph, choice: Choice, part: Part, *, in_blocks: bool) -> Choice:
    """Return a choice with multipliers that the part's DSP blocks hold; in_blocks: with its weights in block RAM."""
    if not isinstance(choice, Folded):
        return choice
    if in_blocks:
        choice = replace(choice, store="bram")
    try:
        folded_resources(graph, choice, part)
    except ValueError:
        other = "dsp" if choice.multiplier == "dsp_pair" else "lut"
        choice = replace(choice, multiplier=other, multiply=0 if other == "lut" else choice.multiply)
        return fitted(graph, choice, part, in_blocks=in_blocks)
    return choice


@pytest.mark.parametrize("part", [find_part(name) for name in PARTS], ids=PARTS)
@pytest.mark.parametrize("seed", STORES_AS_DRAWN + ALL_IN_BLOCKS)
def test_drawn_folds_take_what_was_predicted(seed: int, part: Part, tmp_path: Path) -> None:
    rng, graph = np.random.default_rng([seed, 11]), draw_graph(seed)
    in_blocks = seed in ALL_IN_BLOCKS
    choices = tuple(fitted(graph, choice, part, in_blocks=in_blocks) for choice in draw_choices(graph, rng))
    design = build(graph, choices, rng)
    engines = predicted(design, part)
    assert any(counts.dsp + counts.bram for counts in engines.values())
    write_rtl(tmp_path, design.modules, design.signature)
    expect_blocks(engines, synthesize(tmp_path, part))


@pytest.mark.parametrize(
    ("kind", "w_width", "multiplier", "fits"),
    [
        (FixedType(3, 3, False), 5, "dsp", False),  # 4 x 5 bits signed, but a product of 8
        (FixedType(4, 4, False), 5, "dsp", True),
        (FixedType(2, 2), 2, "dsp_pair", False),  # 7 x 2 bits, of which 8 are read
        (FixedType(2, 2), 3, "dsp_pair", True),
    ],
)
def test_where_products_are_too_narrow_for_a_dsp_block(
    kind: FixedType, w_width: int, multiplier: Multiplier, fits: bool, tmp_path: Path
) -> None:
    part, plain = find_part("xcvu13p"), dense_graph(6, 4, seed=1, width=w_width)
    source = replace(plain.node("x"), type=kind)
    graph = replace(plain, nodes=(source, *plain.nodes[1:]))
    fold = Folded.plain(("dense",), "output_serial", (6, 4), (3, 2), store="lutrom", multiplier=multiplier)
    design = build(graph, (fold,), np.random.default_rng(1))
    write_rtl(tmp_path, design.modules, design.signature)
    found = synthesize(tmp_path, part)
    if fits:
        expect_blocks(predicted(design, part), found)
        return
    assert found.total.dsp == 0
    with pytest.raises(ValueError, match="does not become one DSP block"):
        predicted(design, part)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(("sizes", "bits"), [((24, 20, 12, 5), 6), ((40, 30, 30), 9)])
def test_plans_take_what_was_predicted(sizes: tuple[int, ...], bits: int, part: str, tmp_path: Path) -> None:
    graph = dense_network(*sizes, bits=bits)
    request = Request(part=part, clock="50MHz", budget="4us", spare=("lut",))
    design = realize(graph, request, make_plan(graph, request))
    folds = [planned for planned in design.plan.runs if isinstance(planned.choice, Folded)]
    assert any(planned.resources.dsp for planned in folds)
    assert any(planned.resources.bram for planned in folds)
    write_rtl(tmp_path, design.modules, design.signature)
    found = synthesize(tmp_path, find_part(part))
    expect_blocks({planned.choice.output: planned.resources for planned in folds}, found)
    assert (design.plan.resources.dsp, design.plan.resources.bram) == (found.total.dsp, found.total.bram)
