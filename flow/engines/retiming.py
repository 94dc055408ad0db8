"""Stages of cells between bounds: earliest, latest, and with few flip-flops."""

from __future__ import annotations

from dataclasses import dataclass, replace

from flow.engines.network import Network

TOLERANCE_NS = 1e-9
SWEEPS = 6


@dataclass(frozen=True, slots=True, eq=False)
class Stages:
    """Hold a stage per node, within bounds.

    edges: the stage of each cone's output tensor. latest: the last stage at which its elements may be computed (one
    less where they must leave from registers). floors: per node, the first stage by the edges that it reads.
    A node with a register of its own reads one stage before its output.
    """

    network: Network
    edges: tuple[int, ...]
    latest: tuple[int, ...]
    floors: tuple[int, ...]
    stage: tuple[int, ...] = ()

    def earliest(self, delay: tuple[float, ...], usable_ns: float) -> Stages | None:
        """Return every node as early as can be; None where an element would miss its edge."""
        network, usable = self.network, usable_ns + TOLERANCE_NS
        if max(delay, default=0.0) > usable:
            return None
        ceilings = self._ceilings()
        stage = list(self.floors)
        offset = list(delay)
        for node, reads in enumerate(network.reads):
            at, ready, lag = stage[node], 0.0, network.lags[node]
            for read in reads:
                s = stage[read] + lag
                if lag:
                    at = max(at, s)
                elif s > at:
                    at, ready = s, offset[read]
                elif s == at and offset[read] > ready:
                    ready = offset[read]
            ready += delay[node]
            if ready > usable:
                at, ready = at + 1, delay[node]
            if at > ceilings[node]:
                return None
            stage[node], offset[node] = at, ready
        return replace(self, stage=tuple(stage))

    def latest_possible(self, delay: tuple[float, ...], usable_ns: float) -> Stages:
        """Return every node as late as can be, for a time that `earliest` has found enough."""
        network, usable = self.network, usable_ns + TOLERANCE_NS
        stage = self._ceilings()
        tail = list(delay)  # time from a node's operands to the end of its stage
        for node in range(len(stage) - 1, -1, -1):
            if not network.reads[node] and not delay[node]:
                stage[node] = self.floors[node]
                continue
            at, after = stage[node], 0.0
            for reader in network.readers[node]:
                lag = network.lags[reader]
                s = stage[reader] - lag
                if s < at:
                    at, after = s, 0.0 if lag else tail[reader]
                elif lag:
                    continue
                elif s == at and tail[reader] > after:
                    after = tail[reader]
            after += delay[node]
            if after > usable:
                at, after = at - 1, delay[node]
            stage[node], tail[node] = at, after
        return replace(self, stage=tuple(stage))

    def arrivals(self, delay: tuple[float, ...]) -> list[float]:
        """Return when each node is ready within its stage, in ns after the registers before it."""
        offset = list(delay)
        for node, reads in enumerate(self.network.reads):
            at = self.stage[node]
            offset[node] += max((offset[r] for r in reads if self.stage[r] == at), default=0.0)
        return offset

    @property
    def flip_flops(self) -> int:
        """Return the register bits that these stages need, shared along each node."""
        last = self.last_reads()
        return sum(b * (e - s) for b, e, s in zip(self.network.bits, last, self.stage, strict=True))

    def last_reads(self) -> list[int]:
        """Return the last stage at which each node is read."""
        last = list(self.stage)
        for elements, edge in zip(self.network.elements, self.edges, strict=True):
            for node in elements:
                last[node] = max(last[node], edge)
        for node, readers in enumerate(self.network.readers):
            last[node] = max([last[node], *(self.stage[r] - self.network.lags[r] for r in readers)])
        return last

    def _ceilings(self) -> list[int]:
        end = max(self.edges, default=0)
        ceilings = [end] * len(self.network.reads)
        for elements, latest in zip(self.network.elements, self.latest, strict=True):
            for node in elements:
                ceilings[node] = min(ceilings[node], latest)
        return ceilings

    def moved_later(self, delay: tuple[float, ...], usable_ns: float) -> Stages:
        """Move nodes behind registers, last ones first, wherever that saves bits."""
        network, bits = self.network, self.network.bits
        stage, last, ceilings = list(self.stage), self.last_reads(), self._ceilings()
        tail = list(delay)
        for node in range(len(stage) - 1, -1, -1):
            readers, reads, at = network.readers[node], network.reads[node], stage[node]
            lag = network.lags[node]
            high = min([ceilings[node], *(stage[r] - network.lags[r] for r in readers)])
            best, best_gain = at, 0
            for to in range(at + 1, high + 1) if reads else ():
                if delay[node] + max((tail[r] for r in readers if stage[r] == to), default=0.0) > usable_ns:
                    continue
                gain = bits[node] * (to - at) - sum(bits[r] * max(0, to - lag - last[r]) for r in reads)
                if gain > best_gain:
                    best, best_gain = to, gain
            stage[node] = best
            for r in reads:
                last[r] = max(last[r], best - lag)
            tail[node] += max((tail[r] for r in readers if stage[r] == best), default=0.0)
        return replace(self, stage=tuple(stage))

    def moved_earlier(self, delay: tuple[float, ...], usable_ns: float) -> Stages:
        """Move nodes in front of registers, first ones first, wherever that saves bits."""
        network, bits = self.network, self.network.bits
        stage = list(self.stage)
        last = self.last_reads()
        held = list(self.stage)  # the last stage at which an edge needs each node
        for elements, edge in zip(network.elements, self.edges, strict=True):
            for node in elements:
                held[node] = max(held[node], edge)
        offset = list(delay)
        for node, reads in enumerate(network.reads):
            at, lag = stage[node], network.lags[node]
            low = max([self.floors[node], *(stage[r] + lag for r in reads)])
            best, best_gain = at, 0
            movable = low < at
            freed = [(r, self._last_without(r, node, stage, held[r])) for r in reads if movable and last[r] == at - lag]
            for to in range(low, at) if reads else ():
                if delay[node] + max((offset[r] for r in reads if stage[r] == to), default=0.0) > usable_ns:
                    continue
                gain = sum(bits[r] * (at - lag - max(rest, to - lag)) for r, rest in freed) - bits[node] * (at - to)
                if gain > best_gain:
                    best, best_gain = to, gain
            stage[node] = best
            for r, rest in freed:
                last[r] = max(rest, best - lag)
            offset[node] += max((offset[r] for r in reads if stage[r] == best), default=0.0)
        return replace(self, stage=tuple(stage))

    def _last_without(self, node: int, reader: int, stage: list[int], held: int) -> int:
        last, lags = held, self.network.lags
        for other in self.network.readers[node]:
            if other != reader and stage[other] - lags[other] > last:
                last = stage[other] - lags[other]
                if last == stage[reader] - lags[reader]:
                    break
        return last


def fewest_registers(delay: tuple[float, ...], bounds: Stages, usable_ns: float) -> Stages:
    """Return stages with few flip-flops whose segments keep within usable_ns.

    Starts from the earliest and from the latest stages and moves single nodes across registers while that saves
    bits: a local optimum, whose every step keeps all segments within the time.
    """
    first = bounds.earliest(delay, usable_ns)
    assert first is not None
    usable = usable_ns + TOLERANCE_NS
    found = []
    for start in (first, bounds.latest_possible(delay, usable_ns)):
        stages, fewest = start, start.flip_flops
        for _ in range(SWEEPS):
            stages = stages.moved_later(delay, usable).moved_earlier(delay, usable)
            if stages.flip_flops >= fewest:
                break
            fewest = stages.flip_flops
        found.append(stages)
    return min(found, key=lambda s: s.flip_flops)
