"""One network on every part and board of the catalogue: what a budget says before anything is bought."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace

from flow.device.boards import Board, boards
from flow.device.delays import delay_tables, has_delays
from flow.device.links import Link, check_reach, find_link
from flow.device.parts import LISTED_ONLY, Part, find_part, parts
from flow.errors import Missed, UserError
from flow.graph.graph import Graph
from flow.plan.many import Outcome, plans_on
from flow.plan.planner import payloads
from flow.plan.request import Request
from flow.plan.size import TooLarge
from flow.progress import Progress
from flow.report.market import FORMAT, Market, Offer, Sort, Standing, ordered
from flow.report.offers import planned_offer, smallest_use, unchecked
from flow.report.wire import wire_limits
from flow.steps.chosen import chosen
from flow.steps.context import Context, Options, open_context
from flow.steps.convert import graph_of


@dataclass(frozen=True, slots=True)
class Item:
    """Name a row: a bare part, or a board with the part as it is mounted."""

    part: Part
    board: Board | None

    @property
    def name(self) -> str:
        """Return what `--part` takes."""
        return self.part.device if self.board is None else self.board.name


def catalogue(names: Sequence[str] = ()) -> tuple[Item, ...]:
    """Return the parts and boards of those names, each once; all of the catalogue without any."""
    known = {board.name: board for board in boards()}
    wanted = names or [part.name for part in parts()] + list(known)
    found: dict[tuple[str, str | None], Item] = {}
    for name in wanted:
        part = find_part(name)
        found.setdefault((part.device, part.board), Item(part, None if part.board is None else known[part.board]))
    return tuple(found.values())


def compare_to(
    options: Options,
    names: Sequence[str] = (),
    *,
    sort: Sort = "latency",
    progress: Progress | None = None,
    jobs: int = 1,
) -> Market:
    """Convert the model if need be and compare parts for it; names: parts and boards, the whole catalogue without.

    What the network needs of a part is checked on the conversion with the roomiest of those that the link reaches.
    """
    request = chosen(options).request
    if options.freeze is not None or request.freeze is not None:
        raise UserError("a frozen timeline is that of one part; it does not go with a comparison of parts")
    link = find_link(options.link or request.link)
    part = _roomiest(catalogue(names), link)
    run = open_context(replace(options, part=part or options.part), progress or Progress.silent())
    if run.is_graph:
        return compare(run, names, sort=sort, jobs=jobs)
    with run.project.opened():
        return compare(run, names, sort=sort, jobs=jobs)


def _roomiest(items: Sequence[Item], link: Link) -> str | None:
    there = [item for item in items if has_delays(item.part) and _beyond(link, item.part) is None]
    return max(there, key=lambda item: item.part.usable_lut).name if there else None


def _beyond(link: Link, part: Part) -> str | None:
    """Return why a link does not reach a part, None where it does."""
    try:
        check_reach(link, part)
    except UserError:
        return f"link {link.name} needs multi-gigabit transceivers, and the part has none"
    return None


def compare(run: Context, names: Sequence[str] = (), *, sort: Sort = "latency", jobs: int = 1) -> Market:
    """Plan the run's network on parts and boards; its request's own part does not count."""
    if run.frozen is not None:
        raise UserError("a frozen timeline is that of one part; it does not go with a comparison of parts")
    graph = graph_of(run)
    items = catalogue(names)
    with run.progress.step(f"compare {len(items)} parts and boards") as tell:
        market = compared(graph, run.request, items, sort=sort, progress=run.progress, jobs=jobs)
        tell(f"{sum(o.verdict is not Standing.UNKNOWN for o in market.parts)} with a verdict")
    return market


def compared(
    graph: Graph,
    request: Request,
    items: Sequence[Item],
    *,
    sort: Sort = "latency",
    progress: Progress | None = None,
    jobs: int = 1,
) -> Market:
    """Return the market of a graph; what cannot be planned keeps its row, with the reason.

    jobs: as in `flow.plan.many.plans_on`.
    """
    link = find_link(request.link)
    boundary = request.boundary or link.boundaries[0]
    inward, outward = payloads(graph, request)
    told = (progress or Progress.silent()).inner
    plannable = [item.name for item in items if has_delays(item.part) and _beyond(link, item.part) is None]
    try:
        outcomes = plans_on(graph, request, plannable, told, jobs=jobs)
    except BrokenProcessPool:
        raise UserError(
            f"one of {jobs} processes that planned was ended from outside, perhaps for want of memory; compare fewer "
            "parts at once (--parts), or allow fewer processors (taskset -c 0)"
        ) from None
    _check_request(outcomes.values())
    limits = wire_limits(link, request.rate_hz, (inward, outward))
    offers = tuple(_offer(graph, link, item, outcomes.get(item.name), limits) for item in items)
    return Market(
        format=FORMAT,
        model=graph.name,
        budget_ns=request.budget_ns,
        rate_hz=request.rate_hz,
        link=link.name,
        link_source=link.source,
        boundary=boundary,
        payload_in_bytes=inward,
        payload_out_bytes=outward,
        clock=request.clock,
        sort=sort,
        parts=ordered(offers, sort),
    )


def _check_request(outcomes: Iterable[Outcome]) -> None:
    """Raise what all parts say of the request itself: a mistake in it is no property of a part."""
    said = {(type(outcome), str(outcome)): outcome for outcome in outcomes}
    if len(said) == 1:
        (((kind, _), outcome),) = said.items()
        if kind is UserError and isinstance(outcome, UserError):
            raise outcome


def _offer(graph: Graph, link: Link, item: Item, outcome: Outcome | None, limits: tuple[str, ...]) -> Offer:
    """Return a row; limits: what its verdict does not count of the link."""
    part, board = item.part, item.board
    offer = Offer(
        part=part.name if board is not None or part.device in {p.device for p in parts()} else part.device,
        board=None if board is None else board.name,
        title=part.title if board is None else board.title,
        device=part.device,
        family=part.family,
        speed=part.speed,
        dies=part.dies,
        verdict=Standing.UNKNOWN,
        reason="",
        latency=None,
        ii=None,
        utilization=None,
        clock=None,
        price=None if board is None else board.price,
        unchecked=(*unchecked(part, board, link), *limits),
    )
    beyond = _beyond(link, part)
    if beyond is not None:
        return replace(offer, verdict=Standing.UNREACHABLE_LINK, reason=beyond)
    if outcome is None:
        return replace(offer, reason=_no_delays(part))
    if isinstance(outcome, TooLarge):
        least = None if outcome.least is None else smallest_use(outcome.least, part)
        said = "even the smallest plan found takes more than may be used"
        reason = str(outcome) if least is None else said
        return replace(offer, verdict=Standing.DOES_NOT_FIT, reason=reason, utilization=least)
    if isinstance(outcome, UserError):
        verdict = Standing.MISSED if isinstance(outcome, Missed) else Standing.UNKNOWN
        return replace(offer, verdict=verdict, reason=str(outcome))
    return planned_offer(offer, graph, outcome, link, part)


def _no_delays(part: Part) -> str:
    if part.family in LISTED_ONLY:
        return LISTED_ONLY[part.family]
    known = [speed for table in delay_tables() if part.name in table.parts for speed in table.speeds]
    if known:
        return f"no delays are known for its speed grade {part.speed}; they are for {', '.join(known)}"
    return "its delays were not characterised"
