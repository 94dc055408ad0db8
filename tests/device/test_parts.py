import tomllib
from importlib.resources import files

import pytest

from flow.device.boards import boards
from flow.device.delays import delays_of, has_delays
from flow.device.parts import find_part, parts
from flow.errors import UserError

COUNTS = ("lut", "alm", "ff", "dsp", "bram", "uram", "spram_kbit", "slr", "transceivers", "processor")


@pytest.mark.parametrize("part", parts(), ids=lambda part: part.name)
def test_every_figure_has_source_and_grade(part):
    stated = {p.figure: p.source for p in part.provenance}
    assert stated.keys() == {name for name in COUNTS if getattr(part, name) is not None}
    assert all(len(source.text) > 10 and source.grade in "VARMSD" for source in stated.values())


def test_names_are_unique():
    names = [name.lower() for part in parts() for name in {part.name, part.device, *part.aliases}]
    names += [name.lower() for board in boards() for name in board.names]
    assert len(names) == len(set(names))


def test_no_source_is_unused_and_none_is_recalled():
    raw = tomllib.loads(files("flow.device").joinpath("parts.toml").read_text(encoding="utf-8"))
    used = {f["from"] for part in raw["parts"] for f in part.values() if isinstance(f, dict)}
    assert used == raw["sources"].keys()
    assert "U" not in {source["grade"] for source in raw["sources"].values()}


def test_the_parts_of_the_catalogue():
    assert {part.name: (part.lut, part.ff, part.dsp, part.bram, part.uram) for part in parts() if part.lut} == {
        "xcvu13p": (1_728_000, 3_456_000, 12_288, 2_688, 1_280),
        "xcvu9p": (1_182_240, 2_364_480, 6_840, 2_160, 960),
        "xcvu35p": (871_680, 1_743_360, 5_952, 1_344, 640),
        "xcvu37p": (1_303_680, 2_607_360, 9_024, 2_016, 960),
        "xcvu47p": (1_303_680, 2_607_360, 9_024, 2_016, 960),
        "xczu3eg": (70_560, 141_120, 360, 216, 0),
        "xczu7ev": (230_400, 460_800, 1_728, 312, 96),
        "xczu9eg": (274_080, 548_160, 2_520, 912, 0),
        "xczu28dr": (425_280, 850_560, 4_272, 1_080, 80),
        "xczu48dr": (425_280, 850_560, 4_272, 1_080, 80),
        "xczu49dr": (425_280, 850_560, 4_272, 1_080, 80),
        "xck26": (117_120, 234_240, 1_248, 144, 64),
        "xcku060": (331_680, 663_360, 2_760, 1_080, 0),
        "xcku115": (663_360, 1_326_720, 5_520, 2_160, 0),
        "xc7a35t": (20_800, 41_600, 90, 50, 0),
        "xc7a100t": (63_400, 126_800, 240, 135, 0),
        "xc7a200t": (134_600, 269_200, 740, 365, 0),
        "xc7z010": (17_600, 35_200, 80, 60, 0),
        "xc7z020": (53_200, 106_400, 220, 140, 0),
        "xc7z045": (218_600, 437_200, 900, 545, 0),
        "xc7k160t": (101_400, 202_800, 600, 325, 0),
        "xc7k325t": (203_800, 407_600, 840, 445, 0),
        "xc7s25": (14_600, 29_200, 80, 45, 0),
        "xc7s50": (32_600, 65_200, 120, 75, 0),
        "xc7s100": (64_000, 128_000, 160, 120, 0),
        "XCV80": (2_574_208, None, 10_848, 3_741, 1_925),
        "LFE5U-25F": (24_288, 24_288, 28, 56, 0),
        "LFE5U-45F": (43_848, 43_848, 72, 108, 0),
        "LFE5U-85F": (83_640, 83_845, 156, 208, 0),
        "iCE40UP5K": (5_280, 5_280, 8, 30, 0),
        "iCE40HX8K": (7_680, 7_680, 0, 32, 0),
        "GW1NR-9": (8_640, 6_480, 20, 26, 0),
        "GW2AR-18": (20_736, 15_552, 48, 46, 0),
        "GW5A-25": (23_040, 23_040, 28, 56, 0),
        "GW5AST-138": (138_240, 138_240, 298, 340, 0),
    }
    assert {part.name: (part.alm, part.dsp, part.bram, part.bram_kbit) for part in parts() if part.alm} == {
        "AGF014": (487_200, 4_510, 7_110, 20),
        "S10-2800": (933_120, 5_760, 11_721, 20),
        "A10-GX1150": (427_200, 1_518, 2_713, 20),
        "5CSEBA6": (41_910, 112, 553, 10),
    }


def test_memory_and_dies():
    assert find_part("iCE40UP5K").spram_kbit == 1024
    assert [find_part(name).bram * find_part(name).bram_kbit for name in ("GW1NR-9", "GW5AST-138")] == [468, 6_120]
    dies = {part.name: part.slr for part in parts() if part.slr is not None and part.slr > 1}
    assert dies == {"xcvu13p": 4, "xcvu9p": 3, "xcvu35p": 2, "xcvu37p": 3, "xcvu47p": 3, "xcku115": 2}


def test_a_plan_may_use_an_even_share_of_each_die():
    vu9p, vu13p = find_part("xcvu9p"), find_part("xcvu13p")
    assert (vu13p.dies, vu13p.per_die("lut"), vu13p.per_die("dsp")) == (4, 302_400, 2_457)
    assert vu9p.on_dies("bram") == (576, 576, 576)
    assert vu9p.usable_bram == 1728
    small = find_part("LFE5U-85F")
    assert (small.slr, small.dies, small.on_dies("lut")) == (None, 1, (small.usable_lut,))


