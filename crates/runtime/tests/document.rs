//! `docs/runtime.md` says which helpers and maps there are; the tables are the code's.
//! `BLESS=1 cargo test -p skep-runtime --test document` rewrites it.

use skep_program::MapDef;
use skep_runtime::{ErrorKind, Options, Runtime, supported_helpers, supported_kfuncs};
use skep_uapi::helper::HelperId;
use skep_uapi::{Amount, MapType, map_rule};
use std::fmt::Write;
use std::path::Path;

const HEAD: &str = "\
# What runs here

Written by `crates/runtime/tests/document.rs` from the tables of the code. A program that needs
something else is verified as always; loading it says `not supported yet` and what.

Where a helper can only do part of what a kernel does:

- There is no stack below a program: `bpf_get_stackid` and `bpf_get_stack` say EFAULT.
- There is no process below a program: `bpf_probe_read_user` and `bpf_probe_read_user_str` say
  EFAULT of every address.
- `bpf_probe_read` and its siblings, and `%s` in formats, read the context, the packet, the stack
  and the values of the runtime's maps; every other address cannot be read.
- `bpf_redirect` and its siblings record where the packet is to go (`Ctx::redirect`);
  `bpf_clone_redirect` keeps a copy (`Ctx::clones`).
- Maps of devices, CPUs and AF_XDP sockets hold the numbers that they are given; whether there is
  such a device is the embedder's to know.
- `bpf_get_smp_processor_id` is the number of the thread among those that run programs.
- A full LRU map takes out the first element, in the order in which they lie in memory, that was
  not looked up or updated since the last search passed it (second chance, one order for the whole
  map). It takes out one, and only when `max_entries` are there. The kernel keeps an active and an
  inactive list, moves elements between them in batches when it needs room, and each CPU keeps free
  ones aside, so that elements may go before the map is full; which one goes differs here and there,
  and is promised by neither.
- Local storage (of tasks, sockets, inodes) is not supported, nor are sockets: a program
  that uses it is verified, and loading it says so.
- `bpf_throw` works in every program that the verifier lets call it: the exception callback (one that
  returns the cookie, if the program names none) runs in place of the main program that runs, which
  is that of the last tail call.
- `skep run` gives a map that has no `max_entries` one element, as veristat does: its loader would
  have set it. `Runtime::create_maps` refuses it, as the kernel.
- Packets are linear; XDP has no fragments; a socket buffer has no socket, no metadata and no route:
  lookups of sockets find none, no interface forwards (`bpf_fib_lookup`), and every interface has the
  MTU of `Options::mtu`.
- `bpf_skb_set_tunnel_key` and `bpf_skb_set_tunnel_opt` record where the packet is to go
  (`Ctx::tunnel`), `bpf_send_signal` what was to be sent (`Ctx::signals`), `bpf_set_retval` what was
  to be returned (`Ctx::retval`).
- `bpf_get_local_storage` gives one value for all runs: programs are attached to no control group.
- Cookies of `bpf_tcp_raw_gen_syncookie_ipv4` and siblings are this process's to check.
- Objects of programs (`bpf_obj_new`) may be in lists, trees, other objects and the values of arrays
  and hashes. Trees are in the order that the program gives, but have no colours: which node
  `bpf_rbtree_root` gives, and `_left` and `_right` below it, is not promised to be the kernel's.
- Sets of CPUs (`bpf_cpumask_create`) are of the runtime's CPUs; any of them is the first.
- Nothing is traced and nothing is counted: `bpf_get_current_task` and `_btf` give an address where
  nothing can be read, perf event arrays have no counters, `bpf_get_attach_cookie` gives what
  `Ctx::set_attach_cookie` has set.
- The context of programs of `fentry`, `fexit`, `tp_btf` and LSM hooks is the words that the embedder
  gives (`Ctx::raw`): the arguments, behind them the result. A pointer in it, and any other to a
  struct of the kernel, is followed with care: a load gives what is there if that is memory of the
  run, else 0. Such a struct is no memory for helpers.

