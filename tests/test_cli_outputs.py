"""Files that a command is told to write, and options that would say nothing."""

import os

import pytest

LIST = ("--layers", "4-2", "--bits", "3")
COMPARED = ("budget", *LIST, "--parts", "xcvu9p")


def test_a_pipe_is_refused_and_stays_one(fpgaflow, tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    fpgaflow.refused(*COMPARED, "--csv", "pipe.csv", names=("--csv pipe.csv", "a device or a pipe"))
    assert (tmp_path / "pipe.csv").is_fifo()


def test_a_link_leads_to_its_file(fpgaflow, tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    assert fpgaflow(*COMPARED, "--csv", "link.csv").status == 0
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text().startswith("model,part")


@pytest.mark.parametrize(
    ("name", "said"),
    [("", "the name is empty"), ("folder", "it is a folder"), ("file/x.csv", "is no folder"), ("x" * 300, "too long")],
)
def test_what_cannot_be_written_is_refused_before_anything_is_planned(fpgaflow, tmp_path, monkeypatch, name, said):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("flow.steps.compare.compare_to", lambda *_args, **_more: pytest.fail("it planned"))
    for option in ("--csv", "--picture"):
        fpgaflow.refused(*COMPARED, option, name, names=(option, said))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_a_frozen_timeline_is_refused_as_such(fpgaflow):
    assert fpgaflow("build", *LIST, "--part", "LFE5U-25F", "--clock", "20ns", "--out", "v1").status == 0
    fpgaflow.refused(*COMPARED, "--freeze", "v1", names=("a frozen timeline is that of one part",))


def test_two_outputs_cannot_have_one_name(fpgaflow, tmp_path):
    fpgaflow.refused(*COMPARED, "--csv", "a.svg", "--picture", "./a.svg", names=("--csv", "--picture", "a.svg"))
    assert not list(tmp_path.iterdir())


def test_a_picture_of_nothing_leaves_no_csv_either(fpgaflow, tmp_path):
    fpgaflow.refused("budget", *LIST, "--parts", "v80", "--csv", "a.csv", "--picture", "a.svg", names=("no picture",))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "options",
    [("--sensitivity",), ("--arrivals", "poisson:1MHz"), ("--buffer", "0"), ("--bunch-crossings",)],
)
def test_what_a_comparison_does_not_show_is_refused(fpgaflow, options):
    fpgaflow.refused(*COMPARED, *options, names=(options[0], "one part only"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--part", "nonsense"), "--part is of a network's design"),
        (("--payload-in", "4B"), "--payload-in is of a network's design"),
        (("--clip",), "--clip is of a network's design"),
        (("--count", "5"), "--count goes with --measure"),
        ((*LIST, "--device", "cpu"), "--device goes with --measure"),
        ((*LIST, "--output", "x.json"), "--output goes with --measure"),
        ((*LIST, "--measure", "cpu", "--device", "cuda"), "--device is of --measure gpu"),
        ((*LIST, "--measure", "cpu", "--output", "."), "--output .: it is a folder"),
    ],
)
def test_options_of_a_baseline_that_say_nothing_are_refused(fpgaflow, options, said):
    fpgaflow.refused("baseline", *options, names=(said,))


def test_baselines_without_a_network_still_come(fpgaflow):
    assert "resident kernel" in fpgaflow("baseline").out
