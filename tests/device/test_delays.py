from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from flow.device.delays import delay_tables, delays_of
from flow.device.parts import find_part, parts
from flow.errors import UserError

REPORTS = Path(__file__).parents[2] / ".." / "shared" / "reference" / "vivado_reports"


def test_every_part_has_delays_and_says_where_they_come_from() -> None:
    for part in parts():
        delays = delays_of(part)
        assert min(delays.level_ns, delays.carry_ns, delays.carry_bit_ns, delays.register_ns) > 0
        assert delays.carry_bit_ns < delays.carry_ns
        assert 0.4 < delays.low < 1 < delays.high < 3
        assert delays.grade in {"routed", "assumed"}
        assert len(delays.source) > 40


def test_no_part_stands_in_two_tables() -> None:
    names = [name for table in delay_tables() for name in table.parts]
    assert len(names) == len(set(names))


def test_assumed_figures_have_a_wide_range() -> None:
    for table in delay_tables():
        if table.delays.grade == "assumed":
            assert table.delays.high / table.delays.low >= 2


def test_the_order_of_the_families_is_that_of_their_processes() -> None:
    level = [delays_of(find_part(name)).level_ns for name in ("xcvu13p", "xcku115", "xc7a100t")]
    assert level == sorted(level)
    assert delays_of(find_part("iCE40UP5K")).level_ns > delays_of(find_part("LFE5U-25F")).level_ns


def test_a_part_without_a_table_is_refused_with_those_that_have_one() -> None:
    with pytest.raises(UserError, match=r"xcvu37p has no delay table; parts that have one: .*LFE5U-25F"):
        delays_of(replace(find_part("xcvu13p"), name="xcvu37p"))


def test_the_routed_path_behind_the_ultrascale_plus_table_is_given_back() -> None:
    report = REPORTS / "da4ml_example_lc2_timing.rpt"
    if not report.is_file():
        pytest.skip(f"the reference report is not here: {report}")
    found = re.search(r"Data Path Delay:\s+([\d.]+)ns", report.read_text())
    assert found is not None
    delays = delays_of(find_part("xcvu13p"))
    bits = 9 + 5 + 7  # that the path passes along in its three adders
    predicted = delays.register_ns + 3 * delays.carry_ns + bits * delays.carry_bit_ns
    assert predicted == pytest.approx(float(found.group(1)), rel=0.02)
