"""hls4ml's C++ as a CPU runs it: its top function called one inference at a time, each call timed by itself.

The program is that of the C simulation but for its main function; it runs as a child process.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flow.errors import MissingTool, UserError
from flow.fixed import IntArray
from flow.frontend.border import Ports
from flow.frontend.csim import _BITS, _PROLOGUE, COMPILE_SECONDS, RUN_SECONDS, _declaration, _to_words, write_csim

# as hls4ml's own build script has it, without what concerns shared libraries
FLAGS = ("-w", "-std=c++11", "-O3", "-Ifirmware/ap_types", "-I.")


def time_csim(model: Any, folder: Path, inputs: tuple[IntArray, ...], count: int, warmup: int) -> NDArray[np.int64]:
    """Return the ns of `count` inferences, after `warmup` others, of a ModelGraph whose `vitis:ip` flow is complete.

    inputs: raw vectors (batch, *shape) in the model's order, taken in turn. folder: scratch space. Raises MissingTool
    without g++, UserError when the program does not compile or end.
    """
    interface = write_csim(model, folder)
    (folder / "timing.cpp").write_text(_program(interface))
    compiler = shutil.which("g++")
    if compiler is None:
        raise MissingTool("g++ is not installed; hls4ml's C++ needs it (Debian: apt install g++)")
    _run([compiler, *FLAGS, "timing.cpp", "-o", "timing"], folder, COMPILE_SECONDS, "does not compile")
    batch = len(inputs[0])
    rows = [_to_words(np.asarray(x).reshape(batch, -1), p) for x, p in zip(inputs, interface.inputs, strict=True)]
    with tempfile.TemporaryDirectory(dir=folder, prefix="vectors-") as place:
        source, sink = Path(place).resolve() / "in.bin", Path(place).resolve() / "ns.bin"
        source.write_bytes(np.concatenate(rows, axis=1).tobytes())
        words = [str((folder / "timing").resolve()), str(source), str(sink), str(warmup), str(count)]
        _run(words, folder, RUN_SECONDS, "did not run")
        times = np.frombuffer(sink.read_bytes(), dtype="<i8")
    if len(times) != count:
        raise UserError(f"hls4ml's C++ timed {len(times)} of {count} inferences")
    return times


def _run(words: list[str], folder: Path, seconds: int, how: str) -> None:
    try:
        done = subprocess.run(
            words, cwd=folder, capture_output=True, text=True, errors="replace", timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"hls4ml's C++ {how} within {seconds} s: the model is too large, or ask for fewer") from None
    if done.returncode or "ERROR" in done.stderr:
        said = done.stderr.splitlines()
        reason = next((line for line in said if "rror" in line), said[0] if said else f"status {done.returncode}")
        raise UserError(f"hls4ml's C++ {how}: {reason.strip()}")


def _program(interface: Ports) -> str:
    """Return the C++ source: arguments are input file, file of times, calls that are not timed, calls that are."""
    inputs = [(f"in_{k}", port) for k, port in enumerate(interface.inputs)]
    outputs = [(f"out_{k}", port) for k, port in enumerate(interface.outputs)]
    call = f"{interface.project}({', '.join(name for name, _ in inputs + outputs)});"
    lines = [
        *(_declaration(port, name, is_stream=interface.is_stream) for name, port in inputs + outputs),
        "int main(int count, char **word) {",
        "    if (count != 5) return 2;",
        '    FILE *source = fopen(word[1], "rb"), *sink = fopen(word[2], "wb"), *results = tmpfile();',
        "    if (!source || !sink || !results) return 3;",
        "    long warmup = atol(word[3]), timed = atol(word[4]);",
        "    for (long k = 0; k < warmup + timed; k++) {",
        "        int first = fgetc(source);",
        "        if (first == EOF) rewind(source); else ungetc(first, source);",
        *(f"        if (!load({name}, {port.size}, source)) return 4;" for name, port in inputs),
        "        struct timespec start, end;",
        "        clock_gettime(CLOCK_MONOTONIC, &start);",
        f"        {call}",
        "        clock_gettime(CLOCK_MONOTONIC, &end);",
        "        int64_t ns = (end.tv_sec - start.tv_sec) * 1000000000LL + (end.tv_nsec - start.tv_nsec);",
        "        if (k >= warmup && fwrite(&ns, sizeof ns, 1, sink) != 1) return 5;",
        "        rewind(results);  // reading the results keeps the call from being optimized away",
        *(f"        if (!store({name}, {port.size}, results)) return 6;" for name, port in outputs),
        "    }",
        "    return fclose(sink) ? 7 : 0;",
        "}",
    ]
    body = "\n".join(lines)
    return f'#include <time.h>\n{_PROLOGUE}#include "firmware/{interface.project}.cpp"\n{_BITS}{body}\n'
