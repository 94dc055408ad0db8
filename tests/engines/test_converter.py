"""Width converters: the hand-written modules against their schedules, many parameter sets in one Verilator build."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from flow.engines.converter import Converter
from flow.latency.schedule import Schedule, evenly
from flow.rtl.top import converter_parameters, hand_written_text
from flow.simulate.verilator import Design, build_design, find_toolchain
from flow.synth.yosys import run_yosys
from tests.benches import MAIN, lint

CYCLES = 600
SHAPES = (
    # size, lanes in, lanes out, spacing, and between the beats that come
    (8, 2, 8, 1, 1),
    (7, 2, 7, 1, 1),
    (7, 3, 7, 1, 4),
    (2, 1, 2, 1, 1),
    (9, 8, 9, 1, 2),
    (5, 1, 5, 1, 3),
    (8, 8, 2, 1, 1),
    (7, 7, 2, 1, 1),
    (7, 7, 3, 4, 1),
    (2, 2, 1, 1, 1),
    (2, 2, 1, 2, 1),
    (9, 9, 8, 3, 1),
    (5, 5, 1, 2, 1),
    (6, 3, 2, 1, 1),
    (6, 2, 3, 1, 1),
    (7, 2, 3, 1, 1),
    (7, 3, 2, 1, 1),
    (7, 3, 2, 2, 5),
    (13, 4, 6, 3, 1),
    (13, 6, 4, 1, 3),
    (8, 2, 2, 3, 1),
    (9, 8, 1, 1, 1),
    (9, 1, 8, 1, 1),
    (10, 3, 3, 5, 2),
    (5, 4, 3, 1, 7),
    (3, 2, 2, 1, 1),
)
WIDTH = 3


@dataclass(frozen=True, slots=True)
class Played:
    """Hold words of one converter's ports in each cycle, and the bits of data_o that are due."""

    resets: list[int]
    valid_in: list[int]
    data_in: list[int]
    valid_out: list[int]
    data_out: list[int]
    masks: list[int]


def arrival_of(converter: Converter, between: int) -> Schedule:
    return evenly(0, converter.beats_in, between)


def played(converter: Converter, arrival: Schedule, seed: int) -> Played:
    """Draw tensors as close as the interval allows, some with gaps, and resets while they are on their way."""
    rng = np.random.default_rng(seed)
    departure, interval = converter.schedule((arrival,)), converter.interval((arrival,))
    lanes = (converter.lanes_in, converter.lanes_out)

    def word(elements: list[int]) -> int:
        return sum(value << (k * WIDTH) for k, value in enumerate(elements))

    def garbage(count: int) -> list[int]:
        return rng.integers(1 << WIDTH, size=count).tolist()

    resets = [0] * CYCLES
    ends = [0, 1, *sorted(rng.integers(2, CYCLES, 12).tolist()), CYCLES]
    for cycle in ends[:-1]:
        resets[cycle] = 1
    valid_in, valid_out, masks = [0] * CYCLES, [0] * CYCLES, [0] * CYCLES
    data_in, data_out = [word(garbage(lanes[0])) for _ in range(CYCLES)], [0] * CYCLES
    cycle = 0
    while cycle < CYCLES:
        tensor = garbage(converter.size)
        end = next(c for c in ends if c >= cycle)  # what has begun is gone with the reset
        for beat, offset in enumerate(arrival.cycles):
            at, elements = cycle + offset, tensor[beat * lanes[0] : (beat + 1) * lanes[0]]
            if at <= min(end, CYCLES - 1):
                valid_in[at] = 1
                data_in[at] = word(elements + garbage(lanes[0] - len(elements)))
        for beat, offset in enumerate(departure.cycles):
            at, elements = cycle + offset, tensor[beat * lanes[1] : (beat + 1) * lanes[1]]
            if at < end:
                valid_out[at], data_out[at] = 1, word(elements)
                masks[at] = (1 << len(elements) * WIDTH) - 1
        gap = 0 if rng.random() < 0.6 else int(rng.integers(6))
        cycle = end + 1 + gap if cycle + interval + gap > end else cycle + interval + gap
    return Played(resets, valid_in, data_in, valid_out, data_out, masks)


