"""Netlists of folded and mixed designs do, cycle for cycle, what is due; a fault in one or a lost memory does not."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from flow.device.parts import Part, find_part
from flow.errors import VerificationError
from flow.simulate.result import SimulationResult
from flow.simulate.runner import simulate
from flow.synth import yosys
from flow.synth.netlist import netlist_for_simulation
from flow.synth.yosys import synthesize
from tests.synth.folded_networks import Network, expect_blocks, in_blocks, in_logic, predicted

pytestmark = pytest.mark.eda
CAMPAIGN = pytest.mark.campaign
PRODUCT = r"\gen_lane[0].product "
SWAPPED = f"{PRODUCT}[17:2], {PRODUCT}[0], {PRODUCT}[1] }})"
ROM_PIN = {"LFE5U-25F": "INITVAL_00", "iCE40UP5K": "INIT_0", "GW2AR-18": "INIT_RAM_00"}
DSP: dict[str, tuple[tuple[str, str], ...]] = {
    # two bits of one product change places
    "LFE5U-25F": ((f".P0({PRODUCT}[0])", f".P0({PRODUCT}[1])"), (f".P1({PRODUCT}[1])", f".P1({PRODUCT}[0])")),
    "xcvu13p": ((f"{PRODUCT} }})", SWAPPED),),
    "GW2AR-18": ((f"{PRODUCT} }})", SWAPPED),),
    # a product without its register; weights taken for unsigned
    "xc7a100t": ((".MREG(1'h1)", ".MREG(1'h0)"),),
    "iCE40UP5K": ((".A_SIGNED(32'd1)", ".A_SIGNED(32'd0)"),),
}


class Mapped:
    """Hold a design mapped to a part, whose netlist can be changed and simulated."""

    def __init__(self, network: Network, folder: Path, part: Part) -> None:
        network.write(folder)
        self.result = synthesize(folder, part)
        self._files = netlist_for_simulation(folder, self.result)
        self._right = self._files.netlist.read_text()
        self._folder, self._network = folder, network

    def simulated(self, change: Callable[[str], str] | None = None) -> SimulationResult:
        """Run the netlist through the bench, its text changed."""
        self._files.netlist.write_text(self._right if change is None else change(self._right))
        return simulate(
            self._folder,
            vectors=self._network.vectors,
            seeds=(1,),
            netlist=self._files.netlist,
            cell_models=self._files.cell_models,
        )


def flip_a_bit_of_block_ram(text: str, part: str) -> str:
    """Flip the lowest bit of the first word."""
    found = re.search(rf"\.{ROM_PIN.get(part, 'INIT_00')}\(\d+'[hb]\w*?(\w)\)", text)
    assert found is not None
    return f"{text[: found.start(1)]}{int(found[1], 16) ^ 1:x}{text[found.end(1) :]}"


def change_a_dsp_block(text: str, part: str) -> str:
    for old, new in DSP[part]:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def expect_right(result: SimulationResult, network: Network) -> None:
    timeline = network.design.timeline
    assert result.passed, result.failures
    assert result.mismatches == 0
    assert (result.latency_simulated, result.interval_simulated) == (timeline.latency, timeline.interval)
    assert "overrun" in {check.name for check in result.checks}


def expect_wrong(result: SimulationResult) -> None:
    assert {check.name for check in result.failures} >= {"stream", "gaps"}, result.failures
    assert result.mismatches > 0


@pytest.mark.parametrize(
    "part",
    ["LFE5U-25F", "xcvu13p", *(pytest.param(name, marks=CAMPAIGN) for name in ("xc7a100t", "iCE40UP5K", "GW2AR-18"))],
)
def test_block_ram_and_dsp_blocks_pass_and_with_a_fault_fail(part: str, tmp_path: Path) -> None:
    network = in_blocks()
    assert network.design.timeline.interval == 12
    mapped = Mapped(network, tmp_path, find_part(part))
    engines = predicted(network.design, find_part(part))
    assert engines["relu"].bram
    assert all(counts.dsp for counts in engines.values())
    expect_blocks(engines, mapped.result)
    expect_right(mapped.simulated(), network)
    expect_wrong(mapped.simulated(lambda text: flip_a_bit_of_block_ram(text, part)))
    expect_wrong(mapped.simulated(lambda text: change_a_dsp_block(text, part)))


@pytest.mark.parametrize(
    "part",
    ["LFE5U-25F", *(pytest.param(name, marks=CAMPAIGN) for name in ("xcvu13p", "xc7a100t", "iCE40UP5K", "GW2AR-18"))],
)
def test_weights_in_registers_before_an_unrolled_layer_pass(part: str, tmp_path: Path) -> None:
    network = in_logic()
    mapped = Mapped(network, tmp_path, find_part(part))
    expect_blocks(predicted(network.design, find_part(part)), mapped.result)
    expect_right(mapped.simulated(), network)


def test_contents_that_mapping_loses_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rightly = yosys.mapping_commands

    def losing(part: Part, top: str) -> tuple[str, ...]:
        return (*rightly(part, top), "setparam -set INITVAL_00 320'h0 t:DP16KD")

    monkeypatch.setattr(yosys, "mapping_commands", losing)
    in_blocks().write(tmp_path)
    with pytest.raises(VerificationError, match=r"lost the contents of relu_weights\.mem: block RAM of"):
        synthesize(tmp_path, find_part("LFE5U-25F"))
    assert not (tmp_path / "synth" / "result.json").exists()
