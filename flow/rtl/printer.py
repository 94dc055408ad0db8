"""Modules as SystemVerilog text that Verilator (-Wall) and Yosys read alike."""

from __future__ import annotations

import re

from flow.engines.module import (
    Assign,
    AsSigned,
    Binary,
    Choose,
    Comment,
    Expr,
    Instance,
    Item,
    Join,
    Memory,
    Module,
    Number,
    Port,
    Registers,
    Repeat,
    Resize,
    Rom,
    Signal,
    Slice,
    Unary,
    Wire,
)

LINE = 116


def print_module(module: Module) -> str:
    """Return the text of a module's file."""
    lines = [f"// {comment_text(line)}".rstrip() for line in module.header]
    ports = [_port(port) for port in module.ports]
    lines.append(f"module {module.name} (")
    lines += [f"  {port}," for port in ports[:-1]] + [f"  {ports[-1]}", ");"]
    for item in module.items:
        _print_item(lines, item)
    lines += ["endmodule", ""]
    return "\n".join(lines)


def print_memory(memory: Memory) -> str:
    """Return the text of a memory's file: one word a line, in as many hexadecimal digits as its width takes."""
    digits = -(-memory.width // 4)
    return "".join(f"{word:0{digits}x}\n" for word in memory.words)


def comment_text(text: str) -> str:
    """Return text that cannot leave a comment line or mean anything to a tool."""
    return re.sub(r"[^A-Za-z0-9 _.,:;()+\-/<>=|'*]", "?", text)


def _port(port: Port) -> str:
    return f"{port.direction} logic {_kind(port.signal)}{port.signal.name}"


def _kind(signal: Signal) -> str:
    sign = "signed " if signal.signed else ""
    return f"{sign}[{signal.width - 1}:0] " if signal.width > 1 or signal.signed else ""


def _print_item(lines: list[str], item: Item) -> None:
    match item:
        case Comment(text):
            lines += ["", f"  // {comment_text(text)}"]
        case Wire(signal, value):
            lines.append(f"  logic {_kind(signal)}{signal.name};")
            if value is not None:
                lines += _folded(f"  assign {signal.name} = {_text(value)};")
        case Assign(signal, value):
            lines += _folded(f"  assign {signal.name} = {_text(value)};")
        case Registers(loads):
            lines += [f"  logic {_kind(signal)}{signal.name};" for signal, _ in loads]
            lines.append("  always_ff @(posedge clk_i) begin")
            for signal, value in loads:
                lines += _folded(f"    {signal.name} <= {_text(value)};")
            lines.append("  end")
        case Rom(memory, style, address, word, clocked):
            lines += [
                f'  (* rom_style = "{style}" *) logic {_kind(word)}words[{len(memory.words)}];',
                f'  initial $readmemh("{memory.name}.mem", words);',
                f"  logic {_kind(word)}{word.name};",
            ]
            read = f"words[{_text(address)}];"
            if clocked:
                lines += ["  always_ff @(posedge clk_i) begin", *_folded(f"    {word.name} <= {read}"), "  end"]
            else:
                lines += _folded(f"  assign {word.name} = {read}")
        case Instance(module, name, parameters, connections):
            given = ", ".join(f".{key}({value})" for key, value in parameters)
            lines.append(f"  {module} {f'#({given}) ' if given else ''}{name} (")
            wires = [f"    .{key}({_text(value)})" for key, value in connections]
            for wire in wires[:-1]:
                lines += _folded(f"{wire},")
            lines += [*_folded(wires[-1]), "  );"]


def _folded(line: str) -> list[str]:
    """Break a long line after commas and blanks."""
    if len(line) <= LINE:
        return [line]
    lines = []
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    while len(line) > LINE:
        cut = line.rfind(", ", len(indent) + 1, LINE)
        if cut < 0:
            cut = line.rfind(" ", len(indent) + 1, LINE) - 1
        if cut < 0:
            break
        lines.append(line[: cut + 1].rstrip())
        line = indent + line[cut + 1 :].lstrip()
    return [*lines, line]


def _text(e: Expr) -> str:  # noqa: PLR0911 (one per kind of expression)
    match e:
        case Slice(signal, low, width):
            if width == signal.width:
                return signal.name
            return f"{signal.name}[{low}]" if width == 1 else f"{signal.name}[{low + width - 1}:{low}]"
        case Number(value, width, signed):
            return f"{width}'{'s' if signed else ''}h{value:x}"
        case Join(parts):
            return f"{{{', '.join([_text(part) for part in parts])}}}"
        case Repeat(times, part):
            return f"{{{times}{{{_text(part)}}}}}"
        case Resize(width, part):
            return f"{width}'({_text(part)})"
        case AsSigned(part):
            return f"signed'({_text(part)})"
        case Unary(operator, part):
            return f"{operator}{_operand(part)}"
        case Binary(operator, left, right):
            return f"{_operand(left)} {operator} {_operand(right)}"
        case Choose(test, then, other):
            return f"{_operand(test)} ? {_operand(then)} : {_operand(other)}"


def _operand(e: Expr) -> str:
    return f"({_text(e)})" if isinstance(e, Binary | Choose | Unary) else _text(e)
