"""A run's folder: what lies where, and which steps are current."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flow.errors import UserError
from flow.files import write_whole

STAMPS = "steps.json"


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

    def open(self) -> None:
        """Create the folder; raise UserError when it cannot be written."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.folder)
            os.close(handle)
            Path(name).unlink()
        except OSError as error:
            raise UserError(
                f"cannot write the output folder {self.folder}: {error.strerror}; choose another with --out"
            ) from None

    def _stamps(self) -> dict[str, str]:
        try:
            stamps = json.loads((self.folder / STAMPS).read_bytes())
        except (OSError, ValueError):
            return {}
        return stamps if isinstance(stamps, dict) else {}

    def is_current(self, step: str, inputs: str, outputs: tuple[Path, ...]) -> bool:
        """Tell whether a step has run on these inputs (a digest) and its outputs lie there."""
        return self._stamps().get(step) == inputs and all(path.exists() for path in outputs)

    def record(self, step: str, inputs: str) -> None:
        """Note that a step has run on these inputs."""
        stamps = self._stamps() | {step: inputs}
        write_whole(self.folder / STAMPS, json.dumps(stamps, indent=1, sort_keys=True).encode() + b"\n")

    @contextlib.contextmanager
    def scratch(self) -> Iterator[Path]:
        """Lend a folder that is gone afterwards; foreign tools dislike blanks, so it lies in the temporary folder."""
        path = Path(tempfile.mkdtemp(prefix="fpgaflow_"))
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)
