from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flow.errors import UserError, VerificationError
from flow.fixed import FixedArray, FixedType, Rounding
from flow.graph.nodes.input import Input
from flow.rtl.packing import unpack
from flow.simulate.vectors import expected, load_vectors, save_vectors, user_vectors
from tests.simulate.designs import RELU, SUMS, X, Y, pipeline


def node(
    name: str = "x",
    shape: tuple[int, ...] = (3,),
    kind: FixedType = FixedType(8, 4),  # noqa: B008 - immutable
) -> Input:
    return Input(name=name, label=f"layer {name}", inputs=(), shape=shape, type=kind)


def test_expected_words_hold_the_evaluators_values() -> None:
    vectors = pipeline(20).vectors
    assert vectors.count == 20
    x = unpack((X,), vectors.words_in)["x"]
    sums = unpack((SUMS,), vectors.words_edges[0][:, None])["sums"]
    relu = unpack((RELU,), vectors.words_edges[1][:, None])["relu"]
    y = unpack((Y,), vectors.words_out)["y"]
    np.testing.assert_array_equal(sums[:, 0], x[:, 0] + x[:, 1])
    np.testing.assert_array_equal(relu, np.maximum(sums, 0))
    np.testing.assert_array_equal(y[:, 1], relu[:, 0] - relu[:, 1])


def values_of(**changes: FixedArray) -> dict[str, FixedArray]:
    zeros = {port.name: FixedArray(np.zeros((2, *port.shape), np.int64), port.type) for port in (X, SUMS, RELU, Y)}
    return zeros | changes


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({k: v for k, v in values_of().items() if k != "relu"}, r"no values for 'relu'"),
        (values_of(y=FixedArray(np.zeros((2, 2), np.int64), FixedType(12, 7))), "'dense 2' is fixed<12,7>"),
        (values_of(y=FixedArray(np.full((2, 2), 2048), FixedType(14, 8))), "4 evaluated values are outside"),
    ],
)
def test_values_that_do_not_fit_the_signature_are_refused(values: dict[str, FixedArray], message: str) -> None:
    with pytest.raises(VerificationError, match=message):
        expected(pipeline(1).signature, values)


def test_vectors_survive_the_file_and_have_the_same_bytes(tmp_path: Path) -> None:
    vectors = pipeline(7).vectors
    first, second = tmp_path / "a.npz", tmp_path / "b.npz"
    save_vectors(first, vectors)
    save_vectors(second, vectors)
    assert first.read_bytes() == second.read_bytes()
    again = load_vectors(first)
    np.testing.assert_array_equal(again.words_in, vectors.words_in)
    np.testing.assert_array_equal(again.words_out, vectors.words_out)
    assert len(again.words_edges) == 2
    for a, b in zip(again.words_edges, vectors.words_edges, strict=True):
        np.testing.assert_array_equal(a, b)
    assert vectors.first(3).count == 3
    np.savez(tmp_path / "c.npz", x=np.zeros(3))
    with pytest.raises(UserError, match="holds no vectors of a design"):
        load_vectors(tmp_path / "c.npz")


def test_user_vectors_are_read(tmp_path: Path) -> None:
    x = np.linspace(-7, 7, 12).reshape(4, 3)
    np.save(tmp_path / "x.npy", x.astype(np.float32))
    read = user_vectors(tmp_path / "x.npy", (node(),), clip=False)
    assert (read.labels, read.clipped) == (None, 0)
    np.testing.assert_array_equal(read.inputs[0], x.astype(np.float32).astype(np.float64))
    np.savez(tmp_path / "xy.npz", x=x.astype(np.int32), y=np.array([0, 1, 2, 1]))
    read = user_vectors(tmp_path / "xy.npz", (node(shape=(1, 3)),), clip=False)
    assert read.inputs[0].shape == (4, 1, 3)
    np.testing.assert_array_equal(read.labels, [0, 1, 2, 1])


