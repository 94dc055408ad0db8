"""Random numbers that are kept, so that what was drawn from them can be shrunk.

Everything that is drawn at random comes from a list of small numbers, of which 0 always means the simplest: no further
node, the least extent, the plainest mode. A case that fails is made smaller by making its list shorter and its numbers
smaller, and drawing again, as Hypothesis does inside; its own engine cannot begin with a case that a seed has found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

T = TypeVar("T")

SEEDS = 1 << 16


class Draws:
    """Give numbers at random, or those that are given, cut to what is asked for, and zeros behind; `taken` keeps them.

    parts: from and to which number the parts of what is drawn reach: a node, a choice.
    """

    def __init__(self, source: np.random.Generator | Sequence[int]) -> None:
        self.given = None if isinstance(source, np.random.Generator) else source
        self.rng = source if isinstance(source, np.random.Generator) else np.random.default_rng(0)
        self.taken: list[int] = []
        self.parts: list[tuple[int, int]] = []

    def upto(self, most: int) -> int:
        """Draw one of 0 … most."""
        if self.given is None:
            number = int(self.rng.integers(most + 1))
        else:
            place = len(self.taken)
            number = self.given[place] % (most + 1) if place < len(self.given) else 0
        self.taken.append(number)
        return number

    def integer(self, least: int, most: int) -> int:
        """Draw one of least … most."""
        return least + self.upto(most - least)

    def choice(self, options: Sequence[T]) -> T:
        """Draw one of several; the first is the simplest."""
        return options[self.upto(len(options) - 1)]

    def chance(self, percent: int) -> bool:
        """Tell yes so often."""
        return self.upto(99) >= 100 - percent

    def generator(self) -> np.random.Generator:
        """Return a generator for numbers whose size does not matter."""
        return np.random.default_rng([self.upto(SEEDS - 1), 7])

    def ahead(self, count: int) -> tuple[int, ...]:
        """Draw numbers for draws that are made later: so they lie in the part of what they are for."""
        return tuple(self.upto(SEEDS - 1) for _ in range(count))

    @contextmanager
    def part(self) -> Iterator[None]:
        """Mark what is drawn inside as something that can be left out."""
        begin = len(self.taken)
        yield
        self.parts.append((begin, len(self.taken)))


def shrink(numbers: Sequence[int], fails: Callable[[Draws], bool], *, tries: int) -> list[int]:
    """Return smaller numbers that still fail, after at most so many tries.

    fails: draws a case and tells whether it fails as the first one did. Numbers are smaller when there are fewer of
    them, or when the first that differs is less.
    """
    return _Shrinking(list(numbers), fails, tries).run()


class _Shrinking:
    def __init__(self, numbers: list[int], fails: Callable[[Draws], bool], tries: int) -> None:
        self.best, self.fails, self.left = numbers, fails, tries
        self.seen: set[tuple[int, ...]] = set()
        self.parts: list[tuple[int, int]] = []
        if not self._fails(numbers):
            raise ValueError("what is to be shrunk does not fail")

    def run(self) -> list[int]:
        before: list[int] | None = None
        while before != self.best and self.left:
            before = self.best
            self._without_parts()
            self._without_blocks()
            self._with_zeros()
            self._with_less()
        return self.best

    def _fails(self, numbers: list[int]) -> bool:
        """Try numbers, and keep them if they are smaller than the best and fail."""
        if not self.left or tuple(numbers) in self.seen:
            return False
        self.seen.add(tuple(numbers))
        self.left -= 1
        draws = Draws(numbers)
        if not self.fails(draws):
            return False
        taken = list(draws.taken)
        while taken and not taken[-1]:
            taken.pop()
        self.best, self.parts = taken, draws.parts
        return True

    def _try(self, numbers: list[int]) -> bool:
        return (len(numbers), numbers) < (len(self.best), self.best) and self._fails(numbers)

    def _without_parts(self) -> None:
        """Leave out whole parts, the longest first."""
        k = 0
        while k < len(self.parts) and self.left:
            begin, end = sorted(self.parts, key=lambda part: part[0] - part[1])[k]
            if not self._try(self.best[:begin] + self.best[end:]):
                k += 1

    def _without_blocks(self) -> None:
        for size in (16, 8, 4, 2, 1):
            at = len(self.best) - size
            while at >= 0 and self.left:
                self._try(self.best[:at] + self.best[at + size :])
                at -= size

    def _with_zeros(self) -> None:
        for size in (8, 1):
            for at in range(0, len(self.best), size):
                block = self.best[at : at + size]
                if any(block):
                    self._try([*self.best[:at], *[0] * len(block), *self.best[at + size :]])

    def _with_less(self) -> None:
        """Halve numbers, then take one away."""
        for smaller in (lambda n: n // 2, lambda n: n - 1):
            at = 0
            while at < len(self.best) and self.left:
                number = self.best[at]
                if number < 2 or not self._try([*self.best[:at], smaller(number), *self.best[at + 1 :]]):
                    at += 1
