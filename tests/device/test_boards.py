import tomllib
from dataclasses import replace
from importlib.resources import files

import pytest

from flow.device.boards import Price, board_named, boards
from flow.device.links import find_link
from flow.device.parts import find_part, parts


@pytest.mark.parametrize("board", boards(), ids=lambda board: board.name)
def test_every_board_carries_a_known_part_under_its_full_name(board):
    part = find_part(board.name)
    assert part.name == board.part in {known.name for known in parts()}
    assert (part.board, part.device, part.package, part.speed) == (
        board.name,
        board.device,
        board.package,
        board.speed,
    )
    assert part.shell == board.shell
    again = find_part(part.device)
    assert (again.name, again.device.lower(), again.package.lower(), again.speed) == (
        part.name,
        part.device.lower(),
        part.package.lower(),
        part.speed,
    )
    assert (again.usable_lut, again.usable_bram) == (part.usable_lut, part.usable_bram)


@pytest.mark.parametrize("board", boards(), ids=lambda board: board.name)
def test_every_fact_has_a_source(board):
    sources = [board.source]
    if board.links_source is not None:
        sources.append(board.links_source)
    assert all(len(source.text) > 10 and source.grade in "VARMSD" for source in sources)
    if board.price is not None:
        assert board.price.date == "August 2026"
        assert len(board.price.source) > 10
    for kind in board.links:
        assert find_link(kind).name == kind


def test_a_shell_limits_what_a_plan_may_use_and_the_bare_part_does_not():
    u250, bare = find_part("u250"), find_part("xcvu13p")
    assert (bare.shell, bare.available) == (None, (1_728_000, 3_456_000, 12_288, 2_688, 1_280))
    assert bare.usable_lut == 1_209_600
    assert u250.available == (1_500_000, 3_000_000, 11_520, 2_304, 1_280)
    assert (u250.usable_lut, u250.usable_ff, u250.usable_dsp) == (1_050_000, 1_500_000, 9_216)
    assert (u250.usable_bram, u250.usable_uram) == (1_843, 1_024)
    assert u250.lut == bare.lut
    assert "left by the shell" in u250.source
    assert "left by the shell" not in bare.source


def test_what_the_shells_leave():
    left = {board.name: board.shell.counts for board in boards() if board.shell is not None}
    assert {name: (lut, dsp, bram, uram) for name, (lut, _, dsp, bram, uram) in left.items()} == {
        "u50": (742_560, 5_352, 1_128, 608),
        "u200": (971_520, 5_856, 1_848, 800),
        "u250": (1_500_000, 11_520, 2_304, 1_280),
        "u280": (1_163_520, 8_496, 1_752, 960),
        "u55c": (1_130_000, 8_304, 1_776, 960),
    }
    for name, counts in left.items():
        part = find_part(name)
        whole = (part.lut, part.ff, part.dsp, part.bram, part.uram)
        assert all(few <= all_of_it for few, all_of_it in zip(counts, whole, strict=True)), name


def test_no_board_whose_part_is_only_recalled():
    assert {"zcu208", "zc706", "arty-a7-100"}.isdisjoint(board.name for board in boards())


def test_a_board_may_be_written_in_any_case():
    assert board_named(" Alveo-U250 ") == board_named("u250")
    assert board_named("xcvu13p") is None


def test_faulty_entries_are_refused():
    board = board_named("u250")
    assert board is not None
    assert board.shell is not None
    with pytest.raises(ValueError, match="links need a source"):
        replace(board, links_source=None)
    with pytest.raises(ValueError, match="no fewer than 0"):
        replace(board.shell, lut=-1)
    with pytest.raises(ValueError, match="of the dies adds up"):
        replace(board.shell, dies=(board.shell.dies[0],) * 3)
    with pytest.raises(ValueError, match="low to high"):
        Price(5, 4, "shop", "August 2026", "somewhere", "S")


def test_no_grade_is_recall():
    raw = tomllib.loads(files("flow.device").joinpath("boards.toml").read_text(encoding="utf-8"))
    assert "U" not in {board["source"]["grade"] for board in raw["boards"]}
