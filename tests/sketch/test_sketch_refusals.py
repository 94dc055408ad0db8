"""Layer lists that are wrong: one message that names the option, the layer, the key; status 2, nothing written."""

from __future__ import annotations

import pytest

from tests.commands import listing, save, tiny_graph

CHAIN = ("--layers", "16-8-5", "--bits", "6")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), ("give a MODEL", "--layers")),
        (("jet_tagger", *CHAIN), ("both MODEL ('jet_tagger') and --layers",)),
        (("jet_tagger", "--bits", "6"), ("--bits goes with --layers",)),
        (("jet_tagger", "--input-type", "fixed<8,2>"), ("--input-type goes with --layers",)),
        (("--bits", "6"), ("give a MODEL",)),
        (("--layers", "16-8-5"), ("needs --bits",)),
        (("--layers", "16", "--bits", "6"), ("--layers '16'", "16-64-32-32-5")),
        (("--layers", "16-x", "--bits", "6"), ("--layers '16-x'",)),
        (("--layers", "", "--bits", "6"), ("--layers ''",)),
        (("--layers", "16--5", "--bits", "6"), ("--layers '16--5'",)),
        (("--layers", "16-0-5", "--bits", "6"), ("0 is not from 1 to 65536",)),
        (("--layers", "1000000000-5", "--bits", "6"), ("--layers", "1000000000 is not from 1 to 65536")),
        (("--layers", "99999-5", "--bits", "6"), ("99999 is not from 1 to 65536",)),
        (("--layers", "2049-2049", "--bits", "6"), ("4,198,401 weights up to here",)),
        (("--layers", "65536-65536", "--bits", "6"), ("layer 'dense1' (dense)", "4,194,304 are taken at most")),
        (("--layers", "-".join(["2"] * 300), "--bits", "6"), ("layers", "at most")),
        (("--layers", "16-8-5", "--bits", "1"), ("'1' is not a number from 2 to 24",)),
        (("--layers", "16-8-5", "--bits", "six"), ("--bits six",)),
        (("--layers", "16-8-5", "--bits", "6,6,6"), ("3 values for 2 layers",)),
        ((*CHAIN, "--sparsity", "1"), ("--sparsity 1", "from 0 to below 1")),
        ((*CHAIN, "--sparsity", "50%"), ("--sparsity 50%",)),
        ((*CHAIN, "--sparsity", "nan"), ("--sparsity nan",)),
        ((*CHAIN, "--seed", "-1"), ("--seed -1",)),
        ((*CHAIN, "--seed", "many"), ("--seed",)),
        ((*CHAIN, "--input-type", "float"), ("--input-type", "fixed<W,I>")),
    ],
)
def test_a_wrong_command_line_is_refused(fpgaflow, tmp_path, words, said):
    fpgaflow.refused("budget", *words, names=said)
    fpgaflow.refused("build", *words, names=said)
    assert listing(tmp_path) == {}


