"""A C++ program that casts through hls4ml's ap_types headers: what it says is right."""

from __future__ import annotations

import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from flow.fixed import FixedType, IntArray

_HEAD = r"""
#define NDEBUG
#include "ap_fixed.h"
#include <cstdint>
#include <cstdio>
template <int W, bool S> void set_bits(ap_private<W, S, true> &v, const uint64_t *w) {
    v = ap_private<W, S, true>(w[0]);
}
template <int W, bool S> void set_bits(ap_private<W, S, false> &v, const uint64_t *w) {
    for (int k = 0; k < (W + 63) / 64; k++) v.set_pVal(k, w[k]);
    v.clearUnusedBits();
}
template <int W, bool S> void get_bits(const ap_private<W, S, true> &v, uint64_t *w) { w[0] = v.get_VAL(); }
template <int W, bool S> void get_bits(const ap_private<W, S, false> &v, uint64_t *w) {
    for (int k = 0; k < (W + 63) / 64; k++) w[k] = v.get_pVal(k);
}
template <class D> void put(const D &d, FILE *o) {
    uint64_t w[(D::width + 63) / 64];
    get_bits(d.V, w);
    fwrite(w, sizeof w, 1, o);
}
template <class S, class D> void assign(FILE *i, FILE *o, int n) {
    uint64_t w[(S::width + 63) / 64];
    for (int k = 0; k < n; k++) {
        if (fread(w, sizeof w, 1, i) != 1) return;
        S s;
        set_bits(s.V, w);
        put((D)s, o);
    }
}
template <class D> void construct(FILE *i, FILE *o, int n) {
    double x;
    for (int k = 0; k < n; k++) {
        if (fread(&x, sizeof x, 1, i) != 1) return;
        put(D(x), o);
    }
}
int main(int, char **v) {
    FILE *i = fopen(v[1], "rb"), *o = fopen(v[2], "wb");
"""


@dataclass(frozen=True, slots=True)
class Assignment:
    """Assign raw integers of one type, or floats where `source` is None, to another type."""

    source: FixedType | None
    target: FixedType
    values: tuple[int | float, ...]
    integer: bool = False  # the target is an ap_int


def cpp_type(kind: FixedType, *, integer: bool = False) -> str:
    sign = "" if kind.signed else "u"
    if integer:
        return f"ap_{sign}int<{kind.width}>"
    return f"ap_{sign}fixed<{kind.width},{kind.integer},AP_{kind.rounding},AP_{kind.overflow}>"


def run(jobs: list[Assignment], folder: Path) -> list[IntArray]:
    """Compile one program for all jobs and return the raw integers that it computes for each."""
    import hls4ml

    headers = Path(hls4ml.__file__).parent / "templates/vivado/ap_types"
    lines, data = [], b""
    for job in jobs:
        target = cpp_type(job.target, integer=job.integer)
        if job.source is None:
            lines.append(f"construct<{target} >(i, o, {len(job.values)});")
            data += struct.pack(f"<{len(job.values)}d", *job.values)
        else:
            lines.append(f"assign<{cpp_type(job.source)}, {target} >(i, o, {len(job.values)});")
            length = (job.source.width + 63) // 64 * 8
            mask = (1 << job.source.width) - 1
            data += b"".join((int(v) & mask).to_bytes(length, "little") for v in job.values)
    (folder / "casts.cpp").write_text(_HEAD + "\n".join(lines) + "\n    return fclose(o);\n}\n")
    (folder / "in.bin").write_bytes(data)
    command = ["g++", "-w", "-std=c++11", "-O0", f"-I{headers}", "casts.cpp", "-o", "casts"]
    subprocess.run(command, cwd=folder, check=True)
    subprocess.run(["./casts", "in.bin", "out.bin"], cwd=folder, check=True)
    out, at, results = (folder / "out.bin").read_bytes(), 0, []
    for job in jobs:
        length, raws = (job.target.width + 63) // 64 * 8, []
        for _ in job.values:
            raw = int.from_bytes(out[at : at + length], "little") & ((1 << job.target.width) - 1)
            at += length
            raws.append(raw - (1 << job.target.width) if job.target.signed and raw >> (job.target.width - 1) else raw)
        results.append(np.array(raws, dtype=object))
    assert at == len(out)
    return results


def telling_values(rng: np.random.Generator, source: FixedType, target: FixedType) -> tuple[int, ...]:
    """Return all raw values of a small type; of a large one the ends, ties, and what lies a bit beside them."""
    lo, hi = source.exact().lo, source.exact().hi
    if source.width <= 7:
        return tuple(range(lo, hi + 1))
    shift = source.fraction - target.fraction
    half = 1 << (shift - 1) if shift > 0 else 0
    found = {lo, lo + 1, hi, hi - 1, 0, 1, max(lo, -1)}
    for _ in range(15):
        value = int.from_bytes(rng.bytes(16), "little") & ((1 << int(rng.integers(1, source.width + 1))) - 1)
        grid = (value >> max(shift, 0)) << max(shift, 0)
        found |= {value, -value} | {sign * grid + half + beside for sign in (1, -1) for beside in (-1, 0, 1)}
    for end in (target.lo, target.hi):
        for steps in (-1, 0, 1):
            at = (end + steps) << shift if shift >= 0 else (end + steps) >> -shift
            found |= {at + offset + beside for offset in (0, half) for beside in (-1, 0, 1)}
    return tuple(sorted(v for v in found if lo <= v <= hi))
