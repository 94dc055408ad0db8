import tomllib
from importlib.resources import files

import pytest

from flow.device.parts import find_part, parts
from flow.errors import UserError

FIGURES = {"lut", "ff", "dsp", "bram", "uram"}


@pytest.mark.parametrize("part", parts(), ids=lambda part: part.name)
def test_every_figure_has_source_and_grade(part):
    stated = {p.figure: p.source for p in part.provenance}
    assert stated.keys() >= FIGURES
    assert ("slr" in stated) == (part.slr is not None)
    assert ("transceivers" in stated) == (part.transceivers is not None)
    assert all(len(source.text) > 10 and source.grade in "VARMSD" for source in stated.values())


def test_no_source_is_unused_and_none_is_recalled():
    raw = tomllib.loads(files("flow.device").joinpath("parts.toml").read_text(encoding="utf-8"))
    used = {f["from"] for part in raw["parts"] for f in part.values() if isinstance(f, dict)}
    assert used == raw["sources"].keys()
    assert "U" not in {source["grade"] for source in raw["sources"].values()}


def test_the_parts_of_the_catalogue():
    assert {part.name: (part.lut, part.ff, part.dsp, part.bram, part.uram) for part in parts()} == {
        "xcvu13p": (1_728_000, 3_456_000, 12_288, 2_688, 1_280),
        "xcvu9p": (1_182_240, 2_364_480, 6_840, 2_160, 960),
        "xcku115": (663_360, 1_326_720, 5_520, 2_160, 0),
        "xczu9eg": (274_080, 548_160, 2_520, 912, 0),
        "xc7a100t": (63_400, 126_800, 240, 135, 0),
        "xc7z020": (53_200, 106_400, 220, 140, 0),
        "LFE5U-25F": (24_288, 24_288, 28, 56, 0),
        "LFE5U-85F": (83_640, 83_845, 156, 208, 0),
        "iCE40UP5K": (5_280, 5_280, 8, 30, 0),
        "GW2AR-18": (20_736, 15_552, 48, 46, 0),
    }


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
        ("u250", "xcvu13p", "xcvu13p-flga2577-2-e", "flga2577"),
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


@pytest.mark.parametrize("name", ["xcvu9", "xcvu13q", "LFE5U-45F", "", "xcvu13p-", "xcvu13p-flga2577-2-e-x", "../x"])
def test_unknown_parts_offer_others(name):
    with pytest.raises(UserError, match=r"unknown part .*(did you mean|known:)"):
        find_part(name)


def test_the_nearest_name_is_offered():
    with pytest.raises(UserError, match=r"did you mean .*xcvu9p"):
        find_part("xcvu9")


@pytest.mark.parametrize(
    "name", ["xcvu13p-flga2577-1-e", "xcvu9p-flga2104-3-e", "LFE5U-85F-8BG381C", "xc7z020clg400-2"]
)
def test_speed_grades_without_delays_are_refused(name):
    with pytest.raises(UserError, match="speed grade"):
        find_part(name)


def test_an_unknown_ecp5_package_is_refused():
    with pytest.raises(UserError, match="package TQ144"):
        find_part("LFE5U-25F-6TQ144C")
