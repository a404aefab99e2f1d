//! `cargo xtask kernels fields`: determines which context fields programs may read and write on a
//! kernel, which flags maps may have, and which programs may call which kfuncs; each with a small
//! program.
//!
//! The results are compared with skep's for the same programs and that kernel's rules.

use super::folder::{folder, kernel};
use super::guest::Guest;
use super::machine::Machine;
use super::{agree, probe};
use crate::outcome::Ended;
use serde::{Deserialize, Serialize};
use skep::btf::{Btf, Kind};
use skep::insn::Insn;
use skep::insn::code::*;
use skep::kernel::Judged;
use skep::kernel::ask::{Calls, calls, questions};
use skep::program::Program;
use skep::uapi::ctx::{CtxField, CtxLayout};
use skep::uapi::helper::HelperId;
use skep::uapi::kfunc::Kfunc;
use skep::uapi::{AttachType, MapFlags, ProgType, attach_types};
use skep::{Host, Kernel};
use skep_testkit::engine::{self, Ours};
use std::error::Error;
use std::sync::Arc;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    machine: Machine,
    /// Maximum number of differences printed.
    #[arg(long, default_value_t = 40)]
    shown: usize,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// `ctx`, `map`, `kfunc`.
    pub(crate) kind: String,
    /// The program type, the map type, or the kfunc.
    pub(crate) name: String,
    /// The field; empty otherwise.
    pub(crate) field: String,
    /// Sizes that may be read (`r4`) and written (`w4`); flags; programs.
    pub(crate) says: String,
}

/// Suffix of the tables' file names, after the release.
pub(crate) const END: &str = ".fields.gz";

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let folder = folder(&args.machine);
    let (host, kernel) = kernel(&folder, &args.machine.kernel)?;
    let guest = Guest::boot(&args.machine, &folder.join("console.fields"))?;
    let mut asker = Asker { guest, host: &host, kernel: &kernel, asked: 0, others: Vec::new() };
    let mut rows = Vec::new();
    let btf = host.kernel_btf.as_ref();
    for hook in calls(btf) {
        let layout = CtxLayout::find(hook.prog_type, hook.attach_type);
        for field in layout.map_or(&[][..], CtxLayout::fields).iter().filter(|it| it.off >= 0) {
            rows.extend(asker.field(&hook, field)?);
        }
    }
    for question in questions(btf).into_iter().filter(|it| it.kind() == "map") {
        rows.extend(asker.map(question.name, &question.program)?);
    }
    if let Some(btf) = btf.filter(|_| host.behaviours.kfuncs) {
        rows.extend(asker.kfuncs(btf.root(), btf)?);
    }
    agree::write_rows(&args.machine.kernel, END, &rows)?;
    let Asker { asked, others, .. } = asker;
    println!("{}: {asked} programs, {} rows", args.machine.kernel, rows.len());
    println!("{}: skep says otherwise of {}", args.machine.kernel, others.len());
    others.iter().take(args.shown).for_each(|line| println!("  {line}"));
    Ok(Ended::Passed)
}

/// Reads a table that [`run`] wrote.
pub(super) fn read(release: &str) -> Result<Vec<Row>, Box<dyn Error>> {
    agree::read_rows(release, END)
}

/// A line about a program of which skep and the kernel say different things.
pub(super) fn difference(kernel: &Kernel, program: &Program, ours: &Ours, told: &Judged) -> String {
    let (release, name, ours) = (kernel.name(), &program.name, ours.verdict.reason());
    format!("{release} {name}: ours {ours:?}, kernel {:?}", told.message)
}

struct Asker<'a> {
    guest: Guest,
    host: &'a Host,
    kernel: &'a Kernel,
    asked: usize,
    /// Where skep's answer differs.
    others: Vec<String>,
}

/// Messages for a field access that is not allowed: in the walk, or after it.
const NO_ACCESS: [&str; 2] = ["invalid bpf_context access", "bpf verifier is misconfigured"];
/// Message for a kfunc that such programs may not call.
const NO_CALL: &str = "calling kernel function ";
const SLEEPS: &str = "program must be sleepable";

