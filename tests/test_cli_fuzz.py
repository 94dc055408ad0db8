"""No input makes the command fall over: random words, bytes and damaged files end in a status, never a traceback."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flow.cli import main
from flow.device.links import links
from flow.device.parts import parts
from flow.graph.store import to_json
from tests.commands import save, tiny_graph

GRAPH = to_json(tiny_graph())
EXAMPLES = settings(
    max_examples=25,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
NAMED = st.sampled_from(
    [
        "1us",
        "5ns",
        "0.2ms",
        "40MHz",
        "1e-3Hz",
        "1e4GHz",
        "auto",
        "1e9s",
        "tiny.json",
        "7",
        "custom:boundary=core",
        "poisson:1MHz,count=9",
        "burst:3@1ns/1us,count=2",
        "drop_old",
        "256B",
        "uart:3Mbaud",
        "ethernet10g+udp",
        "-",
        "--",
    ]
    + [part.name for part in parts()]
    + [link.name for link in links()]
)
WORDS = st.one_of(NAMED, st.text(max_size=12), st.from_regex(r"[0-9.e+-]{1,8} ?[a-zA-Zµ]{0,3}", fullmatch=True))
OPTIONS = ("--budget", "--rate", "--part", "--clock", "--link", "--boundary", "--vectors", "--out", "--config")
OPTIONS += ("--arrivals", "--buffer", "--overrun", "--output-buffer", "--payload-in", "--payload-out")
GOALS = ("budget", "report", "build")


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """Work in a folder that is gone afterwards."""
    kept = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(kept)


def call(*words: str) -> int:
    """Call the command; return its status, and fail on anything but an exit with one."""
    kept, sys.argv = sys.argv, ["fpgaflow", *words]
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
        status: object = 0
    except SystemExit as stop:
        status = stop.code
    finally:
        sys.argv = kept
    assert status in {0, 1, 2, 3}
    assert status != 2 or (not out.getvalue() and err.getvalue().strip()), (words, out.getvalue())
    return int(str(status))


def outside(words: list[str]) -> bool:
    """Tell whether a random word could name a place outside the working folder."""
    return any(word.startswith(("/", "~")) or ".." in word or "\0" in word for word in words)


@EXAMPLES
@given(
    st.sampled_from(GOALS), st.dictionaries(st.sampled_from(OPTIONS), WORDS, max_size=3), WORDS | st.just("tiny.json")
)
def test_random_options(goal: str, options: dict[str, str], model: str) -> None:
    words = [goal, model, *(f"{name}={value}" for name, value in options.items())]
    if outside([model, *options.values()]):
        return
    with folder() as place:
        save(tiny_graph(), place / "tiny.json")
        call(*words)


@EXAMPLES
@given(st.lists(st.text(max_size=20), max_size=4))
def test_random_words(words: list[str]) -> None:
    if not outside(words):
        with folder():
            call(*words)


def damaged(content: bytes) -> st.SearchStrategy[bytes]:
    """Return files with a few bytes replaced, inserted or cut off."""

    def damage(args: tuple[int, int, bytes]) -> bytes:
        at, cut, new = args
        at %= len(content) + 1
        return content[:at] + new + content[at + cut :]

    sizes = st.integers(0, len(content))
    return st.tuples(
        sizes, st.integers(0, 8) | sizes, st.binary(max_size=6) | st.sampled_from([b"0", b"-", b'"', b"1e9"])
    ).map(damage)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


@st.composite
def twisted(draw: st.DrawFn) -> bytes:
    """Return a saved graph in which one value somewhere is another."""
    stored = json.loads(GRAPH)
    place = stored
    for _ in range(draw(st.integers(1, 6))):
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            break
        key = draw(st.sampled_from(keys))
        if isinstance(place[key], dict | list) and place[key] and draw(st.booleans()):
            place = place[key]
            continue
        place[key] = draw(JSON)
        break
    return json.dumps(stored).encode()


@EXAMPLES
@given(damaged(GRAPH) | twisted() | st.binary(max_size=40))
def test_damaged_graphs(content: bytes) -> None:
    with folder() as place:
        (place / "x.json").write_bytes(content)
        if call("budget", "x.json") != 2:
            call("build", "x.json")


@EXAMPLES
@given(st.sampled_from([".npy", ".npz"]), st.data())
def test_damaged_vectors(suffix: str, data: st.DataObject) -> None:
    whole = io.BytesIO()
    if suffix == ".npy":
        np.save(whole, np.zeros((3, 4)))
    else:
        np.savez_compressed(whole, x=np.zeros((3, 4)), y=np.zeros(3, dtype=int))
    with folder() as place:
        save(tiny_graph(), place / "tiny.json")
        (place / f"x{suffix}").write_bytes(data.draw(damaged(whole.getvalue())))
        call("budget", "tiny.json", "--vectors", f"x{suffix}")


ARTIFACTS = (
    "model.json",
    "plan.json",
    "timeline.json",
    "signature.json",
    "conversion.json",
    "vectors.npz",
    "steps.json",
)


@pytest.fixture(scope="module")
def built() -> dict[str, bytes]:
    """Return the files of a built run by their names in its folder."""
    with folder() as place:
        save(tiny_graph(), place / "tiny.json")
        assert call("build", "tiny.json", "--out", "run") == 0
        run = place / "run"
        return {p.relative_to(run).as_posix(): p.read_bytes() for p in run.rglob("*") if p.is_file()}


@EXAMPLES
@given(name=st.sampled_from(ARTIFACTS), data=st.data())
def test_damaged_artifacts(built: dict[str, bytes], name: str, data: st.DataObject) -> None:
    with folder() as place:
        for path, content in built.items():
            (place / "run" / path).parent.mkdir(parents=True, exist_ok=True)
            (place / "run" / path).write_bytes(content)
        (place / "run" / name).write_bytes(data.draw(damaged(built[name])))
        save(tiny_graph(), place / "tiny.json")
        call("report", "tiny.json", "--out", "run")
        call("budget", "run/model.json")
        assert call("build", "tiny.json", "--out", "run") == 0


@EXAMPLES
@given(
    st.text(max_size=60)
    | st.sampled_from(["budget = ", "rate = ", "must_beat = ", "[hls]\nModel = "]).flatmap(
        lambda key: (st.text(max_size=10).map(json.dumps) | JSON.map(json.dumps)).map(
            lambda v: f"model = 'tiny.json'\n{key}{v}\n"
        )
    )
)
def test_random_requests(text: str) -> None:
    with folder() as place:
        save(tiny_graph(), place / "mine" / "tiny.json")
        (place / "mine" / "request.toml").write_text(text, encoding="utf-8", errors="surrogatepass")
        call("budget", "mine")
