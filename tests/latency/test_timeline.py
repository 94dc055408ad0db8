from collections.abc import Callable
from pathlib import Path

import pytest

from flow.latency.schedule import Schedule
from flow.latency.timeline import (
    Arrivals,
    Element,
    Timeline,
    build_timeline,
    input_edge,
    load_timeline,
    timeline_to_json,
)

X = input_edge("x", 4, Schedule((0,)))


def register(count: int) -> Callable[[Arrivals], Schedule]:
    return lambda arrivals: Schedule((max(s.last for s in arrivals) + count,))


def serial(beats: int, fill: int) -> Callable[[Arrivals], Schedule]:
    """Return the schedule of an output-serial engine: the whole input first, then one beat per cycle."""
    return lambda arrivals: Schedule(tuple(arrivals[0].last + fill + k for k in range(beats)))


def whole(output: str, inputs: tuple[str, ...], count: int) -> Element:
    return Element(output, output, "unrolled", 4, inputs, register(count), lambda _: 1)


def chain(*elements: Element, outputs: tuple[str, ...]) -> Timeline:
    return build_timeline((X,), elements, outputs)


def test_one_register_is_one_cycle_and_combinational_is_none() -> None:
    timeline = chain(whole("a", ("x",), 0), whole("b", ("a",), 1), outputs=("b",))
    assert timeline.edge("a").schedule.cycles == (0,)
    assert timeline.latency == 1


def test_latency_is_the_sum_along_the_critical_path() -> None:
    timeline = chain(
        whole("a", ("x",), 2),
        whole("short", ("a",), 1),
        whole("long", ("a",), 4),
        whole("end", ("short", "long"), 1),
        outputs=("end",),
    )
    assert [(hop.node, hop.cycles) for hop in timeline.critical_path] == [("a", 2), ("long", 4), ("end", 1)]
    assert timeline.latency == sum(hop.cycles for hop in timeline.critical_path) == 7
    assert timeline.edge("end").waited_for == "long"


def test_outputs_leave_together_with_the_latest() -> None:
    timeline = chain(whole("a", ("x",), 1), whole("b", ("a",), 3), outputs=("a", "b"))
    assert timeline.departure.cycles == (4,)


def test_first_and_last_beats_are_told_apart() -> None:
    beats = input_edge("x", 2, Schedule((0, 1, 2)))
    engine = Element("a", "a", "folded", 1, ("x",), serial(5, 2), lambda arrivals: arrivals[0].last + 3)
    timeline = build_timeline((beats,), (engine,), ("a",))
    assert (timeline.latency_to_first, timeline.latency, timeline.latency_from_last(("x",))) == (4, 8, 6)
    assert timeline.interval == timeline.edge("a").busy == 5
    assert timeline.critical_path[-1].reason == "waits for x, 5 beats"


def test_the_busiest_engine_sets_the_interval() -> None:
    slow = Element("b", "b", "folded", 1, ("a",), serial(3, 2), lambda _: 7)
    timeline = chain(whole("a", ("x",), 1), slow, whole("c", ("b",), 1), outputs=("c",))
    assert timeline.interval == 7


def test_a_converter_gives_a_node_a_second_edge() -> None:
    split = Element("a_by_1", "a", "split", 1, ("a",), serial(4, 0), lambda _: 4)
    timeline = chain(whole("a", ("x",), 1), split, whole("b", ("a_by_1",), 2), outputs=("b",))
    assert [(edge.name, edge.node, edge.lanes) for edge in timeline.edges] == [
        ("x", "x", 4),
        ("a", "a", 4),
        ("a_by_1", "a", 1),
        ("b", "b", 4),
    ]
    assert [hop.node for hop in timeline.critical_path] == ["a", "a", "b"]
    with pytest.raises(KeyError):
        timeline.edge("a_by_2")


def test_a_timeline_survives_storage(tmp_path: Path) -> None:
    timeline = chain(whole("a", ("x",), 2), outputs=("a",))
    path = tmp_path / "timeline.json"
    path.write_bytes(timeline_to_json(timeline))
    assert load_timeline(path) == timeline


@pytest.mark.parametrize("cycles", [(), (1, 1), (3, 2)])
def test_beats_ascend(cycles: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="beat"):
        Schedule(cycles)
