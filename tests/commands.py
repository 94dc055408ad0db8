"""The real command, called in this process, and tiny graphs to call it with."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from flow.cli import main
from flow.files import digest
from flow.fixed import FixedType
from flow.graph.graph import Graph
from flow.graph.nodes import Dense, Input, Relu
from flow.graph.store import to_json

SUM = FixedType(14, 8)


@dataclass(frozen=True, slots=True)
class Done:
    """Hold how a command ended."""

    status: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Command:
    """Call `fpgaflow` as a shell would, in the current folder."""

    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *words: str | Path) -> Done:
        self.monkeypatch.setattr(sys, "argv", ["fpgaflow", *map(str, words)])
        self.capsys.readouterr()
        status: object = 0
        try:
            main()
        except SystemExit as stop:
            status = stop.code
        said = self.capsys.readouterr()
        assert isinstance(status, int)
        return Done(status, said.out, said.err)

    def refused(self, *words: str | Path, names: tuple[str, ...]) -> str:
        """Call with what must be refused: status 2, nothing on stdout, one message that names what is wrong."""
        done = self(*words)
        assert (done.status, done.out) == (2, ""), done
        assert "Traceback" not in done.err
        for name in names:
            assert name in done.err, f"{name!r} is not in {done.err!r}"
        return done.err


def tiny_graph(name: str = "tiny", *, label: str = "dense 1", weight: int = 3) -> Graph:
    """Return a network of four inputs and three outputs."""
    codes = np.arange(12).reshape(4, 3) % 7 - 3
    codes[2, 0] = weight
    small = FixedType(4, 2)
    return Graph(
        name=name,
        nodes=(
            Input(name="x", label="x", inputs=(), shape=(4,), type=FixedType(6, 3)),
            Dense(
                name="d",
                label=label,
                inputs=("x",),
                shape=(3,),
                type=SUM,
                weights=codes,
                bias=np.array([1, 2, 3]),
                weight_type=small,
                bias_type=small,
                accumulator=SUM,
            ),
            Relu(name="r", label="relu", inputs=("d",), shape=(3,), type=FixedType(8, 4, signed=False)),
        ),
        inputs=("x",),
        outputs=("r",),
    )


def save(graph: Graph, path: Path) -> Path:
    """Write a graph as `fpgaflow` does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(to_json(graph))
    return path


def listing(folder: Path) -> dict[str, str]:
    """Return every file below a folder with a digest of its contents, and every empty folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        found[path.relative_to(folder).as_posix()] = digest(path.read_bytes()) if path.is_file() else "folder"
    return found
