"""Hashes that are worked out once: of values that a planner looks up millions of times."""

from __future__ import annotations

from typing import Any


class Hashed:
    """Remember the hash of a frozen dataclass with slots whose fields are long or nested.

    A dataclass makes a hash of its own unless it names one: it must say `__hash__ = Hashed.__hash__`.
    """

    __slots__ = ("_hash",)
    _hash: int

    def __hash__(self) -> int:
        """Return the hash of all fields."""
        try:
            return self._hash
        except AttributeError:
            found: Any = self
            value = hash(tuple([getattr(found, name) for name in found.__slots__]))
            object.__setattr__(self, "_hash", value)
            return value