def converters() -> list[tuple[Converter, Schedule]]:
    found = []
    for size, lanes_in, lanes_out, spacing, between in SHAPES:
        converter = Converter("x", size, lanes_in, lanes_out, spacing)
        found.append((converter, arrival_of(converter, between)))
        if between > 1:  # beats that come unevenly
            cycles = np.cumsum(np.random.default_rng(size).integers(1, between + 1, converter.beats_in))
            found.append((converter, Schedule(tuple(int(c - cycles[0]) for c in cycles))))
    return found


def bench(cases: list[tuple[Converter, Played]], folder: Path) -> str:
    """Return a module that plays all cases at once and prints how many words of each were wrong, and how many due."""
    lines = [
        "module bench (input logic clk_i);",
        "  int unsigned cycle_q = 0;",
        "  always_ff @(posedge clk_i) cycle_q <= cycle_q + 1;",
    ]
    for k, (converter, play) in enumerate(cases):
        bits_in, bits_out = converter.lanes_in * WIDTH, converter.lanes_out * WIDTH
        rows = zip(play.masks, play.data_out, play.data_in, play.valid_out, play.valid_in, play.resets, strict=True)
        widths = (bits_out, bits_out, bits_in, 1, 1, 1)
        total = sum(widths)
        words = []
        for row in rows:
            word = 0
            for value, width in zip(row, widths, strict=True):
                word = word << width | value
            words.append(f"{word:x}\n")
        (folder / f"case{k}.hex").write_text("".join(words))
        parameters = ", ".join(f".{key}({value})" for key, value in converter_parameters(converter, WIDTH).items())
        lines += [
            f"  logic [{total - 1}:0] rows{k} [{CYCLES}];",
            f'  initial $readmemh("case{k}.hex", rows{k});',
            f"  logic rst{k}, vi{k}, vo{k}, v{k};",
            f"  logic [{bits_in - 1}:0] di{k};",
            f"  logic [{bits_out - 1}:0] do{k}, mask{k}, d{k};",
            f"  assign {{mask{k}, do{k}, di{k}, vo{k}, vi{k}, rst{k}}} = rows{k}[cycle_q < {CYCLES} ? cycle_q : 0];",
            f"  flow_{converter.engine} #({parameters}) dut{k} (.clk_i, .rst_i(rst{k}), .valid_i(vi{k}),",
            f"    .data_i(di{k}), .valid_o(v{k}), .data_o(d{k}));",
            f"  int bad{k} = 0, due{k} = 0;",
            f"  always_ff @(posedge clk_i) if (cycle_q < {CYCLES} && !rst{k}) begin",
            f"    if (v{k} != vo{k} || (vo{k} && ((d{k} ^ do{k}) & mask{k}) != 0)) bad{k} <= bad{k} + 1;",
            f"    if (vo{k}) due{k} <= due{k} + 1;",
            "  end",
        ]
    lines += [f"  always_ff @(posedge clk_i) if (cycle_q == {CYCLES + 1}) begin"]
    lines += [f'    $display("case %0d %0d %0d", {k}, bad{k}, due{k});' for k in range(len(cases))]
    return "\n".join([*lines, "    $finish;", "  end", "endmodule", ""])


def wrong_words(folder: Path, edits: dict[str, tuple[str, str]] | None = None) -> dict[int, tuple[int, int]]:
    """Return, by case, the wrong words and the beats that were due; `edits` are made in the named modules."""
    cases = [(c, played(c, arrival, 7 + k)) for k, (c, arrival) in enumerate(converters())]
    sources = []
    for name in ("flow_gather", "flow_split", "flow_regroup"):
        text = hand_written_text(name)
        if edits and name in edits:
            old, new = edits[name]
            assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {name}"
            text = text.replace(old, new)
        sources.append(folder / f"{name}.sv")
        sources[-1].write_text(text)
    (folder / "bench.sv").write_text(bench(cases, folder))
    (folder / "main.cpp").write_text(MAIN)
    files = (folder / "bench.sv", *sources)
    options = ("--x-initial", "unique")
    design = Design("bench", files, "`verilator_config\n", folder / "main.cpp", options, "-O0", ())
    program = build_design(find_toolchain(), design, folder / "build", "run")
    done = subprocess.run([program], cwd=folder, check=True, capture_output=True, text=True)
    rows = [[int(word) for word in line.split()[1:]] for line in done.stdout.splitlines() if line.startswith("case ")]
    assert len(rows) == len(cases)
    return {k: (bad, due) for k, bad, due in rows}