Fuel (`LoadOptions::fuel`, `skep run --fuel N`) bounds a run by units that both engines count and stop at
alike: a jump backwards that is taken, a call of a function of the program, and a call of a callback,
each one. Insns between them are bounded by the program's length, and programs that are tail called by
their limit of 33; they cost nothing. A run that is stopped leaves maps and packet as they were at that
unit; its result is an error. `Interrupter` stops at the same places.

Statistics (`run_time_ns`, `run_cnt`, `recursion_misses`) are counted when someone asks for them:

- A run counts for the program that begins, from the host or by a tail call, if its statistics are
  on then; the kernel counts no program that is tail called.
- The time of a run ends where it tail calls another program. A tail call from a function other than
  the first ends nothing: the time of the target is the caller's, too.
- Runs that are stopped (fuel, interruption) are timed until then.
- Callbacks of timers are no runs.
- `recursion_misses` counts runs of programs of kprobes, tracepoints, perf events, raw tracepoints
  and trampolines inside a run of the same program; they do not happen.
";

fn table(text: &str) -> String {
    let mut text = text.trim_end_matches([' ', ',']).to_owned();
    text.push('.');
    // Lines of the house's width.
    let mut lines = String::new();
    let mut width = 0;
    for word in text.split(' ') {
        if width + word.len() > 98 {
            lines.push('\n');
            width = 0;
        } else if width > 0 {
            lines.push(' ');
            width += 1;
        }
        lines.push_str(word);
        width += word.len();
    }
    lines
}

/// The smallest map that the kernel would create.
fn smallest(map_type: MapType) -> Option<MapDef> {
    let rule = map_rule(map_type)?;
    let least = |amount: Amount| match amount {
        Amount::Zero => 0,
        Amount::Between(least, _) | Amount::Either(least, _) | Amount::Multiple(least, _) => {
            least as u32
        }
        Amount::PagesPowerOfTwo => 4096,
    };
    let template =
        MapDef { map_type: MapType::Array, key_size: 4, value_size: 4, ..MapDef::default() };
    Some(MapDef {
        name: "m".into(),
        map_type,
        key_size: least(rule.key),
        value_size: least(rule.value),
        max_entries: least(rule.entries),
        map_flags: rule.required,
        inner: Some(Box::new(MapDef { max_entries: 1, ..template })),
        ..MapDef::default()
    })
}

/// Why a helper is not there, and which ones.
const MISSING: &[(&str, &[HelperId])] = {
    use HelperId::*;
    &[
        (
            "There are no sockets, nor the contexts of programs that have one",
            &[
                Setsockopt,
                Getsockopt,
                Bind,
                SockOpsCbFlagsSet,
                LoadHdrOpt,
                StoreHdrOpt,
                ReserveHdrOpt,
                TcpSendAck,
                SkStorageGet,
                SkStorageDelete,
                SkSelectReuseport,
                SockMapUpdate,
                SockHashUpdate,
                SkRedirectMap,
                SkRedirectHash,
                MsgRedirectMap,
                MsgRedirectHash,
                MsgApplyBytes,
                MsgCorkBytes,
                MsgPullData,
                MsgPushData,
                MsgPopData,
            ],
        ),
        (
            "The packet would be routed anew",
            &[LwtPushEncap, LwtSeg6StoreBytes, LwtSeg6AdjustSrh, LwtSeg6Action],
        ),
        ("Maps of control groups are not modelled", &[SkbUnderCgroup, CurrentTaskUnderCgroup]),
        (
            "The storage belongs to a task, an inode or a group of the kernel",
            &[
                InodeStorageGet,
                InodeStorageDelete,
                TaskStorageGet,
                TaskStorageDelete,
                CgrpStorageGet,
                CgrpStorageDelete,
            ],
        ),
        (
            "A struct of the kernel is what it takes or gives",
            &[
                GetTaskStack,
                TaskPtRegs,
                CopyFromUserTask,
                FindVma,
                DPath,
                SockFromFile,
                ImaInodeHash,
                ImaFileHash,
                SkbOutput,
            ],
        ),
        (
            "The kernel's types and symbols are not here in a run",
            &[SnprintfBtf, SeqPrintfBtf, BtfFindByNameKind, KallsymsLookupName],
        ),
        ("No iterator of the kernel runs a program", &[SeqPrintf, SeqWrite]),
        (
            "It would change the kernel or a process",
            &[ProbeWriteUser, OverrideReturn, BprmOptsSet, SysBpf, SysClose],
        ),
        (
            "What is read or written is a setting of the kernel",
            &[SysctlGetName, SysctlGetCurrentValue, SysctlGetNewValue, SysctlSetNewValue],
        ),
        ("Keys would go to an input device", &[RcRepeat, RcKeydown, RcPointerRel]),
    ]
};

