//! What is printed of the runs, and which verdicts let a packet through.

use super::input::Inputs;
use super::work::{Done, Run};
use crate::flags::RunFlags;
use skep::runtime::{Instance, Redirect, takes_packet};
use skep::uapi::ProgType;
use std::collections::BTreeMap;
use std::fmt::Write;

/// `enum xdp_action`.
const XDP: [&str; 5] = ["XDP_ABORTED", "XDP_DROP", "XDP_PASS", "XDP_TX", "XDP_REDIRECT"];
/// `TC_ACT_*`.
const TC: [&str; 9] = [
    "TC_ACT_OK",
    "TC_ACT_RECLASSIFY",
    "TC_ACT_SHOT",
    "TC_ACT_PIPE",
    "TC_ACT_STOLEN",
    "TC_ACT_QUEUED",
    "TC_ACT_REPEAT",
    "TC_ACT_REDIRECT",
    "TC_ACT_TRAP",
];

/// The name of a verdict, if the type of program has names.
fn verdict(prog_type: ProgType, retval: u32) -> String {
    let names: &[&str] = match prog_type {
        ProgType::Xdp => &XDP,
        ProgType::SchedCls | ProgType::SchedAct => {
            if retval == u32::MAX {
                return "TC_ACT_UNSPEC".to_owned();
            }
            &TC
        }
        _ => &[],
    };
    let number = || format!("{} ({retval:#x})", retval as i32);
    names.get(retval as usize).map_or_else(number, |name| (*name).to_owned())
}

/// The packet as it goes on, if the verdict lets it through.
pub(super) fn passes(prog_type: ProgType, retval: u32, packet: &[u8]) -> Option<&[u8]> {
    let goes_on = match prog_type {
        ProgType::Xdp => matches!(retval, 2..=4),
        ProgType::SchedCls | ProgType::SchedAct => !matches!(retval, 2 | 4 | 5 | 8),
        ProgType::CgroupSkb => retval & 1 != 0,
        // The result is how many bytes the socket gets.
        ProgType::SocketFilter => {
            return (retval > 0).then(|| &packet[..packet.len().min(retval as usize)]);
        }
        _ => true,
    };
    goes_on.then_some(packet)
}

/// The summary: for one input its result, for many the histogram.
pub(super) fn text(
    flags: &RunFlags,
    instance: &Instance,
    (inputs, done): (&Inputs, &Done),
) -> String {
    let mut text = String::new();
    let engine = if instance.machine_code().is_some() { "jit" } else { "interp" };
    match (inputs.is_capture, &*done.runs) {
        (false, [Some(run)]) => one(&mut text, instance, run),
        (false, _) => {}
        (true, runs) => {
            let (threads, count) = (flags.threads, runs.len());
            let plural = if threads.get() == 1 { "" } else { "s" };
            let name = instance.name();
            let _ = writeln!(text, "{name}: {count} packets, {threads} thread{plural}, {engine}");
            histogram(&mut text, instance.prog_type(), runs);
            if !done.errors.is_empty() {
                let _ = writeln!(text, "errors: {}", done.errors.len());
            }
        }
    }
    if done.count > 0 {
        let mean = done.time.as_nanos() as f64 / done.count as f64;
        let runs = done.count;
        let _ = writeln!(text, "duration: {mean:.0} ns a run ({runs} runs, {engine})");
    }
    text
}

fn one(text: &mut String, instance: &Instance, run: &Run) {
    let verdict = verdict(instance.prog_type(), run.retval);
    let _ = writeln!(text, "retval: {verdict}");
    if run.r0 >> 32 != 0 && run.r0 >> 31 != 0x1_ffff_ffff {
        let _ = writeln!(text, "r0: {:#x}", run.r0);
    }
    if let Some(insns) = run.insns {
        let _ = writeln!(text, "insns: {insns}");
    }
    if let Some(fuel) = run.fuel {
        let _ = writeln!(text, "fuel: {fuel}");
    }
    match &run.redirect {
        Some(Redirect::Interface { ifindex, flags }) => {
            let _ = writeln!(text, "redirect: interface {ifindex}, flags {flags:#x}");
        }
        Some(Redirect::Map { map_id, key, flags }) => {
            let _ = writeln!(text, "redirect: map {map_id}, key {key}, flags {flags:#x}");
        }
        None => {}
    }
    if !run.packet.is_empty() {
        let what = if takes_packet(instance.prog_type()) { "packet" } else { "ctx" };
        let hex: String = run.packet.iter().map(|byte| format!("{byte:02x}")).collect();
        let _ = writeln!(text, "{what}: {hex}");
    }
}

fn histogram(text: &mut String, prog_type: ProgType, runs: &[Option<Run>]) {
    let mut counts = BTreeMap::<u32, u64>::new();
    let mut redirects = BTreeMap::<String, u64>::new();
    for run in runs.iter().flatten() {
        *counts.entry(run.retval).or_default() += 1;
        let target = match &run.redirect {
            Some(Redirect::Interface { ifindex, .. }) => format!("to interface {ifindex}"),
            Some(Redirect::Map { map_id, key, .. }) => format!("by map {map_id}, key {key}"),
            None => continue,
        };
        *redirects.entry(target).or_default() += 1;
    }
    let total: u64 = counts.values().sum();
    for (retval, count) in counts {
        let share = 100.0 * count as f64 / total as f64;
        let _ = writeln!(text, "  {:<18} {count:>10}  {share:5.1} %", verdict(prog_type, retval));
    }
    for (target, count) in redirects {
        let _ = writeln!(text, "    {target:<16} {count:>10}");
    }
}
