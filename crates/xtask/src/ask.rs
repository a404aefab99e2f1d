//! `cargo xtask ask`: tests which functions in its BTF the running kernel lets programs attach to.
//!
//! The tables of `uapi::trampoline` and the helper rows of trampoline types come from these
//! answers. Programs are loaded and closed at once. A kernel that refuses all trampolines (EPERM)
//! cannot be tested, so this runs in the guests of `tests/kernels`.
//!
//! ```text
//! attach KIND FUNCTION ANSWER    the answers of a kind that are not its usual one
//! helpers KIND FUNCTION USABLE NOT_IN_PROBE    bit sets, one bit a helper
//! kfunc KIND FUNCTION ANSWER    of a call whose arguments are not initialized
//! ```

use crate::outcome::Ended;
use skep::btf::{Btf, Kind, TypeId};
use skep::insn::Insn;
use skep::insn::code::*;
use skep::program::{AttachTarget, Program};
use skep::uapi::helper::HelperId;
use skep::uapi::{AttachType, ProgFlags, ProgType};
use skep_kernel::judge::{Answer, judge};
use skep_kernel::kernel_log::reason;
use std::sync::Arc;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Test every function, not only those where exceptions are known (takes hours in a guest).
    #[arg(long)]
    every: bool,
}

/// A kind of program, the prefix of its targets' names, and the answer that is not printed.
struct Ask {
    kind: &'static str,
    prog_type: ProgType,
    attach: AttachType,
    sleepable: bool,
    prefixes: &'static [&'static str],
    /// Helper that the program calls.
    calls: Option<HelperId>,
    usual: &'static str,
}

const fn ask(kind: &'static str, attach: AttachType, usual: &'static str) -> Ask {
    Ask {
        kind,
        prog_type: ProgType::Tracing,
        attach,
        sleepable: false,
        prefixes: &[],
        calls: None,
        usual,
    }
}

const fn lsm(kind: &'static str, attach: AttachType, usual: &'static str) -> Ask {
    Ask { prog_type: ProgType::Lsm, prefixes: &["bpf_lsm_"], ..ask(kind, attach, usual) }
}

const IN_PROBE: &str = "helper call is not allowed in probe";

/// Prefixes of functions that the kernel forbids to trace.
const DENIED: &[&str] =
    &["migrate_", "rcu_read", "__rcu_read", "preempt_count", "__bpf_", "bpf_prog_", "rcu_tasks"];
/// Prefixes of functions that do not return.
const NORETURN: &[&str] = &[
    "__fortify",
    "__ia32_sys_exit",
    "__kunit_abort",
    "__module_put_and",
    "__stack_chk",
    "__ubsan",
    "__x64_sys_exit",
    "abort",
    "arch_cpu_idle_dead",
    "bch2_",
    "cpu_",
    "do_exit",
    "do_group_exit",
    "do_task_dead",
    "ex_handler_msr",
    "hlt_play_dead",
    "hv_ghcb",
    "kthread_",
    "kunit_",
    "machine_",
    "make_task_dead",
    "mpt_halt",
    "nmi_panic",
    "panic",
    "play_dead",
    "rest_init",
    "rust_",
    "rewind_stack",
    "s390_",
    "snp_abort",
    "start_kernel",
    "stop_this_cpu",
    "usercopy_abort",
    "vpanic",
    "x86_64_start",
    "xen_",
    "bug",
    "reboot",
];
/// Prefixes of functions whose result programs may change.
const CHANGED: &[&str] =
    &["bpf_", "security_file", "update_socket", "hid_", "__x64_sys_get", "should_", "cgroup_"];

#[rustfmt::skip]
const ASKS: [Ask; 11] = [
    lsm("lsm", AttachType::LsmMac, "ok"),
    Ask { sleepable: true, ..lsm("lsm.s", AttachType::LsmMac, "is not sleepable") },
    lsm("lsm_cgroup", AttachType::LsmCgroup, "ok"),
    Ask { calls: Some(HelperId::DPath), ..lsm("lsm-d_path", AttachType::LsmMac, IN_PROBE) },
    Ask { prefixes: DENIED, ..ask("fentry", AttachType::TraceFentry, "ok") },
    Ask { sleepable: true, prefixes: CHANGED, ..ask("fentry.s", AttachType::TraceFentry, "is not sleepable") },
    Ask { prefixes: CHANGED, ..ask("fmod_ret", AttachType::ModifyReturn, "() is not modifiable") },
    Ask { sleepable: true, prefixes: CHANGED, ..ask("fmod_ret.s", AttachType::ModifyReturn, "is not sleepable") },
    Ask { calls: Some(HelperId::DPath), prefixes: &["vfs_", "security_", "dentry_", "filp_"], ..ask("d_path", AttachType::TraceFentry, IN_PROBE) },
    Ask { calls: Some(HelperId::SkStorageGet), prefixes: &["bpf_sk"], ..ask("sk_storage", AttachType::TraceFentry, "R1 !read_ok") },
    Ask { prefixes: NORETURN, ..ask("fexit", AttachType::TraceFexit, "ok") },
];

