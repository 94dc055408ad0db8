"""Make a synthesized netlist ready for Verilator: the netlist, and behavioural models of the cells that it uses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from flow.errors import MissingTool, UserError
from flow.synth.result import SynthesisResult

_MODELS = {
    "xcup": "xilinx/cells_sim.v",
    "xcu": "xilinx/cells_sim.v",
    "xc7": "xilinx/cells_sim.v",
    "ecp5": "ecp5/cells_sim.v",
    "ice40": "ice40/cells_sim.v",
    "gowin": "gowin/cells_sim.v",
}

_OWN_MODELS = {
    "xcup": "ultrascale.v",
    "xcu": "ultrascale.v",
    "xc7": "series7.v",
    "ecp5": "ecp5.v",
    "gowin": "gowin.v",
}
"""Models in cells/, of cells that Yosys has none of or an empty one."""

VERILATOR_FLAGS = (
    "-Wno-DECLFILENAME",  # all models stand in one file
    "-Wno-TIMESCALEMOD",  # only some model files state a time scale
    "-Wno-WIDTH",  # models assign unsized constants
    "-Wno-PINMISSING",  # netlists leave unused pins of a cell out
    "-Wno-PINCONNECTEMPTY",  # as PINMISSING
    "-Wno-UNUSED",  # parameters and pins of a cell that a mode does not need
    "-Wno-UNDRIVEN",  # outputs of a cell that a mode does not drive
    "-Wno-UNOPTFLAT",  # a carry cell is one vector: its bits depend on each other without a loop
    "-Wno-CASEINCOMPLETE",  # models list the modes that exist
    "-Wno-LATCH",  # as CASEINCOMPLETE
    "-Wno-INITIALDLY",  # flip-flop models set their start value by a non-blocking assignment
    "-Wno-SYNCASYNCNET",  # one reset reaches cells with synchronous and asynchronous reset
    "-Wno-VARHIDDEN",  # generated names repeat inside modules
    "-Wno-GENUNNAMED",  # models leave generate blocks unnamed
    "-Wno-MULTIDRIVEN",  # flip-flop models write one register in exclusive generate branches
    "-Wno-PROCASSINIT",  # as INITIALDLY, in Yosys' DSP48E1
    "-Wno-COMBDLY",  # that model passes values by in `always @*` where it has no register
    "-Wno-ASCRANGE",  # memory contents are given with ascending ranges
)

_MODULE = re.compile(r"^\s*module\s+\\?(\S+?)\s*(?=[(#;\s])", re.MULTILINE)
_INCLUDE = re.compile(r'^\s*`include\s+"([^"]+)"', re.MULTILINE)
_SPECIFY = re.compile(r"\bspecify\b.*?\bendspecify\b", re.DOTALL)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SimulationNetlist:
    """Name what a bench compiles in place of the RTL.

    netlist: the mapped design, its modules and top-level signals named as in the RTL. cell_models: behavioural
    Verilog of the primitives. flags: warnings to switch off, as the models are not lint-clean.
    """

    netlist: Path
    cell_models: tuple[Path, ...]
    flags: tuple[str, ...]


def netlist_for_simulation(folder: Path, result: SynthesisResult) -> SimulationNetlist:
    """Write synth/cells.v, the models of the cells that a netlist uses, and name the files to compile.

    The models are those that Yosys brings for the family, without their timing, and ours (cells/) of block RAM and
    multipliers that Yosys leaves empty. Raise UserError when a cell has none.
    """
    spec = find_spec("pyosys")
    if spec is None or spec.origin is None:
        raise MissingTool("Yosys is missing: install it with `pip install pyosys`")
    source = Path(spec.origin).parent / "share" / _MODELS[result.family]
    directives, modules = _read_models(source)
    if result.family in _OWN_MODELS:
        modules |= _read_models(Path(__file__).parent / "cells" / _OWN_MODELS[result.family])[1]
    needed: list[str] = []
    waiting = sorted(kind for kind, _ in result.cells)
    while waiting:
        kind = waiting.pop(0)
        if kind in needed:
            continue
        if kind not in modules:
            raise UserError(
                f"the netlist uses {kind}, of which neither Yosys ({_MODELS[result.family]}) nor fpgaflow has a "
                "simulation model"
            )
        needed.append(kind)
        words = set(re.findall(r"\w+", modules[kind]))
        waiting += sorted(name for name in modules if name in words and name != kind)
    cells = folder / "synth" / "cells.v"
    cells.write_text(directives + "".join(f"\n{modules[kind]}\n" for kind in sorted(needed)), encoding="utf-8")
    return SimulationNetlist(folder / result.netlist, (cells,), VERILATOR_FLAGS)


def _read_models(path: Path) -> tuple[str, dict[str, str]]:
    """Split a file of models into its compiler directives and its modules, without comments and timing."""
    text = _COMMENT.sub("", _included(path))
    modules: dict[str, str] = {}
    outside: list[str] = []
    position = 0
    while (start := _MODULE.search(text, position)) is not None:
        end = text.index("endmodule", start.end()) + len("endmodule")
        outside.append(text[position : start.start()])
        modules[start.group(1)] = _SPECIFY.sub("", text[start.start() : end]).strip()
        position = end
    outside.append(text[position:])
    directives = [line for line in "\n".join(outside).splitlines() if line.lstrip().startswith("`")]
    return "\n".join(directives) + "\n", modules


def _included(path: Path) -> str:
    return _INCLUDE.sub(lambda match: _included(path.parent / match.group(1)), path.read_text(encoding="utf-8"))
