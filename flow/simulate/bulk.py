"""The RTL as a compiled library: thousands of inferences per call, back to back at the interval."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flow.errors import UserError, VerificationError
from flow.rtl.packing import word_count
from flow.rtl.signature import Signature, check_memories, load_signature
from flow.simulate.runner import design_sources, present
from flow.simulate.verilator import CPP, Design, build_design, find_toolchain, processors

CHUNK = 2048  # inferences per call; progress is told after each
PATIENCE = 64  # cycles beyond the latency that are waited for a result
OPTIMIZATION = "-Og"  # runs as fast as -O1 and compiles in half the time
FEW = 500_000  # inferences (of a network of 4,000 operations) that take as long without optimization as compiling with


@dataclass(frozen=True, slots=True)
class BulkRun:
    """Hold what came out. words_out: shape (n, words) uint64. cycles: clock cycles simulated, over all chunks."""

    words_out: NDArray[np.uint64]
    cycles: int


@dataclass(frozen=True, slots=True)
class BulkModel:
    """Hold a compiled design; made by `bulk_model`."""

    folder: Path
    signature: Signature
    library: ctypes.CDLL

    def run(
        self,
        words_in: NDArray[np.uint64],
        *,
        threads: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> BulkRun:
        """Stream packed inputs of shape (n, words) through the design; results come in the same order.

        Each thread (by default one per processor) has its own copy of the design, which is reset before each chunk.
        `progress` is told the inferences done and in all. Raises VerificationError when results fail to come.
        """
        wanted = word_count(self.signature.inputs)
        if words_in.ndim != 2 or words_in.shape[1] != wanted:
            raise UserError(f"input words have shape {words_in.shape}; this design takes (n, {wanted})")
        words = np.ascontiguousarray(words_in, dtype=np.uint64)
        total = words.shape[0]
        out = np.zeros((total, word_count(self.signature.outputs)), dtype=np.uint64)
        parts = [slice(start, min(start + CHUNK, total)) for start in range(0, total, CHUNK)]
        workers = max(1, min(threads or processors(), len(parts)))
        # memory files are read when a design is made; they are named relative to the folder of the RTL
        with contextlib.chdir(self.folder / "rtl"):
            handles = [self.library.design_new() for _ in range(workers)]
        cycles = done = 0
        try:
            with ThreadPoolExecutor(workers) as pool:
                for first in range(0, len(parts), workers):
                    batch = parts[first : first + workers]
                    # ctypes lets go of the interpreter lock, so the designs run at the same time
                    jobs = [
                        pool.submit(self._stream, handle, words[part], out[part])
                        for handle, part in zip(handles, batch, strict=False)
                    ]
                    cycles += sum(job.result() for job in jobs)
                    done += sum(part.stop - part.start for part in batch)
                    if progress is not None:
                        progress(done, total)
        finally:
            for handle in handles:
                self.library.design_delete(handle)
        return BulkRun(out, cycles)

    def _stream(self, handle: int, words: NDArray[np.uint64], out: NDArray[np.uint64]) -> int:
        cycles = ctypes.c_int64(0)
        came = self.library.design_run(
            handle,
            words.ctypes.data,
            words.shape[1],
            out.ctypes.data,
            out.shape[1],
            words.shape[0],
            self.signature.interval_cycles,
            self.signature.latency_cycles + PATIENCE,
            ctypes.byref(cycles),
        )
        if came != words.shape[0]:
            raise VerificationError(f"only {came} of {words.shape[0]} inferences gave a result in the bulk simulation")
        return cycles.value


def bulk_model(folder: Path, *, inferences: int = FEW) -> BulkModel:
    """Compile the RTL that lies in a run's folder into `sim/bulk/`, or take what was compiled of the same files.

    inferences: how many are wanted; for few of them the code is not worth optimizing.
    Raises UserError for missing files, MissingTool, and VerificationError when the hardware does not compile.
    """
    signature = load_signature(present(folder / "signature.json", folder))
    sources = design_sources(folder, signature)
    for path in sources:
        present(path, folder)
    check_memories(folder, signature)
    design = Design(
        top=signature.top,
        sources=sources,
        control="`verilator_config\n",
        wrapper=CPP / "library.cpp",
        options=("--x-assign", "fast", "--x-initial", "fast", "-Wno-lint", "-Wno-style"),
        optimization=OPTIMIZATION if inferences >= FEW else "-O0",
        link=("-shared",),
    )
    try:
        built = build_design(find_toolchain(), design, folder / "sim" / "bulk", "design.so")
    except OSError as error:
        raise UserError(f"cannot write the simulation into {folder / 'sim'}: {error.strerror}") from None
    return BulkModel(folder.resolve(), signature, _bind(built.resolve()))


def _bind(path: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    library.design_new.restype = pointer
    library.design_delete.argtypes = [pointer]
    library.design_run.argtypes = [pointer, pointer, number, pointer, number, number, number, number, pointer]
    library.design_run.restype = number
    return library
