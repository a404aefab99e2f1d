//! The printed results of the runs, and which verdicts let a packet through.

use super::tally::{Run, Tally};
use crate::digits::hex;
use crate::flags::run::RunFlags;
use skep::runtime::{Instance, Redirect, takes_packet};
use skep::uapi::ProgType;
use skep_report::{counted, printable};
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

/// The name of a verdict, if the program type has names.
pub(crate) fn verdict_name(prog_type: ProgType, retval: u32) -> Option<&'static str> {
    let names: &[&str] = match prog_type {
        ProgType::Xdp => &XDP,
        ProgType::SchedCls | ProgType::SchedAct if retval == u32::MAX => {
            return Some("TC_ACT_UNSPEC");
        }
        ProgType::SchedCls | ProgType::SchedAct => &TC,
        _ => &[],
    };
    names.get(retval as usize).copied()
}

/// Its name, or the number.
fn verdict(prog_type: ProgType, retval: u32) -> String {
    let number = || format!("{} ({retval:#x})", retval as i32);
    verdict_name(prog_type, retval).map_or_else(number, str::to_owned)
}

/// The packet after the run, if the verdict lets it through.
pub(super) fn passes(prog_type: ProgType, run: &Run) -> Option<&[u8]> {
    let Run { retval, packet, .. } = run;
    let retval = *retval;
    let goes_on = match prog_type {
        ProgType::Xdp => matches!(retval, 2..=4),
        ProgType::SchedCls | ProgType::SchedAct => !matches!(retval, 2 | 4 | 5 | 8),
        ProgType::CgroupSkb => retval & 1 != 0,
        // The result is the number of bytes that the socket receives.
        ProgType::SocketFilter => {
            return (retval > 0).then(|| &packet[..packet.len().min(retval as usize)]);
        }
        _ => true,
    };
    goes_on.then_some(packet)
}

/// The summary: for one input its result, for a capture the histogram over its packets.
pub(super) fn text(
    flags: &RunFlags,
    instance: &Instance,
    packets: Option<u64>,
    tally: &Tally,
) -> String {
    let mut text = String::new();
    let engine = if instance.machine_code().is_some() { "jit" } else { "interp" };
    if let Some(count) = packets {
        let packets = counted(count, "packet");
        let threads = counted(flags.threads.get().into(), "thread");
        let name = printable(instance.name());
        let _ = writeln!(text, "{name}: {packets}, {threads}, {engine}");
        histogram(&mut text, instance.prog_type(), tally);
        if tally.errors.count > 0 {
            let _ = writeln!(text, "errors: {}", tally.errors.count);
        }
    } else if let Some(run) = &tally.only {
        one(&mut text, instance, run);
    }
    if tally.runs > 0 {
        let mean = tally.time.as_nanos() as f64 / tally.runs as f64;
        let runs = counted(tally.runs, "run");
        let _ = writeln!(text, "duration: {mean:.0} ns a run ({runs}, {engine})");
    }
    text
}

fn one(text: &mut String, instance: &Instance, run: &Run) {
    let verdict = verdict(instance.prog_type(), run.retval);
    let _ = writeln!(text, "retval: {verdict}");
    if run.is_wide() {
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
    text.push_str(&run.effects.lines());
    if !run.packet.is_empty() {
        let what = if takes_packet(instance.prog_type()) { "packet" } else { "ctx" };
        let _ = writeln!(text, "{what}: {}", hex(&run.packet));
    }
}

fn histogram(text: &mut String, prog_type: ProgType, tally: &Tally) {
    let (counts, total) = (&tally.retvals, tally.ran.max(1) as f64);
    for (retval, count) in &counts.by_key {
        let share = 100.0 * *count as f64 / total;
        let _ = writeln!(text, "  {:<18} {count:>10}  {share:5.1} %", verdict(prog_type, *retval));
    }
    if counts.others > 0 {
        let share = 100.0 * counts.others as f64 / total;
        let _ = writeln!(text, "  {:<18} {:>10}  {share:5.1} %", "other numbers", counts.others);
    }
    for (target, count) in &tally.redirects.by_key {
        let _ = writeln!(text, "    {target:<16} {count:>10}");
    }
    if tally.redirects.others > 0 {
        let _ = writeln!(text, "    {:<16} {:>10}", "elsewhere", tally.redirects.others);
    }
}
