"""The time-multiplexed engine: p × q multipliers run over an n_in × n_out matrix in `reuse_factor` cycles.

Facets 1 and 2, the choice and its schedule; the hardware that keeps it stands in `folded_hardware`, its cost in
`folded_cost`. One step multiplies p inputs by p × q weights. Input-serial steps take each group of p inputs as it
arrives and go through all groups of q outputs with it, sums resident in accumulators. Output-serial steps hold the
whole input and finish one group of q outputs after the other, going through all groups of inputs for each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from flow.engines.wants import WHOLE, Wants
from flow.latency.schedule import Schedule, evenly

Order = Literal["output_serial", "input_serial"]
Store = Literal["registers", "lutrom", "bram"]
Multiplier = Literal["dsp", "dsp_pair", "lut"]


@dataclass(frozen=True, slots=True)
class Folded:
    """Choose the shared multipliers for a dense node and the elementwise nodes that it absorbs.

    nodes: a Dense and the nodes behind it that treat all elements alike (Quantize, Relu, Reshape).
    n_in, n_out: the matrix. p, q: input and output lanes of one step; the last group of either is padded with zero
    weights. store: where the weights lie. multiplier: DSP blocks, DSP blocks that make two products each, or LUTs.
    read: cycles from a weight's address to its word (1, or 2 with a register behind the memory; both hidden by
    looking ahead). multiply: registers behind the DSP blocks; 0 for multipliers in LUTs, whose adders join the adder
    tree. add: registers in the adder tree. finish: registers in what follows the accumulators (casts, ReLU); 0 where
    nothing is accumulated from step to step: there the adder tree goes on through bias, casts and ReLU to the output.
    """

    nodes: tuple[str, ...]
    order: Order
    n_in: int
    n_out: int
    p: int
    q: int
    store: Store
    multiplier: Multiplier
    read: int
    multiply: int
    add: int
    finish: int
    engine: Literal["folded"] = "folded"

    def __post_init__(self) -> None:
        if not (1 <= self.p <= self.n_in and 1 <= self.q <= self.n_out):
            raise ValueError(f"{self.p} x {self.q} lanes for a {self.n_in} x {self.n_out} matrix")
        if self.order == "input_serial" and self.p == self.n_in:
            raise ValueError("input-serial needs more than one group of inputs")
        right = (self.multiply > 0) == (self.multiplier != "lut") and (self.finish > 0) == self.accumulates
        if self.read not in {1, 2} or self.add < 1 or min(self.multiply, self.finish) < 0 or not right:
            raise ValueError(f"pipeline of {self.read}, {self.multiply}, {self.add}, {self.finish} registers")

    @classmethod
    def plain(
        cls,
        nodes: tuple[str, ...],
        order: Order,
        shape: tuple[int, int],
        lanes: tuple[int, int],
        *,
        store: Store,
        multiplier: Multiplier,
    ) -> Folded:
        """Return the choice with the fewest registers; shape: the matrix, lanes: p and q."""
        return cls(
            nodes,
            order,
            *shape,
            *lanes,
            store,
            multiplier,
            read=1,
            multiply=int(multiplier != "lut"),
            add=1,
            finish=int(lanes[0] < shape[0]),
        )

    @property
    def output(self) -> str:
        """Return the node whose output leaves the engine."""
        return self.nodes[-1]

    @property
    def groups_in(self) -> int:
        """Return the groups of p inputs."""
        return -(-self.n_in // self.p)

    @property
    def groups_out(self) -> int:
        """Return the groups of q outputs."""
        return -(-self.n_out // self.q)

    @property
    def reuse_factor(self) -> int:
        """Return the steps, one a cycle, that an inference takes."""
        return self.groups_in * self.groups_out

    @property
    def multipliers(self) -> int:
        """Return the multiplications of one step."""
        return self.p * self.q

    @property
    def accumulates(self) -> bool:
        """Tell whether sums go on from step to step."""
        return self.groups_in > 1

    @property
    def fill(self) -> int:
        """Return the fill depth: cycles from a step to the output that it completes."""
        return 1 + self.multiply + self.add + self.accumulates + self.finish

    @property
    def wants(self) -> Wants:
        """Ask for whole tensors, or for beats of p inputs with time for all output groups."""
        return WHOLE if self.order == "output_serial" else Wants(self.p, self.groups_out)

    @property
    def lanes_out(self) -> int | None:
        """Give q outputs a beat."""
        return self.q if self.groups_out > 1 else None

    def interval(self, arrivals: tuple[Schedule, ...]) -> int:
        """Return the cycles from the first step of an inference to the first possible one of the next."""
        (arrival,) = arrivals
        if self.order == "output_serial":
            return self.reuse_factor
        return arrival.last - arrival.first + self.groups_out

    def schedule(self, arrivals: tuple[Schedule, ...]) -> Schedule:
        """Return when the groups of outputs leave.

        Output-serial: group j is complete after groups_in steps more than the one before it. Input-serial: all groups
        are complete one after the other in the steps of the last input beat.
        """
        (arrival,) = arrivals
        if self.order == "output_serial":
            return evenly(arrival.last + self.groups_in - 1 + self.fill, self.groups_out, self.groups_in)
        return evenly(arrival.last + self.fill, self.groups_out, 1)
