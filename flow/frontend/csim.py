"""hls4ml's C simulation as a program of its own, with raw integers going in and out.

The program includes the generated top function and a few lines of ours that copy raw bits, so that outputs of any
width come back exactly. It runs as a child process: whatever foreign code does, it cannot harm the caller.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flow.errors import MissingTool, UserError
from flow.fixed import FixedArray, FixedType, IntArray, from_float, narrow
from flow.frontend.border import Port, Ports, ports, write_files

COMPILE_SECONDS = 900
RUN_SECONDS = 600
# -O1: -O0 simulates far slower, -O3 compiles far slower
FLAGS = ("-w", "-std=c++11", "-O1", "-Ifirmware/ap_types", "-I.")

_PROLOGUE = """\
// ap_types reads a bit beyond the source in an expression whose result it then ignores, and asserts on it
#define NDEBUG
#include "ap_fixed.h"
#undef NDEBUG
#include <cassert>
#include <cstdint>
#include <cstdio>
#define WEIGHTS_DIR "firmware/weights"
"""

_BITS = """\
namespace nnet {
bool trace_enabled = false;
std::map<std::string, void *> *trace_outputs = NULL;
size_t trace_type_size = sizeof(double);
}
template <int W, bool S> void set_bits(ap_private<W, S, true> &v, const uint64_t *w) {
    v = ap_private<W, S, true>(w[0]);
}
template <int W, bool S> void set_bits(ap_private<W, S, false> &v, const uint64_t *w) {
    for (int k = 0; k < (W + 63) / 64; k++) v.set_pVal(k, w[k]);
    v.clearUnusedBits();
}
template <int W, bool S> void get_bits(const ap_private<W, S, true> &v, uint64_t *w) { w[0] = (uint64_t)v.get_VAL(); }
template <int W, bool S> void get_bits(const ap_private<W, S, false> &v, uint64_t *w) {
    for (int k = 0; k < (W + 63) / 64; k++) w[k] = v.get_pVal(k);
}
template <class T> bool load(T *x, size_t n, FILE *file) {
    uint64_t w[(T::width + 63) / 64];
    for (size_t k = 0; k < n; k++) {
        if (fread(w, sizeof w, 1, file) != 1) return false;
        set_bits(x[k].V, w);
    }
    return true;
}
template <class T> bool store(const T *x, size_t n, FILE *file) {
    uint64_t w[(T::width + 63) / 64];
    for (size_t k = 0; k < n; k++) {
        get_bits(x[k].V, w);
        if (fwrite(w, sizeof w, 1, file) != 1) return false;
    }
    return true;
}
template <class A> bool load(hls::stream<A> &x, size_t n, FILE *file) {
    for (size_t k = 0; k < n; k += A::size) {
        A word;
        if (!load(word.data, A::size, file)) return false;
        x.write(word);
    }
    return true;
}
template <class A> bool store(hls::stream<A> &x, size_t n, FILE *file) {
    for (size_t k = 0; k < n; k += A::size) {
        if (x.empty()) return false;
        A word = x.read();
        if (!store(word.data, A::size, file)) return false;
    }
    return x.empty();
}
"""


@dataclass(frozen=True, slots=True)
class CompiledCsim:
    """Stand for a compiled C simulation in its project folder."""

    folder: Path
    ports: Ports

    def run_raw(self, inputs: tuple[IntArray, ...]) -> tuple[IntArray, ...]:
        """Return the outputs (batch, elements) as raw integers for raw inputs of shape (batch, *shape).

        Inputs and outputs are in the model's order. Raises UserError when the program dies or does not end.
        """
        batch = len(inputs[0])
        rows = [_to_words(np.asarray(x).reshape(batch, -1), p) for x, p in zip(inputs, self.ports.inputs, strict=True)]
        with tempfile.TemporaryDirectory(dir=self.folder, prefix="vectors-") as place:
            source, sink = Path(place) / "in.bin", Path(place) / "out.bin"
            source.write_bytes(np.concatenate(rows, axis=1).tobytes())
            self._execute(source, sink, batch)
            data = np.frombuffer(sink.read_bytes(), dtype="<u8").reshape(batch, -1)
        outputs, at = [], 0
        for port in self.ports.outputs:
            length = port.size * _words(port.type)
            outputs.append(_from_words(data[:, at : at + length], port))
            at += length
        return tuple(outputs)

    def run(self, inputs: tuple[NDArray[np.float64], ...]) -> tuple[NDArray[np.float64], ...]:
        """Return the outputs (batch, elements) as floats for float inputs, which are quantized first."""
        raw = tuple(from_float(x, port.type) for x, port in zip(inputs, self.ports.inputs, strict=True))
        return tuple(
            FixedArray(y, port.type).to_float() for y, port in zip(self.run_raw(raw), self.ports.outputs, strict=True)
        )

    def _execute(self, source: Path, sink: Path, batch: int) -> None:
        command = [str(self.folder.resolve() / "csim"), str(source.resolve()), str(sink.resolve()), str(batch)]
        what = f"hls4ml's C simulation of '{self.ports.project}'"
        try:
            done = subprocess.run(command, cwd=self.folder, capture_output=True, timeout=RUN_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise UserError(f"{what} did not end within {RUN_SECONDS} s for {batch} vectors") from None
        said = (done.stderr.decode(errors="replace").strip().splitlines() or [""])[0]
        if done.returncode:
            how = f"status {done.returncode}" if done.returncode > 0 else signal.Signals(-done.returncode).name
            raise UserError(f"{what} stopped with {how}: {said}")
        if "ERROR" in said:
            raise UserError(f"{what} could not read its weights: {said}")


def write_csim(model: Any, folder: Path) -> Ports:
    """Write the hls4ml project and the simulation program's source into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    write_files(model, folder)
    interface = ports(model)
    (folder / "csim.cpp").write_text(_program(interface))
    return interface


