//! The control flow graph in DOT: one box per block, dashed edges to called subprogs.

use super::blocks::{Edge, blocks};
use skep::insn_text::insn_text;
use skep::program::Program;
use skep_report::printable;
use std::io::{self, Write};

/// Writes one program's graph.
pub(super) fn write(out: &mut dyn Write, program: &Program) -> io::Result<()> {
    writeln!(out, "digraph \"{}\" {{", quoted(&program.name))?;
    writeln!(out, "  node [shape=box, fontname=monospace];")?;
    for block in blocks(&program.insns) {
        write!(out, "  b{} [label=\"", block.start)?;
        let mut idx = block.start;
        while idx < block.end {
            let text = insn_text(program, idx).unwrap_or_default();
            // \l ends a line and left-aligns it.
            write!(out, "{idx}: {}\\l", quoted(&text))?;
            idx += if program.insns.get(idx).is_some_and(|i| i.is_ld_imm64()) { 2 } else { 1 };
        }
        writeln!(out, "\"];")?;
        for (to, edge) in block.next {
            let style = match edge {
                Edge::Fall => "",
                Edge::Jump => " [label=jump]",
                Edge::Call => " [style=dashed]",
            };
            writeln!(out, "  b{} -> b{to}{style};", block.start)?;
        }
    }
    writeln!(out, "}}")
}

/// Text inside of a DOT string.
fn quoted(text: &str) -> String {
    printable(text).replace('\\', "\\\\").replace('"', "\\\"")
}
