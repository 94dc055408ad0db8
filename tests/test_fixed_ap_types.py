"""fixed.py against the open ap_types headers: whatever they compute is right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import flow.fixed
from flow.fixed import FixedType, Overflow, Rounding, cast, from_float
from tests.ap_types import Assignment, run, telling_values
from tests.networks import random_type

Results = list[tuple[Assignment, np.ndarray]]


def every_mode(rng: np.random.Generator, *, width: tuple[int, int]) -> list[FixedType]:
    """Draw one type for each of the 28 pairs of modes, its sign and format at random."""
    types = []
    for rounding in Rounding:
        for overflow in Overflow:
            drawn = random_type(rng, width=width, odd=0.4)
            types.append(FixedType(drawn.width, drawn.integer, bool(rng.integers(2)), rounding, overflow))
    return types


def assignments(seed: int, *, small_sources: int, wide_sources: int) -> list[Assignment]:
    rng = np.random.default_rng(seed)
    jobs: list[Assignment] = []
    for count, width in ((small_sources, (1, 6)), (wide_sources, (8, 70))):
        targets = every_mode(rng, width=width)
        sources = [random_type(rng, width=width, odd=0.4).exact() for _ in range(count)]
        for target in targets:
            jobs += [Assignment(source, target, telling_values(rng, source, target)) for source in sources]
            jobs.append(Assignment(None, target, telling_floats(rng, target)))
    return jobs


def telling_floats(rng: np.random.Generator, target: FixedType) -> tuple[float, ...]:
    grid = [float(rng.integers(-8, 8) * target.step) for _ in range(6)]
    ties = [float((rng.integers(-8, 8) + 0.5) * target.step) for _ in range(6)]
    beside = [float(np.nextafter(tie, tie * 2)) for tie in ties] + [float(np.nextafter(tie, 0)) for tie in ties]
    ends = [float((end + e) * target.step) for end in (target.lo, target.hi) for e in (-1, -0.5, 0, 0.5, 1)]
    anything = list(rng.normal(size=8) * 2.0 ** rng.integers(-12, 12, size=8))
    return (0.0, -0.0, 1e-9, -1e-9, *grid, *ties, *beside, *ends, *(float(x) for x in anything))


def ours(job: Assignment) -> np.ndarray:
    if job.source is None:
        return from_float(np.array(job.values), job.target)
    raw = np.array(job.values, dtype=object if job.source.width > 62 else np.int64)
    return cast(raw, job.source.fraction, job.target, job.source.width)


def mismatches(results: Results) -> list[str]:
    found = []
    for job, theirs in results:
        mine = ours(job)
        for value, a, b in zip(job.values, mine, theirs, strict=True):
            if int(a) != int(b):
                found.append(f"{job.source or 'double'} {value} -> {job.target}: {a}, ap_types {b}")
    return found


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    jobs = assignments(1, small_sources=5, wide_sources=3)
    return list(zip(jobs, run(jobs, tmp_path_factory.mktemp("casts")), strict=True))


@pytest.mark.eda
def test_casts_equal_the_headers_in_all_modes(results: Results) -> None:
    assert sum(len(job.values) for job, _ in results) > 5000
    assert mismatches(results) == []


@pytest.mark.eda
@pytest.mark.parametrize("rounding", [r for r in Rounding if r is not Rounding.TRN])
def test_a_wrong_rounding_is_seen(results: Results, rounding: Rounding, monkeypatch: pytest.MonkeyPatch) -> None:
    real = flow.fixed.round_off
    wrong = Rounding.RND if rounding is not Rounding.RND else Rounding.RND_CONV
    monkeypatch.setattr(
        flow.fixed, "round_off", lambda raw, shift, mode: real(raw, shift, wrong if mode is rounding else mode)
    )
    assert mismatches(results)


@pytest.mark.eda
@pytest.mark.parametrize("overflow", list(Overflow))
def test_a_wrong_overflow_is_seen(results: Results, overflow: Overflow, monkeypatch: pytest.MonkeyPatch) -> None:
    real = flow.fixed.limit
    wrong = Overflow.SAT if overflow is not Overflow.SAT else Overflow.SAT_ZERO

    def limit(raw: np.ndarray, target: FixedType) -> np.ndarray:
        if target.overflow is not overflow:
            return real(raw, target)
        return real(raw, FixedType(target.width, target.integer, target.signed, target.rounding, wrong))

    monkeypatch.setattr(flow.fixed, "limit", limit)
    assert mismatches(results)


@pytest.mark.eda
def test_ap_int_takes_the_integer_part_towards_zero(tmp_path: Path) -> None:
    targets = [FixedType(w, w, signed, Rounding.TRN_ZERO) for w in (1, 3, 9) for signed in (True, False)]
    sources = [FixedType(5, i, signed) for i in (1, 2, 5, 7) for signed in (True, False)]
    rng = np.random.default_rng(0)
    jobs = [Assignment(s, t, telling_values(rng, s, t), integer=True) for s in sources for t in targets]
    assert mismatches(list(zip(jobs, run(jobs, tmp_path), strict=True))) == []


@pytest.mark.eda
@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(100, 108))
def test_many_casts_equal_the_headers(seed: int, tmp_path: Path) -> None:
    jobs = assignments(seed, small_sources=14, wide_sources=10)
    assert mismatches(list(zip(jobs, run(jobs, tmp_path), strict=True))) == []
