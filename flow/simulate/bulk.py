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
from flow.rtl.packing import beat_count, meaningful, word_count
from flow.rtl.signature import Signature, TensorPort, check_memories, load_signature
from flow.simulate.messages import first_error
from flow.simulate.runner import design_sources, present
from flow.simulate.verilator import CPP, Design, build_design, find_toolchain, processors

CHUNK = 2048  # inferences per call; progress is told after each
PATIENCE = 64  # cycles beyond the latency that are waited for a beat of a result
OPTIMIZATION = "-Og"  # runs as fast as -O1 and compiles in half the time
FEW = 500_000  # inferences (of a network of 4,000 operations) that take as long without optimization as compiling with


@dataclass(frozen=True, slots=True)
class BulkRun:
    """Hold what came out.

    words_out: shape (n, beats, words of a beat) uint64, bits without meaning are 0. cycles: clock cycles simulated,
    over all chunks.
    """

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
        """Stream inputs of shape (n, beats, words of a beat) through the design; results come in the same order.

        Each thread (by default one per processor) has its own copy of the design, which is reset before each chunk.
        `progress` is told the inferences done and in all. Raises VerificationError when results fail to come, or the
        design reports an error: an assertion that fails, `$error`, `$fatal`.
        """
        wanted, given = self._shape(self.signature.inputs), words_in.shape
        if given[1:] != wanted:
            raise UserError(f"input words have shape {given}; this design takes (n, {wanted[0]}, {wanted[1]})")
        words = np.ascontiguousarray(words_in, dtype=np.uint64)
        total = words.shape[0]
        out = np.zeros((total, *self._shape(self.signature.outputs)), dtype=np.uint64)
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
        out &= meaningful(self.signature.outputs)
        return BulkRun(out, cycles)

    @staticmethod
    def _shape(ports: tuple[TensorPort, ...]) -> tuple[int, int]:
        return beat_count(ports), word_count(ports)

    def _stream(self, handle: int, words: NDArray[np.uint64], out: NDArray[np.uint64]) -> int:
        cycles = ctypes.c_int64(0)
        count, beats_in, words_in = words.shape
        _, beats_out, words_out = out.shape
        cycles_in = np.array(self.signature.input_cycles, dtype=np.int64)
        came = self.library.design_run(
            handle,
            words.ctypes.data,
            words_in,
            beats_in,
            cycles_in.ctypes.data,
            out.ctypes.data,
            words_out,
            beats_out,
            count,
            self.signature.interval_cycles,
            # results may lie further apart than a result lies behind its input
            max(self.signature.latency_cycles, self.signature.interval_cycles) + PATIENCE,
            ctypes.byref(cycles),
        )
        if came < 0:
            said = self.library.design_said(handle).decode(errors="replace")
            raise VerificationError(f"the hardware reports an error in the bulk simulation: {first_error(said)}")
        if came != count * beats_out:
            whole = came // beats_out
            raise VerificationError(f"only {whole} of {count} inferences gave a result in the bulk simulation")
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
        options=("--assert", "--x-assign", "fast", "--x-initial", "fast", "-Wno-lint", "-Wno-style"),
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
    library.design_said.argtypes = [pointer]
    library.design_said.restype = ctypes.c_char_p
    inputs, outputs = (pointer, number, number, pointer), (pointer, number, number)
    library.design_run.argtypes = (pointer, *inputs, *outputs, number, number, number, pointer)
    library.design_run.restype = number
    return library
