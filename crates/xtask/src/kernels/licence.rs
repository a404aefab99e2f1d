//! `cargo xtask kernels licence`: what a kernel does not offer to programs whose licence is not
//! compatible with the GPL, and which licences it considers compatible. One small program each.
//!
//! skep judges the same programs by that kernel's rules; differences are reported.

use super::fields::{EXIT, Row, ZERO, caller, difference};
use super::folder::{folder, kernel};
use super::guest::Guest;
use super::machine::Machine;
use super::{agree, probe};
use crate::outcome::Ended;
use skep::btf::{Btf, Kind};
use skep::insn::Insn;
use skep::insn::code::*;
use skep::kernel::Judged;
use skep::kernel::ask::{Calls, calls};
use skep::program::{AttachTarget, Program};
use skep::uapi::helper::HelperId;
use skep::uapi::kfunc::Kfunc;
use skep::uapi::{AttachType, ProgType};
use skep::{Host, Kernel};
use skep_testkit::engine;
use std::error::Error;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    machine: Machine,
}

/// How the tables are named: the release, then this.
pub(crate) const END: &str = ".licence.csv";

/// Strings of `MODULE_LICENSE`, and others that people write.
const LICENCES: [&str; 13] = [
    "",
    "Apache-2.0",
    "BSD",
    "Dual BSD/GPL",
    "Dual MIT/GPL",
    "Dual MPL/GPL",
    "GPL",
    "GPL and additional rights",
    "GPL v2",
    "GPL-2.0",
    "GPL-2.0-only",
    "MIT",
    "Proprietary",
];
const OTHER: &str = "Proprietary";

/// A refusal for the licence says so; others do not name it.
const GPL: &str = "GPL";
/// What a helper that such programs may not call is refused with.
const NO_CALL: [&str; 3] = ["invalid func", "unknown func", "program of this type"];

/// `yes`: kept from other programs; or a licence that is compatible. `no`: not so.
fn row(kind: &str, name: &str, yes: bool) -> Row {
    let says = if yes { "yes" } else { "no" };
    let [kind, name, says] = [kind, name, says].map(str::to_owned);
    Row { kind, name, field: String::new(), says }
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let folder = folder(&args.machine);
    let (host, kernel) = kernel(&folder, &args.machine.kernel)?;
    let guest = Guest::boot(&args.machine, &folder.join("console.licence"))?;
    let mut asker = Asker { guest, host: &host, kernel: &kernel, others: Vec::new() };
    let btf = host.kernel_btf.as_ref();
    let hooks = calls(btf);
    let mut rows = asker.licences(&hooks)?;
    let mut free = Vec::new();
    for hook in &hooks {
        let plain = Program { insns: vec![ZERO, EXIT], ..hook.program(HelperId::KtimeGetNs) };
        let Some(told) = asker.judge(&plain)? else { continue };
        let kept = told.message.contains(GPL);
        rows.push(row("program type", &caller(hook), kept));
        if !kept {
            free.push(hook);
        }
    }
    for id in HelperId::all().skip(1) {
        rows.extend(asker.helper(&free, id)?);
    }
    if let Some(btf) = btf {
        rows.extend(asker.of_types(&hooks, btf.root())?);
    }
    agree::write_rows(&args.machine.kernel, END, &rows)?;
    let kept = rows.iter().filter(|row| row.says == "yes").count();
    println!("{}: {} rows, {kept} with yes", args.machine.kernel, rows.len());
    println!("{}: skep says otherwise of {}", args.machine.kernel, asker.others.len());
    asker.others.iter().for_each(|line| println!("  {line}"));
    Ok(Ended::Passed)
}

/// Reads a table that [`run`] wrote.
pub(super) fn read(release: &str) -> Result<Vec<Row>, Box<dyn Error>> {
    agree::read_rows(release, END)
}

struct Asker<'a> {
    guest: Guest,
    host: &'a Host,
    kernel: &'a Kernel,
    /// Where skep says something else.
    others: Vec<String>,
}