fn missing_helpers(missing: &[HelperId], text: &mut String) {
    let explained: Vec<HelperId> =
        MISSING.iter().flat_map(|(_, ids)| ids.iter().copied()).collect();
    let open = missing.iter().filter(|id| !explained.contains(id)).collect::<Vec<_>>();
    let there = explained.iter().filter(|id| !missing.contains(id)).collect::<Vec<_>>();
    assert!(open.is_empty() && there.is_empty(), "why missing: {open:?}; not missing: {there:?}");
    text.push_str("\nMissing, and why:\n\n| why | helpers |\n|---|---|\n");
    for (why, ids) in MISSING {
        let names: Vec<String> =
            ids.iter().map(|id| format!("`{}`", id.name().trim_start_matches("bpf_"))).collect();
        let _ = writeln!(text, "| {why} | {} |", names.join(", "));
    }
}

fn document() -> String {
    let mut text = HEAD.to_owned();
    let here: Vec<HelperId> = supported_helpers().collect();
    let all: Vec<HelperId> = HelperId::all().filter(|id| *id != HelperId::Unspec).collect();
    let name = |id: &HelperId| format!("`{}`, ", id.name().trim_start_matches("bpf_"));
    let (yes, no): (Vec<HelperId>, Vec<HelperId>) = all.iter().partition(|id| here.contains(id));
    let _ = write!(text, "\n## Helpers: {} of {}\n\n", yes.len(), all.len());
    let _ = writeln!(text, "{}", table(&yes.iter().map(name).collect::<String>()));
    missing_helpers(&no, &mut text);
    let kfuncs: Vec<String> = supported_kfuncs().map(|name| format!("`{name}`, ")).collect();
    let _ = write!(text, "\n## Kfuncs: {}\n\n{}\n", kfuncs.len(), table(&kfuncs.concat()));
    text.push_str("\nNo other is there; `bpf_cast_to_kern_ctx` and arenas are refused.\n");
    let runtime = Runtime::new(Options { cpus: 1, ..Options::default() }).unwrap();
    let (mut yes, mut no) = (String::new(), String::new());
    let mut count = 0;
    for map_type in MapType::all().filter(|map_type| *map_type != MapType::Unspec) {
        let made = smallest(map_type).map(|def| runtime.create_map(&def, None));
        let there = matches!(made, Some(Ok(_)));
        if let Some(Err(error)) = &made {
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        }
        count += usize::from(there);
        let _ = write!(if there { &mut yes } else { &mut no }, "`{map_type}`, ");
    }
    let _ = write!(text, "\n## Maps: {count} kinds\n\n{}\n", table(&yes));
    let _ = write!(text, "\nMissing:\n\n{}\n", table(&no));
    text
}

#[test]
fn the_document_is_what_the_code_has() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/runtime.md");
    let wanted = document();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "docs/runtime.md is old: BLESS=1 rewrites it");
}
