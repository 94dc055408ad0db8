"""Folders of plans that somebody put together by hand."""

import json
import os
from pathlib import Path

import pytest


@pytest.fixture
def built(fpgaflow, tmp_path):
    """Build two networks, in `a` and `b`."""
    for name, layers in (("a", "4-2"), ("b", "4-3-2")):
        words = ("build", "--layers", layers, "--bits", "3", "--part", "LFE5U-25F", "--clock", "40ns", "--out", name)
        assert fpgaflow(*words).status == 0
    return tmp_path


def test_a_timeline_of_another_plan_is_refused(fpgaflow, built):
    (built / "mixed").mkdir()
    (built / "mixed" / "plan.json").write_bytes((built / "b" / "plan.json").read_bytes())
    (built / "mixed" / "timeline.json").write_bytes((built / "a" / "timeline.json").read_bytes())
    for words in (("a", "mixed"), ("mixed", "a")):
        fpgaflow.refused("diff", *words, names=("mixed: the timeline.json beside the plan", "is of another plan"))


def test_a_name_that_is_no_utf8_stands_in_json_all_the_same(fpgaflow, built):
    (built / "a").rename(Path(os.fsdecode(b"a\xff")))
    done = fpgaflow("diff", Path(os.fsdecode(b"a\xff")), "b", "--json")
    assert done.status == 1
    assert json.loads(done.out)["a"] == "a\ufffd"


def test_a_device_is_no_plan(fpgaflow, monkeypatch):
    monkeypatch.setattr("flow.plan.compare_plans.load_plan", lambda _: pytest.fail("it was read"))
    fpgaflow.refused("diff", "/dev/zero", "/dev/zero", names=("/dev/zero is a device or a pipe",))


def test_a_device_is_no_timeline(fpgaflow):
    words = ("budget", "--layers", "4-2", "--bits", "3", "--freeze", "/dev/zero")
    fpgaflow.refused(*words, names=("--freeze", "/dev/zero is a device or a pipe"))