HEAD = "input: {shape: [16]}\nbits: 6\n"
IMAGE = "input: {shape: [8, 8, 2]}\nbits: 6\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ("expected keys with values",)),
        ("- dense: 5", ("expected keys with values",)),
        ("{", ("not a layer list (line 1)",)),
        ("a: *b", ("aliases are not taken",)),
        ("x: &a [1, 2]\ny: *a", ("aliases are not taken",)),
        ("a: " + "[" * 3000, ("not a",)),
        ("a: !!python/object/apply:os.system [ls]", ("not a layer list",)),
        ("seed: " + "9" * 5000, ("not a YAML file",)),
        ("bits: 6\nbits: 4", ("'bits' stands twice",)),
        (HEAD, ("'layers' is missing",)),
        (HEAD + 'name: "a\\0b"\nlayers: [dense: 4]', ("name: 'a\\x00b' has control characters",)),
        (HEAD + 'layers: [dense: {units: 4, name: "\\e[2J"}]', ("name: '\\x1b[2J' has control characters",)),
        ("bits: 6\nlayers: [dense: 5]", ("'input' is missing",)),
        (HEAD + "layers: []", ("0 layers",)),
        (HEAD + "layers: [dense: 5]\nsparsty: 0.5", ("unknown key 'sparsty'; did you mean layers or sparsity?",)),
        (HEAD + "layers: [dense: 5]\nsparsity: 1.5", ("sparsity", "less than 1")),
        (HEAD + "layers: [dense: 5]\nio_type: io_serial", ("io_type", "io_stream")),
        (HEAD.replace(" 6", " true") + "layers: [dense: 5]", ("bits", "integer")),
        (
            HEAD.replace("[16]", "[16], tipe: x") + "layers: [dense: 5]",
            ("unknown key 'tipe'; did you mean shape or type?",),
        ),
        (HEAD.replace("[16]", "[16], type: x") + "layers: [dense: 5]", ("input, type: 'x' is not",)),
        (HEAD.replace("[16]", "[0]") + "layers: [dense: 5]", ("input, shape", "greater than or equal to 1")),
        (HEAD.replace("[16]", "[65536, 65536, 9]") + "layers: [flatten]", ("more than 16777216 elements",)),
        (HEAD + "layers: [dens: 5]", ("layer 1 (dens): there is no such kind; did you mean dense?",)),
        (HEAD + "layers: [softmax]", ("a final softmax is left out",)),
        (HEAD + "layers: [5]", ("layer 1: expected a kind",)),
        (HEAD + "layers: [{dense: 5, relu: {}}]", ("layer 1: expected a kind",)),
        (HEAD + "layers: [dense]", ("layer 1 (dense): 'units' is missing",)),
        (
            HEAD + "layers: [dense: {unit: 5}]",
            ("layer 1 (dense): unknown key 'unit'; did you mean bits or input or units?",),
        ),
        (HEAD + "layers: [dense: {units: 5.5}]", ("layer 1 (dense), units:",)),
        (HEAD + "layers: [dense: {units: 5, activation: gelu}]", ("layer 1 (dense), activation:", "relu")),
        (HEAD + "layers: [{dense: {units: 5, name: a}}, {dense: {units: 2, name: a}}]", ("two layers are called 'a'",)),
        (HEAD + "layers: [dense: {units: 5, name: features}]", ("two layers are called 'features'",)),
        (HEAD + "layers: [dense: {units: 5, input: nothing}]", ("no layer 'nothing' before it",)),
        (HEAD + "layers: [dense: 5, {dense: {units: 2, input: features}}]", ("no layer reads 'dense1'",)),
        (HEAD + "layers: [dense: 5, {add: {to: features}}]", ("layer 'add1' (add): shapes (5,)", "(16,)")),
        (HEAD + "layers: [dense: 5, {add: {other: features}}]", ("unknown key 'other'",)),
        (HEAD + "layers: [{conv2d: {filters: 2, kernel: 3}}]", ("layer 'conv1' (conv2d): takes an image", "(16,)")),
        (HEAD + "layers: [max_pool: 2]", ("layer 'pool1' (max_pool): pools images and sequences",)),
        (IMAGE + "layers: [dense: 5]", ("layer 'dense1' (dense)", "put a flatten before it")),
        (IMAGE + "layers: [{conv2d: {filters: 2, kernel: 9}}]", ("layer 'conv1' (conv2d): a kernel of (9, 9)",)),
        (IMAGE + "layers: [{conv1d: {filters: 2, kernel: 3}}]", ("takes a sequence",)),
        (IMAGE + "layers: [relu, {max_pool: {size: 3, padding: same}}]", ("half of its range",)),
        (IMAGE + "io_type: io_stream\nlayers: [{max_pool: {size: 3, padding: same}}]", ("pads no pools in io_stream",)),
        (IMAGE + "io_type: io_stream\nlayers: [{max_pool: {size: 3, stride: 2}}]", ("stride equal to their size",)),
        (
            IMAGE + "io_type: io_stream\nlayers: [{conv2d: {filters: 2, kernel: [1, 2], stride: 2}}]",
            ("one row with a vertical stride",),
        ),
    ],
)
def test_a_wrong_list_is_refused(fpgaflow, tmp_path, text, said):
    (tmp_path / "net.yaml").write_text(text)
    before = listing(tmp_path)
    fpgaflow.refused("budget", "net.yaml", names=("net.yaml", *said))
    assert listing(tmp_path) == before


def test_sums_that_no_type_holds_name_their_layer(fpgaflow, tmp_path):
    text = "input: {shape: [16]}\nbits: 24\nlayers:\n" + "  - dense: 2\n" * 60
    (tmp_path / "net.yaml").write_text(text)
    fpgaflow.refused(
        "budget", "net.yaml", names=("net.yaml: layer 'dense", "(dense): a fixed-point type has 1 to 1024")
    )


def test_a_list_that_is_too_long_is_not_read(fpgaflow, tmp_path):
    (tmp_path / "net.yaml").write_text("# " + "x" * (1 << 18))
    fpgaflow.refused("budget", "net.yaml", names=("256 KiB at most",))


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('dens1 = "fixed<8,2>"', ("[precision], dens1: the model has no such layer; did you mean dense1",)),
        ('dense1 = "float"', ("precision.dense1: 'float' is not a fixed-point type",)),
        ('dense1 = {wieght = "fixed<8,2>"}', ("there is no 'wieght' here; did you mean weight",)),
        ('dense1 = {weight = "fixed<8>"}', ("precision.dense1.weight",)),
        ('dense1 = {accum = "int<8>"}', ("[precision], dense1, accum", "fixed<8,8>")),
        ('dense1 = {weight = "fixed<40,2>"}', ("layer 'dense1' (dense)", "more than 32 bits")),
        ("dense1 = 8", ("precision.dense1",)),
    ],
)
def test_wrong_overrides_are_refused(fpgaflow, tmp_path, table, said):
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "net.yaml").write_text(HEAD + "layers: [dense: {units: 5, activation: relu}]")
    (tmp_path / "net" / "request.toml").write_text(f'model = "net.yaml"\n[precision]\n{table}\n')
    fpgaflow.refused("budget", "net", names=said)


def test_what_says_types_elsewhere_is_refused(fpgaflow, tmp_path):
    (tmp_path / "config.yaml").write_text("Model: {}")
    fpgaflow.refused("budget", *CHAIN, "--config", "config.yaml", names=("a layer list is settled",))
    for name in ("list", "graph"):
        (tmp_path / name).mkdir()
    (tmp_path / "list" / "net.yaml").write_text(HEAD + "layers: [dense: 5]")
    (tmp_path / "list" / "request.toml").write_text('model = "net.yaml"\n[hls]\nIOType = "io_stream"\n')
    fpgaflow.refused("budget", "list", names=("takes no [hls]",))
    save(tiny_graph(), tmp_path / "graph" / "tiny.json")
    (tmp_path / "graph" / "request.toml").write_text('model = "tiny.json"\n[precision]\nx = "fixed<8,2>"\n')
    fpgaflow.refused("budget", "graph", names=("precision of a saved graph is settled",))