def test_several_inputs_are_named(tmp_path: Path) -> None:
    inputs = (node("a"), node("b", (2,)))
    path = tmp_path / "ab.npz"
    np.savez(path, **{"layer a": np.ones((5, 3)), "b": np.zeros((5, 2))})
    read = user_vectors(path, inputs, clip=False)
    assert [array.shape for array in read.inputs] == [(5, 3), (5, 2)]
    np.savez(path, a=np.ones((5, 3)), b=np.zeros((4, 2)))
    with pytest.raises(UserError, match="4 and 5 vectors"):
        user_vectors(path, inputs, clip=False)
    np.savez(path, a=np.ones((5, 3)))
    with pytest.raises(UserError, match="no array for input 'layer b'"):
        user_vectors(path, inputs, clip=False)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.zeros((4, 5))}, r"shape \(4, 5\) do not fit input 'layer x'; it takes \(n, 3\)"),
        ({"x": np.zeros(3)}, r"shape \(3,\) do not fit"),
        ({"x": np.zeros((0, 3))}, "with n at least 1"),
        ({"x": np.zeros(())}, "do not fit"),
        ({"data": np.zeros((4, 3)), "y": np.zeros(4)}, r"has no array x \(it holds data\)"),
        ({"x": np.array([["a", "b", "c"]])}, "it needs real numbers"),
        ({"x": np.zeros((2, 3), complex)}, "it needs real numbers"),
        ({"x": np.array([[0, np.nan, 1], [np.inf, 0, -np.inf]])}, "3 of 6 values of x .* are NaN or infinite"),
        ({"x": np.zeros((2, 3)), "y": np.zeros(3)}, "y has 3 entries for 2 vectors"),
        ({"x": np.zeros((2, 3)), "y": np.array(1)}, "y has 0 entries for 2 vectors"),
        (
            {"x": np.array([[0, 1, 2], [8.0, -8.5, 300]])},
            (
                r"3 of 6 values do not fit input 'layer x' of type fixed<8,4>, which holds -8 to 7.9375; "
                r"the first is 8 \(vector 1, element \(0,\)\)"
            ),
        ),
    ],
)
def test_bad_vectors_are_named_and_counted(arrays: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.npz"
    np.savez(path, **arrays)
    with pytest.raises(UserError, match=message):
        user_vectors(path, (node(),), clip=False)


def test_values_outside_the_type_are_clipped_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.array([[0, 1, 2], [8.0, -8.5, 300]]))
    read = user_vectors(path, (node(),), clip=True)
    assert read.clipped == 3
    np.testing.assert_array_equal(read.inputs[0], [[0, 1, 2], [7.9375, -8, 7.9375]])


def test_rounding_decides_about_values_near_the_border(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.array([[7.98, 7.95, -8.02]]))
    truncating = user_vectors(path, (node(),), clip=True)
    assert truncating.clipped == 1  # -8.02 is truncated to -8.0625
    rounding = user_vectors(path, (node(kind=FixedType(8, 4, rounding=Rounding.RND)),), clip=True)
    assert rounding.clipped == 1  # 7.98 is rounded to 8
    np.testing.assert_array_equal(rounding.inputs[0], [[7.9375, 7.95, -8.02]])


def test_files_that_are_no_arrays_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    with pytest.raises(UserError, match="no such file"):
        user_vectors(path, (node(),), clip=False)
    path.write_bytes(b"not numpy")
    with pytest.raises(UserError, match="cannot be read as numpy arrays"):
        user_vectors(path, (node(),), clip=False)
    path.write_bytes(b"")
    with pytest.raises(UserError, match="cannot be read as numpy arrays"):
        user_vectors(path, (node(),), clip=False)
    np.save(path, np.array([[1, None, 2]], dtype=object), allow_pickle=True)
    with pytest.raises(UserError, match="holds Python objects, which are never loaded"):
        user_vectors(path, (node(),), clip=False)
    np.savez(tmp_path / "x.npz", x=np.array([[1, None, 2]], dtype=object))
    with pytest.raises(UserError, match="holds Python objects, which are never loaded"):
        user_vectors(tmp_path / "x.npz", (node(),), clip=False)
    truncated = tmp_path / "t.npz"
    np.savez(truncated, x=np.zeros((40, 3)))
    truncated.write_bytes(truncated.read_bytes()[:300])
    with pytest.raises(UserError, match="cannot be read as numpy arrays"):
        user_vectors(truncated, (node(),), clip=False)
    with pytest.raises(UserError, match=r"from a '\.csv' file"):
        user_vectors(tmp_path / "x.csv", (node(),), clip=False)


def test_a_narrower_view_of_the_same_values_is_fine() -> None:
    signature = pipeline(1).signature
    narrow = replace(signature, outputs=(replace(Y, type=FixedType(10, 4)),))
    words = expected(narrow, values_of(y=FixedArray(np.array([[511, -512], [3, -1]]), Y.type)))
    raw = unpack(narrow.outputs, words.words_out)["y"]
    np.testing.assert_array_equal(raw, [[511, -512], [3, -1]])
