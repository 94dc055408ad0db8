"""docs/requests.md says of every field of a request, and of a pin, what the program takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest

from flow.plan.accepted import FIELDS, OF_A_PIN
from flow.plan.pins import Pin
from flow.plan.request import Request, load_request

PAGE = Path(__file__).parents[2] / "docs" / "requests.md"
BESIDE = {"overrun": "buffer = 4"}
"""What a field wants beside it."""
NAMED = {"none": None, "[]": (), "{}": {}, "`false`": False}


def _rows(heading: str) -> Iterator[list[str]]:
    text = PAGE.read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    for line in text.splitlines():
        if line.startswith("| `"):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def _code(cell: str) -> str:
    found = re.fullmatch(r"`(.+)`", cell)
    assert found is not None, cell
    return found[1]


def _default(field: Any) -> Any:
    return field.default if field.default is not MISSING else field.default_factory()


def test_every_field_is_described_once_with_its_default() -> None:
    told = {_code(row[0]): row for row in _rows("Fields")}
    assert list(told) == [field.name for field in fields(Request)]
    assert len(list(_rows("Fields"))) == len(told)
    for field in fields(Request):
        shown, default = told[field.name][2], _default(field)
        assert NAMED.get(shown.strip("`") if shown in {"`[]`", "`{}`"} else shown, shown.strip("`")) == default
        assert len(told[field.name][4]) > 10
        assert FIELDS[field.name] == (told[field.name][1], _code(told[field.name][3])), (
            "a refusal says what the page does"
        )


@pytest.mark.parametrize("row", tuple(_rows("Fields")), ids=lambda row: row[0].strip("`"))
def test_every_example_is_accepted_and_says_something(row: list[str], tmp_path: Path) -> None:
    name, example = _code(row[0]), _code(row[3])
    path = tmp_path / "request.toml"
    path.write_text("\n".join((example, BESIDE.get(name, ""))), encoding="utf-8")
    assert getattr(load_request(path), name) != getattr(Request(), name)


def test_every_field_of_a_pin_is_described_with_an_example(tmp_path: Path) -> None:
    told = {_code(row[0]): row for row in _rows("Pins")}
    assert list(told) == [field.name for field in fields(Pin)]
    for name, row in told.items():
        assert OF_A_PIN[name] == (row[1], _code(row[2])), "a refusal says what the page does"
        path = tmp_path / "request.toml"
        path.write_text(f"[pins.node]\n{_code(row[2])}\n", encoding="utf-8")
        assert getattr(load_request(path).pins["node"], name) is not None


def test_the_whole_example_is_a_request(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    path = tmp_path / "request.toml"
    path.write_text(block, encoding="utf-8")
    request = load_request(path)
    assert (request.latency_exact, request.pins) == (12, {"dense_2": Pin(engine="folded", reuse_factor=4)})
