"""The worked examples: what docs/examples/*.md show is what the commands print, and their sentences quote it."""

import importlib.util
import re
import shutil
import sys
from pathlib import Path

import click
import pytest

SCRIPT = Path(__file__).parents[1] / "docs" / "examples.py"
PAGES = ("trigger", "trading", "control")


@pytest.fixture(scope="module")
def examples():
    spec = importlib.util.spec_from_file_location("docs_examples", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclass looks there for its annotations
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture
def copied(examples, monkeypatch, tmp_path):
    """Return a copy of the pages, which the script takes for its own."""
    monkeypatch.setattr(examples, "HERE", shutil.copytree(examples.HERE, tmp_path / "examples"))
    return examples


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_what_its_template_makes_of_its_outputs(examples, page):
    assert page in examples.PAGES
    assert len(examples.blocks_of(page)) >= 5
    examples.check(page)


@pytest.mark.parametrize("page", PAGES)
def test_every_picture_and_file_of_a_page_is_there(examples, page):
    text = (examples.HERE / f"{page}.md").read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (examples.HERE / link).is_file(), link


def test_a_number_that_was_changed_by_hand_is_found(copied):
    page = copied.HERE / "trading.md"
    text = page.read_text(encoding="utf-8")
    changed = re.sub(r"(It fits in )[\d.]+ ns", r"\g<1>1.5 ns", text)
    assert changed != text
    page.write_text(changed, encoding="utf-8")
    with pytest.raises(SystemExit, match=r"trading\.md is not what its template"):
        copied.check("trading")


def test_a_sentence_that_the_output_no_longer_bears_out_is_found(copied):
    page = copied.HERE / "control.md"
    page.write_text(page.read_text(encoding="utf-8").replace("budget — missed", "budget — met"), encoding="utf-8")
    with pytest.raises(SystemExit, match=r"relies on .*missed.* which the output of 'uart' does not say"):
        copied.check("control")


def test_a_comparison_that_no_longer_holds_is_found(copied):
    page = copied.HERE / "control.md"
    text = page.read_text(encoding="utf-8")
    where = text.index("<!-- faster -->")
    lower = re.sub(r"^( LUT +)[\d,]+", r"\g<1>9,999", text[where:], count=1, flags=re.MULTILINE)
    page.write_text(text[:where] + lower, encoding="utf-8")
    with pytest.raises(SystemExit, match="relies on faster lut 9,999 < alone lut"):
        copied.check("control")


def test_a_command_that_the_template_has_otherwise_is_found(copied):
    template = copied.HERE / "trigger" / "page.md"
    template.write_text(
        template.read_text(encoding="utf-8").replace("--budget 75ns", "--budget 80ns"), encoding="utf-8"
    )
    with pytest.raises(SystemExit, match="the command 'later' is not the template's"):
        copied.check("trigger")


def test_an_option_that_is_gone_is_found(examples):
    examples.parse(["budget", "docs/examples/trading", "--rate", "1MHz"])
    with pytest.raises(click.NoSuchOption):
        examples.parse(["budget", "docs/examples/trading", "--no-such-option"])
    with pytest.raises(click.UsageError, match="no command 'plan'"):
        examples.parse(["plan"])


def test_a_cheap_command_prints_what_the_page_shows(examples, tmp_path):
    """Run the first command of the trading page; where its output has changed: python docs/examples.py."""
    (tmp_path / "docs").symlink_to(SCRIPT.parent)
    block = examples.blocks_of("trading")[0]
    shown = examples.block_output(block, tmp_path)
    assert f"<!-- {block.name} -->\n```\n{shown}\n```" in (examples.HERE / "trading.md").read_text(encoding="utf-8")