impl Asker<'_> {
    fn judge(&mut self, program: &Program) -> Result<Judged, Box<dyn Error>> {
        self.asked += 1;
        Ok(probe::judge(&mut self.guest, program)?)
    }

    /// Whether the kernel refuses a program with one of these messages; records a difference from
    /// skep.
    fn refuses(
        &mut self,
        program: &Program,
        words: &[&str],
    ) -> Result<Option<bool>, Box<dyn Error>> {
        let told = self.judge(program)?;
        if !told.judged {
            return Ok(None);
        }
        Ok(Some(self.says(program, &told, words)))
    }

    /// Whether the answer has one of these messages; records a difference from skep.
    fn says(&mut self, program: &Program, told: &Judged, words: &[&str]) -> bool {
        let said = |log: &str| log.lines().any(|line| words.iter().any(|it| line.starts_with(it)));
        let theirs = said(&told.message);
        let ours = engine::verify_for(self.host, self.kernel, program, 4);
        if said(&ours.log) != theirs {
            self.others.push(difference(self.kernel, program, &ours, told));
        }
        theirs
    }

    fn field(&mut self, hook: &Calls<'_>, field: &CtxField) -> Result<Option<Row>, Box<dyn Error>> {
        let mut says = Vec::new();
        for (word, plain) in accesses(hook, field) {
            let program = Program { kernel_btf: self.host.kernel_btf.clone(), ..plain };
            if self.refuses(&program, &NO_ACCESS)? == Some(false) {
                says.push(word);
            }
        }
        let row = row("ctx", &caller(hook), field.name, says.join(" "));
        Ok((!says.is_empty()).then_some(row))
    }

    fn map(&mut self, name: &str, plain: &Program) -> Result<Option<Row>, Box<dyn Error>> {
        if !self.judge(plain)?.judged {
            return Ok(None);
        }
        let mut flags = Vec::new();
        for bit in 0..24 {
            let flag = MapFlags::from_bits_retain(1 << bit);
            let mut maps = plain.maps.to_vec();
            maps.iter_mut().for_each(|map| map.map_flags |= flag);
            let program = Program { maps: maps.into(), ..plain.clone() };
            if self.judge(&program)?.judged {
                flags.push(flag_name(flag));
            }
        }
        Ok(Some(row("map", name, "", flags.join(" "))))
    }

    /// Kfuncs of the kernel itself: those tagged in its BTF, and those that we know.
    fn kfuncs(&mut self, own: &Btf, btf: &Arc<Btf>) -> Result<Vec<Row>, Box<dyn Error>> {
        let mut rows = Vec::new();
        let hooks: Vec<Calls<'_>> = calls(Some(btf)).into_iter().filter(is_first).collect();
        for func in own.iter().filter(|ty| ty.kind() == Kind::Func) {
            let tagged = own.decl_tags(func.id(), None).any(|tag| tag == "bpf_kfunc");
            if !tagged && Kfunc::find(func.name()).is_none() {
                continue;
            }
            let mut says = Vec::new();
            let mut sleeps = false;
            for hook in &hooks {
                let call = Insn {
                    code: BPF_JMP | BPF_CALL,
                    src: BPF_PSEUDO_KFUNC_CALL,
                    imm: func.id().0 as i32,
                    ..Insn::default()
                };
                let zeros = (1..6).map(|dst| Insn { dst, ..ZERO });
                let program = Program {
                    name: format!("{} {}", caller(hook), func.name()),
                    insns: zeros.chain([call, ZERO, EXIT]).collect(),
                    kernel_btf: Some(Arc::clone(btf)),
                    ..hook.program(HelperId::KtimeGetNs)
                };
                let told = self.judge(&program)?;
                sleeps |= told.message.starts_with(SLEEPS);
                if told.judged && !self.says(&program, &told, &[NO_CALL]) {
                    says.push(caller(hook));
                }
            }
            let field = if sleeps { "sleeps" } else { "" };
            rows.push(row("kfunc", func.name(), field, says.join(" ")));
        }
        Ok(rows)
    }
}

/// Programs that read and write the first bytes of a field, with the table's notation: `r4`.
pub(super) fn accesses(hook: &Calls<'_>, field: &CtxField) -> Vec<(String, Program)> {
    let mut all = Vec::new();
    for (code, word) in [(BPF_LDX, "r"), (BPF_STX, "w")] {
        for (bits, size) in [(BPF_B, 1), (BPF_H, 2), (BPF_W, 4), (BPF_DW, 8)] {
            if field.off % size != 0 {
                continue;
            }
            let (dst, src) = if code == BPF_LDX { (0, 1) } else { (1, 0) };
            let access =
                Insn { code: code | BPF_MEM | bits, dst, src, off: field.off as i16, imm: 0 };
            let says = format!("{word}{size}");
            let name = format!("{} {} {says}", caller(hook), field.name);
            let insns = vec![ZERO, access, ZERO, EXIT];
            all.push((says, Program { name, insns, ..hook.program(HelperId::KtimeGetNs) }));
        }
    }
    all
}

fn row(kind: &str, name: &str, field: &str, says: String) -> Row {
    Row { kind: kind.to_owned(), name: name.to_owned(), field: field.to_owned(), says }
}

pub(super) const ZERO: Insn = Insn { code: BPF_ALU64 | BPF_MOV, dst: 0, src: 0, off: 0, imm: 0 };
pub(super) const EXIT: Insn = Insn { code: BPF_JMP | BPF_EXIT, dst: 0, src: 0, off: 0, imm: 0 };

/// `MMAPABLE`, `BIT_19`.
pub(super) fn flag_name(flag: MapFlags) -> String {
    let known = flag.iter_names().next();
    known.map_or_else(|| format!("BIT_{}", flag.bits().trailing_zeros()), |it| it.0.to_owned())
}

/// `xdp`, `cgroup_sock_addr/cgroup_inet4_bind`.
pub(super) fn caller(hook: &Calls<'_>) -> String {
    let attach = AttachType::from_number(hook.attach_type);
    let prog_type = hook.prog_type;
    match attach.filter(|_| !attach_types(prog_type).contains(u32::MAX)) {
        Some(attach) => format!("{}/{}", prog_type.name(), attach.name()),
        None => prog_type.name().to_owned(),
    }
}

/// Whether this is the first of the types that differ only by attach type: kfuncs depend on the
/// program type.
fn is_first(hook: &Calls<'_>) -> bool {
    let first = (0..64).find(|&number| attach_types(hook.prog_type).contains(number));
    attach_types(hook.prog_type).contains(u32::MAX)
        || first == Some(hook.attach_type)
        || hook.prog_type == ProgType::StructOps
}
