"""Map a generated design to a part's primitives with Yosys, and count them per engine."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flow.engines.engine import Resources
from flow.errors import MissingTool, UserError
from flow.rtl.signature import check_memories, load_signature
from flow.synth import yosys_process
from flow.synth.contents import READ_MEMORIES, check_blocks, check_read, dump_commands, find_roms
from flow.synth.result import FORMAT, InstanceResources, SynthesisResult, synthesis_to_json

if TYPE_CHECKING:
    from flow.device.parts import Part

TAIL_LINES = 12
_ADDERS = Path(__file__).with_name("adders.v")

_LONE_CARRY = "SB_CARRY in a logic cell of its own"

# Halves of a unit: a RAMB18 is half a RAMB36, a MULT9X9 half an 18-bit multiplier.
_LUT = {
    # one function generator each; a dual-output LUT6_2 is one
    **{f"LUT{n}": 2 for n in range(1, 7)},
    "LUT6_2": 2,
    "INV": 2,
    "SRL16E": 2,
    "SRLC32E": 2,
    "SB_LUT4": 2,
    # a carry cell of ECP5 is two LUT4, one of Gowin one; those of Xilinx and iCE40 only ride beside their LUTs
    "CCU2C": 4,
    "ALU": 2,
    # LUTs used as memory
    "RAM32X1S": 2,
    "RAM32X1D": 4,
    "RAM64X1S": 2,
    "RAM64X1D": 4,
    "RAM32M": 8,
    "RAM64M": 8,
    "RAM32M16": 16,
    "RAM64M8": 16,
    "TRELLIS_DPR16X4": 12,
    "RAM16S4": 8,
    "RAM16SDP4": 8,
    _LONE_CARRY: 2,
}
_DSP = {
    "DSP48E1": 2,
    "DSP48E2": 2,
    "MULT18X18D": 2,
    "SB_MAC16": 2,
    "MULT9X9": 1,
    "MULT18X18": 2,
    "MULT36X36": 8,
}
_BRAM = {
    **dict.fromkeys(("RAMB18E1", "RAMB18E2"), 1),
    **dict.fromkeys(("RAMB36E1", "RAMB36E2", "DP16KD", "PDPW16KD"), 2),
    **dict.fromkeys(("SB_RAM40_4K", "SB_RAM40_4KNR", "SB_RAM40_4KNW", "SB_RAM40_4KNRNW"), 2),
    **dict.fromkeys(("SP", "SPX9", "SDPB", "SDPX9B", "DPB", "DPX9B", "pROM", "pROMX9"), 2),
}
_URAM = {"URAM288": 2}
_CARRY = frozenset({"CARRY4", "CARRY8", "CCU2C", "SB_CARRY", "ALU"})
_COUNTED = _LUT.keys() | _DSP.keys() | _BRAM.keys() | _URAM.keys() | _CARRY
_FF = re.compile(r"FD[RSCP]E(_1)?|TRELLIS_FF|SB_DFF\w*|DFF\w*")


@dataclass(frozen=True, slots=True)
class Sources:
    """Name the files of a design: in reading order, relative to rtl/, and those that were changed by hand.

    memories: the files of memory contents, relative to rtl/.
    """

    top: str
    files: tuple[str, ...]
    memories: tuple[str, ...]
    changed: tuple[str, ...]


def read_sources(folder: Path) -> Sources:
    """List the SystemVerilog that lies in a run's folder as it is.

    SystemVerilog may have been changed by hand, memory contents (.mem) may not: raise UserError for those, and when a
    file is gone.
    """
    signature_path = folder / "signature.json"
    if not signature_path.is_file():
        raise UserError(f"{signature_path} is missing: build the design first")
    signature = load_signature(signature_path)
    listed = {file.path: file.sha256 for file in signature.files}
    missing = [path for path in listed if not (folder / path).is_file()]
    if missing:
        raise UserError(
            f"files of the design are missing in {folder}: {', '.join(missing)}; build it again: fpgaflow build"
        )
    check_memories(folder, signature)
    present = sorted(path.relative_to(folder).as_posix() for path in (folder / "rtl").rglob("*.sv"))
    if not present:
        raise UserError(f"{folder / 'rtl'} holds no SystemVerilog; build the design first")
    sources = [path for path in listed if path.endswith(".sv")] + [path for path in present if path not in listed]
    changed = [
        path
        for path in sorted({*listed, *present})
        if listed.get(path) != hashlib.sha256((folder / path).read_bytes()).hexdigest()
    ]
    memories = [path for path in listed if path.endswith(".mem")]
    return Sources(signature.top, _inside_rtl(sources), _inside_rtl(memories), tuple(changed))


def _inside_rtl(paths: list[str]) -> tuple[str, ...]:
    return tuple(path.removeprefix("rtl/") for path in paths)


def mapping_commands(part: Part, top: str) -> tuple[str, ...]:
    """Return the Yosys commands that map `top` to a part, its modules kept apart.

    Adders become carry chains before Yosys could merge them (adders.v); those behind a multiplier are left for the
    DSP blocks. Xilinx: shift registers stay flip-flops (-nosrl), so that every family counts the registers that the
    design has.
    """
    first = "coarse"
    stores: tuple[str, ...] = ()
    match part.family:
        case "xcup" | "xcu" | "xc7":
            flow = f"synth_xilinx -family {part.family} -noiopad -noclkbuf -nosrl -top {top}"
            first = "prepare"
        case "ecp5":
            flow = f"synth_ecp5 -noflatten -top {top}"
        case "ice40":
            device = "-device u -dsp" if part.name.lower().startswith("ice40up") else "-device hx"
            flow = f"synth_ice40 -noflatten {device} -top {top}"
            # LUTs of iCE40 cannot be written: what would lie in them elsewhere lies in block RAM
            stores = ('setattr -set ram_style "block" m:* a:ram_style=distributed %i',)
        case "gowin":
            flow = f"synth_gowin -noflatten -noiopads -family {part.name[:4].lower()} -top {top}"
        case _:
            raise UserError(f"part {part.name}: Yosys has no flow here for family {part.family}")
    return (
        f"{flow} -run begin:{first}",
        "proc",
        *stores,
        "opt -nodffe -nosdff",
        "wreduce",
        "peepopt",
        "opt_clean",
        f"techmap -map ../synth/{_ADDERS.name} t:$add t:$sub %u t:$mul %co5 %d",
        "opt_clean",
        f"{flow} -run {first}:",
    )


def run_yosys(
    commands: tuple[str, ...], *, folder: Path, log: Path, progress: Callable[[str], None] | None = None
) -> None:
    """Run Yosys commands in a child process in `folder`; raise UserError with the end of the log when it fails.

    progress: called with each command as it begins.
    """
    spec = find_spec("pyosys")
    if spec is None or spec.origin is None:
        raise MissingTool("Yosys is missing: install it with `pip install pyosys`")
    package = str(Path(spec.origin).parent) + "/"
    tail: deque[str] = deque(maxlen=TAIL_LINES)
    now = ""
    with (
        log.open("w", encoding="utf-8") as out,
        subprocess.Popen(
            [sys.executable, "-P", yosys_process.__file__],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        ) as child,
    ):
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write("\n".join(commands))
            child.stdin.close()
            for line in child.stdout:
                clean = line.replace(package + "share/", "+/").replace(package, "")
                out.write(clean)
                if clean.startswith(yosys_process.MARK):
                    now = clean.removeprefix(yosys_process.MARK).strip()
                    if progress is not None:
                        progress(now)
                elif clean.strip():
                    tail.append(clean.rstrip())
        except BaseException:
            child.kill()
            raise
    if child.returncode != 0:
        how = f"exit status {child.returncode}" if child.returncode > 0 else f"killed by signal {-child.returncode}"
        hint = " (out of memory?)" if child.returncode == -9 else ""
        raise UserError(
            f"Yosys failed ({how}{hint}) at `{now}`; the end of {log}:\n" + "\n".join(f"  {line}" for line in tail)
        )


def synthesize(folder: Path, part: Part, *, progress: Callable[[str], None] | None = None) -> SynthesisResult:
    """Map the RTL that lies in a run's folder to a part and count what it takes, per engine and in total.

    Writes synth/netlist.v, netlist.json, yosys.log and result.json. Modules are mapped one by one, so that each
    instance of the top module (one per engine) has its own figures.

    LUT: every LUT primitive counts one, whatever its inputs; carry cells count the LUTs they occupy: CCU2C two, ALU
    (Gowin) one; CARRY4 and CARRY8 none, as the LUTs that feed them are counted by themselves; SB_CARRY one unless it
    shares the logic cell of the LUT that makes its sum. Two small LUTs in one 6-input LUT (Vivado's LUT combining)
    count two. FF: every flip-flop. DSP: 18-bit multipliers (ECP5, Gowin), DSP48 or SB_MAC16. BRAM: the family's block
    (36 Kb on Xilinx, where a RAMB18 is half). `carry` holds the carry cells themselves.

    Raise UserError for missing files, for RTL that Yosys rejects (with the end of its log), MissingTool without Yosys.
    Raise VerificationError when a memory does not hold what its file says (flow/synth/contents.py).
    A design larger than the part is an answer: see `SynthesisResult.shortage`.
    """
    sources = read_sources(folder)
    roms = find_roms(folder / "rtl", sources.files, sources.memories)
    out = folder / "synth"
    out.mkdir(exist_ok=True)
    for stale in ("netlist.v", "netlist.json", "result.json"):
        (out / stale).unlink(missing_ok=True)
    mapping = mapping_commands(part, sources.top)
    read = mapping.index("proc") + 1  # the files are read, nothing is optimized yet
    commands = (
        "read_verilog -sv " + " ".join(f'"{name}"' for name in sources.files),
        *mapping[:read],
        *dump_commands(roms),
        *mapping[read:],
        "delete =A:blackbox",
        "setattr -unset src */*",
        "setattr -mod -unset src *",
        "write_verilog -noattr ../synth/netlist.v",
        "write_json ../synth/netlist.json",
    )
    map_file = out / _ADDERS.name
    map_file.write_bytes(_ADDERS.read_bytes())  # a name without blanks, which Yosys commands could not carry
    run_yosys(commands, folder=folder / "rtl", log=out / "yosys.log", progress=progress)
    map_file.unlink()
    modules = json.loads((out / "netlist.json").read_bytes())["modules"]
    if roms:
        memories = out / READ_MEMORIES
        check_read(roms, json.loads(memories.read_bytes())["modules"])
        memories.unlink()
        check_blocks(roms, modules)
    result = _count(modules, sources, part)
    (out / "result.json").write_bytes(synthesis_to_json(result))
    return result


def _count(modules: dict[str, Any], sources: Sources, part: Part) -> SynthesisResult:
    own = {name: _primitives(module, modules) for name, module in modules.items()}

    @cache
    def whole(name: str) -> Counter[str]:
        total = Counter(own[name])
        for cell in modules[name]["cells"].values():
            if cell["type"] in modules:
                total.update(whole(cell["type"]))
        return total

    instances = [_row("", sources.top, own[sources.top])] if own[sources.top] else []
    for name, cell in sorted(modules[sources.top]["cells"].items()):
        if cell["type"] in modules:
            instances.append(_row(name, cell["type"], whole(cell["type"])))
    total = whole(sources.top)
    cells = {kind: n for kind, n in total.items() if kind != _LONE_CARRY}
    return SynthesisResult(
        format=FORMAT,
        part=part.name,
        family=part.family,
        top=sources.top,
        tool=f"Yosys {version('pyosys')}",
        total=_resources(total),
        carry=_carry(total),
        instances=tuple(instances),
        cells=tuple(sorted(cells.items())),
        not_counted=tuple(sorted(kind for kind in cells if kind not in _COUNTED and not _FF.fullmatch(kind))),
        available=Resources(*part.available),
        changed_files=sources.changed,
        netlist="synth/netlist.v",
        netlist_json="synth/netlist.json",
    )


def _primitives(module: dict[str, Any], modules: dict[str, Any]) -> Counter[str]:
    cells = [cell for cell in module["cells"].values() if cell["type"] not in modules]
    found = Counter(str(cell["type"]) for cell in cells)
    if found["SB_CARRY"]:
        sums = {_nets(cell, "I1", "I2", "I3") for cell in cells if cell["type"] == "SB_LUT4"}
        alone = sum(_nets(cell, "I0", "I1", "CI") not in sums for cell in cells if cell["type"] == "SB_CARRY")
        found[_LONE_CARRY] = alone
    return +found


def count_flip_flops(module: dict[str, Any]) -> int:
    """Return the flip-flops of a flat module in Yosys's JSON form."""
    return sum(_FF.fullmatch(cell["type"]) is not None for cell in module["cells"].values())


def _nets(cell: dict[str, Any], *ports: str) -> tuple[int | str, ...]:
    return tuple(cell["connections"][port][0] for port in ports)


def _row(instance: str, module: str, found: Counter[str]) -> InstanceResources:
    return InstanceResources(instance, module, _resources(found), _carry(found))


def _carry(found: Counter[str]) -> int:
    return sum(found[kind] for kind in _CARRY)


def _resources(found: Counter[str]) -> Resources:
    halves = [sum(each * found[kind] for kind, each in table.items()) for table in (_LUT, _DSP, _BRAM, _URAM)]
    lut, dsp, bram, uram = (-(-n // 2) for n in halves)
    ff = sum(n for kind, n in found.items() if _FF.fullmatch(kind))
    return Resources(lut, ff, dsp, bram, uram, half_dsp=halves[1] % 2 == 1, half_bram=halves[2] % 2 == 1)
