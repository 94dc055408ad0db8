from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from flow.device.parts import find_part
from flow.errors import UserError
from flow.synth.netlist import netlist_for_simulation
from flow.synth.yosys import synthesize
from tests.synth.designs import differing_cycles, memories_design, sums_design, write_run

CAMPAIGN = pytest.mark.campaign


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that the tests share: the RTL is compiled once."""
    return tmp_path_factory.mktemp("build")


@pytest.mark.eda
@pytest.mark.parametrize(
    "part",
    [
        "xcvu13p",
        "LFE5U-25F",
        pytest.param("iCE40UP5K", marks=CAMPAIGN),
        pytest.param("GW2AR-18", marks=CAMPAIGN),
        pytest.param("xcku115", marks=CAMPAIGN),
        pytest.param("xc7a100t", marks=CAMPAIGN),
    ],
)
def test_the_netlist_does_what_the_rtl_does_and_a_wrong_one_does_not(tmp_path: Path, build: Path, part: str) -> None:
    folder = write_run(tmp_path / "run", sums_design())
    result = synthesize(folder, find_part(part))
    netlist = netlist_for_simulation(folder, result)
    rtl = sorted((folder / "rtl").glob("*.sv"))
    bad, results = differing_cycles(tmp_path, rtl, netlist, build)
    assert (bad, results > 1000) == (0, True)
    if part == "LFE5U-25F":
        text = netlist.netlist.read_text()
        table = re.search(r"\.INIT\(16'h([0-9a-f]{4})\)", text)
        assert table is not None
        flipped = f".INIT(16'h{int(table.group(1), 16) ^ 0xFFFF:04x})"
        netlist.netlist.write_text(text.replace(table.group(0), flipped, 1))
        (tmp_path / "wrong").mkdir()
        assert differing_cycles(tmp_path / "wrong", rtl, netlist, build)[0] > 0
        with pytest.raises(UserError, match="the netlist uses NO_SUCH_CELL"):
            netlist_for_simulation(folder, replace(result, cells=(("NO_SUCH_CELL", 1),)))


@pytest.fixture(scope="module")
def memories_build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder in which the RTL with memories is compiled once."""
    return tmp_path_factory.mktemp("memories")


@pytest.mark.eda
@pytest.mark.parametrize(
    ("part", "cell", "contents"),
    [
        pytest.param("xcvu13p", "RAMB36E2", "INIT_00", marks=CAMPAIGN),
        pytest.param("xc7a100t", "RAMB36E1", "INIT_00", marks=CAMPAIGN),
        pytest.param("LFE5U-25F", "DP16KD", "INITVAL_00", marks=CAMPAIGN),
        pytest.param("iCE40UP5K", "SB_RAM40_4K", "INIT_0", marks=CAMPAIGN),
        ("GW2AR-18", "SPX9", "INIT_RAM_00"),
    ],
)
def test_block_ram_and_dsp_do_what_the_rtl_does(
    tmp_path: Path, memories_build: Path, part: str, cell: str, contents: str
) -> None:
    folder = write_run(tmp_path / "run", memories_design())
    result = synthesize(folder, find_part(part))
    assert result.total.dsp == 1
    assert cell in dict(result.cells)
    netlist = netlist_for_simulation(folder, result)
    rtl = sorted((folder / "rtl").glob("*.sv"))
    bad, results = differing_cycles(tmp_path, rtl, netlist, memories_build)
    assert (bad, results > 1000) == (0, True)
    text = netlist.netlist.read_text()
    wrong = re.sub(rf"\.{contents}\((\d+)'[hb]\w+\)", rf".{contents}(\1'h0)", text)
    assert wrong != text
    netlist.netlist.write_text(wrong)
    (tmp_path / "wrong").mkdir()
    assert differing_cycles(tmp_path / "wrong", rtl, netlist, memories_build)[0] > 0


@pytest.mark.eda
def test_a_mode_that_a_cell_model_lacks_stops_the_simulation(tmp_path: Path, memories_build: Path) -> None:
    folder = write_run(tmp_path / "run", memories_design())
    netlist = netlist_for_simulation(folder, synthesize(folder, find_part("GW2AR-18")))
    text = netlist.netlist.read_text()
    netlist.netlist.write_text(text.replace(".READ_MODE(1'h0)", ".READ_MODE(1'h1)"))
    with pytest.raises(subprocess.CalledProcessError) as stopped:
        differing_cycles(tmp_path, sorted((folder / "rtl").glob("*.sv")), netlist, memories_build)
    assert "the output register is not modelled" in stopped.value.stdout + stopped.value.stderr
