from dataclasses import replace

import pytest

from flow.plan.proof import Proof, Searched
from flow.report.proved import proof_notes

SPACE = Searched(within_ns=4.0, arrivals=1, places=20, dropped=0, moves=900, offered=1000)
PROOF = Proof("area", 0.5, 0.5, (SPACE,))


@pytest.mark.parametrize(("objective", "less"), [("area", "less area"), ("cycles", "fewer cycles"), ("ns", "fewer ns")])
def test_an_optimum_is_said_to_be_one(objective, less):
    (said,) = proof_notes(replace(PROOF, objective=objective), free_clock=False)
    assert said == f"Proved by the planner: no other plan of its space takes {less} (900 ways to build the runs)."
    (said,) = proof_notes(replace(PROOF, objective=objective), free_clock=True)
    assert f"no other plan of its space takes {less} at the clocks that were tried (900" in said


def test_a_gap_is_said():
    (said,) = proof_notes(
        replace(PROOF, bound=0.49, spaces=(SPACE, replace(SPACE, moves=100, dropped=7))), free_clock=False
    )
    assert "not excluded that another plan takes less area, by at most 2.00%" in said
    assert "1,000 ways to build the runs, segments of 2 lengths" in said
    assert "7 ways in which tensors could come were not followed" in said


def test_without_a_proof_nothing_is_said():
    assert proof_notes(None, free_clock=True) == ()
    assert proof_notes(replace(PROOF, value=float("inf")), free_clock=False) == ()