@pytest.mark.eda
def test_beats_leave_as_the_schedules_say(tmp_path: Path) -> None:
    found = wrong_words(tmp_path)
    assert {k: bad for k, (bad, _) in found.items() if bad} == {}
    assert min(due for _, due in found.values()) >= 20


FAULTS = {
    "a gather that no reset clears": {
        "flow_gather": ("if (rst_i) begin\n      count_q", "if (1'b0) begin\n      count_q")
    },
    "a split that no reset clears": {"flow_split": ("if (rst_i) begin\n      left_q", "if (1'b0) begin\n      left_q")},
    "a regroup that no reset clears": {"flow_regroup": ("if (rst_i) begin\n      in_q", "if (1'b0) begin\n      in_q")},
    "beats of a split too far apart": {"flow_split": ("WaitWidth'(Spacing - 1)", "WaitWidth'(Spacing)")},
    "a regroup that lets go too early": {"flow_regroup": ("have_q >= need_q", "have_q + CountWidth'(1) >= need_q")},
    "a regroup that starts late": {"flow_regroup": ("have_before = done ? '0", "have_before = done & ~valid_i ? '0")},
}


@pytest.mark.campaign
@pytest.mark.eda
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_converter_is_found(fault: str, tmp_path: Path) -> None:
    assert any(bad for bad, _ in wrong_words(tmp_path, FAULTS[fault]).values())


@pytest.mark.eda
def test_the_tools_accept_the_modules(tmp_path: Path) -> None:
    names = {converter.engine for converter, _ in converters()}
    lines = ["module top (input logic clk_i, input logic rst_i, input logic valid_i, input logic [38:0] data_i,"]
    ports, items = [], []
    for k, (converter, _) in enumerate(converters()):
        parameters = ", ".join(f".{key}({value})" for key, value in converter_parameters(converter, WIDTH).items())
        bits_in, bits_out = converter.lanes_in * WIDTH, converter.lanes_out * WIDTH
        ports.append(f"  output logic valid{k}_o, output logic [{bits_out - 1}:0] data{k}_o")
        items += [
            f"  flow_{converter.engine} #({parameters}) u_{k} (.clk_i(clk_i), .rst_i(rst_i), .valid_i(valid_i),",
            f"    .data_i(data_i[{bits_in - 1}:0]), .valid_o(valid{k}_o), .data_o(data{k}_o));",
        ]
    lines += [",\n".join(ports) + ");", *items, "  logic unused;", "  assign unused = ^data_i;", "endmodule"]
    (tmp_path / "top.sv").write_text("\n".join(lines) + "\n")
    files = [tmp_path / "top.sv"]
    for name in sorted(names):
        files.append(tmp_path / f"flow_{name}.sv")
        files[-1].write_text(hand_written_text(f"flow_{name}"))
    assert not lint(tmp_path, files, "top")
    commands = (
        "read_verilog -sv " + " ".join(path.name for path in files),
        "hierarchy -check -top top",
        "proc",
        "check -assert",
    )
    run_yosys(commands, folder=tmp_path, log=tmp_path / "yosys.log")


@pytest.mark.parametrize(
    ("converter", "arrival", "departure", "interval"),
    [
        (Converter("x", 7, 3, 7, 1), (4, 6, 9), (9,), 6),
        (Converter("x", 7, 7, 3, 4), (5,), (5, 9, 13), 12),
        (Converter("x", 7, 2, 3, 1), (0, 1, 2, 3), (2, 3, 4), 4),
        (Converter("x", 6, 3, 2, 2), (0, 1), (1, 3, 5), 5),
        (Converter("x", 4, 1, 2, 1), (0, 5, 10, 15), (6, 16), 16),
    ],
)
def test_schedules_by_hand(
    converter: Converter, arrival: tuple[int, ...], departure: tuple[int, ...], interval: int
) -> None:
    arrivals = (Schedule(arrival),)
    assert converter.schedule(arrivals).cycles == departure
    assert converter.interval(arrivals) == interval
