"""Fixed-point types and casts against exact fractions."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flow.errors import UserError
from flow.fixed import MAX_WIDTH, FixedType, Overflow, Rounding, cast, from_float, parse_type, product

TYPES = st.builds(
    FixedType,
    st.integers(1, 80),
    st.integers(-10, 90),
    st.booleans(),
    st.sampled_from(list(Rounding)),
    st.sampled_from(list(Overflow)),
)


def exact_cast(value: Fraction, target: FixedType) -> int:
    """Return the raw integer by the definitions of UG1399, in fractions."""
    scaled = value * Fraction(2) ** target.fraction
    low, high = floor(scaled), ceil(scaled)
    to_zero = low if scaled >= 0 else high
    away = high if scaled >= 0 else low
    nearest = low if scaled - low < high - scaled else high
    tie = scaled - low == high - scaled
    raw = {
        Rounding.TRN: low,
        Rounding.TRN_ZERO: to_zero,
        Rounding.RND: high if tie else nearest,
        Rounding.RND_ZERO: to_zero if tie else nearest,
        Rounding.RND_INF: away if tie else nearest,
        Rounding.RND_MIN_INF: low if tie else nearest,
        Rounding.RND_CONV: (low if low % 2 == 0 else high) if tie else nearest,
    }[target.rounding]
    lo, hi = target.exact().lo, target.hi
    if target.overflow is Overflow.WRAP:
        return (raw - lo) % (1 << target.width) + lo
    if target.overflow is Overflow.SAT_SYM and target.signed and target.width > 1:
        lo += 1
    if lo <= raw <= hi:
        return raw
    if target.overflow is Overflow.SAT_ZERO:
        return 0
    return lo if raw < lo else hi


@settings(max_examples=400, deadline=None)
@given(source=TYPES, target=TYPES, data=st.data())
def test_cast_is_exact(source: FixedType, target: FixedType, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(source.lo, source.hi), min_size=1, max_size=6))
    raw = np.array(values, dtype=object if source.width > 62 else np.int64)
    got = cast(raw, source.fraction, target, source.width)
    assert [int(v) for v in got] == [exact_cast(v * Fraction(2) ** -source.fraction, target) for v in values]


@settings(max_examples=200, deadline=None)
@given(target=TYPES, values=st.lists(st.floats(allow_nan=False, allow_infinity=False, width=64), min_size=1))
def test_from_float_is_exact(target: FixedType, values: list[float]) -> None:
    got = from_float(np.array(values), target)
    assert [int(v) for v in got] == [exact_cast(Fraction(v), target) for v in values]


@settings(max_examples=60, deadline=None)
@given(bits=st.integers(1, 90), seed=st.integers(0, 1000))
def test_product_never_rounds(bits: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    half = max(1, (bits - 3) // 2)  # eight products of 2 * half bits

    def draw(*shape: int) -> np.ndarray:
        flat = [int.from_bytes(rng.bytes(8), "little") % (1 << half) for _ in range(int(np.prod(shape)))]
        return np.array(flat, dtype=object).reshape(shape)

    x, w = draw(3, 8), draw(8, 2)
    kind = object if half > 62 else np.int64
    assert (product(x.astype(kind), w.astype(kind), 2 * half + 3).astype(object) == x @ w).all()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("fixed<8,2>", FixedType(8, 2)),
        ("ap_ufixed<8,-2,AP_RND_CONV,AP_SAT>", FixedType(8, -2, False, Rounding.RND_CONV, Overflow.SAT)),
        ("ap_fixed<8,12>", FixedType(8, 12)),
        ("fixed<16,6,TRN,WRAP,0>", FixedType(16, 6)),
        ("ap_uint<4>", FixedType(4, 4, False)),
    ],
)
def test_types_are_read(text: str, kind: FixedType) -> None:
    assert parse_type(text) == kind
    assert parse_type(str(kind)) == kind


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("ap_fixd<8,2>", "write fixed<W,I>"),
        ("fixed<8>", "write fixed<W,I>"),
        ("int<8,2>", "write fixed<W,I>"),
        ("fixed<8,2,AP_RND,WRAP_SM>", "unknown mode"),
        ("fixed<0,2>", "1 to 1024 bits"),
        ("fixed<1025,2>", "1 to 1024 bits"),
        ("fixed<999999999,2>", "1 to 1024 bits"),
        ("fixed<8,9999>", "integer bits"),
    ],
)
def test_wrong_types_are_refused(text: str, part: str) -> None:
    with pytest.raises(UserError, match=part):
        parse_type(text)


def test_widest_type_works() -> None:
    kind = FixedType(MAX_WIDTH, 10)
    assert cast(np.array([1, -1]), 0, kind, 2).tolist() == [1 << kind.fraction, -(1 << kind.fraction)]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_from_float_refuses_what_is_no_number(bad: float) -> None:
    with pytest.raises(UserError, match="finite"):
        from_float(np.array([0.0, bad]), FixedType(8, 2))
