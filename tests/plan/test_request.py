from pathlib import Path

import pytest

from flow.errors import UserError
from flow.plan.request import load_request, parse_clock, parse_rate, parse_time


@pytest.mark.parametrize(("text", "ns"), [("5us", 5e3), ("50 ns", 50.0), ("1.5µs", 1500.0), ("1e-1 ms", 1e5)])
def test_times_carry_units(text, ns):
    assert parse_time(text) == pytest.approx(ns)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("5", "no unit"),
        ("0us", "greater than zero"),
        ("5 parsecs", "unknown unit"),
        ("-5us", "not a number"),
        ("", "not a number"),
    ],
)
def test_wrong_times_are_refused_with_an_example(text, said):
    with pytest.raises(UserError, match=said) as error:
        parse_time(text)
    assert "5us" in str(error.value)


@pytest.mark.parametrize(("text", "ns"), [("200MHz", 5.0), ("5ns", 5.0), ("auto", None), ("0.5 GHz", 2.0)])
def test_a_clock_is_a_frequency_a_period_or_auto(text, ns):
    assert parse_clock(text) == ns


@pytest.mark.parametrize("text", ["0MHz", "200", "fast", "0ns"])
def test_wrong_clocks_are_refused(text):
    with pytest.raises(UserError, match="clock"):
        parse_clock(text)


def test_a_rate_without_unit_is_refused():
    with pytest.raises(UserError, match="rate '40' has no unit"):
        parse_rate("40")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('budgt = "5us"', "unknown key 'budgt'; did you mean boundary or budget"),
        ('budget = "5"', "no unit"),
        ("budget = 5", "budget"),
        ('boundary = "chip"', "boundary"),
        ("budget = ", "not TOML"),
    ],
)
def test_a_wrong_request_names_the_file_and_the_key(tmp_path: Path, text, said):
    path = tmp_path / "request.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=said) as error:
        load_request(path)
    assert str(path) in str(error.value)


def test_options_override_the_request(tmp_path: Path):
    path = tmp_path / "request.toml"
    path.write_text('budget = "1us"\nrate = "40MHz"\n')
    request = load_request(path).overridden(budget="50ns", rate=None)
    assert (request.budget_ns, request.rate_hz) == (50.0, 40e6)


def test_one_resource_to_spare_needs_no_list(tmp_path):
    path = tmp_path / "request.toml"
    path.write_text('spare = "lut"\n')
    assert load_request(path).spare == ("lut",)
    path.write_text('spare = ["lut", "bram"]\n')
    assert load_request(path).spare == ("lut", "bram")
    path.write_text('spare = ["gold"]\n')
    with pytest.raises(UserError, match=r"spare\.0: Input should be 'lut', 'ff', 'dsp' or 'bram'"):
        load_request(path)
