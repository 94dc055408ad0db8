"""Turn the user's layer names into names that hls4ml, C++ and SystemVerilog all accept."""

from __future__ import annotations

import re
from collections.abc import Iterable

# ISO C++20 and its alternative tokens
_CPP = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class co_await
co_return co_yield compl concept const consteval constexpr constinit const_cast continue decltype default delete do
double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace
new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires return
short signed sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef
typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
"""

# IEEE 1800-2017, annex B
_SYSTEMVERILOG = """
accept_on alias always always_comb always_ff always_latch and assert assign assume automatic before begin bind bins
binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle checker class clocking cmos config const
constraint context continue cover covergroup coverpoint cross deassign default defparam design disable dist do edge
else end endcase endchecker endclass endclocking endconfig endfunction endgenerate endgroup endinterface endmodule
endpackage endprimitive endprogram endproperty endspecify endsequence endtable endtask enum event eventually expect
export extends extern final first_match for force foreach forever fork forkjoin function generate genvar global highz0
highz1 if iff ifnone ignore_bins illegal_bins implements implies import incdir include initial inout input inside
instance int integer interconnect interface intersect join join_any join_none large let liblist library local
localparam logic longint macromodule matches medium modport module nand negedge nettype new nexttime nmos nor
noshowcancelled not notif0 notif1 null or output package packed parameter pmos posedge primitive priority program
property protected pull0 pull1 pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase
randsequence rcmos real realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0 rtranif1
s_always s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal showcancelled signed small
soft solve specify specparam static string strong strong0 strong1 struct super supply0 supply1 sync_accept_on
sync_reject_on table tagged task this throughout time timeprecision timeunit tran tranif0 tranif1 tri tri0 tri1 triand
trior trireg type typedef union unique unique0 unsigned until until_with untyped use uwire var vectored virtual void
wait wait_order wand weak weak0 weak1 while wildcard wire with within wor xnor xor
"""

# names that hls4ml's generated code and headers use, and keys of its layers' attributes, among which a layer's output
# stands under the layer's name
_HLS4ML = """
align_corners axes batch_size beta_data bitwidth collapse count_pad crop_bottom crop_left crop_right crop_top depth
depth_multiplier depthwise dilation dim direction embeddings equation expression fifo_depth filt_height filt_width
gamma_data group height height_factor in_height in_width instructions keepdims layers mean_data merge_mode min_height
min_width model n_chan n_dim n_inner n_inplace n_outer n_partitions n_timesteps narrow op out_height out_shape out_width
output_shape pad_bottom pad_left pad_right pad_top part perm perm_str pointwise pool_height pool_op pool_width quantize
quantizer recurrent_bias recurrent_weight result return_sequences return_state rounding_mode seq_len stamp stride_height
stride_width target_cycles target_shape type_name unscaled use_beta use_gamma value variance_data version vocab_size
width width_factor
accum_t activation activ_param algorithm axis bias bias_data class_name data_format epsilon eof hls implementation
index infinity inputs input_t input_shape load_weights_from_txt main model_default_t myproject n_filt n_in n_out name
nan nnet null outputs param precision result_t reuse_factor scale scale_data shape shift size_in skip slope std stderr
stdin stdout strategy table_size table_t threshold trace trusted use_bias weight weight_data weights
"""

_RESERVED = frozenset((_CPP + _SYSTEMVERILOG + _HLS4ML).split())
# variables and types that hls4ml numbers by layer (layer2_out, config3, w4, input_t, relu_config5 …)
_NUMBERED = re.compile(r"(?:layer|config|input|a|b|d|e|p|s|w|z|bias|scale|slope|shift|weight)\d+(?:_.*)?")


def clean(label: str, used: Iterable[str] = ()) -> str:
    """Return an identifier for `label` that no language reserves and that differs, case ignored, from all `used`."""
    word = re.sub(r"_+", "_", re.sub(r"[^A-Za-z0-9_]", "_", label)).strip("_") or "layer"
    if not word[0].isalpha() or word.lower() in _RESERVED or _NUMBERED.fullmatch(word.lower()):
        word = f"n_{word}"
    taken = {name.lower() for name in used}
    unique, count = word, 1
    while unique.lower() in taken:
        count += 1
        unique = f"{word}_n{count}"
    return unique


def clean_all(labels: Iterable[str]) -> dict[str, str]:
    """Return label -> identifier, unique for all labels; labels that are fine as they are keep their name."""
    names: dict[str, str] = {}
    labels = tuple(labels)
    fine = [label for label in labels if clean(label) == label]
    for label in (*fine, *(other for other in labels if other not in fine)):
        names[label] = clean(label, names.values())
    return names
