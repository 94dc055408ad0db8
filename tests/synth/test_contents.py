from __future__ import annotations

from pathlib import Path

import pytest

from flow.device.parts import find_part
from flow.errors import UserError, VerificationError
from flow.synth import yosys
from flow.synth.contents import Rom, check_blocks, find_roms
from flow.synth.yosys import read_sources, synthesize
from tests.synth.designs import memories_design, roms_design, write_run

ECP5 = find_part("LFE5U-25F")


def test_changed_memory_contents_are_refused(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", roms_design([(5, 8)], style="block"))
    assert read_sources(folder).changed == ()
    path = folder / "rtl" / "rom_0.mem"
    path.write_text("0\n" * 5)
    with pytest.raises(UserError, match=r"rom_0\.mem is no longer as it was built; .*fpgaflow build"):
        synthesize(folder, ECP5)
    path.unlink()
    with pytest.raises(UserError, match=r"missing in .*: rtl/rom_0\.mem; build it again: fpgaflow build"):
        synthesize(folder, ECP5)


def test_memories_are_found_in_the_rtl(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", roms_design([(3, 8)], style="block")) / "rtl"
    (folder / "rom_0.mem").write_text("0a\nff\n3\n")
    sources = ["sums_top.sv", "rom_0.sv"]
    assert find_roms(folder, sources, ["rom_0.mem"]) == (Rom("rom_0", "words", "rom_0.mem", (10, 255, 3)),)
    (folder / "rom_0.mem").write_text("xyz\n")
    with pytest.raises(UserError, match=r"rom_0\.mem cannot be read as memory contents"):
        find_roms(folder, sources, ["rom_0.mem"])
    with pytest.raises(
        UserError, match=r"rom_0\.sv reads rom_0\.mem, which is no memory file of this design \(it has none"
    ):
        find_roms(folder, sources, [])


def test_rtl_that_leaves_a_memory_file_out_is_refused(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", roms_design([(5, 8)], style="block"))
    source = folder / "rtl" / "rom_0.sv"
    source.write_text(source.read_text().replace("  initial", "  // initial"))
    with pytest.raises(UserError, match=r"no module in .* reads rom_0\.mem, so that its contents would be missing"):
        synthesize(folder, ECP5)


@pytest.mark.eda
@pytest.mark.parametrize("style", ["block", "logic"])
def test_a_memory_that_yosys_reads_as_zeros_is_a_failure(tmp_path: Path, style: str) -> None:
    files = roms_design([(9, 8), (9, 8)], style=style)
    folder = write_run(tmp_path / "run", files)
    source = folder / "rtl" / "rom_1.sv"
    # the file is read, but something else overwrites it
    source.write_text(source.read_text().replace("words);", "words);\n  initial words[3] = 8'd0;"))
    with pytest.raises(VerificationError, match=r"lost the contents of rom_1\.mem: 1 of 9 words"):
        synthesize(folder, ECP5)
    assert not (folder / "synth" / "result.json").exists()


@pytest.mark.eda
@pytest.mark.parametrize(
    "part",
    [
        "LFE5U-25F",
        *(pytest.param(name, marks=pytest.mark.campaign) for name in ("xcvu13p", "xc7a100t", "iCE40UP5K", "GW2AR-18")),
    ],
)
def test_every_bit_of_a_block_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    seen = []
    monkeypatch.setattr(yosys, "check_blocks", lambda roms, modules: seen.append((roms, modules)))
    synthesize(write_run(tmp_path / "run", memories_design()), find_part(part))
    ((roms, modules),) = seen
    check_blocks(roms, modules)
    for rom in (rom for rom in roms if rom.module != "rom_5"):  # which is in logic
        last = len(rom.words) - 1
        for k in (0, last // 2, last):
            words = tuple(word ^ (n == k) for n, word in enumerate(rom.words))
            with pytest.raises(VerificationError, match="block RAM of"):
                check_blocks((Rom(rom.module, rom.array, rom.file, words),), modules)
