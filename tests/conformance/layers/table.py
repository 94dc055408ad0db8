"""Run the conformance suite and write what came out as a table: layer × parameter × io type.

`python -m tests.conformance.layers.table` runs all of it and writes docs/conformance.md when everything came out as
expected; `--only TEXT` runs the cases whose name holds a text and prints what came out.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.conformance.layers.case import IO_TYPES, Case, Expected, IoType
from tests.conformance.layers.drive import Found, judge, refusal
from tests.conformance.layers.suite import all_cases, packs

DOCUMENT = Path(__file__).parents[3] / "docs" / "conformance.md"
_HEAD = """\
# Layers: what converts, and what does not

Each row is a small model of the conformance suite (`tests/conformance/layers/`), with sizes that differ on all axes.

- **exact**: hls4ml's C simulation, this project's evaluator and the simulated hardware agree in every bit of every
  output, every beat of every edge comes at its predicted cycle, and each layer computes what Keras computes (with
  generous widths, up to float32's error). "with a note": the conversion also says the quoted words.
- **refused**: one line, with the quoted words, before any compiler runs.
- **not built**: the conversion is exact, but no hardware is planned, for the quoted reason.

Every model is planned for the xcvu13p with a clock of 5 ns: whole tensors in io_parallel, beats of pixels in io_stream.
"Report" names a public report of what this field's tools do wrong with such a model, or the version where it was seen.
The rows come from the suite itself: `python -m tests.conformance.layers.table` runs it and writes this page, and
`make test-all` fails where a row is not what comes out.
"""


def render(cases: Iterable[Case]) -> str:
    """Return the page for cases with their expected outcomes."""
    listed = sorted(cases, key=lambda case: (case.layer.lower(), case.layer, case.parameter))
    counts = Counter((io_type, case.expected[io_type].kind) for case in listed for io_type in case.expected)
    lines = [_HEAD, "| io type | models | exact | refused | not built |", "|---|---|---|---|---|"]
    for io_type in IO_TYPES:
        kinds = [counts[io_type, "exact"], counts[io_type, "refused"], counts[io_type, "not built"]]
        lines.append(f"| {io_type} | {sum(kinds)} | {' | '.join(map(str, kinds))} |")
    lines += ["", "| layer | parameter | io_parallel | io_stream | report |", "|---|---|---|---|---|"]
    for case in listed:
        outcomes = (_told(case.expected.get(io_type)) for io_type in IO_TYPES)
        cells = (case.layer, case.parameter, *outcomes, case.known)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines) + "\n"


def _told(expected: Expected | None) -> str:
    if expected is None:
        return "–"
    if not expected.words:
        return expected.kind
    told = "exact, with a note" if expected.kind == "exact" else expected.kind
    return f"{told}: “{expected.words}”"


def as_expected(found: Found, expected: Expected) -> bool:
    """Tell whether what came out is what was expected, in one line."""
    return found.kind == expected.kind and expected.words in found.words and "\n" not in found.words


def run(cases: tuple[Case, ...]) -> tuple[str, ...]:
    """Run cases in both io types and print what came out; return what was not expected."""
    wrong: list[str] = []

    def tell(case: Case, io_type: IoType, found: Found) -> None:
        ok = as_expected(found, case.expected[io_type])
        line = f"{io_type:12} {case.name}: {found.kind} {found.words}"
        print(("      " if ok else "WRONG ") + line.rstrip(), flush=True)
        if not ok:
            wrong.append(line)

    with tempfile.TemporaryDirectory() as scratch:
        for case in cases:
            for io_type, expected in case.expected.items():
                if expected.kind == "refused":
                    tell(case, io_type, refusal(case, io_type, Path(scratch) / "refused"))
    for pack in packs(cases):
        with tempfile.TemporaryDirectory() as scratch:
            found = judge(pack, Path(scratch))
        for case in pack.cases:
            tell(case, pack.io_type, found[case.name])
    return tuple(wrong)


def main(arguments: list[str]) -> int:
    """Run what was asked for; return 1 where something was not expected."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.layers.table")
    parser.add_argument("--only", default="", help="run the cases whose name holds this text")
    asked = parser.parse_args(arguments)
    cases = tuple(case for case in all_cases() if asked.only.lower() in case.name.lower())
    wrong = run(cases)
    print(f"{len(wrong)} of {sum(len(case.expected) for case in cases)} models are not as expected")
    if not wrong and not asked.only:
        DOCUMENT.write_text(render(cases))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
