import re
from pathlib import Path

import pytest

from flow.errors import UserError
from flow.latency.bunches import PERIOD_NS
from flow.plan.accepted import FIELDS
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
    with pytest.raises(UserError, match=r"spare\.0 is \"gold\"; write 'lut', 'ff', 'dsp' or 'bram', for example spare"):
        load_request(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("buffer = true", "buffer is true; write a whole number, for example buffer = 4"),
        ("buffer = 1.0", "buffer is 1.0; write a whole number, for example buffer = 4"),
        ('buffer = "4"', 'buffer is "4"; write a whole number, for example buffer = 4'),
        ("output_buffer = true", "output_buffer is true; write a whole number, for example output_buffer = 2"),
        ("latency_exact = true", "latency_exact is true; write a whole number, for example latency_exact = 12"),
        (
            'bunch_crossings = "yes"',
            'bunch_crossings is "yes"; write true or false, for example bunch_crossings = true',
        ),
        ("bunch_crossings = 1", "bunch_crossings is 1; write true or false"),
        (
            "pins.x.reuse_factor = true",
            "pins.x.reuse_factor is true; write a whole number, for example reuse_factor = 8",
        ),
        ("pins.x.p = 2.0", "pins.x.p is 2.0; write a whole number, for example p = 4"),
        ('pins.x.q = "2"', 'pins.x.q is "2"; write a whole number, for example q = 2'),
        ("pins.x.depth = false", "pins.x.depth is false; write a whole number, for example depth = 3"),
        ("pins.x = 5", "pins.x is 5; write a table, for example pins = {"),
        ("limits.lut = true", "limits.lut is true; write a whole number or a share, for example limits = {"),
        ("limits.lut = 1.0", "limits.lut is 1.0; write a whole number or a share, for example limits = {"),
        (
            "precision.d = 5",
            "precision.d is 5; write a type, or a table of types by variable, for example precision = {",
        ),
        ("precision.d.weight = 5", "precision.d.weight is 5; write a type"),
        ("must_beat = 5", 'must_beat is 5; write a list of names, for example must_beat = ["resident kernel"]'),
        ('parts = ["u50", 5]', 'parts.1 is 5; write a list of names, for example parts = ["xcvu13p", "xc7a100t"]'),
        ("model = []", 'model is a list; write a path, for example model = "jets.keras"'),
        (
            "rate = 2026-01-01",
            'rate is 2026-01-01; write a frequency with its unit, as text, for example rate = "40MHz"',
        ),
        (
            'overrun = "lose"',
            "overrun is \"lose\"; write 'wait', 'drop_new' or 'drop_old', for example overrun = \"drop_new\"",
        ),
    ],
)
def test_a_field_of_another_type_is_told_what_would_be_accepted(tmp_path: Path, text, said):
    path = tmp_path / "request.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=re.escape(f"{path}: {said}")):
        load_request(path)


@pytest.mark.parametrize("name", FIELDS)
def test_no_field_takes_a_date_and_each_says_its_example(tmp_path: Path, name):
    path = tmp_path / "request.toml"
    path.write_text(f"{name} = 2026-01-01\n")
    with pytest.raises(UserError, match=re.escape(f"{path}: {name} is 2026-01-01; write ")) as error:
        load_request(path)
    assert str(error.value).endswith(f", for example {FIELDS[name][1]}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = " + "[" * 20_000, "nested more than 50 deep"),
        ("hls = " + "{a=" * 20_000, "nested more than 50 deep"),
        (
            "hls." + ".".join("a" * 20_000) + " = 1",
            "what begins with 'hls' has tables or lists nested more than 50 deep",
        ),
        ("hls = " + "[" * 60 + "]" * 60, "nested more than 50 deep"),
        ("buffer = " + "9" * 5_000, "a whole number of more than 64 bits"),
        ("buffer = 0x" + "f" * 5_000, "buffer is a whole number of more than 64 bits"),
        ('freeze = "a\\u0000"', "freeze holds a NUL"),
        ('measured = ["b.json", "a\\u0000"]', r"measured\.1 holds a NUL"),
        ('vectors = "\\u0000"', "vectors holds a NUL"),
        ('model = "a\\u0000b"', "model holds a NUL"),
        ('arrivals = "a\\u0000b"', "arrivals holds a NUL"),
        ('hls."a\\u0000".b = 1', r"hls\.a\\0 holds a NUL"),
    ],
    ids=lambda text: text[:30],
)
def test_what_no_request_can_hold_is_refused(tmp_path: Path, text, said):
    path = tmp_path / "request.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=said) as error:
        load_request(path)
    assert str(path) in str(error.value)
    assert len(str(error.value)) < 300 + len(str(path))


def test_a_configuration_of_hls4ml_is_not_nested_too_deep(tmp_path: Path):
    path = tmp_path / "request.toml"
    path.write_text("[hls.LayerName.dense.Precision]\nweight = 'fixed<6,1>'\n")
    assert load_request(path).hls == {"LayerName": {"dense": {"Precision": {"weight": "fixed<6,1>"}}}}


@pytest.mark.parametrize("text", ["1000xBC", "0xBC", "06xBC", "-1xBC", "1.5xBC", "0x40MHz", "xBC"])
def test_a_wrong_multiple_is_told_which_there_are(text):
    with pytest.raises(
        UserError, match=re.escape(f"clock '{text}': a multiple is a whole number from 1 to 999")
    ) as error:
        parse_clock(text)
    assert "6xBC" in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"), [("6x40", "no unit"), ("6x5ns", "unknown unit 'ns'"), ("6xfast", "6x40.079MHz")]
)
def test_a_multiple_is_of_a_frequency(text, said):
    with pytest.raises(UserError, match=said):
        parse_clock(text)


def test_multiples_of_a_frequency_are_periods():
    assert parse_clock("999x1kHz") == pytest.approx(1e6 / 999)
    assert parse_clock(" 6 × bc ") == parse_clock("6xBC") == pytest.approx(PERIOD_NS / 6)
