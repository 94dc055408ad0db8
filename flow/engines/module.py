"""Hardware modules as objects; a printer turns them into SystemVerilog.

Every expression has a width in bits and a sign, as SystemVerilog counts them, and is printed without relying on
implicit extension: operands of one operator have one width.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf

Operator = OneOf["+", "-", "&", "|", "^"]
Prefix = OneOf["~", "|", "&", "^"]


@dataclass(frozen=True, slots=True)
class Signal:
    """Name a wire, register or port of `width` bits (at least 1)."""

    name: str
    width: int
    signed: bool = False


@dataclass(frozen=True, slots=True)
class Slice:
    """Take bits [low, low + width) of a signal; unsigned unless the whole signal is signed and taken whole."""

    signal: Signal
    low: int
    width: int

    @property
    def signed(self) -> bool:
        """Tell whether this counts as signed."""
        return self.signal.signed and self.width == self.signal.width


@dataclass(frozen=True, slots=True)
class Number:
    """Give a constant of `width` bits; value is its bit pattern (not negative)."""

    value: int
    width: int
    signed: bool = False


@dataclass(frozen=True, slots=True)
class Join:
    """Concatenate, most significant first."""

    parts: tuple[Expr, ...]

    @property
    def width(self) -> int:
        """Return the sum of the widths."""
        return sum(part.width for part in self.parts)

    @property
    def signed(self) -> bool:
        """Concatenations are unsigned."""
        return False


@dataclass(frozen=True, slots=True)
class Repeat:
    """Concatenate the same bits `times` times."""

    times: int
    part: Expr

    @property
    def width(self) -> int:
        """Return the bits of all copies."""
        return self.times * self.part.width

    @property
    def signed(self) -> bool:
        """Concatenations are unsigned."""
        return False


@dataclass(frozen=True, slots=True)
class Resize:
    """Extend (by the sign where the operand is signed) or cut to a width."""

    width: int
    part: Expr

    @property
    def signed(self) -> bool:
        """Keep the operand's sign."""
        return self.part.signed


@dataclass(frozen=True, slots=True)
class AsSigned:
    """Read the same bits as a signed number."""

    part: Expr

    @property
    def width(self) -> int:
        """Keep the operand's width."""
        return self.part.width

    @property
    def signed(self) -> bool:
        """Signed by definition."""
        return True


@dataclass(frozen=True, slots=True)
class Unary:
    """Invert, or reduce to one bit by `|`, `&` or `^`."""

    operator: Prefix
    part: Expr

    @property
    def width(self) -> int:
        """Return 1 for a reduction."""
        return self.part.width if self.operator == "~" else 1

    @property
    def signed(self) -> bool:
        """Inverting keeps the sign; a reduction is unsigned."""
        return self.operator == "~" and self.part.signed


@dataclass(frozen=True, slots=True)
class Binary:
    """Combine two operands of equal width."""

    operator: Operator
    left: Expr
    right: Expr

    @property
    def width(self) -> int:
        """Return the operands' width."""
        return self.left.width

    @property
    def signed(self) -> bool:
        """Signed where both operands are."""
        return self.left.signed and self.right.signed


@dataclass(frozen=True, slots=True)
class Choose:
    """Give `then` where the one-bit test holds, else `other`."""

    test: Expr
    then: Expr
    other: Expr

    @property
    def width(self) -> int:
        """Return the width of both choices."""
        return self.then.width

    @property
    def signed(self) -> bool:
        """Signed where both choices are."""
        return self.then.signed and self.other.signed


Expr = Slice | Number | Join | Repeat | Resize | AsSigned | Unary | Binary | Choose


@dataclass(frozen=True, slots=True)
class Port:
    """Declare a port."""

    direction: OneOf["input", "output"]
    signal: Signal


@dataclass(frozen=True, slots=True)
class Comment:
    """Print one line of comment."""

    text: str


@dataclass(frozen=True, slots=True)
class Wire:
    """Declare a signal and drive it; without a value something else drives it."""

    signal: Signal
    value: Expr | None


@dataclass(frozen=True, slots=True)
class Assign:
    """Drive a declared signal."""

    signal: Signal
    value: Expr


@dataclass(frozen=True, slots=True)
class Registers:
    """Declare registers and load them at every rising edge of clk_i."""

    loads: tuple[tuple[Signal, Expr], ...]


@dataclass(frozen=True, slots=True)
class Memory:
    """Hold the contents of a read-only memory: `words` of `width` bits each (bit patterns, not negative).

    They are written to a file `<name>.mem` beside the RTL.
    """

    name: str
    words: tuple[int, ...]
    width: int

    @property
    def address_width(self) -> int:
        """Return the bits of an address, at least 1."""
        return max(1, (len(self.words) - 1).bit_length())


@dataclass(frozen=True, slots=True)
class Rom:
    """Declare a memory as the array `words`, and a register that is loaded with the addressed word at every clk_i.

    style: `block` for block RAM, `logic` for LUTs. clocked: without it `word` is no register but follows the address.
    """

    memory: Memory
    style: OneOf["block", "logic"]
    address: Expr
    word: Signal
    clocked: bool = True


@dataclass(frozen=True, slots=True)
class Instance:
    """Place a module: parameters and connections by name.

    dies: of the part, the one on which it lies; of a crossing, those of its two registers; empty where nothing says.
    """

    module: str
    name: str
    parameters: tuple[tuple[str, int], ...]
    connections: tuple[tuple[str, Expr], ...]
    dies: tuple[int, ...] = ()


Item = Comment | Wire | Assign | Registers | Rom | Instance


@dataclass(frozen=True, slots=True)
class Module:
    """Describe one module; `header` is the comment above it, a line each."""

    name: str
    header: tuple[str, ...]
    ports: tuple[Port, ...]
    items: tuple[Item, ...]


def whole(signal: Signal) -> Slice:
    """Return all bits of a signal."""
    return Slice(signal, 0, signal.width)
