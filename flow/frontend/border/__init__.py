"""The border to hls4ml: the only place that knows the insides of its ModelGraph, a file for each family of layers.

Everything is copied out, as integers, after hls4ml's own optimizers have run (`vitis:ip`), so that the graph
computes what hls4ml's C simulation computes. Semantics: hls4ml's nnet_utils headers and the open ap_types headers.
"""

from flow.frontend.border.copy import label_for
from flow.frontend.border.layers import to_graph
from flow.frontend.border.project import Port, Ports, knobs_used, ports, write_files

__all__ = ["Port", "Ports", "knobs_used", "label_for", "ports", "to_graph", "write_files"]
