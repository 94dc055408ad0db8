"""What is proved of a plan, in one sentence."""

from __future__ import annotations

from flow.plan.proof import Objective, Proof

LESS: dict[Objective, str] = {"area": "less area", "cycles": "fewer cycles", "ns": "fewer ns"}


def proof_notes(proof: Proof | None) -> tuple[str, ...]:
    """Return how good any other plan could be, and among how many ways to build the runs; nothing without a proof."""
    if proof is None or proof.gap is None:
        return ()
    moves, dropped = sum(space.moves for space in proof.spaces), sum(space.dropped for space in proof.spaces)
    lengths = len(proof.spaces)
    among = f"{moves:,} ways to build the runs" + (f", segments of {lengths} lengths" if lengths > 1 else "")
    if dropped:
        among += f"; {dropped:,} ways in which tensors could come were not followed"
    if proof.gap == 0.0:
        return (f"Proved by the planner: no other plan of its space takes {LESS[proof.objective]} ({among}).",)
    said = f"The planner has not excluded that another plan takes {LESS[proof.objective]}, by at most {proof.gap:.2%}"
    return (f"{said} ({among}).",)
