"""Percentiles of single calls, and the file that keeps them."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from flow.baseline.gpu import factor, headline, rows
from flow.baseline.measured import FORMAT, Measured, Measurement, load_measurement, measurement_to_json
from flow.baseline.timing import Timing, time_calls, timing_of
from flow.baseline.work import Work
from flow.errors import UserError
from flow.latency.budget import Origin

NAN = math.nan
NETWORK = "0123456789abcdef"


def measurement(p50=900.0, network=NETWORK, boundary="host_to_host", **more):
    timing = Timing(10_000, 100, 800.0, p50, 2_000.0, 3_000.0, 50_000.0)
    results = (
        Measured("the network, one CUDA graph", "captured and replayed", boundary, timing),
        Measured("one launch", "a launch alone", None, timing),
    )
    return Measurement(
        **{
            "format": FORMAT,
            "kind": "gpu",
            "device": "a GPU",
            "host": "a CPU",
            "software": "PyTorch",
            "pinned": True,
            "model": "net",
            "network": network,
            "date": "2026-11-30",
            "results": results,
        }
        | more
    )


def test_percentiles_are_those_of_the_times():
    timing = timing_of(range(1, 10_001), warmup=7)
    assert (timing.count, timing.warmup, timing.min_ns) == (10_000, 7, 1)
    assert timing.p50_ns == pytest.approx(5_000, abs=2)
    assert timing.p90_ns == pytest.approx(9_000, abs=2)
    assert timing.p99_ns == pytest.approx(9_900, abs=2)
    assert timing.p999_ns == pytest.approx(9_990, abs=2)


@pytest.mark.parametrize(("count", "told"), [(1, 0), (99, 0), (100, 1), (1_000, 2), (9_999, 2), (10_000, 3)])
def test_a_percentile_needs_ten_calls_beyond_it(count, told):
    timing = timing_of(range(count), warmup=0)
    assert sum(ns is not None for ns in (timing.p90_ns, timing.p99_ns, timing.p999_ns)) == told


def test_warm_up_calls_are_made_and_not_timed():
    calls = []
    timing = time_calls(lambda: calls.append(1), count=20, warmup=5)
    assert len(calls) == 25
    assert (timing.count, timing.warmup) == (20, 5)
    assert 0 <= timing.min_ns <= timing.p50_ns


def test_the_file_reads_back(tmp_path):
    path = tmp_path / "gpu.json"
    path.write_bytes(measurement_to_json(measurement()))
    assert load_measurement(path) == measurement()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": FORMAT + 1}, "has format 2"),
        ({"kind": "tpu"}, "kind"),
        ({"network": "../../etc"}, "network"),
        ({"device": "x" * 401}, "device"),
        ({"surprise": 1}, "surprise"),
        ({"results": [{"name": "x", "what": "y", "boundary": "moon", "timing": {}}]}, "results.0"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path, change, said):
    path = tmp_path / "gpu.json"
    path.write_text(json.dumps(json.loads(measurement_to_json(measurement())) | change))
    with pytest.raises(UserError, match=said):
        load_measurement(path)


@pytest.mark.parametrize(
    "times", [(5, 4, 6), (-1, 4, 6), (1, 4, 3), (NAN, 4, 6), (1, NAN, 6), (1, 4, NAN), (1, 4, math.inf)]
)
def test_times_must_ascend(times):
    with pytest.raises(UserError, match="ascend"):
        Timing(1_000, 0, times[0], times[1], times[2], None, None)


@pytest.mark.parametrize(("count", "warmup"), [(0, 0), (1, -1), (10**30, 0), (1, 10**30)])
def test_calls_are_counted(count, warmup):
    with pytest.raises(UserError, match="count must be"):
        Timing(count, warmup, 1.0, 2.0, None, None, None)


def test_a_large_file_or_none_is_refused(tmp_path):
    with pytest.raises(UserError, match="cannot read"):
        load_measurement(tmp_path / "none.json")
    large = tmp_path / "large.json"
    large.write_bytes(b" " * (1 << 21))
    with pytest.raises(UserError, match="more than the 1,048,576 bytes"):
        load_measurement(large)


def test_what_was_measured_can_be_the_strongest_row():
    found = rows(Work(0, 0), "host_to_host", (measurement(),), NETWORK)
    compared = headline(found, 450.0)
    assert compared is not None
    assert compared.strongest.name == "measured: the network, one CUDA graph"
    assert compared.strongest.origin is Origin.MEASURED
    assert compared.strongest_factor == 2.0
    assert "99.9th 50,000 ns" in compared.strongest.note
    part = next(row for row in found if row.name == "measured: one launch")
    assert factor(part, 450.0) is None
    assert part.note.endswith("no factor: it is only a part of an inference")


@pytest.mark.parametrize(
    ("change", "boundary", "said"),
    [
        ({"network": "f" * 16}, "host_to_host", "another network"),
        ({"network": None}, "host_to_host", "another network"),
        ({}, "wire_to_wire", "it spans host_to_host, the design wire_to_wire"),
    ],
)
def test_a_measurement_of_something_else_gives_no_factor(change, boundary, said):
    found = rows(Work(0, 0), boundary, (measurement(**change),), NETWORK)
    row = next(row for row in found if row.name.startswith("measured: the network"))
    assert not row.comparable
    assert row.note.endswith(said)


def test_two_machines_have_two_rows():
    both = (measurement(), measurement(device="another GPU"), measurement(device="another GPU"))
    names = [row.name for row in rows(Work(0, 0), "host_to_host", both, NETWORK)]
    assert len(set(names)) == len(names)
    assert sum(re.match("measured: one launch", name) is not None for name in names) == 3


def test_a_median_of_nothing_has_no_factor():
    nothing = replace(measurement().results[0], timing=Timing(1, 0, 0.0, 0.0, None, None, None))
    found = rows(Work(0, 0), "host_to_host", (replace(measurement(), results=(nothing,)),), NETWORK)
    row = next(row for row in found if row.origin is Origin.MEASURED)
    assert row.comparable
    assert factor(row, 100.0) is None
    assert headline(found, 100.0).strongest.name != row.name


def test_a_device_without_an_end_takes_no_memory():
    with pytest.raises(UserError, match="has more than the 1,048,576 bytes"):
        load_measurement(Path("/dev/zero"))
