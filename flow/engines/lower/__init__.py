"""From nodes to cones: which nodes share a cone, and the integer operations that compute them."""

from flow.engines.lower.cones import lower, lower_graph
from flow.engines.lower.elementwise import lower_elementwise
from flow.engines.lower.open_sum import Sum, assigned, limited, rounded_off, sum_range, total
from flow.engines.lower.runs import runs

__all__ = [
    "Sum",
    "assigned",
    "limited",
    "lower",
    "lower_elementwise",
    "lower_graph",
    "rounded_off",
    "runs",
    "sum_range",
    "total",
]
