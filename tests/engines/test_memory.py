from __future__ import annotations

import random
from pathlib import Path

import pytest

from flow.device.parts import find_part
from flow.engines.memory import block_layout, rom_luts
from flow.synth.yosys import synthesize
from tests.synth.designs import roms_design, write_run

# words, width: shapes at the borders of the blocks' geometries
SHAPES = [(7, 12), (37, 50), (64, 512), (100, 37), (513, 72), (1025, 36), (2049, 9), (3000, 40), (5000, 3), (20000, 2)]
PARTS = {"xcvu13p": "xcup", "xc7a100t": "xc7", "LFE5U-25F": "ecp5", "iCE40UP5K": "ice40", "GW2AR-18": "gowin"}


@pytest.mark.eda
@pytest.mark.parametrize(
    "part",
    ["LFE5U-25F", *(pytest.param(name, marks=pytest.mark.campaign) for name in PARTS if name != "LFE5U-25F")],
)
def test_blocks_and_flip_flops_are_what_yosys_maps(tmp_path: Path, part: str) -> None:
    shapes = SHAPES if part != "LFE5U-25F" else SHAPES[:2] + SHAPES[5:]
    folder = write_run(tmp_path / "run", roms_design(shapes, style="block"))
    result = synthesize(folder, find_part(part))
    rows = {row.module: row.resources for row in result.instances}
    family = find_part(part).family
    for k, (words, width) in enumerate(shapes):
        found = rows[f"rom_{k}"]
        assert found.bram == -(-block_layout(words, width, family).halves // 2), (words, width)
        assert found.ff == block_layout(words, width, family).select_bits, (words, width)
    assert result.total.bram == -(-sum(block_layout(*shape, family).halves for shape in shapes) // 2)


def test_a_deep_memory_shares_lanes_between_banks() -> None:
    layout = block_layout(3000, 10, "xcup")
    assert (layout.count, layout.lane, layout.banks, layout.select_bits) == (1, 36, 3, 2)
    assert block_layout(64, 512, "ecp5").halves == 30
    assert block_layout(37, 10, "xc7").halves == 1


@pytest.mark.eda
@pytest.mark.parametrize(
    "part",
    ["LFE5U-25F", *(pytest.param(name, marks=pytest.mark.campaign) for name in PARTS if name != "LFE5U-25F")],
)
def test_luts_of_random_contents(tmp_path: Path, part: str) -> None:
    shapes = [(22, 24), (60, 24), (95, 16), (180, 12)]
    files = roms_design(shapes, style="logic", seed=70)
    result = synthesize(write_run(tmp_path / "run", files), find_part(part))
    rows = {row.module: row.resources for row in result.instances}
    family = find_part(part).family
    found = {shape: rows[f"rom_{k}"].lut for k, shape in enumerate(shapes)}
    estimated = {shape: rom_luts(width, words, family) for shape in shapes for words, width in [shape]}
    assert result.total.bram == 0
    assert sum(estimated.values()) == pytest.approx(sum(found.values()), rel=0.1), (found, estimated)


def test_luts_of_large_memories_grow_in_proportion() -> None:
    assert rom_luts(16, 2000, "ecp5") == 2 * rom_luts(16, 1000, "ecp5")
    draw = random.Random(1)
    for words in sorted(draw.sample(range(2, 3000), 40)):
        assert rom_luts(1000, words, "ice40") >= rom_luts(1000, words, "ecp5")
