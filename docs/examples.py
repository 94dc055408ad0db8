"""Write docs/examples/*.md: `python docs/examples.py [PAGE …]` runs every command of a page and pastes what it prints.

A page is made of its template (docs/examples/PAGE/page.md). What stands there between ```fpgaflow and ``` is a command;
the page gets its output, or the sections that are named. Numbers in the sentences are quoted from the output that is
shown, and what a sentence relies on is looked up there: where the output no longer says so, the script ends and says
which.

    ```fpgaflow NAME: SECTION / SECTION      a section is named by how it begins (a regex); none: all output
    {{NAME total}}  {{NAME /regex (group)/}} the group, as NAME's output has it
    {{needs NAME /regex/}}                   lines of their own, which leave no trace in the page
    {{needs NAME lut < OTHER lut}}
    {{file request.toml}}                    the file, fenced

`--check` runs nothing: each page must be what its template makes of the outputs that stand in it, and its commands must
parse.
"""

from __future__ import annotations

import operator
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from flow.cli import cli
from flow.report.load_picture import load_picture
from flow.report.report import Report, load_report
from flow.report.tornado import tornado
from flow.report.waterfall import waterfall

ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / "docs" / "examples"
PAGES = ("trigger", "trading", "control")
_SIGNS = {"<": operator.lt, "=": operator.eq, ">": operator.gt}
LEFT_OUT = "[…]"
STATUS = "(exit status"
FIELDS = {
    "total": r"= total +(\S+ \S+)",
    "core": r"= core +(\S+ \S+)",
    "link": r"\+ link \S+ +(\S+ \S+)",
    "cycles": r"critical path +([\d,]+ cycles?)",
    "interval": r"initiation interval +([\d,]+ cycles?)",
    "best": r"best reachable +(\S+ \S+)",
    "lut": r"^ LUT +([\d,]+)",
    "ff": r"^ FF +([\d,]+)",
    "dsp": r"^ DSP +([\d,]+)",
}
DRAWINGS: dict[str, tuple[str, str, Callable[[Report], str]]] = {  # file: page, command, what draws its report
    "trigger_limits.svg": ("trigger", "limits", lambda report: tornado(report.sensitivity)),
    "trading_burst.svg": ("trading", "burst", lambda report: load_picture(report.load)),
    "trading_path.svg": ("trading", "every_frame", waterfall),
    "control_path.svg": ("control", "alone", waterfall),
}
_BLOCK = re.compile(r"^```fpgaflow (\w+)(?:: ([^\n]+))?\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
_NEED = re.compile(r"^\{\{needs (\w+) /(.*)/\}\}\n", re.MULTILINE)
_COMPARED = re.compile(r"^\{\{needs (\w+) (\w+) ([<=>]) (\w+) (\w+)\}\}\n", re.MULTILINE)
_FILE = re.compile(r"^\{\{file (\S+)\}\}$", re.MULTILINE)
_QUOTE = re.compile(r"\{\{(\w+) (?:(\w+)|/(.+?)/)\}\}")


@dataclass(frozen=True, slots=True)
class Block:
    """Hold a command of a template: its name, the beginnings of the sections that are shown, its text."""

    name: str
    sections: tuple[str, ...]
    text: str

    @property
    def words(self) -> list[str]:
        """Return the arguments of fpgaflow."""
        return shlex.split(self.text.replace("\\\n", " "))

    def shown(self, output: str) -> str:
        """Return what the page has between its fences."""
        return f"$ fpgaflow {self.text}\n{_cut(output, self.sections)}"


def main() -> None:
    """Write the pages that are named, or all; or check them."""
    words = sys.argv[1:]
    for page in [word for word in words if word != "--check"] or PAGES:
        if "--check" in words:
            check(page)
        else:
            with tempfile.TemporaryDirectory() as folder:
                write(page, Path(folder))


def write(page: str, folder: Path) -> None:
    """Run the page's commands in an empty folder, write the page and its pictures."""
    for name in ("docs", "models"):
        (folder / name).symlink_to(ROOT / name)
    blocks = blocks_of(page)
    outputs = {block.name: block_output(block, folder) for block in blocks}
    (HERE / f"{page}.md").write_text(filled(page, outputs), encoding="utf-8")
    for picture in folder.glob("*.svg"):  # asked for by a command
        (HERE / picture.name).write_bytes(picture.read_bytes())
    for name, (of, command, draw) in DRAWINGS.items():
        if of == page:
            words = next(block.words for block in blocks if block.name == command)
            (HERE / name).write_text(draw(_report(words, folder)).rstrip() + "\n", encoding="utf-8")


def block_output(block: Block, folder: Path) -> str:
    """Run a command in a folder that has docs and models, and return what the page shows of it."""
    return block.shown(_printed(block.words, folder))


def check(page: str) -> None:
    """Tell whether the page is what its template makes of the outputs in it, and whether its commands parse."""
    written = (HERE / f"{page}.md").read_text(encoding="utf-8")
    outputs = dict(re.findall(r"^<!-- (\w+) -->\n```\n(.*?)\n```$", written, re.MULTILINE | re.DOTALL))
    for block in blocks_of(page):
        parse(block.words)
        if not outputs.get(block.name, "").startswith(f"$ fpgaflow {block.text}\n"):
            sys.exit(f"docs/examples/{page}.md: the command {block.name!r} is not the template's; write the page anew")
    if filled(page, outputs) != written:
        sys.exit(f"docs/examples/{page}.md is not what its template and the outputs in it make; write the page anew")


def parse(words: list[str]) -> None:
    """Let the command line read its options, and run nothing."""
    with click.Context(cli, info_name="fpgaflow") as above:
        command = cli.get_command(above, words[0])
        if command is None:
            raise click.UsageError(f"there is no command {words[0]!r}")
        # a run's folder is there once an earlier command of the page has run
        given = [str(ROOT) if word.startswith("hls_projects/") else word for word in words[1:]]
        command.make_context(words[0], given, parent=above)


def blocks_of(page: str) -> tuple[Block, ...]:
    """Return the commands of a template in their order."""
    return tuple(
        Block(name, tuple(part.strip() for part in sections.split(" / ")) if sections else (), text)
        for name, sections, text in _BLOCK.findall(_template(page))
    )


def filled(page: str, outputs: dict[str, str]) -> str:
    """Return the page: outputs in place of commands, quotations in place of their names."""
    text = _template(page)
    for name, regex in _NEED.findall(text):
        _found(page, name, regex, outputs)
    for left, field, sign, right, other in _COMPARED.findall(text):
        one, two = (_found(page, name, FIELDS[key], outputs) for name, key in ((left, field), (right, other)))
        if not _SIGNS[sign](_amount(one), _amount(two)):
            sys.exit(f"docs/examples/{page}/page.md relies on {left} {field} {one} {sign} {right} {other} {two}")
    text = _COMPARED.sub("", _NEED.sub("", text))
    text = _QUOTE.sub(lambda hit: _found(page, hit[1], FIELDS[hit[2]] if hit[2] else hit[3], outputs), text)
    text = _BLOCK.sub(lambda hit: f"<!-- {hit[1]} -->\n```\n{outputs[hit[1]]}\n```", text)
    text = _FILE.sub(lambda hit: f"```toml\n{(HERE / page / hit[1]).read_text(encoding='utf-8').strip()}\n```", text)
    return f"<!-- made by docs/examples.py of {page}/page.md: edit there -->\n{text}"


def _template(page: str) -> str:
    return (HERE / page / "page.md").read_text(encoding="utf-8")


def _found(page: str, name: str, regex: str, outputs: dict[str, str]) -> str:
    hit = re.search(regex, outputs[name], re.MULTILINE)
    if hit is None:
        sys.exit(f"docs/examples/{page}/page.md relies on /{regex}/, which the output of {name!r} does not say")
    return hit[1] if hit.re.groups else hit[0]


def _amount(text: str) -> float:
    """Return a count, or a time in ns."""
    number, _, unit = text.replace(",", "").partition(" ")
    return float(number) * {"µs": 1e3, "ms": 1e6}.get(unit, 1.0)


def _cut(output: str, wanted: tuple[str, ...]) -> str:
    """Return the sections that begin as wanted; a paragraph that is indented belongs to the one before it."""
    if not wanted:
        return output
    sections: list[str] = []
    for paragraph in re.split(r"\n\n+", output):
        if sections and paragraph.startswith(" "):
            sections[-1] += f"\n\n{paragraph}"
        else:
            sections.append(paragraph)
    missing = [name for name in wanted if not any(re.match(name, section) for section in sections)]
    if missing:
        sys.exit(f"no section of the output begins with {missing}; there are {[s.splitlines()[0] for s in sections]}")
    kept: list[str] = []
    for section in sections:
        if section.startswith(STATUS) or any(re.match(name, section) for name in wanted):
            kept.append(section)
        elif kept[-1:] != [LEFT_OUT]:
            kept.append(LEFT_OUT)
    return "\n\n".join(kept)


def _printed(words: list[str], folder: Path) -> str:
    """Return what a command prints, without blanks at the ends of lines, and its status where that is not 0."""
    done = _run(words, folder)
    lines = [line.rstrip() for line in (done.stdout or done.stderr).strip("\n").splitlines()]
    # the heading's box has no empty line behind it
    text = re.sub(r"^(╰─+╯)$", r"\1\n", "\n".join(lines), flags=re.MULTILINE)
    return text + (f"\n\n{STATUS} {done.returncode})" if done.returncode else "")


def _report(words: list[str], folder: Path) -> Report:
    file = folder / "drawn.json"
    file.write_text(_run([*words, "--json"], folder).stdout, encoding="utf-8")
    return load_report(file)


def _run(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "FORCE_COLOR"}}
    program = [sys.executable, "-c", "from flow.cli import main; main()", *words]
    print(f"$ fpgaflow {shlex.join(words)}", file=sys.stderr)
    done = subprocess.run(
        program, cwd=folder, env={**environment, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    if done.returncode not in {0, 3}:  # 3: a budget, a rate or a contract is missed, which a page may show
        sys.exit(f"{done.stderr}\nended with status {done.returncode}: fpgaflow {shlex.join(words)}")
    return done


if __name__ == "__main__":
    main()
