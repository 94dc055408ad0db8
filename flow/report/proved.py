"""What is proved of a plan, in one sentence."""

from __future__ import annotations

from flow.plan.proof import Objective, Proof

LESS: dict[Objective, str] = {"area": "less area", "cycles": "fewer cycles", "ns": "fewer ns"}


def proof_notes(proof: Proof | None, *, free_clock: bool) -> tuple[str, ...]:
    """Return how good any other plan could be, and among how many ways to build the runs; nothing without a proof.

    free_clock: whether the planner chose it: each length of a segment was searched with the clock that suits it, while
    a plan whose segments stay below a length may run a little faster than at that clock.
    """
    if proof is None or proof.gap is None:
        return ()
    moves, dropped = sum(space.moves for space in proof.spaces), sum(space.dropped for space in proof.spaces)
    lengths = len(proof.spaces)
    among = f"{moves:,} ways to build the runs" + (f", segments of {lengths} lengths" if lengths > 1 else "")
    if dropped:
        among += f"; {dropped:,} ways in which tensors could come were not followed"
    less = LESS[proof.objective] + (" at the clocks that were tried" if free_clock else "")
    if proof.gap == 0.0:
        return (f"Proved by the planner: no other plan of its space takes {less} ({among}).",)
    said = f"The planner has not excluded that another plan takes {less}, by at most {proof.gap:.2%}"
    return (f"{said} ({among}).",)
