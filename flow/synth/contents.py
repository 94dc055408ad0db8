"""Check that a synthesized design holds the memory contents that lie beside its RTL.

Two things can go wrong without an error: Yosys reads no file, or the wrong one, and the memory is zero; or contents are
lost on the way into block RAM. So the words that Yosys read are compared with each file, and for block RAM the words
that stand in the cells' parameters, bit for bit. What Yosys leaves out of a block is what is the same in all words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flow.errors import UserError, VerificationError

READ_MEMORIES = "memories.json"
"""What Yosys read, as `dump_commands` writes it."""

_MODULE = re.compile(r"^\s*module\s+(\w+)(.*?)^\s*endmodule", re.MULTILINE | re.DOTALL)
_READ = re.compile(r'\$readmemh\(\s*"([^"]+)"\s*,\s*(\w+)')
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Rom:
    """Name a memory: its module, the array in it, and the words of its file."""

    module: str
    array: str
    file: str
    words: tuple[int, ...]


def find_roms(folder: Path, sources: Iterable[str], files: Iterable[str]) -> tuple[Rom, ...]:
    """Return the memories that SystemVerilog files in `folder` fill by `$readmemh`, one word of a file per line.

    files: the memory files of the design. Raise UserError when the sources read another file or leave one out, and when
    a file holds something else than hexadecimal words.
    """
    known = set(files)
    roms = []
    for source in sources:
        text = _COMMENT.sub("", (folder / source).read_text(encoding="utf-8"))
        for module in _MODULE.finditer(text):
            for file, array in _READ.findall(module.group(2)):
                if file not in known:
                    raise UserError(
                        f"{folder / source} reads {file}, which is no memory file of this design "
                        f"({', '.join(sorted(known)) or 'it has none'}); build the design again: fpgaflow build"
                    )
                roms.append(Rom(module.group(1), array, file, _words(folder / file)))
    unread = known - {rom.file for rom in roms}
    if unread:
        raise UserError(
            f"no module in {folder} reads {', '.join(sorted(unread))}, so that its contents would be missing; build "
            "the design again: fpgaflow build"
        )
    return tuple(roms)


def _words(path: Path) -> tuple[int, ...]:
    try:
        return tuple(int(word, 16) for word in path.read_text(encoding="ascii").split())
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path} cannot be read as memory contents ({error}); build the design again: fpgaflow build"
        ) from error


def dump_commands(roms: tuple[Rom, ...]) -> tuple[str, ...]:
    """Return the Yosys commands that write the contents that it read; they stand right behind `proc`."""
    if not roms:
        return ()
    return ("select t:$meminit t:$meminit_v2", f"write_json -selected ../synth/{READ_MEMORIES}", "select -clear")


def check_read(roms: tuple[Rom, ...], modules: dict[str, Any]) -> None:
    """Compare what Yosys read (the modules of `dump_commands`' file) with the memories' files.

    Raise VerificationError where they differ.
    """
    for rom in roms:
        found: dict[int, int] = {}
        for cell in modules.get(rom.module, {"cells": {}})["cells"].values():
            parameters = cell["parameters"]
            if parameters["MEMID"].lstrip("\\") != rom.array:
                continue
            width = int(parameters["WIDTH"], 2)
            first = int("".join(str(bit) for bit in reversed(cell["connections"]["ADDR"])), 2)
            data = "".join(str(bit) for bit in reversed(cell["connections"]["DATA"]))
            for k in range(int(parameters["WORDS"], 2)):
                end = len(data) - k * width
                word = data[end - width : end]
                if set(word) <= {"0", "1"}:
                    found[first + k] = int(word, 2)
        if found != dict(enumerate(rom.words)):
            wrong = sum(found.get(k) != word for k, word in enumerate(rom.words))
            raise VerificationError(
                f"synthesis lost the contents of {rom.file}: {wrong} of {len(rom.words)} words that Yosys read for "
                f"{rom.module} differ"
            )


def check_blocks(roms: tuple[Rom, ...], modules: dict[str, Any]) -> None:
    """Compare the contents of block RAM cells in a netlist with the memories' files.

    Memories in logic have no such cells. Raise VerificationError where a bit differs.
    """
    for rom in roms:
        cells = {
            int(name.rpartition(".")[2]): cell
            for name, cell in modules.get(rom.module, {"cells": {}})["cells"].items()
            if cell["type"] in _READERS and re.fullmatch(rf"{rom.array}\.0\.\d+", name)
        }
        if cells and not _holds([_block(cell) for _, cell in sorted(cells.items())], rom.words):
            raise VerificationError(
                f"synthesis lost the contents of {rom.file}: block RAM of {rom.module} holds something else"
            )


@dataclass(frozen=True, slots=True)
class _Block:
    """Hold a block RAM: bits per word, words, and the bit at (word, bit)."""

    lane: int
    depth: int
    bit: Callable[[int, int], str]


def _holds(blocks: list[_Block], words: tuple[int, ...]) -> bool:
    """Tell whether blocks hold the words: each bank's words side by side, the bits that never change left out."""
    varying = [k for k in range(max(words).bit_length()) if len({word >> k & 1 for word in words}) > 1]
    lane, depth = blocks[0].lane, blocks[0].depth
    banks = -(-len(words) // depth)
    if len(blocks) != -(-banks * len(varying) // lane):
        return False
    for k, word in enumerate(words):
        bank, address = divmod(k, depth)
        for position, column in enumerate(varying, bank * len(varying)):
            block, bit = divmod(position, lane)
            if blocks[block].bit(address, bit) != str(word >> column & 1):
                return False
    return True


def _slices(cell: dict[str, Any], prefix: str, size: int, digits: int = 2) -> str:
    """Return the contents parameters of a cell as one string of bits, the lowest first.

    Their names end in so many hexadecimal digits; that keeps INIT_A, the output latch of AMD's blocks, out.
    """
    found = sorted((int(name.removeprefix(prefix), 16), value) for name, value in _named(cell, prefix, digits))
    return "".join(value[::-1].ljust(size, "0") for _, value in found)


def _named(cell: dict[str, Any], prefix: str, digits: int) -> Iterator[tuple[str, str]]:
    return ((k, v) for k, v in cell["parameters"].items() if re.fullmatch(rf"{prefix}[0-9A-F]{{{digits}}}", k))


def _number(cell: dict[str, Any], parameter: str) -> int:
    return int(cell["parameters"][parameter], 2)


def _block(cell: dict[str, Any]) -> _Block:
    return _READERS[cell["type"]](cell)


def _split(address: int, bit: int, lane: int) -> tuple[int, int]:
    """Return the group of nine bits (eight and parity) and the bit in it; narrow ports leave the ninth unused."""
    return divmod(address * lane + bit, 9 if lane >= 9 else 8)


def _xilinx(cell: dict[str, Any]) -> _Block:
    data, parity = _slices(cell, "INIT_", 256), _slices(cell, "INITP_", 256)
    lane = _number(cell, "READ_WIDTH_A")

    def bit(address: int, k: int) -> str:
        group, place = _split(address, k, lane)
        return parity[group] if place == 8 else data[group * 8 + place]

    return _Block(lane, len(data) // (lane // 9 * 8 or lane), bit)


def _ecp5(cell: dict[str, Any]) -> _Block:
    spaced = _slices(cell, "INITVAL_", 320)
    lane = _number(cell, "DATA_WIDTH_B" if _number(cell, "DATA_WIDTH_A") == 36 else "DATA_WIDTH_A")

    def bit(address: int, k: int) -> str:
        group, place = _split(address, k, lane)
        return spaced[group // 2 * 20 + group % 2 * 9 + place]

    return _Block(lane, 16384 // (lane // 9 * 8 or lane), bit)


def _gowin(cell: dict[str, Any]) -> _Block:
    nine = cell["type"] == "SPX9"
    contents = _slices(cell, "INIT_RAM_", 288 if nine else 256)
    lane = _number(cell, "BIT_WIDTH")
    return _Block(lane, len(contents) // lane, lambda address, k: contents[address * lane + k])


def _ice40(cell: dict[str, Any]) -> _Block:
    """Read SB_RAM40_4K: bits in address order, but for the order of each sixteen, whose place has its bits reversed."""
    contents = _slices(cell, "INIT_", 256, digits=1)
    lane = 16 >> _number(cell, "READ_MODE")

    def bit(address: int, k: int) -> str:
        place = address * lane + k
        return contents[place & ~15 | int(f"{place & 15:04b}"[::-1], 2)]

    return _Block(lane, 4096 // lane, bit)


_READERS: dict[str, Callable[[dict[str, Any]], _Block]] = {
    **dict.fromkeys(("RAMB18E1", "RAMB18E2", "RAMB36E1", "RAMB36E2"), _xilinx),
    "DP16KD": _ecp5,
    **dict.fromkeys(("SP", "SPX9"), _gowin),
    "SB_RAM40_4K": _ice40,
}
