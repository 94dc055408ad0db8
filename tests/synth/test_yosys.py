from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from flow.device.parts import find_part
from flow.engines.engine import Resources
from flow.errors import MissingTool, UserError
from flow.synth import yosys, yosys_process
from flow.synth.result import load_synthesis
from flow.synth.yosys import run_yosys, synthesize
from tests.synth.designs import TOP, one_module, sums_design, write_run

ECP5 = find_part("LFE5U-25F")
SUM_OF_FOUR = """
  logic signed [8:0] left, right;
  assign left = 9'($signed(data_i[7:0])) + 9'($signed(data_i[15:8]));
  assign right = 9'($signed(data_i[23:16])) - 9'($signed(data_i[31:24]));
  always_ff @(posedge clk_i) data_o <= 10'(left) + 10'(right);
"""


def test_a_folder_without_a_design_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"signature\.json is missing: build the design first"):
        synthesize(tmp_path, ECP5)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", sums_design())
    (folder / "rtl" / "sums_layer.sv").unlink()
    with pytest.raises(UserError, match=r"rtl/sums_layer\.sv; build it again"):
        synthesize(folder, ECP5)


def test_missing_yosys_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yosys, "find_spec", lambda _name: None)
    with pytest.raises(MissingTool, match="pip install pyosys"):
        run_yosys(("help",), folder=tmp_path, log=tmp_path / "log")


def test_a_killed_child_is_no_empty_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child = tmp_path / "child.py"
    child.write_text("import os\nprint('@@ abc', flush=True)\nprint('so far', flush=True)\nos.kill(os.getpid(), 9)\n")
    monkeypatch.setattr(yosys_process, "__file__", str(child))
    with pytest.raises(UserError, match=r"killed by signal 9 \(out of memory\?\)\) at `abc`.*\n  so far"):
        run_yosys(("abc",), folder=tmp_path, log=tmp_path / "log")


@pytest.mark.eda
def test_rejected_rtl_is_shown_with_the_end_of_the_log(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", one_module("  assign data_o = data_i +;\n", in_bits=4, out_bits=4))
    with pytest.raises(UserError, match=rf"(?s)exit status 1\) at `read_verilog.*{TOP}\.sv:\d+: ERROR: syntax error"):
        synthesize(folder, ECP5)
    assert not (folder / "synth" / "result.json").exists()
    with pytest.raises(UserError, match="run synthesis first"):
        load_synthesis(folder)


@pytest.mark.eda
def test_counts_per_instance_and_in_total(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run with a blank", sums_design())
    begun: list[str] = []
    result = synthesize(folder, ECP5, progress=begun.append)
    assert [row.instance for row in result.instances] == ["", "u_first", "u_second"]
    assert [row.module for row in result.instances] == [TOP, "sums_layer", "sums_layer"]
    own, first, second = (row.resources for row in result.instances)
    assert own == Resources(ff=4)
    assert first == second
    assert first.lut > 0
    assert own + first + second == result.total
    assert result.available.lut == 24288
    assert result.shortage is None
    assert result.changed_files == ()
    assert load_synthesis(folder) == result
    assert any(command.startswith("synth_ecp5") for command in begun)
    small = replace(result, available=Resources(lut=result.total.lut // 2, ff=1000))
    assert small.shortage is not None
    assert "2.0" in small.shortage
    assert "FF" not in small.shortage


@pytest.mark.eda
def test_same_inputs_same_bytes_and_no_paths(tmp_path: Path) -> None:
    outputs = []
    for name in ("one", "another"):
        folder = write_run(tmp_path / name, sums_design())
        synthesize(folder, ECP5)
        outputs.append({p.name: p.read_bytes() for p in (folder / "synth").iterdir() if p.suffix != ".log"})
    assert outputs[0] == outputs[1]
    assert outputs[0].keys() == {"netlist.v", "netlist.json", "result.json"}
    packages = str(Path(yosys.__file__).parents[2]).encode()
    assert all(packages not in data and str(tmp_path).encode() not in data for data in outputs[0].values())


@pytest.mark.eda
def test_changed_rtl_is_reported_and_used(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", one_module("  assign data_o = data_i;\n", in_bits=8, out_bits=8))
    path = folder / "rtl" / f"{TOP}.sv"
    path.write_text(path.read_text().replace("assign data_o = ", "always_ff @(posedge clk_i) data_o <= ~"))
    result = synthesize(folder, ECP5)
    assert result.changed_files == (f"rtl/{TOP}.sv",)
    assert result.total.ff == 8


@pytest.mark.eda
@pytest.mark.parametrize(
    ("part", "lut"),
    [("xcvu13p", 25), ("LFE5U-25F", 30), ("iCE40UP5K", 28 + 8), ("GW2AR-18", 28)],  # iCE40 inverts in LUTs
)
def test_adders_stay_carry_chains(tmp_path: Path, part: str, lut: int) -> None:
    folder = write_run(tmp_path / "run", one_module(SUM_OF_FOUR, in_bits=32, out_bits=10), in_bits=32, out_bits=10)
    result = synthesize(folder, find_part(part))
    assert result.total == Resources(lut=lut, ff=10)
    assert result.carry > 0


@pytest.mark.eda
def test_an_adder_behind_a_multiplier_is_left_for_the_dsp_block(tmp_path: Path) -> None:
    body = """
  logic signed [15:0] a_q, b_q;
  logic signed [31:0] p_q;
  always_ff @(posedge clk_i) begin
    a_q <= data_i[15:0];
    b_q <= data_i[31:16];
    p_q <= a_q * b_q;
    data_o <= 40'(p_q) + 40'($signed(data_i[63:32]));
  end
"""
    folder = write_run(tmp_path / "run", one_module(body, in_bits=64, out_bits=40), in_bits=64, out_bits=40)
    result = synthesize(folder, find_part("xc7a100t"))
    assert result.total == Resources(dsp=1)
