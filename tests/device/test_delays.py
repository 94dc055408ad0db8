from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from flow.device.delays import delay_tables, delays_of, has_delays
from flow.device.parts import LISTED_ONLY, find_part, parts
from flow.errors import UserError

REPORTS = Path(__file__).parents[2] / ".." / "shared" / "reference" / "vivado_reports"


def test_every_table_says_where_its_delays_come_from() -> None:
    for table in delay_tables():
        delays = table.delays
        assert min(delays.level_ns, delays.carry_ns, delays.carry_bit_ns, delays.register_ns) > 0
        assert delays.carry_bit_ns < delays.carry_ns
        assert 0.4 < delays.low < 1 < delays.high < 3
        assert delays.grade in {"routed", "assumed"}
        assert len(delays.source) > 40


def test_no_part_stands_in_two_tables_for_a_speed_grade() -> None:
    keys = [(name, speed.lower()) for table in delay_tables() for name in table.parts for speed in table.speeds]
    assert len(keys) == len(set(keys))
    assert {name for name, _ in keys} <= {part.name for part in parts()}


def test_listed_parts_are_refused_with_the_reason_and_parts_to_use_instead() -> None:
    for part in parts():
        if part.family in LISTED_ONLY:
            assert not has_delays(part)
            with pytest.raises(UserError, match=r"can be listed, but .*synthesis.*can be planned for: .*LFE5U-25F"):
                delays_of(part)


def test_the_parts_without_delays() -> None:
    without = {part.name for part in parts() if not has_delays(part) and part.family not in LISTED_ONLY}
    assert without == {"GW1NR-9", "GW5A-25", "GW5AST-138"}
    with pytest.raises(UserError, match=r"GW5A-25 has no delay table; parts that have one: .*LFE5U-25F"):
        delays_of(find_part("tang-primer-25k"))


def test_figures_that_were_found_on_another_part_are_assumed() -> None:
    measured, other = delays_of(find_part("LFE5U-25F")), delays_of(find_part("LFE5U-85F"))
    assert (measured.grade, other.grade) == ("routed", "assumed")
    assert other.level_ns == measured.level_ns
    assert other.source == (
        f"Taken over from LFE5U-25F: same fabric and speed grade, not measured on LFE5U-85F. {measured.source}"
    )
    for table in delay_tables():
        assert set(table.measured) <= set(table.parts)
        assert (table.delays.grade == "routed") == bool(table.measured)


def test_assumed_figures_have_a_wide_range() -> None:
    for table in delay_tables():
        if table.delays.grade == "assumed":
            assert table.delays.high / table.delays.low >= 2


def test_the_order_of_the_families_is_that_of_their_processes() -> None:
    level = [delays_of(find_part(name)).level_ns for name in ("xcvu13p", "xcku115", "xc7a100t")]
    assert level == sorted(level)
    assert delays_of(find_part("iCE40UP5K")).level_ns > delays_of(find_part("LFE5U-25F")).level_ns


def test_a_part_without_a_table_is_refused_with_those_that_have_one() -> None:
    with pytest.raises(UserError, match=r"xcvu19p has no delay table; parts that have one: .*LFE5U-25F"):
        delays_of(replace(find_part("xcvu13p"), name="xcvu19p"))


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


def test_every_part_has_delays_of_the_blocks_that_synthesis_can_use() -> None:
    for part in filter(has_delays, parts()):
        delays = delays_of(part)
        known = part.family != "gowin"  # nextpnr has no delays for Gowin's multipliers
        assert (delays.bram_ns is not None) == (part.available[3] > 0 and known), part.name
        assert (delays.dsp_ns is not None) == (part.available[2] > 0 and known), part.name
        amd = part.family in {"xc7", "xcu", "xcup"}
        assert (delays.dsp_register_ns is not None) == amd, part.name
        for ns in filter(None, (delays.bram_ns, delays.dsp_ns)):
            assert delays.register_ns <= ns < 20
        if delays.dsp_register_ns is not None and delays.dsp_ns is not None:
            assert delays.level_ns < delays.dsp_register_ns < delays.dsp_ns
        assert delays.block_grade in ({"routed", "assumed"} if known else {""})
        assert (len(delays.block_source) > 40) == known


def test_slower_speed_grades_are_slower_in_everything() -> None:
    fast, slow, low = (delays_of(find_part(name)) for name in ("xczu3eg", "ultra96", "kv260"))
    for figure in ("level_ns", "carry_ns", "carry_bit_ns", "register_ns", "bram_ns", "dsp_ns"):
        assert getattr(fast, figure) < getattr(slow, figure) <= getattr(low, figure), figure


def test_the_published_timing_behind_the_7_series_blocks_is_given_back() -> None:
    delays = delays_of(find_part("xc7a100t"))
    net = 0.83
    assert delays.bram_ns == pytest.approx(2.454 + net, abs=0.01)
    assert delays.dsp_ns == pytest.approx(3.841 + 2 * net, abs=0.01)
    assert delays.dsp_register_ns == pytest.approx(2.305 + net, abs=0.01)
