import pytest

from flow.baseline.catalogue import catalogue
from flow.baseline.roofline import roofline


def test_the_bound_is_the_larger_side():
    # 156e9 multiplications are 312e9 operations: 1 ms at 312 TFLOP/s
    compute = roofline(156_000_000_000, 1)
    assert compute.bound_ns == compute.compute_ns == pytest.approx(1e6)
    # 1935 bytes take 1 ns at 1935 GB/s
    memory = roofline(1, 1935)
    assert memory.bound_ns == memory.memory_ns == pytest.approx(1.0)


def test_it_says_why_it_misleads_and_where_the_peak_is_from():
    small = roofline(3_392, 2_544)
    assert small.bound_ns < 2
    assert "amortize, 4,183 times less than 'launch per inference' takes" in small.why
    assert catalogue().roofline.source in small.source
    assert catalogue().roofline.grade in {"V", "S"}


def test_no_work_has_no_factor():
    assert roofline(0, 0).bound_ns == 0
    assert roofline(0, 0).why.endswith("begun to amortize.")