def test_a_shell_leaves_less_of_one_die_than_of_another():
    assert find_part("u200").on_dies("lut") == (270_144, 139_776, 270_144)
    assert find_part("u200").on_dies("bram") == (571, 336, 571)
    assert find_part("u280").on_dies("dsp") == (2_188, 2_304, 2_304)
    assert find_part("u55c").on_dies("lut") == (263_666,) * 3


@pytest.mark.parametrize("name", [p.name for p in parts()] + [b.name for b in boards()])
def test_dies_hold_no_more_than_the_part(name):
    part = find_part(name)
    for kind in ("lut", "ff", "dsp", "bram", "uram"):
        assert len(part.on_dies(kind)) == part.dies
        assert 0 <= getattr(part, f"usable_{kind}") - sum(part.on_dies(kind)) < part.dies
        assert part.per_die(kind) * part.dies <= getattr(part, f"usable_{kind}")


def test_what_no_source_gives_is_unknown_and_none_of_it_may_be_used():
    agilex = find_part("AGF014")
    assert (agilex.lut, agilex.ff, agilex.uram) == (None, None, None)
    assert (agilex.usable_lut, agilex.usable_ff, agilex.usable_uram) == (0, 0, 0)
    assert agilex.usable_dsp == 3_608
    with pytest.raises(UserError, match="AGF014: no source gives its number of LUT, FF, URAM"):
        _ = agilex.available


def test_every_part_that_can_be_planned_for_has_all_its_counts():
    for part in parts():
        if has_delays(part):
            assert min(part.available) >= 0


def test_usable_resources_are_exact_fractions():
    part = find_part("LFE5U-85F")
    assert (part.usable_lut, part.usable_ff) == (58_548, 41_922)
    assert (part.usable_dsp, part.usable_bram, part.usable_uram) == (124, 166, 0)


@pytest.mark.parametrize(
    ("asked", "name", "device", "package"),
    [
        ("xcvu13p", "xcvu13p", "xcvu13p-flga2577-2-e", "flga2577"),
        ("XCVU13P-FLGA2577-2-E", "xcvu13p", "xcvu13p-flga2577-2-e", "flga2577"),
        ("xcvu9p-flgb2104-2-i", "xcvu9p", "xcvu9p-flgb2104-2-i", "flgb2104"),
        ("u250", "xcvu13p", "xcu250-figd2104-2L-e", "figd2104"),
        ("XCU250-FIGD2104-2L-E", "xcvu13p", "xcu250-figd2104-2L-e", "figd2104"),
        ("XCVU37P-fsvh2892-2l-e", "xcvu37p", "xcvu37p-fsvh2892-2L-e", "fsvh2892"),
        ("xc7s25csga324-1", "xc7s25", "xc7s25csga324-1", "csga324"),
        ("xcv80-lsva4737-2mhp-e-s", "XCV80", "xcv80-lsva4737-2MHP-e-S", "lsva4737"),
        ("GW5A-LV25MG121NC1/I0", "GW5A-25", "GW5A-LV25MG121NC1/I0", "MG121N"),
        ("xc7z020clg484-1", "xc7z020", "xc7z020clg484-1", "clg484"),
        ("xc7a100tcsg324-1", "xc7a100t", "xc7a100tcsg324-1", "csg324"),
        ("lfe5u-85f", "LFE5U-85F", "LFE5U-85F-6BG381C", "BG381"),
        ("LFE5U-85F-6BG756C", "LFE5U-85F", "LFE5U-85F-6BG756C", "BG756"),
        ("LFE5U-25F-6MG285I", "LFE5U-25F", "LFE5U-25F-6MG285I", "MG285"),
        ("ice40up5k-sg48i", "iCE40UP5K", "ice40up5k-sg48i", "SG48"),
        ("GW2AR-LV18QN88C8/I7", "GW2AR-18", "GW2AR-LV18QN88C8/I7", "QN88"),
    ],
)
def test_full_vendor_names_are_understood(asked, name, device, package):
    part = find_part(asked)
    assert (part.name, part.device, part.package) == (name, device, package)


def test_nextpnr_gets_the_package_that_was_asked_for():
    assert find_part("LFE5U-85F-6BG381C").nextpnr_package == "CABGA381"
    assert find_part("LFE5U-25F-6MG285C").nextpnr_package == "CSFBGA285"
    assert find_part("LFE5U-85F").nextpnr_device == "85k"
    assert find_part("xcvu13p").nextpnr_device is None


@pytest.mark.parametrize(
    "name", ["xcvu9", "xcvu13q", "LFE5U-12F", "AGF014R24", "", "xcvu13p-", "xcvu13p-flga2577-2-e-x", "../x"]
)
def test_unknown_parts_offer_others(name):
    with pytest.raises(UserError, match=r"unknown part .*(did you mean|known:)"):
        find_part(name)


def test_the_nearest_name_is_offered():
    with pytest.raises(UserError, match=r"did you mean .*xcvu9p"):
        find_part("xcvu9")


@pytest.mark.parametrize(
    ("name", "speed"),
    [
        ("xcvu9p-flga2104-3-e", "3"),
        ("LFE5U-85F-8BG381C", "8"),
        ("xc7z020clg400-2", "2"),
        ("kc705", "2"),
        ("GW2AR-LV18QN88C7/I6", "C7/I6"),
    ],
)
def test_speed_grades_are_kept_and_those_without_delays_are_refused(name, speed):
    part = find_part(name)
    assert part.speed == speed
    assert not has_delays(part)
    with pytest.raises(UserError, match=f"at speed grade {speed}.*has no delay table.* known for speed grade"):
        delays_of(part)


def test_an_unknown_ecp5_package_is_refused():
    with pytest.raises(UserError, match="package TQ144"):
        find_part("LFE5U-25F-6TQ144C")
