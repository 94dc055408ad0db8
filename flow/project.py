"""A run's folder: what lies where, and which steps are current."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from flow.errors import UserError
from flow.files import digest, write_whole

STAMPS = "steps.json"


@dataclass(frozen=True, slots=True)
class Stamp:
    """Hold a digest of what a step ran on, and one of every file that it left, by its name in the folder."""

    inputs: str
    outputs: dict[str, str]


_STAMPS = TypeAdapter(dict[str, Stamp])


@dataclass(frozen=True, slots=True)
class Project:
    """Name the files of one run; each step reads only those of the steps before it."""

    folder: Path

    @property
    def model(self) -> Path:
        """Return the graph's file."""
        return self.folder / "model.json"

    @property
    def conversion(self) -> Path:
        """Return the file of what the conversion has shown: fidelity, accuracy."""
        return self.folder / "conversion.json"

    @property
    def inputs(self) -> Path:
        """Return the file of the vectors: raw inputs, hls4ml's raw outputs, labels."""
        return self.folder / "vectors.npz"

    @property
    def plan(self) -> Path:
        """Return the plan's file."""
        return self.folder / "plan.json"

    @property
    def timeline(self) -> Path:
        """Return the timeline's file."""
        return self.folder / "timeline.json"

    @property
    def rtl(self) -> Path:
        """Return the folder of the SystemVerilog."""
        return self.folder / "rtl"

    @property
    def hls(self) -> Path:
        """Return the folder of the hls4ml project that the plan configures."""
        return self.folder / "hls"

    @property
    def signature(self) -> Path:
        """Return the signature's file."""
        return self.folder / "signature.json"

    @property
    def simulation(self) -> Path:
        """Return the file of the simulation's result."""
        return self.folder / "sim" / "result.json"

    @property
    def bulk(self) -> Path:
        """Return the file of the bulk run's result."""
        return self.folder / "sim" / "bulk.json"

    @property
    def waves(self) -> Path:
        """Return the file of the waveform."""
        return self.folder / "sim" / "waves.fst"

    @property
    def netlist_simulation(self) -> Path:
        """Return the file of the result of simulating the netlist."""
        return self.folder / "sim" / "netlist_result.json"

    @property
    def routing(self) -> Path:
        """Return the file of place and route's result."""
        return self.folder / "synth" / "route" / "result.json"

    @property
    def synthesis(self) -> Path:
        """Return the file of the synthesis' result."""
        return self.folder / "synth" / "result.json"

    @property
    def report(self) -> Path:
        """Return the report's file."""
        return self.folder / "report.json"

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Create the folder for a run; one that ends in an error leaves no empty folder behind.

        Raises UserError when the folder cannot be written, or holds somebody else's work.
        """
        missing = [path for path in (self.folder, *self.folder.parents) if not path.exists()]
        try:
            self._create()
            yield
        except BaseException:
            for path in missing:
                with contextlib.suppress(OSError):
                    path.rmdir()
            raise

    def _create(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.folder)
            os.close(handle)
            Path(name).unlink()
        except OSError as error:
            raise UserError(
                f"cannot write the output folder {self.folder}: {error.strerror}; choose another with --out"
            ) from None
        replaced = [path.name for path in (self.rtl, self.hls, self.folder / "sim", self.folder / "synth")]
        foreign = [name for name in replaced if (self.folder / name).exists()]
        if foreign and not (self.folder / STAMPS).exists() and not self.signature.exists():
            raise UserError(
                f"{self.folder} holds {', '.join(foreign)} but is no run's folder, and a run would replace that; "
                "choose another with --out"
            )

    # ---- steps: what each ran on, and what it left ----

    def _stamps(self) -> dict[str, Stamp]:
        try:
            return _STAMPS.validate_json((self.folder / STAMPS).read_bytes())
        except (OSError, ValidationError):
            return {}

    def is_current(self, step: str, inputs: str) -> bool:
        """Tell whether a step has run on these inputs (a digest) and what it left lies there untouched."""
        stamp = self._stamps().get(step)
        return stamp is not None and stamp.inputs == inputs and all(map(self._is_untouched, stamp.outputs.items()))

    def ran_on(self, step: str, inputs: str) -> bool:
        """Tell whether the last run of a step was on these inputs, whatever became of what it left."""
        stamp = self._stamps().get(step)
        return stamp is not None and stamp.inputs == inputs

    def changed(self, step: str) -> tuple[str, ...]:
        """Return the files of a step that lie there, but not as it left them."""
        stamp = self._stamps().get(step)
        if stamp is None:
            return ()
        return tuple(
            name
            for name, content in stamp.outputs.items()
            if (self.folder / name).is_file() and not self._is_untouched((name, content))
        )

    def _is_untouched(self, output: tuple[str, str]) -> bool:
        name, content = output
        path = self.folder / name
        return path.is_file() and digest(path.read_bytes()) == content

    def record(self, step: str, inputs: str, outputs: Iterable[Path]) -> None:
        """Note that a step has run on these inputs and left these files in the folder."""
        left = {path.relative_to(self.folder).as_posix(): digest(path.read_bytes()) for path in outputs}
        stamps = self._stamps() | {step: Stamp(inputs, left)}
        write_whole(self.folder / STAMPS, _STAMPS.dump_json(dict(sorted(stamps.items())), indent=1) + b"\n")

    @contextlib.contextmanager
    def scratch(self) -> Iterator[Path]:
        """Lend a folder that is gone afterwards; foreign tools dislike blanks, so it lies in the temporary folder."""
        path = Path(tempfile.mkdtemp(prefix="fpgaflow_"))
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)
