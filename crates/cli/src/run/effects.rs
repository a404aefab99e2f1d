//! What a program did besides returning a number, a line each: `bpftool prog run` gives the context
//! back as bytes, here the fields that have changed are named.

use skep::runtime::Ctx;
use std::fmt::Write as _;

/// What is different from what the fields were `before` the runs.
pub(super) fn lines(before: &[(String, u64)], ctx: &Ctx) -> String {
    let mut text = String::new();
    let after = ctx.fields();
    let changed = after.iter().zip(before).filter(|(after, before)| after != before);
    let changed: Vec<String> =
        changed.map(|((name, value), _)| format!("{name} {value}")).collect();
    // Writing to a String cannot fail.
    if !changed.is_empty() {
        let _ = writeln!(text, "ctx: {}", changed.join(", "));
    }
    let meta = ctx.meta_bytes();
    if !meta.is_empty() {
        let _ = writeln!(text, "meta: {}", hex(&meta));
    }
    for (ifindex, packet) in ctx.clones() {
        let _ = writeln!(text, "clone: interface {ifindex}, {}", hex(&packet));
    }
    if let Some(tunnel) = ctx.tunnel() {
        let (key, options) = (hex(&tunnel.key), hex(&tunnel.options));
        let _ = writeln!(text, "tunnel: flags {:#x}, key {key}, options {options}", tunnel.flags);
    }
    for (signal, to_thread) in ctx.signals() {
        let _ =
            writeln!(text, "signal: {signal}{}", if to_thread { ", to the thread" } else { "" });
    }
    if ctx.retval() != 0 {
        let _ = writeln!(text, "set retval: {}", ctx.retval());
    }
    text
}

/// Digits as `--hex` reads them.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
