"""The cocotb bench: drive a design, watch its signals, and write what was found as JSON.

`FPGAFLOW_BENCH` names a JSON file: signature, vectors, results (paths), edges (whether to watch them), seed, stream
and gaps (numbers of inferences). Inputs change just after the rising edge of the clock and signals are read in the
middle of the cycle, so cycle t is what a register would capture at the edge that ends it. Valid bits are followed by
their changes and data is read where it is due: cycles in which nothing happens cost no Python.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer
from cocotb.utils import get_sim_steps, get_sim_time

from sim import checks, traffic
from sim.checks import Trace
from sim.design import Design, Memory, load_design
from sim.traffic import Beat, Traffic

PERIOD_NS = 10
DRIVE_NS, SAMPLE_NS = 1, 4  # after the rising edge
OVERRUN = "overrun_o"
OVERRUN_DELAY = 1  # cycles that overrun_o may take to rise


@dataclass(frozen=True, slots=True)
class Order:
    """Say what to do: the contents of the file that `FPGAFLOW_BENCH` names."""

    signature: str
    vectors: str
    results: str
    edges: bool
    seed: int
    stream: int
    gaps: int


@dataclass(frozen=True, slots=True)
class Check:
    """Give a check's name, whether it passed, and why."""

    name: str
    passed: bool
    detail: str


@dataclass(slots=True)
class Results:
    """Gather what one run found; written as it is.

    lawless: times, from and to in steps of the simulator, of traffic that breaks the design's rules: it may say so.
    """

    seed: int
    stream: int
    first_output: int | None = None
    latency: int | None = None
    interval: float | None = None
    mismatches: int = 0
    first_mismatch: str | None = None
    beats_checked: int = 0
    beats_wrong: int = 0
    lawless: list[tuple[int, int]] = field(default_factory=list)
    wrong_edges: dict[str, str] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)


def _find(dut: Any, name: str) -> Any | None:
    return getattr(dut, name, None)


def _flags(cycles: Iterable[int], count: int) -> bytearray:
    flags = bytearray(count)
    for cycle in cycles:
        if cycle < count:
            flags[cycle] = 1
    return flags


def _from_to(cycles: tuple[int, ...]) -> str:
    """Name the first and the last of some cycles."""
    return f"{cycles[0]} to {cycles[-1]}" if len(cycles) > 1 else "".join(map(str, cycles))


async def _until(moment: int, now: int) -> int:
    """Wait until a moment, in ns, and return it."""
    if moment > now:
        await Timer(moment - now, "ns")
    return moment