/// Kinds whose helpers depend on the function (LSM), and one function for the others; `--every`
/// tests every hook.
const HELPERS_OF: [(&str, &str); 10] = [
    ("lsm", "bpf_lsm_socket_bind"),
    ("lsm", "bpf_lsm_sk_alloc_security"),
    ("lsm.s", "bpf_lsm_bprm_committed_creds"),
    ("lsm.s", "bpf_lsm_file_open"),
    ("lsm_cgroup", "bpf_lsm_sock_graft"),
    ("lsm_cgroup", "bpf_lsm_socket_bind"),
    ("lsm_cgroup", "bpf_lsm_sk_alloc_security"),
    ("fentry", "vfs_write"),
    ("fexit", "vfs_write"),
    ("fmod_ret", "security_file_open"),
];

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let host = crate::objects::host()?;
    let Some(btf) = host.kernel_btf else {
        return Ok(Ended::Skipped("the kernel shows no BTF".to_owned()));
    };
    let functions: Vec<_> = btf.iter().filter(|ty| ty.kind() == Kind::Func).collect();
    for ask in &ASKS {
        let asked = |name: &str| {
            let lsm = ask.prog_type == ProgType::Lsm;
            args.every && !lsm || ask.prefixes.iter().any(|prefix| name.starts_with(prefix))
        };
        for func in functions.iter().filter(|func| asked(func.name())) {
            let answer = ask.answer(&btf, func.id(), ask.calls);
            if !answer.ends_with(ask.usual) {
                println!("attach\t{}\t{}\t{answer}", ask.kind, func.name());
            }
        }
    }
    for (kind, prefix) in HELPERS_OF {
        let prefix = if args.every && kind.starts_with("lsm") { "bpf_lsm_" } else { prefix };
        let Some(ask) = ASKS.iter().find(|ask| ask.kind == kind) else { continue };
        for func in functions.iter().filter(|func| func.name().starts_with(prefix)) {
            helpers(ask, &btf, func.id());
        }
    }
    for ask in ASKS.iter().filter(|ask| ask.calls.is_none() && ask.prog_type == ProgType::Lsm) {
        let Some(hook) = btf.find_by_name_kind("bpf_lsm_file_open", Kind::Func) else { break };
        kfuncs(ask, &btf, hook);
    }
    Ok(Ended::Passed)
}

/// Tests every helper, in a program of its own.
fn helpers(ask: &Ask, btf: &Arc<Btf>, func: TypeId) {
    let mut usable = [0u64; HelperId::COUNT.div_ceil(64)];
    let mut in_probe = usable;
    for id in HelperId::all().skip(1) {
        let answer = ask.answer(btf, func, Some(id));
        let bit = 1u64 << (id.index() % 64);
        if !answer.starts_with("program of this type cannot use helper") {
            usable[id.index() / 64] |= bit;
        }
        if answer == IN_PROBE {
            in_probe[id.index() / 64] |= bit;
        }
    }
    let name = btf.ty(func).name();
    println!("helpers\t{}\t{name}\t{usable:#018x?}\t{in_probe:#018x?}", ask.kind);
}

/// Tests every kfunc, in a program of its own.
fn kfuncs(ask: &Ask, btf: &Arc<Btf>, hook: TypeId) {
    let tagged = |id| btf.decl_tags(id, None).any(|tag| tag == "bpf_kfunc");
    for func in btf.iter().filter(|ty| ty.kind() == Kind::Func && tagged(ty.id())) {
        let mut program = ask.program(btf, hook, Some(HelperId::MapLookupElem));
        if let Some(call) = program.insns.first_mut() {
            (call.src, call.imm) = (BPF_PSEUDO_KFUNC_CALL, func.id().0 as i32);
        }
        println!("kfunc\t{}\t{}\t{}", ask.kind, func.name(), said(&program));
    }
}

/// `ok`, the reason of the rejection, or why it was not judged.
fn said(program: &Program) -> String {
    match judge(program, 1) {
        Answer::NotJudged(why) => why.reason,
        Answer::Judged(it) if it.accepted => "ok".to_owned(),
        Answer::Judged(it) => reason(&it.log).unwrap_or("no reason").to_owned(),
    }
}

impl Ask {
    fn answer(&self, btf: &Arc<Btf>, func: TypeId, calls: Option<HelperId>) -> String {
        said(&self.program(btf, func, calls))
    }

    fn program(&self, btf: &Arc<Btf>, func: TypeId, calls: Option<HelperId>) -> Program {
        let insn = |code, imm| Insn { code, imm, ..Insn::default() };
        let call = calls.map(|id| insn(BPF_JMP | BPF_CALL, id.number() as i32));
        let end = [insn(BPF_ALU64 | BPF_MOV, 0), insn(BPF_JMP | BPF_EXIT, 0)];
        Program {
            name: "ask".to_owned(),
            prog_type: self.prog_type,
            expected_attach_type: self.attach.number(),
            prog_flags: if self.sleepable { ProgFlags::SLEEPABLE } else { ProgFlags::empty() },
            attach: AttachTarget::Kernel { btf_id: func.0, name: btf.ty(func).name().to_owned() },
            license: "GPL".to_owned(),
            autoload: true,
            insns: call.into_iter().chain(end).collect(),
            kernel_btf: Some(Arc::clone(btf)),
            ..Program::default()
        }
    }
}
