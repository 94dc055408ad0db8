"""Arrival times from files of other people's making."""

from __future__ import annotations

import struct
import tracemalloc

import numpy as np
import pytest

from flow.errors import UserError
from flow.latency import arrival_file
from flow.latency.arrival_file import read_arrivals


@pytest.fixture
def written(tmp_path):
    def write(content, name="times.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("time_ns\n100\n167.2\n234.4\n", ""),
        ("# unit: ns\n\n100\n# a remark\n167.2\n234.4\n", ""),
        ("arrival (us),size\n0.1,64\n0.1672,64\n0.2344,64\n", ""),
        ("100;a\n167.2;b\n234.4;c", ",unit=ns"),
        ("\ufeff1e-7\r\n1.672e-7\r\n2.344e-7\r\n", ",unit=s"),
        # seconds since 1970 with nanoseconds: far more digits than a double holds
        ("1700000000.0000001\n1700000000.0000001672\n1700000000.0000002344\n", ",unit=s"),
    ],
)
def test_text_is_read_exactly(written, content, word):
    arrivals = read_arrivals(written(content) + word)
    assert arrivals.times_ps.tolist() == [0, 67_200, 134_400]
    assert arrivals.rate_hz is None
    assert arrivals.described == "3 arrivals of times.csv"


@pytest.mark.parametrize(
    "values", [np.array([5, 7, 9]), np.array([5, 7, 9], dtype=np.uint64), np.array([5.0, 7.0, 9.0], dtype=np.float32)]
)
def test_npy_is_read(tmp_path, values):
    np.save(tmp_path / "t.npy", values)
    assert read_arrivals(f"{tmp_path / 't.npy'},unit=us").times_ps.tolist() == [0, 2_000_000, 4_000_000]


def test_large_integers_keep_every_digit(tmp_path):
    np.save(tmp_path / "t.npy", np.array([1_700_000_000_000_000_001, 1_700_000_000_000_000_008]))
    assert read_arrivals(f"{tmp_path / 't.npy'},unit=ns").times_ps.tolist() == [0, 7000]


@pytest.mark.parametrize(
    ("content", "word", "complaint"),
    [
        ("1\n2\n", "", "in which unit"),
        ("1\n2\n", ",unit=h", "unit must be one of ps, ns"),
        ("time_ns\n1\nx\n", "", "line 3: 'x' is not a time"),
        ("time_ns\n1\n1e9999\n", "", "line 3"),
        ("time_ns\n1\n1e999\n", "", "line 3"),
        ("time_ns\n1\nnan\n", "", "line 3"),
        ("time_ns\n2\n1\n", "", "line 3: 1 comes before"),
        ("time_ns\n", "", "there is no time in it"),
        ("", ",unit=ns", "there is no time in it"),
        ("time_s\n0\n1e7\n", "", "last longer than"),
        (b"\xff\xfe\x00", ",unit=ns", "neither UTF-8 text nor .npy"),
    ],
)
def test_what_is_wrong_with_a_text_is_said_with_its_line(written, content, word, complaint):
    with pytest.raises(UserError, match=complaint):
        read_arrivals(written(content) + word)


def test_what_is_wrong_with_an_npy_is_said(tmp_path, written):
    for values in (np.zeros((2, 2)), np.array(["a"]), np.array([]), np.array([True])):
        np.save(tmp_path / "t.npy", values)
        with pytest.raises(UserError, match="one-dimensional array of integers or floating"):
            read_arrivals(f"{tmp_path / 't.npy'},unit=ns")
    for values, complaint in (([0.0, np.nan], "not finite"), ([0.0, 1e300, 1.0], "comes before"), ([2, 1], "before")):
        np.save(tmp_path / "t.npy", np.array(values))
        with pytest.raises(UserError, match=complaint):
            read_arrivals(f"{tmp_path / 't.npy'},unit=ns")
    np.save(tmp_path / "t.npy", np.array(["1e4000", "1.1e4000"], dtype=np.longdouble))
    with pytest.raises(UserError, match="not finite"):
        read_arrivals(f"{tmp_path / 't.npy'},unit=ns")
    np.save(tmp_path / "t.npy", np.array([{}], dtype=object), allow_pickle=True)
    for path in (str(tmp_path / "t.npy"), written(b"no", "u.npy"), written(b"", "v.npy")):
        with pytest.raises(UserError, match=r"not a \.npy file of numbers"):
            read_arrivals(f"{path},unit=ns")


def test_a_header_that_lies_about_the_size_takes_no_memory(written):
    header = b"{'descr': '<i8', 'fortran_order': False, 'shape': (1000000000000,), }".ljust(117) + b"\n"
    lie = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(80)
    with pytest.raises(UserError, match=r"not a \.npy file of numbers"):
        read_arrivals(written(lie, "t.npy") + ",unit=ns")


def test_sizes_are_bounded(written, monkeypatch):
    path = written("time_ns\n" + "1\n" * 20)
    monkeypatch.setattr(arrival_file, "MOST_ARRIVALS", 10)
    with pytest.raises(UserError, match="more than 10 are not followed"):
        read_arrivals(path)
    monkeypatch.setattr(arrival_file, "LARGEST_FILE", 10)
    with pytest.raises(UserError, match="48 bytes are more than the 10"):
        read_arrivals(path)


@pytest.mark.parametrize("text", ["nothing.csv", "", ".", "a\0b", "x" * 5000, "uniform:1MHz"])
def test_a_file_that_is_not_there_offers_what_could_be_written(text):
    with pytest.raises(UserError, match="no such file; write for example poisson:1MHz"):
        read_arrivals(text)


def test_many_lines_take_little_memory(written):
    path = written(b"#a\n" * 300_000 + b"time_ns\n1\n2\n")
    tracemalloc.start()
    try:
        assert read_arrivals(path).count == 2
        assert tracemalloc.get_traced_memory()[1] < 2_000_000  # the file itself has 900,000 bytes
    finally:
        tracemalloc.stop()


def test_a_file_is_read_once_until_it_changes(written, monkeypatch):
    path = written(b"time_ns\n1\n2\n")
    assert read_arrivals(path).count == 2
    with monkeypatch.context() as broken:
        broken.setattr("flow.latency.arrival_file._from_text", lambda *_: pytest.fail("read again"))
        assert read_arrivals(path).count == 2
    assert read_arrivals(written(b"time_ns\n1\n2\n3\n")).count == 3
