"""`signature.json`: everything that a user, a bench or a tool must know of the generated hardware."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from flow.errors import UserError
from flow.fixed import FixedType
from flow.stored import check_format, load_stored

FORMAT = 3
CURE = "build the design again: fpgaflow build"


@dataclass(frozen=True, slots=True)
class TensorPort:
    """Describe a tensor on a packed port or signal, which carries `lanes` of its elements in one beat.

    Element k (row-major over `shape`) comes in beat k // lanes, in bits [offset + j·width, offset + (j+1)·width) with
    j = k % lanes and width = type.width, two's complement where the type is signed. What the last beat carries beyond
    the tensor has no meaning.
    """

    name: str
    label: str
    shape: tuple[int, ...]
    type: FixedType
    offset: int
    lanes: int

    @property
    def size(self) -> int:
        """Return the number of elements."""
        n = 1
        for extent in self.shape:
            n *= extent
        return n

    @property
    def beats(self) -> int:
        """Return the beats in which the tensor comes."""
        return -(-self.size // self.lanes)

    @property
    def bits(self) -> int:
        """Return the bits of one beat."""
        return self.lanes * self.type.width


@dataclass(frozen=True, slots=True)
class Edge:
    """Describe an edge between engines as it can be watched at the top level.

    name: of the edge. node: whose output it carries. data, valid: signals of the top module. tensor: how it stands on
    data. cycles: when the beats are valid, counted from the first input beat of an inference.
    """

    name: str
    node: str
    data: str
    valid: str
    tensor: TensorPort
    cycles: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HashedFile:
    """Name a file of the design, relative to the run's folder, with its SHA-256."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """Name a memory whose contents lie in a file of their own: `words` lines of hexadecimal digits.

    file: relative to the run's folder. width: bits of a word. module: holds the memory as the array `words`. path: to
    that array from the top module, by the names of instances.
    """

    file: str
    words: int
    width: int
    module: str
    path: str


@dataclass(frozen=True, slots=True)
class Signature:
    """Describe the top module.

    Ports: clk_i; rst_i (synchronous, active high, resets valid bits and what controls the engines); valid_i, data_i:
    the input, a beat at a time; valid_o, data_o: the result, likewise; overrun_o: rises when an inference starts
    before the interval has passed, or a beat of one comes before it is due.
    input_cycles, output_cycles: when beats come and leave, counted from the first that comes. A tensor of a single beat
    comes with the first beat of the others, and leaves with the last of them.
    latency_cycles: from the edge that captures the first input beat to the edge at which a register could capture
    the last output beat. interval_cycles: the II.
    """

    format: int
    model: str
    top: str
    latency_cycles: int
    interval_cycles: int
    input_cycles: tuple[int, ...]
    output_cycles: tuple[int, ...]
    inputs: tuple[TensorPort, ...]
    outputs: tuple[TensorPort, ...]
    edges: tuple[Edge, ...]
    files: tuple[HashedFile, ...]
    memories: tuple[StoredMemory, ...] = ()

    @property
    def input_bits(self) -> int:
        """Return the width of data_i."""
        return sum(port.bits for port in self.inputs)

    @property
    def output_bits(self) -> int:
        """Return the width of data_o."""
        return sum(port.bits for port in self.outputs)


@cache
def _adapter() -> TypeAdapter[Signature]:
    return TypeAdapter(Signature)


def signature_to_json(signature: Signature) -> bytes:
    """Return the file's contents."""
    return _adapter().dump_json(signature, indent=1) + b"\n"


def load_signature(path: Path) -> Signature:
    """Read a signature; raise UserError when the file is not one."""
    signature = load_stored(_adapter(), path, "a signature", CURE)
    check_format(signature.format, FORMAT, path, CURE)
    return signature


def check_memories(folder: Path, signature: Signature) -> None:
    """Raise UserError where a memory's file in a run's folder is missing or holds other words than were built.

    Hardware may be changed by hand, but contents are the network's own: tools would read what is not there as zeros.
    """
    for file in signature.files:
        path = folder / file.path
        if path.suffix != ".mem":
            continue
        if not path.is_file():
            raise UserError(f"{path} is missing; {CURE}")
        if hashlib.sha256(path.read_bytes()).hexdigest() != file.sha256:
            raise UserError(f"{path} is no longer as it was built; {CURE}")
