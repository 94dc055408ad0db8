"""The stable names of `report.json`, each with its type."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from flow.device.parts import find_part
from flow.engines.engine import Resources
from flow.graph.passes import run_passes
from flow.plan.planner import make_plan
from flow.plan.request import Request
from flow.report.collect import Findings, collect
from flow.report.report import BulkReport, ConversionReport, FidelityReport, Report, load_report, report_to_json
from flow.rtl.design import realize
from flow.simulate.result import Check, SimulationResult
from flow.synth.result import FORMAT, InstanceResources, SynthesisResult
from tests.commands import tiny_graph


def number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(number, value)) and value[0] <= value[1]


def counts(value: Any) -> bool:
    return all(count(value[kind]) for kind in ("lut", "ff", "dsp", "bram", "uram"))


def origin(value: Any) -> bool:
    return value in {"asked", "predicted", "simulated", "synthesized", "routed", "measured", "published"}


STABLE: dict[str, Callable[[Any], bool]] = {
    "model": text,
    "part": text,
    "link": text,
    "boundary": lambda v: v in {"core", "pins", "wire_to_wire", "host_to_host"},
    "budget_ns": number,
    "verdict": lambda v: v in {"met", "missed", "met_if_clock_closes"},
    "clock.period_ns": number,
    "clock.range_ns": pair,
    "clock.origin": origin,
    "latency.cycles_predicted": count,
    "latency.cycles_simulated": count,
    "latency.core_ns": number,
    "latency.fixed_ns": number,
    "latency.total_ns": number,
    "ii.cycles_required": count,
    "ii.cycles_predicted": count,
    "ii.cycles_simulated": count,
    "bit_exact.vectors": count,
    "bit_exact.mismatches": count,
    "bit_exact.wrong_bits": count,
    "bit_exact.reference": text,
    "timeline.edges": count,
    "timeline.beats_checked": count,
    "timeline.beats_wrong": count,
    "critical_path.0.node": text,
    "critical_path.0.engine": text,
    "critical_path.0.cycles": count,
    "critical_path.0.ns": number,
    "critical_path.0.reason": text,
    "resources.predicted": counts,
    "resources.synthesized": counts,
    "resources.available": counts,
    "baseline.0.name": text,
    "baseline.0.ns": number,
    "baseline.0.boundary": text,
    "baseline.0.origin": origin,
    "baseline.0.source": text,
    "baseline.0.factor": number,
    "baseline.0.parts.0.what": text,
    "baseline.0.parts.0.ns": number,
    "baseline.0.parts.0.origin": origin,
    "headline.strongest": text,
    "headline.strongest_ns": number,
    "headline.strongest_origin": origin,
    "headline.factor": number,
    "headline.typical": text,
    "headline.typical_ns": number,
    "headline.typical_factor": number,
    "headline.boundary": lambda v: v == "host_to_host",
    "fidelity.0.layer": text,
    "fidelity.0.max_abs_error": number,
    "accuracy.framework": number,
    "accuracy.hls4ml": number,
    "accuracy.rtl": number,
}
# what was not done, not asked for or cannot be compared is null
MAY_BE_NULL = {
    "budget_ns",
    "latency.cycles_simulated",
    "ii.cycles_required",
    "ii.cycles_simulated",
    "bit_exact",
    "timeline",
    "resources.synthesized",
    "baseline.0.factor",
    "headline",
    "accuracy",
}


def full_report() -> Report:
    """Return the report of a run in which every step was done."""
    graph = run_passes(tiny_graph())
    request = Request(budget="2us", rate="1MHz", link="pcie_mmio", must_beat=("resident kernel",))
    design = realize(graph, request, make_plan(graph, request))
    part = find_part(request.part)
    simulation = SimulationResult(
        vectors=1000,
        mismatches=0,
        first_mismatch=None,
        latency_simulated=design.timeline.latency,
        interval_simulated=1.0,
        edges=2,
        beats_checked=5994,
        beats_wrong=0,
        wrong_edges=(),
        checks=(Check("stream", passed=True, detail="1000 inferences back to back"),),
        changed_files=(),
    )
    used = Resources(lut=88, ff=22)
    synthesis = SynthesisResult(
        format=FORMAT,
        part=part.device,
        family=part.family,
        top="flow_tiny",
        tool="Yosys 0.70",
        total=used,
        carry=5,
        instances=(InstanceResources("u_r", "flow_cone_r", used, 5),),
        cells=(("LUT6", 88), ("FDRE", 22)),
        not_counted=(),
        available=Resources(lut=part.lut, ff=part.ff),
        changed_files=(),
        netlist="synth/netlist.v",
        netlist_json="synth/netlist.json",
    )
    conversion = ConversionReport(
        "hls4ml's C simulation",
        500,
        (FidelityReport("dense [1]", 0.125, 0.0), FidelityReport("relu", 0.25, None)),
        0.97,
        0.96,
        (),
    )
    return collect(
        Findings(graph, design.plan, design.timeline, conversion, simulation, BulkReport(500, 0, 0.96), synthesis)
    )


def at(report: Any, path: str) -> Any:
    for key in path.split("."):
        report = report[int(key)] if key.isdigit() else report[key]
    return report


@pytest.fixture(scope="module")
def report():
    return full_report()


def test_every_stable_name_is_there_with_its_type(report):
    shown = json.loads(report_to_json(report))
    for path, is_right in STABLE.items():
        assert is_right(at(shown, path)), (path, at(shown, path))


def test_what_was_not_done_is_null_and_nothing_else_is():
    graph = tiny_graph()
    plan = make_plan(graph, Request())
    from flow.plan.plan import timeline_of

    shown = json.loads(report_to_json(collect(Findings(graph, plan, timeline_of(graph, plan.choices)))))
    for path, is_right in STABLE.items():
        if path.startswith("fidelity"):
            assert shown["fidelity"] == []
        elif any(path == name or path.startswith(f"{name}.") for name in MAY_BE_NULL):
            name = next(name for name in MAY_BE_NULL if path == name or path.startswith(f"{name}."))
            assert at(shown, name) is None, name
        else:
            assert is_right(at(shown, path)), path


def test_the_numbers_agree_with_each_other(report):
    shown = json.loads(report_to_json(report))
    latency, clock = shown["latency"], shown["clock"]
    assert latency["core_ns"] == pytest.approx(latency["cycles_simulated"] * clock["period_ns"])
    assert latency["total_ns"] == pytest.approx(latency["core_ns"] + latency["fixed_ns"])
    assert sum(hop["cycles"] for hop in shown["critical_path"]) == latency["cycles_predicted"]
    rows = {row["name"]: row for row in shown["baseline"]}
    row = rows["resident kernel"]
    assert row["factor"] == pytest.approx(row["ns"] / latency["total_ns"])
    assert row["beaten"] is True
    for other in shown["baseline"]:
        assert other["boundary"] == shown["boundary"] or other["factor"] is None


def test_the_report_reads_back(report, tmp_path):
    (tmp_path / "report.json").write_bytes(report_to_json(report))
    assert load_report(tmp_path / "report.json") == report


def test_it_holds_no_date_and_no_absolute_path(report):
    said = report_to_json(report).decode()
    assert not re.search(r'"/[a-z]+/', said)
    assert not re.search(r"\b202\d-\d\d-\d\d", said)