class _Level:
    """Record a one-bit signal by its changes, which costs nothing while it stands."""

    def __init__(self, handle: Any, begin: int) -> None:
        self.handle = handle
        self.begin = begin
        self.changes = [(begin, int(handle.value))]

    async def follow(self) -> None:
        change = self.handle.value_change
        while True:
            await change
            self.changes.append((round(get_sim_time("ns")), int(self.handle.value)))

    def each_cycle(self, cycles: int) -> bytearray:
        """Return the level in the middle of each cycle."""
        levels = bytearray(cycles)
        # the first cycle that is sampled at or after a change
        seen = [max(0, -((self.begin + SAMPLE_NS - time) // PERIOD_NS)) for time, _ in self.changes]
        for (_, level), start, end in zip(self.changes, seen, [*seen[1:], cycles], strict=True):
            if level and end > start:
                levels[start:end] = bytes([1]) * (end - start)
        return levels


class Bench:
    """Drive one design through all traffic and keep the results."""

    def __init__(self, dut: Any, design: Design, order: Order) -> None:
        self.dut = dut
        self.design = design
        self.order = order
        self.rng = np.random.default_rng(order.seed)
        self.results = Results(order.seed, order.stream)
        self.overrun_faults: list[str] = []
        self.telling: dict[str, int] = {}

    def _garbage(self) -> int:
        bits = self.design.input.bits
        return int.from_bytes(self.rng.bytes(-(-bits // 8)), "little") & ((1 << bits) - 1)

    def _word(self, beat: Beat | None) -> int:
        """Return what data_i carries: garbage wherever it has no meaning."""
        garbage, port = self._garbage(), self.design.input
        if beat is None:
            return garbage
        return port.words.word(beat.vector, beat.beat) | (garbage & ~port.masks[beat.beat])

    def _handles(self, names: Iterable[str]) -> dict[str, Any]:
        """Return those signals that the design has."""
        return {name: handle for name in sorted(names) if (handle := _find(self.dut, name)) is not None}

    async def play(self, plan: Traffic, lawless_from: int | None = None) -> Trace:
        """Drive `plan` and return what was seen.

        lawless_from: since when, in steps of the simulator, the design may have complained; the reset ends that.
        """
        dut, design = self.dut, self.design
        reads = checks.wanted(design.watches, plan)
        valids = self._handles({watch.valid for watch in design.watches})
        found = self._handles(reads)
        trace = Trace({}, {name: {} for name in found}, bytearray())
        reading = [(handle, _flags(reads[name], plan.cycles), trace.data[name]) for name, handle in found.items()]
        beats = plan.presented(design.input)
        driving = set(plan.changes(self.rng, beats))
        moments = driving.union(*(reads[name] for name in found), {plan.cycles - 1})
        await RisingEdge(dut.clk_i)
        begin = round(get_sim_time("ns"))
        if lawless_from is not None:
            self.results.lawless.append((lawless_from, get_sim_time("step") + get_sim_steps(PERIOD_NS, "ns")))
        levels = {name: _Level(handle, begin) for name, handle in (valids | {OVERRUN: dut.overrun_o}).items()}
        following = [cocotb.start_soon(level.follow()) for level in levels.values()]
        now = begin
        driven = {dut.rst_i: -1, dut.valid_i: -1}
        for cycle in sorted(moment for moment in moments if moment < plan.cycles):
            if cycle in driving:
                now = await _until(begin + cycle * PERIOD_NS + DRIVE_NS, now)
                dut.data_i.value = self._word(beats.get(cycle))
                for handle, level in ((dut.rst_i, int(cycle in plan.resets)), (dut.valid_i, int(cycle in beats))):
                    if driven[handle] != level:
                        handle.value = level
                        driven[handle] = level
            now = await _until(begin + cycle * PERIOD_NS + SAMPLE_NS, now)
            for handle, wanted, words in reading:
                if wanted[cycle]:
                    words[cycle] = int(handle.value)
        for task in following:
            task.cancel()
        trace.valid.update({name: levels[name].each_cycle(plan.cycles) for name in valids})
        trace.overrun.extend(levels[OVERRUN].each_cycle(plan.cycles))
        return trace

    def check(self, name: str, faults: list[str], good: str) -> None:
        """Record a check: its first fault, or what is good."""
        self.results.checks.append(Check(name, not faults, faults[0] if faults else good))

    def judge(self, name: str, plan: Traffic, trace: Trace) -> list[str]:
        """Return the faults of the ports; add the edges to the timeline's account."""
        results, faults = self.results, []
        for watch in self.design.watches:
            finding = checks.judge(watch, plan, trace)
            results.beats_checked += finding.checked
            results.beats_wrong += finding.wrong
            self.telling[watch.name] = self.telling.get(watch.name, 0) + checks.telling_beats(watch, plan)
            if watch is self.design.output:
                results.mismatches += finding.wrong_bits
                results.first_mismatch = results.first_mismatch or finding.mismatch
                faults += [finding.fault] if finding.fault else []
            elif finding.fault:
                results.wrong_edges.setdefault(watch.name, f"{name}, {finding.fault}")
        high = checks.first_overrun(plan, trace)
        if high is not None:
            self.overrun_faults.append(f"{name}, cycle {high}: overrun_o was high in traffic that keeps the interval")
        return faults

    def memories(self) -> None:
        """Read every word of the memories whose contents lie in files."""
        if not self.design.memories:
            return
        faults = [fault for memory in self.design.memories if (fault := self._wrong_word(memory)) is not None]
        words = sum(len(memory.words) for memory in self.design.memories)
        which = "the memory" if len(self.design.memories) == 1 else f"{len(self.design.memories)} memories"
        self.check("memory", faults, f"{words:,} words of {which} as their files say")

    def _wrong_word(self, memory: Memory) -> str | None:
        handle = self.dut
        for name in memory.path:
            handle = _find(handle, name)
            if handle is None:
                return f"the design has no memory {'.'.join(memory.path)} for {memory.file}"
        if len(handle) != len(memory.words):
            return f"{'.'.join(memory.path)} holds {len(handle)} words, {memory.file} {len(memory.words)}"
        for k, word in enumerate(memory.words):
            got = int(handle[k].value)
            if got != word:
                return f"word {k} of {'.'.join(memory.path)} is {got:x}, not {word:x} as {memory.file} says"
        return None

    async def stream(self) -> None:
        """Run back to back at the interval and measure it."""
        design = self.design
        plan = traffic.back_to_back(design, self.order.stream)
        trace = await self.play(plan)
        faults = self.judge("stream", plan, trace)
        self.check("stream", faults, f"{self.order.stream:,} inferences back to back")
        self.results.interval = checks.sustained_interval(design, plan, trace)
        measured = self.results.interval
        if measured is None:
            faults = ["not every inference gave a result, so no interval can be measured"]
        else:
            faults = [f"results came every {measured:g} cycles, not every {design.interval}"]
        each = "every cycle" if design.interval == 1 else f"every {design.interval} cycles"
        self.check("interval", [] if measured == design.interval else faults, f"a result {each}")

    async def latency(self) -> None:
        """Run one inference alone and measure when its beats come out."""
        design, results = self.design, self.results
        plan = traffic.alone(design)
        cycles = checks.output_cycles(design, plan, await self.play(plan))
        results.first_output = cycles[0] if cycles else None
        beats, due = len(design.output.cycles), design.output.cycles
        complete = len(cycles) >= beats
        results.latency = cycles[beats - 1] if complete else None
        wanted, found = _from_to(due), _from_to(tuple(cycles[:beats]))
        came = f"the result came after {found} cycles"
        if not complete:
            came = "no result came" if not cycles else f"{len(cycles)} of {beats} beats came"
        self.check("latency", [] if tuple(cycles[:beats]) == due else [f"{came}, not {wanted}"], came)

    async def gaps(self) -> None:
        """Run with random gaps and garbage in them."""
        plan = traffic.with_gaps(self.design, self.order.gaps, self.rng)
        faults = self.judge("gaps", plan, await self.play(plan))
        self.check("gaps", faults, f"{self.order.gaps} inferences with random gaps")

    async def reset(self) -> None:
        """Reset while inferences are in flight."""
        plan = traffic.with_resets(self.design, self.rng)
        rounds = traffic.reset_rounds(self.design)
        self.check("reset", self.judge("reset", plan, await self.play(plan)), f"{rounds} resets in mid-flight")

    async def overrun(self) -> None:
        """Start inferences too soon, and bring beats too early: overrun_o must rise."""
        design, faults = self.design, list(self.overrun_faults)
        spoilt: list[str] = []
        distances, hurries = traffic.short_distances(design), traffic.hurries(design)
        for distance in distances:
            plan = traffic.too_soon(design, distance)
            offence = plan.starts[1].cycle
            faults += await self._offend(plan, offence, f"inferences started {distance} cycles apart", spoilt)
        for hurry in hurries:
            plan = traffic.hurried(design, hurry)
            offence = plan.starts[0].cycle + design.input.cycles[hurry.beat] - hurry.cycles
            what = f"input beat {hurry.beat} came too early by {hurry.cycles} cycles"
            faults += await self._offend(plan, offence, what, spoilt)
        offences = []
        if distances:
            offences.append(f"at a distance of {' and '.join(map(str, distances))} cycles")
        if hurries:
            offences.append("where a beat comes too early")
        good = f"low in legal traffic, high {' and '.join(offences)}"
        if not offences:
            interval = f"{design.interval} cycle{'s' * (design.interval > 1)}"
            good = f"low throughout; at an interval of {interval} nothing can come too soon"
        self.check("overrun", faults, good)
        if offences:
            self.check("recovery", spoilt, "a reset mends what an overrun spoilt")

    async def _offend(self, plan: Traffic, offence: int, what: str, spoilt: list[str]) -> list[str]:
        """Break a rule in cycle `offence`; return the faults of overrun_o, and add what a reset does not mend."""
        begin = get_sim_time("step")
        high = checks.first_overrun(plan, await self.play(plan))
        faults = []
        if high is None or not offence <= high <= offence + OVERRUN_DELAY:
            when = "stayed low" if high is None else f"rose {high - offence} cycles after that"
            faults.append(f"overrun_o {when} when {what}")
        # whatever the collision left behind must be gone after a reset
        plan = traffic.back_to_back(self.design, 2)
        trace = await self.play(plan, lawless_from=begin)
        spoilt += self.judge("recovery", plan, trace)
        return faults

    def timeline(self) -> None:
        """Sum up the edges."""
        results, edges = self.results, self.design.watches[1:]
        if not self.order.edges:
            return
        faults = [f"{name}: {text}" for name, text in results.wrong_edges.items()]
        good = f"{len(edges)} edges, every beat at its predicted cycle and not before"
        constant = [watch.name for watch in edges if self.telling.get(watch.name, 0) < checks.TELLING]
        if constant:
            good += f"; data too constant to show 'not before' on {', '.join(constant)}"
        self.check("timeline", faults, good)


def _order() -> Order:
    return Order(**json.loads(Path(os.environ["FPGAFLOW_BENCH"]).read_text()))


SCENARIOS: tuple[Callable[[Bench], Any], ...] = (Bench.stream, Bench.latency, Bench.gaps, Bench.reset, Bench.overrun)


@cocotb.test()
async def bench(dut: Any) -> None:
    """Run all checks; the results are written before any of them fails the test."""
    order = _order()
    design = load_design(Path(order.signature), Path(order.vectors), edges=order.edges)
    session = Bench(dut, design, order)
    dut.rst_i.value = 1  # until the first traffic resets anyway: what starts at random may say anything before
    dut.valid_i.value = 0
    Clock(dut.clk_i, PERIOD_NS, "ns").start(start_high=False)
    for scenario in SCENARIOS:
        await scenario(session)
    session.memories()
    session.timeline()
    Path(order.results).write_text(json.dumps(asdict(session.results), indent=1))
    failed = [f"{check.name}: {check.detail}" for check in session.results.checks if not check.passed]
    assert not failed, "; ".join(failed)
