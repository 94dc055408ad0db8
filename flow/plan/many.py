"""Plans of one network for many parts: each that differs in anything a plan depends on is made once."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace

from flow.device.delays import delays_of
from flow.device.parts import Part, find_part
from flow.engines.multiplier import dsp_shapes
from flow.errors import UserError
from flow.graph.graph import Graph
from flow.latency.timeline import Timeline
from flow.plan.plan import Plan, timeline_of
from flow.plan.planner import make_plan
from flow.plan.request import Request

Outcome = tuple[Plan, Timeline] | UserError
"""A plan with its timeline, or why there is none."""

BATCH = 4
"""Plans that one process makes in a row: those of one family share what is worked out from their delays."""
LEAST_BATCHES = 3
"""Batches below which starting processes costs more than it saves."""


def planned_by(part: Part) -> object:
    """Return all of a part that a plan depends on: parts for which it is equal have the same plan.

    Left out are the names that are only shown, the sources, what place and route alone wants, the processor beside the
    fabric, by which links are only judged, and the speed grade, for which the delays stand. A field that is new counts
    until it is named here.
    """
    return (
        replace(
            part,
            name="",
            title="",
            device="",
            package="",
            speed="",
            aliases=(),
            slr=part.dies,
            transceivers=None,
            processor=None,
            nextpnr_device=None,
            nextpnr_package=None,
            provenance=(),
            board=None,
        ),
        delays_of(part),
        dsp_shapes(part),
    )


def plans_on(
    graph: Graph, request: Request, names: Sequence[str], told: Callable[[str, int, int], None], *, jobs: int = 1
) -> Mapping[str, Outcome]:
    """Return the outcome for each name of a part or board that has delays.

    told: called with a name, how many plans are done, and how many there are. jobs: processes to use at most; with
    more than one, the caller's main module must be importable (multiprocessing's `spawn`).
    """
    alike: dict[object, list[str]] = {}
    for name in names:
        alike.setdefault(planned_by(find_part(name)), []).append(name)
    first = [same[0] for same in alike.values()]
    batches = _batches(first)
    if jobs < 2 or len(batches) < LEAST_BATCHES:
        made = _in_turn(graph, request, first, told)
    else:
        made = _side_by_side(graph, request, batches, told, min(jobs, len(batches)))
    outcomes = dict(made)
    return {name: outcomes[same[0]] for same in alike.values() for name in same}


def _batches(names: Sequence[str]) -> list[list[str]]:
    """Return the names by family and delays, few in each: what one process knows of a family serves the next part."""
    families: dict[object, list[str]] = {}
    for name in names:
        part = find_part(name)
        families.setdefault((part.family, delays_of(part)), []).append(name)
    return [same[k : k + BATCH] for same in families.values() for k in range(0, len(same), BATCH)]


def _in_turn(
    graph: Graph, request: Request, names: Sequence[str], told: Callable[[str, int, int], None]
) -> Iterator[tuple[str, Outcome]]:
    for done, name in enumerate(names):
        told(name, done, len(names))
        yield name, _planned(graph, replace(request, part=name))


def _side_by_side(
    graph: Graph,
    request: Request,
    batches: Sequence[list[str]],
    told: Callable[[str, int, int], None],
    jobs: int,
) -> Iterator[tuple[str, Outcome]]:
    total, done = sum(map(len, batches)), 0
    # forking a process that may have threads of TensorFlow is not safe
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        # the families at the end of the catalogue have the slowest searches
        running = [pool.submit(_batch, graph, request, batch) for batch in reversed(batches)]
        try:
            for future in as_completed(running):
                for name, outcome in future.result():
                    told(name, done, total)
                    done += 1
                    yield name, outcome
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _batch(graph: Graph, request: Request, names: Sequence[str]) -> list[tuple[str, Outcome]]:
    return [(name, _planned(graph, replace(request, part=name))) for name in names]


def _planned(graph: Graph, request: Request) -> Outcome:
    try:
        plan = make_plan(graph, request)
    except UserError as error:
        return error
    return plan, timeline_of(graph, plan.choices, plan.traffic)
