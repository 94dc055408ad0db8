from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from flow.errors import UserError
from flow.simulate.runner import simulate
from flow.simulate.verilator import find_toolchain, prepare_runtime
from tests.simulate.designs import pipeline

FST_HEADER = 0
FST_GEOMETRY = 3
FST_HIERARCHY_LZ4 = 6
FST_CHANGES = 8


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").write_text("a file where a folder must be made")
    monkeypatch.setenv("FPGAFLOW_CACHE", str(tmp_path / "cache"))
    with pytest.raises(UserError, match="set FPGAFLOW_CACHE to a folder that can be written"):
        prepare_runtime(find_toolchain(), waves=False)


def blocks(content: bytes) -> list[tuple[int, bytes]]:
    found, at = [], 0
    while at < len(content):
        length = int.from_bytes(content[at + 1 : at + 9], "big")
        found.append((content[at], content[at + 9 : at + 1 + length]))
        at += 1 + length
    return found


def literals(block: bytes) -> bytes:
    count, at = block[0] >> 4, 1
    while count >= 15 and (at == 1 or block[at - 1] == 255):
        count += block[at]
        at += 1
    assert len(block) == at + count
    return block[at:]


@pytest.mark.eda
def test_waves_are_written_as_fst(tmp_path: Path) -> None:
    design = pipeline()
    result = simulate(design.write(tmp_path), vectors=design.vectors, seeds=(1,), waves=True)
    assert result.passed, result.failures

    parts = blocks((tmp_path / "sim" / "waves.fst").read_bytes())
    kinds = [kind for kind, _ in parts]
    assert kinds[0] == FST_HEADER
    header = parts[0][1]
    assert header.count(b"VerilatedFst") == 1
    assert not any(header[193:219])  # the date
    assert {FST_GEOMETRY, FST_HIERARCHY_LZ4, FST_CHANGES} <= set(kinds)
    hierarchy = next(body for kind, body in parts if kind == FST_HIERARCHY_LZ4)
    text = literals(hierarchy[8:])
    assert len(text) == int.from_bytes(hierarchy[:8], "big")
    assert b"pipeline\0" in text
    assert b"b_data_q" in text
    geometry = next(body for kind, body in parts if kind == FST_GEOMETRY)
    plain = int.from_bytes(geometry[:8], "big")
    packed = geometry[16:]
    assert len(packed if len(packed) == plain else zlib.decompress(packed)) == plain
