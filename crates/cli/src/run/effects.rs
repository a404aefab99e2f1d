//! The effects of a program besides its return value, as lines and as JSON. `bpftool prog run`
//! returns the context as bytes; here the changed fields are named.

use crate::digits::hex;
use serde::{Serialize, Serializer};
use skep::runtime::Ctx;
use std::fmt::Write as _;

/// All effects; those that did not occur are omitted.
#[derive(Default, Serialize)]
pub(super) struct Effects {
    /// Fields of the context, with their values after the run.
    #[serde(rename = "ctx_changed", skip_serializing_if = "Vec::is_empty", serialize_with = "map")]
    changed: Vec<(String, u64)>,
    #[serde(skip_serializing_if = "String::is_empty")]
    meta: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    clones: Vec<Clone>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tunnel: Option<Tunnel>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    signals: Vec<Signal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    set_retval: Option<i32>,
}

#[derive(Serialize)]
struct Clone {
    ifindex: u32,
    packet: String,
}

#[derive(Serialize)]
struct Tunnel {
    flags: u64,
    key: String,
    options: String,
}

#[derive(Serialize)]
struct Signal {
    signal: u32,
    to_thread: bool,
}

fn map<S: Serializer>(pairs: &[(String, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

impl Effects {
    /// The fields that differ from those `before` the runs.
    pub(super) fn new(before: &[(String, u64)], ctx: &Ctx) -> Effects {
        let changed = ctx.fields().into_iter().zip(before);
        let changed = changed.filter(|(after, before)| after != *before);
        let clones = ctx.clones().into_iter();
        let tunnel = ctx.tunnel().map(|tunnel| Tunnel {
            flags: tunnel.flags,
            key: hex(&tunnel.key),
            options: hex(&tunnel.options),
        });
        let signals = ctx.signals().into_iter();
        Effects {
            changed: changed.map(|(after, _)| after).collect(),
            meta: hex(&ctx.meta_bytes()),
            clones: clones
                .map(|(ifindex, packet)| Clone { ifindex, packet: hex(&packet) })
                .collect(),
            tunnel,
            signals: signals.map(|(signal, to_thread)| Signal { signal, to_thread }).collect(),
            set_retval: Some(ctx.retval()).filter(|retval| *retval != 0),
        }
    }

    /// A line each.
    pub(super) fn lines(&self) -> String {
        let mut text = String::new();
        let changed: Vec<String> =
            self.changed.iter().map(|(name, value)| format!("{name} {value}")).collect();
        // Writing to a String cannot fail.
        if !changed.is_empty() {
            let _ = writeln!(text, "ctx: {}", changed.join(", "));
        }
        if !self.meta.is_empty() {
            let _ = writeln!(text, "meta: {}", self.meta);
        }
        for Clone { ifindex, packet } in &self.clones {
            let _ = writeln!(text, "clone: interface {ifindex}, {packet}");
        }
        if let Some(Tunnel { flags, key, options }) = &self.tunnel {
            let _ = writeln!(text, "tunnel: flags {flags:#x}, key {key}, options {options}");
        }
        for Signal { signal, to_thread } in &self.signals {
            let to = if *to_thread { ", to the thread" } else { "" };
            let _ = writeln!(text, "signal: {signal}{to}");
        }
        if let Some(retval) = self.set_retval {
            let _ = writeln!(text, "set retval: {retval}");
        }
        text
    }
}
