import pytest

from flow.latency.schedule import Schedule
from flow.latency.timeline import Element, build_timeline, load_timeline, timeline_to_json


def register(count: int):
    return lambda arrivals: Schedule((max(s.last for s in arrivals) + count,))


def serial(beats: int, fill: int):
    """An output-serial engine: the whole input first, then one beat per cycle."""
    return lambda arrivals: Schedule(tuple(arrivals[0].last + fill + k for k in range(beats)))


def chain(*elements: Element, outputs: tuple[str, ...]):
    return build_timeline({"x": Schedule((0,))}, elements, outputs)


def test_one_register_is_one_cycle_and_combinational_is_none():
    timeline = chain(
        Element("a", "unrolled", ("x",), register(0), 1),
        Element("b", "unrolled", ("a",), register(1), 1),
        outputs=("b",),
    )
    assert timeline.edge("a").schedule.cycles == (0,)
    assert timeline.latency == 1


def test_latency_is_the_sum_along_the_critical_path():
    timeline = chain(
        Element("a", "unrolled", ("x",), register(2), 1),
        Element("short", "unrolled", ("a",), register(1), 1),
        Element("long", "unrolled", ("a",), register(4), 1),
        Element("end", "unrolled", ("short", "long"), register(1), 1),
        outputs=("end",),
    )
    assert [(hop.node, hop.cycles) for hop in timeline.critical_path] == [("a", 2), ("long", 4), ("end", 1)]
    assert timeline.latency == sum(hop.cycles for hop in timeline.critical_path) == 7


def test_outputs_leave_together_with_the_latest():
    timeline = chain(
        Element("a", "u", ("x",), register(1), 1), Element("b", "u", ("a",), register(3), 1), outputs=("a", "b")
    )
    assert timeline.departure.cycles == (4,)


def test_first_and_last_beats_are_told_apart():
    timeline = build_timeline({"x": Schedule((0, 1, 2))}, (Element("a", "folded", ("x",), serial(5, 2), 5),), ("a",))
    assert (timeline.latency_to_first, timeline.latency, timeline.latency_from_last(("x",))) == (4, 8, 6)
    assert timeline.interval == 5


def test_a_timeline_survives_storage(tmp_path):
    timeline = chain(Element("a", "unrolled", ("x",), register(2), 1), outputs=("a",))
    path = tmp_path / "timeline.json"
    path.write_bytes(timeline_to_json(timeline))
    assert load_timeline(path) == timeline


@pytest.mark.parametrize("cycles", [(), (1, 1), (3, 2)])
def test_beats_ascend(cycles):
    with pytest.raises(ValueError, match="beat"):
        Schedule(cycles)
