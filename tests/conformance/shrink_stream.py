"""Shrink a random design that fails to the smallest one that fails in the same way: `… shrink_stream SEED`.

Prints its network and hardware; `--keep FOLDER` keeps its files.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.conformance.draws import Draws, shrink
from tests.conformance.random_streams import Outcome, draws_of, prove_drawn

TRIES = 400


def smallest(draws: Draws, *, tries: int = TRIES) -> Outcome | None:
    """Return what became of the smallest case that fails as the drawn one does, None where that passes."""
    with tempfile.TemporaryDirectory() as scratch:
        first = prove_drawn(draws, Path(scratch))
        if not first.kind:
            return None

        def fails(again: Draws) -> bool:
            return prove_drawn(again, Path(scratch)).kind == first.kind

        return prove_drawn(Draws(shrink(draws.taken, fails, tries=tries)), Path(scratch))


def main(arguments: list[str]) -> int:
    """Shrink the case of one seed."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.shrink_stream")
    parser.add_argument("seed", type=int)
    parser.add_argument("--tries", type=int, default=TRIES)
    parser.add_argument("--keep", type=Path, help="folder for the files of the smallest design")
    asked = parser.parse_args(arguments)
    found = smallest(draws_of(asked.seed), tries=asked.tries)
    if found is None:
        print(f"seed {asked.seed} passes")
        return 0
    if asked.keep:
        prove_drawn(Draws(found.numbers), asked.keep)
    print("\n".join((f"numbers {found.numbers}", found.told, *found.proof.faults)))
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
