"""Run the cocotb bench on the RTL that lies in a run's folder, or on a netlist made from it."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from flow.errors import MissingTool, UserError, VerificationError
from flow.rtl.signature import Signature, check_memories, load_signature
from flow.simulate.messages import complaints, first_error
from flow.simulate.result import (
    ASSERTIONS,
    RUN,
    Check,
    SeedResult,
    SimulationResult,
    combine,
    load_seed_result,
    result_to_json,
)
from flow.simulate.vectors import Vectors, save_vectors
from flow.simulate.verilator import Design, build_design, find_toolchain, processors

STREAM = 1000  # inferences back to back with the first seed, at least
STREAM_AGAIN = 200  # and with the others, which differ in initial contents only
GAPS = 300
GAPS_AGAIN = 100
FEWEST = 8
CYCLES = 200_000  # that more vectors than STREAM, and gaps, may take with the first seed
CYCLES_AGAIN = 20_000
SLOWEST_CYCLES_PER_SECOND = 100
START_SECONDS = 120
COMPLAINTS = 1_000_000  # errors that the design may report before its simulation ends: traffic breaks its rules
BEATS = 600_000  # that are watched back to back with the first seed, over all edges; and a quarter of it with gaps
BEATS_AGAIN = 100_000
SOURCES = {".sv", ".v"}
FST_DATE = slice(202, 228)  # a field of the file's header, cleared so that same inputs give same bytes

Progress = Callable[[str, int, int], None]
"""Told what is being done, the steps done, and the steps in all."""


def simulate(
    folder: Path,
    *,
    vectors: Vectors,
    seeds: tuple[int, ...] = (1, 2, 3),
    waves: bool = False,
    netlist: Path | None = None,
    cell_models: tuple[Path, ...] = (),
    progress: Progress | None = None,
) -> SimulationResult:
    """Simulate `folder`'s design on `vectors` and judge bits, cycles, interval, resets and overruns.

    The RTL is used as it lies there. With a netlist (and models of its cells) only the ports are judged. Writes
    `sim/` in the folder: vectors.npz, log.txt, result.json, on request waves.fst (names start with `netlist_` for a
    netlist). Raises UserError for files that are missing, MissingTool, and VerificationError when the hardware does
    not compile.
    """
    signature = load_signature(present(folder / "signature.json", folder))
    _check_vectors(signature, vectors)
    if not seeds:
        raise UserError("a simulation needs at least one seed for the initial contents of registers")
    if netlist is None:
        check_memories(folder, signature)
    changed = changed_files(folder, signature) if netlist is None else ()
    sources = design_sources(folder, signature) if netlist is None else (netlist, *cell_models)
    for path in sources:
        present(path, folder)
    chain = find_toolchain()
    steps = _Steps(progress, 2 + len(seeds))
    work = folder / "sim"
    prefix = "" if netlist is None else "netlist_"
    try:
        work.mkdir(exist_ok=True)
        save_vectors(work / "vectors.npz", vectors)
        steps.next("compile the hardware for simulation")
        build = work / f"{prefix}build"
        program = build_design(
            chain, _design(signature, sources, edges=netlist is None, waves=waves), build, "simulation"
        )
        steps.next("simulate")
        bench = _Bench(
            folder=folder.resolve(),
            signature=signature,
            build=build.resolve(),
            program=program.resolve(),
            vectors=vectors.count,
            edges=netlist is None,
            waves=waves,
        )
        with ThreadPoolExecutor(min(processors(), len(seeds))) as pool:
            jobs = {pool.submit(bench.run, seed, first=k == 0): seed for k, seed in enumerate(seeds)}
            for job in as_completed(jobs):
                job.result()
                steps.next(f"simulated with seed {jobs[job]}")
        results = [job.result() for job in jobs]
        if waves:
            _keep_waves(build / "waves.fst", work / f"{prefix}waves.fst")
        (work / f"{prefix}log.txt").write_text("".join(bench.log(seed) for seed in seeds))
    except OSError as error:
        raise UserError(f"cannot write the simulation into {work}: {error.strerror}") from None
    result = combine(
        tuple(found for found in results if isinstance(found, SeedResult)),
        vectors=min(vectors.count, traffic_counts(signature, vectors.count, first=True)[0]),
        edges=len(signature.edges) if netlist is None else 0,
        changed_files=changed,
        unfinished=tuple(found for found in results if isinstance(found, Check)),
    )
    (work / f"{prefix}result.json").write_bytes(result_to_json(result))
    return result


def traffic_counts(signature: Signature, vectors: int, *, first: bool) -> tuple[int, int]:
    """Return how many inferences one seed runs back to back, and how many with gaps.

    With the first seed all vectors, and at least 1,000 inferences; where the interval is long not much more than that.
    Where an inference takes very many beats (images do) it is fewer: those that BEATS allows, and the bulk simulation
    runs all vectors.
    """
    beats = len(signature.output_cycles) + sum(len(edge.cycles) for edge in signature.edges)
    most = max(FEWEST, (BEATS if first else BEATS_AGAIN) // beats)
    room = (CYCLES if first else CYCLES_AGAIN) // signature.interval_cycles
    if first:
        stream, gaps = max(STREAM, min(vectors, room)), min(GAPS, room // 4)
    else:
        stream, gaps = max(FEWEST, min(STREAM_AGAIN, room)), min(GAPS_AGAIN, room // 4)
    return min(stream, most), max(FEWEST, min(gaps, most // 4))


def _keep_waves(made: Path, kept: Path) -> None:
    if not made.is_file():
        return
    content = bytearray(made.read_bytes())
    content[FST_DATE] = bytes(FST_DATE.stop - FST_DATE.start)
    kept.write_bytes(content)
    made.unlink()


def changed_files(folder: Path, signature: Signature) -> tuple[str, ...]:
    """Return the files of the design whose contents are no longer those that were generated."""
    return tuple(
        file.path
        for file in signature.files
        if hashlib.sha256(present(folder / file.path, folder).read_bytes()).hexdigest() != file.sha256
    )


def design_sources(folder: Path, signature: Signature) -> tuple[Path, ...]:
    """Return the design's Verilog files, in the signature's order."""
    return tuple(folder / file.path for file in signature.files if Path(file.path).suffix in SOURCES)


def present(path: Path, folder: Path) -> Path:
    """Return `path`; raise UserError when the file is missing."""
    if not path.is_file():
        raise UserError(f"{path} is missing; build the design in {folder} again: fpgaflow build")
    return path


def _check_vectors(signature: Signature, vectors: Vectors) -> None:
    if vectors.count == 0:
        raise UserError("there are no vectors to simulate; give at least one")
    if len(vectors.words_edges) != len(signature.edges):
        raise VerificationError(
            f"the vectors describe {len(vectors.words_edges)} edges, the signature {len(signature.edges)}"
        )


class _Steps:
    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0

    def next(self, text: str) -> None:
        if self._progress is not None:
            self._progress(text, self._done, self._total)
        self._done += 1


def _design(signature: Signature, sources: tuple[Path, ...], *, edges: bool, waves: bool) -> Design:
    from cocotb_tools import config

    written = ("clk_i", "rst_i", "valid_i", "data_i")
    seen = ["valid_o", "data_o", "overrun_o"]
    if edges:
        seen += [name for edge in signature.edges for name in (edge.valid, edge.data)]
    lines = ["`verilator_config"]
    lines += [f'public_flat_rw -module "{signature.top}" -var "{name}"' for name in written]
    lines += [
        f'public_flat_rd -module "{signature.top}" -var "{name}"' for name in dict.fromkeys(seen) if name not in written
    ]
    if edges:
        lines += [f'public_flat_rd -module "{memory.module}" -var "words"' for memory in signature.memories]
    return Design(
        top=signature.top,
        sources=sources,
        control="\n".join(lines) + "\n",
        wrapper=Path(config.share_dir) / "lib" / "verilator" / "verilator.cpp",
        options=("--vpi", "--assert", "--x-initial", "unique", "-Wno-lint", "-Wno-style"),
        optimization="-O0",
        link=(str(Path(config.libs_dir) / "libcocotbvpi_verilator.so"), f"-Wl,-rpath-link,{config.libs_dir}"),
        waves=waves,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bench:
    """Run a compiled design once per seed. All paths are absolute."""

    folder: Path
    signature: Signature
    build: Path
    program: Path
    vectors: int
    edges: bool
    waves: bool

    def log(self, seed: int) -> str:
        return f"seed {seed}\n{(self.build / f'log_{seed}.txt').read_text(errors='replace')}\n"

    def run(self, seed: int, *, first: bool) -> SeedResult | Check:
        results = self.build / f"results_{seed}.json"
        results.unlink(missing_ok=True)
        stream, gaps = traffic_counts(self.signature, self.vectors, first=first)
        order = {
            "signature": str(self.folder / "signature.json"),
            "vectors": str(self.folder / "sim" / "vectors.npz"),
            "results": str(results),
            "edges": self.edges,
            "seed": seed,
            "stream": stream,
            "gaps": gaps,
        }
        order_path = self.build / f"order_{seed}.json"
        order_path.write_text(json.dumps(order))
        command = [str(self.program), "+verilator+rand+reset+2", f"+verilator+seed+{seed}"]
        command.append(f"+verilator+error+limit+{COMPLAINTS}")
        if self.waves and first:
            command += ["--trace", "--trace-file", str(self.build / "waves.fst")]
        deepest = max([self.signature.latency_cycles, *(edge.cycles[-1] for edge in self.signature.edges)])
        cycles = (stream + gaps) * self.signature.interval_cycles + (gaps + 100) * (deepest + 20)
        limit = START_SECONDS + cycles / SLOWEST_CYCLES_PER_SECOND
        status = self._execute(command, self._environment(seed, order_path), seed, limit)
        if status is None:
            return Check(RUN, False, f"seed {seed}: no end after {limit:.0f} s; see sim/log.txt")
        said = (self.build / f"log_{seed}.txt").read_text(errors="replace")
        try:
            result = load_seed_result(results)
        except (OSError, ValidationError):
            why = f"status {status}: {first_error(said)}"
            return Check(RUN, False, f"seed {seed}: the bench broke off ({why}); see sim/log.txt")
        serious = [c for c in complaints(said) if not any(begin <= c.time < end for begin, end in result.lawless)]
        if not serious:
            return result
        detail = f"the design reports {len(serious):,} errors; the first: {serious[0].text}"
        return replace(result, checks=(*result.checks, Check(ASSERTIONS, False, detail)))

    def _execute(self, command: list[str], environment: dict[str, str], seed: int, limit: float) -> int | None:
        # memory files of the design are named relative to the folder of its RTL
        place = self.folder / "rtl"
        with (self.build / f"log_{seed}.txt").open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=place if place.is_dir() else self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                return process.wait(limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return None

    def _environment(self, seed: int, order: Path) -> dict[str, str]:
        from cocotb_tools import config

        bench = importlib.util.find_spec("sim")
        if bench is None or not bench.submodule_search_locations:
            raise MissingTool("the package 'sim' with the benches is missing; install fpgaflow again")
        python_library = _python_library()
        search = [str(Path(bench.submodule_search_locations[0]).parent)]
        libraries = [str(config.libs_dir), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        return os.environ | {
            "COCOTB_ANSI_OUTPUT": "0",
            "COCOTB_RANDOM_SEED": str(seed),
            "COCOTB_RESULTS_FILE": str(self.build / f"cocotb_{seed}.xml"),
            # rewriting assertions would load pytest's plugins, which takes longer than the simulation
            "COCOTB_REWRITE_ASSERTION_FILES": "",
            "COCOTB_TEST_MODULES": "sim.bench",
            "COCOTB_TOPLEVEL": self.signature.top,
            "COCOTB_TRUST_INERTIAL_WRITES": "1",
            "FPGAFLOW_BENCH": str(order),
            "GPI_USERS": ";".join([python_library, config.pygpi_entry_point()]),
            "LD_LIBRARY_PATH": os.pathsep.join(libraries),
            "OPENBLAS_NUM_THREADS": "1",  # numpy would start threads that the bench never uses
            "PYGPI_PYTHON_BIN": sys.executable,
            "PYTHONPATH": os.pathsep.join([*search, *filter(None, [os.environ.get("PYTHONPATH")])]),
            "TOPLEVEL_LANG": "verilog",
        }


def _python_library() -> str:
    import find_libpython

    found = find_libpython.find_libpython()
    if found is None:
        raise MissingTool("Python's shared library is missing; cocotb needs it (Debian: apt install libpython3.11)")
    return str(found)