impl Asker<'_> {
    /// The kernel's answer for a program under another licence, if its verifier ran; records where
    /// only one of skep and the kernel blames the licence.
    fn judge(&mut self, plain: &Program) -> Result<Option<Judged>, Box<dyn Error>> {
        let program = Program {
            license: OTHER.to_owned(),
            kernel_btf: self.host.kernel_btf.clone(),
            ..plain.clone()
        };
        let told = probe::judge(&mut self.guest, &program)?;
        if !told.judged {
            return Ok(None);
        }
        let ours = engine::verify_for(self.host, self.kernel, &program, 4);
        if ours.log.contains(GPL) != told.message.contains(GPL) {
            self.others.push(difference(self.kernel, &program, &ours, &told));
        }
        Ok(Some(told))
    }

    /// Which licences let programs call a helper that is kept from others.
    fn licences(&mut self, hooks: &[Calls<'_>]) -> Result<Vec<Row>, Box<dyn Error>> {
        let traces = hooks.iter().find(|it| it.prog_type == ProgType::Kprobe);
        let Some(plain) = traces.map(|it| it.program(HelperId::ProbeRead)) else {
            return Ok(Vec::new());
        };
        let mut rows = Vec::new();
        for licence in LICENCES {
            let program = Program { license: licence.to_owned(), ..plain.clone() };
            let told = probe::judge(&mut self.guest, &program)?;
            rows.push(row("licence", licence, !told.message.contains(GPL)));
        }
        Ok(rows)
    }

    /// Whether a helper is kept from other programs; no row where none of these may call it.
    fn helper(
        &mut self,
        hooks: &[&Calls<'_>],
        id: HelperId,
    ) -> Result<Option<Row>, Box<dyn Error>> {
        for hook in hooks.iter().filter(|hook| hook.helpers().contains(&id)) {
            let name = format!("{} {}", caller(hook), id.name());
            let Some(told) = self.judge(&Program { name, ..hook.program(id) })? else { continue };
            if !NO_CALL.iter().any(|words| told.message.starts_with(words)) {
                return Ok(Some(row("helper", id.name(), told.message.contains(GPL))));
            }
        }
        Ok(None)
    }

    /// What needs the kernel's types: kfuncs, fields of its objects, members of struct_ops.
    fn of_types(&mut self, hooks: &[Calls<'_>], btf: &Btf) -> Result<Vec<Row>, Box<dyn Error>> {
        let mut rows = Vec::new();
        let mut ask = |kind: &str, program: &Program| -> Result<(), Box<dyn Error>> {
            if let Some(told) = self.judge(program)? {
                rows.push(row(kind, "", told.message.contains(GPL)));
            }
            Ok(())
        };
        let is_kfunc = |name: &str| Kfunc::find(name).is_some();
        let kfunc = btf.iter().find(|ty| ty.kind() == Kind::Func && is_kfunc(ty.name()));
        let packets = hooks.iter().find(|it| it.prog_type == ProgType::SchedCls);
        if let (Some(kfunc), Some(hook)) = (kfunc, packets) {
            let call = BPF_JMP | BPF_CALL;
            let imm = kfunc.id().0 as i32;
            let call = Insn { code: call, src: BPF_PSEUDO_KFUNC_CALL, imm, ..Insn::default() };
            let name = "a kfunc".to_owned();
            let insns = vec![call, ZERO, EXIT];
            ask("kfunc", &Program { name, insns, ..hook.program(HelperId::KtimeGetNs) })?;
        }
        let is_tracepoint = |it: &&Calls<'_>| it.attach_type == AttachType::TraceRawTp.number();
        if let Some(hook) =
            hooks.iter().filter(|it| it.prog_type == ProgType::Tracing).find(is_tracepoint)
        {
            let load =
                |dst, src| Insn { code: BPF_LDX | BPF_MEM | BPF_DW, dst, src, off: 0, imm: 0 };
            let name = "a field".to_owned();
            let insns = vec![load(1, 1), load(0, 1), ZERO, EXIT];
            ask(
                "field of a kernel object",
                &Program { name, insns, ..hook.program(HelperId::KtimeGetNs) },
            )?;
        }
        if let Some(id) = btf.find_by_name_kind("tcp_congestion_ops", Kind::Struct) {
            let member =
                btf.ty(id).members().position(|it| it.name() == "init").unwrap_or_default();
            let program = Program {
                name: "a member".to_owned(),
                prog_type: ProgType::StructOps,
                expected_attach_type: member as u32,
                attach: AttachTarget::Kernel {
                    btf_id: id.0,
                    name: "tcp_congestion_ops".to_owned(),
                },
                insns: vec![ZERO, EXIT],
                ..Program::default()
            };
            ask("member of struct_ops", &program)?;
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep::uapi::is_gpl_compatible;

    #[test]
    fn licences_are_those_that_kernels_take() {
        let mut asked = 0;
        for release in agree::releases_with(END) {
            for row in read(&release).expect("a table").iter().filter(|it| it.kind == "licence") {
                assert_eq!(is_gpl_compatible(&row.name), row.says == "yes", "{release} {row:?}");
                asked += 1;
            }
        }
        assert!(asked > 0, "no kernel was asked");
    }
}
