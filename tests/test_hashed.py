"""A hash that is worked out once is that of equal values, and stays in its process."""

from __future__ import annotations

import pickle
from dataclasses import replace

from flow.latency.schedule import Schedule, evenly
from flow.plan.places import Place


def test_equal_values_have_one_hash_and_one_entry():
    one, other = Place("x", 2, evenly(0, 3, 2)), Place("x", 2, Schedule((0, 2, 4)))
    assert {one: 1}[other] == 1
    assert len({one, other, replace(one, offset=1), replace(one, asked=2)}) == 3


def test_a_hash_is_not_stored_with_its_value():
    place = Place("x", 2, evenly(0, 3, 2))
    hash(place)  # strings hash otherwise in another process
    assert not hasattr(pickle.loads(pickle.dumps(place)), "_hash")
    assert not hasattr(replace(place, lanes=3), "_hash")