def build_csim(interface: Ports, folder: Path) -> CompiledCsim:
    """Compile what `write_csim` wrote; safe to call from several threads at once, one folder each.

    Raises MissingTool without g++, UserError with the compiler's first error.
    """
    compiler = shutil.which("g++")
    if compiler is None:
        raise MissingTool("g++ is not installed; hls4ml's C simulation needs it (Debian: apt install g++)")
    what = f"hls4ml's C simulation of '{interface.project}'"
    command = [compiler, *FLAGS, "csim.cpp", "-o", "csim"]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=COMPILE_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"{what} did not compile within {COMPILE_SECONDS} s: the model is too large for it") from None
    if done.returncode:
        lines = done.stderr.splitlines()
        reason = next((line for line in lines if "error:" in line), lines[0] if lines else f"status {done.returncode}")
        raise UserError(f"{what} does not compile: {reason.strip()}")
    return CompiledCsim(folder, interface)


def compile_csim(model: Any, folder: Path) -> CompiledCsim:
    """Write and compile the C simulation of a ModelGraph whose `vitis:ip` flow is complete."""
    return build_csim(write_csim(model, folder), folder)


def _program(interface: Ports) -> str:
    """Return the C++ source of the simulation program: arguments are input file, output file, inferences."""
    inputs = [(f"in_{k}", port) for k, port in enumerate(interface.inputs)]
    outputs = [(f"out_{k}", port) for k, port in enumerate(interface.outputs)]
    lines = [
        *(_declaration(port, name, is_stream=interface.is_stream) for name, port in inputs + outputs),
        "int main(int count, char **word) {",
        "    if (count != 4) return 2;",
        '    FILE *source = fopen(word[1], "rb"), *sink = fopen(word[2], "wb");',
        "    if (!source || !sink) return 3;",
        "    for (long left = atol(word[3]); left > 0; left--) {",
        *(f"        if (!load({name}, {port.size}, source)) return 4;" for name, port in inputs),
        f"        {interface.project}({', '.join(name for name, _ in inputs + outputs)});",
        *(f"        if (!store({name}, {port.size}, sink)) return 5;" for name, port in outputs),
        "    }",
        "    return fclose(sink) ? 6 : 0;",
        "}",
    ]
    body = "\n".join(lines)
    return f'{_PROLOGUE}#include "firmware/{interface.project}.cpp"\n{_BITS}{body}\n'


def _declaration(port: Port, name: str, *, is_stream: bool) -> str:
    return (
        f"static hls::stream<{port.cpp_type}> {name};" if is_stream else f"static {port.cpp_type} {name}[{port.size}];"
    )


def _words(kind: FixedType) -> int:
    """Return how many 64-bit words one element takes."""
    return (kind.width + 63) // 64


def _to_words(raw: IntArray, port: Port) -> NDArray[np.uint64]:
    """Return raw integers (batch, elements) as little-endian words (batch, elements × words)."""
    if raw.shape[1] != port.size:
        raise UserError(f"'{port.variable}' takes {port.size} values per inference, not {raw.shape[1]}")
    if port.is_coded:
        raw = (raw + 1) // 2
    count, mask = _words(port.type), (1 << 64) - 1
    if count == 1:
        return (raw.astype(object) & mask).astype("<u8") if raw.dtype == object else raw.astype("<i8").view("<u8")
    parts = [((raw.astype(object) >> (64 * k)) & mask).astype("<u8") for k in range(count)]
    words: NDArray[np.uint64] = np.stack(parts, axis=-1).reshape(raw.shape[0], -1)
    return words


def _from_words(words: NDArray[np.uint64], port: Port) -> IntArray:
    """Return raw integers (batch, elements) from words."""
    count = _words(port.type)
    parts = words.reshape(len(words), port.size, count).astype(object)
    total = parts[..., 0]
    for k in range(1, count):
        total = total + (parts[..., k] << (64 * k))
    if port.is_coded:
        return narrow(2 * (total & 1) - 1, port.type)
    total = total & ((1 << port.type.width) - 1)
    if port.type.signed:
        half = 1 << (port.type.width - 1)
        total = (total ^ half) - half
    return narrow(total, port.type)
