//! The texts of rejections on other kernels that differ from those of 6.18.44.
//!
//! A row has the error's code, the kernels, and their text; `{name}` is an operand of the error,
//! `{name+1}` that number plus one, `{name-1}` minus one, `{name:x}` in base 16. An empty text is a
//! line that the kernel does not print. Spellings are parts of any text that a kernel writes
//! differently. `cargo xtask` checks every row against the kernels' results
//! (`tests/kernels/asked`).
//!
//! Source: the last messages of the tested kernels.

use crate::column::{REFERENCE, texts_of};

/// One text, or part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// One mark per kernel, in order: `+` where this text is used.
    marks: &'static str,
    /// Code of the error, or for a spelling the text of 6.18.
    pub of: &'static str,
    /// What the kernel writes.
    pub text: &'static str,
}

impl Word {
    /// Whether a kernel says so.
    pub fn is_said_on(&self, release: &str) -> bool {
        self.marks.as_bytes()[texts_of(release)] == b'+'
    }
}

const fn row(marks: &'static str, of: &'static str, text: &'static str) -> Word {
    Word { marks, of, text }
}

/// The words of one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words(usize);

impl Words {
    /// Those of Linux 6.18.44.
    pub const fn reference() -> Words {
        Words(REFERENCE)
    }

    /// The texts of a release, or of a tested one near it.
    pub fn of_release(release: &str) -> Words {
        Words(texts_of(release))
    }

    /// Whether the log has no numbers of references of their own: the id of an object is that of
    /// the reference to it.
    pub fn references_are_ids(self) -> bool {
        ".................................+++".as_bytes()[self.0] == b'+'
    }

    /// Whether the log names the file and the number of a source line.
    pub fn lines_have_places(self) -> bool {
        ".............+++++++++++++++++++++++".as_bytes()[self.0] == b'+'
    }

    /// The text of an error; `None` if it is that of 6.18.
    pub fn text(
        self,
        code: &str,
        reference: &str,
        operand: impl Fn(&str) -> Option<String>,
    ) -> Option<String> {
        if self.0 == REFERENCE {
            return None;
        }
        let said = |row: &&Word| row.marks.as_bytes()[self.0] == b'+';
        let known = WORDS.iter().filter(said).find(|row| is_of(row.of, code, &operand));
        let mut text = match known {
            Some(row) => fill(row.text, operand),
            None => reference.to_owned(),
        };
        for row in SPELLINGS.iter().filter(said) {
            if text.contains(row.of) {
                text = text.replace(row.of, row.text);
            }
        }
        Some(text)
    }
}

impl Default for Words {
    fn default() -> Words {
        Words::reference()
    }
}

/// Whether a row applies to this error: its code, and for some rows the value of an operand.
fn is_of(of: &str, code: &str, operand: &impl Fn(&str) -> Option<String>) -> bool {
    let Some(rest) = of.strip_prefix(code) else { return false };
    let Some(condition) = rest.strip_prefix(' ') else { return rest.is_empty() };
    let is = |(name, value): (&str, &str)| operand(name).as_deref() == Some(value);
    condition.split_once('=').is_some_and(is)
}

/// The template with its operands.
fn fill(template: &str, operand: impl Fn(&str) -> Option<String>) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text += before;
        let (name, behind) = after.split_once('}').unwrap_or((after, ""));
        let (name, how) = match name.find(['+', '-', ':']) {
            Some(at) => name.split_at(at),
            None => (name, "0"),
        };
        let said = operand(name).unwrap_or_default();
        match (said.parse::<i64>(), how.parse::<i64>()) {
            (Ok(n), Ok(more)) => text += &(n + more).to_string(),
            (Ok(n), Err(_)) if how == ":x" => text += &format!("{n:x}"),
            _ => text += &said,
        }
        rest = behind;
    }
    text += rest;
    text.truncate(text.trim_end_matches('\n').len());
    text
}

// One mark a kernel, in the order of `COLUMNS`.
/// Whole texts, by the code of the error.
#[rustfmt::skip]
pub const WORDS: &[Word] = &[
    row("++++++++++++++++++..................", "leaked-reference what=BPF_LD_[ABS|IND]",
        "BPF_LD_[ABS|IND] cannot be mixed with socket references"),
    row("++++++++++++++++++..................", "leaked-reference what=tail_call",
        "tail_call would lead to reference leak"),
    row("++++++++++++++++++..................", "leaked-reference",
        "{unreleased}"),
    row("++++++++++++++++++..................", "end-under-lock what=BPF_LD_[ABS|IND]",
        "BPF_LD_[ABS|IND] cannot be used inside bpf_spin_lock-ed region"),
    row("++++++++++++++++++..................", "end-under-lock",
        "bpf_spin_unlock is missing"),
    row("...........+++++++..................", "end-inside-section what=bpf_throw",
        "{what} cannot be used inside {region} region"),
    row(".............+++++..................", "end-inside-section region=bpf_preempt_disable-ed",
        "{open} bpf_preempt_enable{are} missing"),
    row(".........+++++++++..................", "end-inside-section region=bpf_rcu_read_lock-ed",
        "bpf_rcu_read_unlock is missing"),
    row("+++++++++++.........................", "result-out-of-range",
        "{when} the register R{regno} has {bits} should have been in {allowed}"),
    row(".........+++.++.....................", "callback-leaves-registers what=static subprog",
        "BUG regs {regs:x}"),
    row("++++++++++++++++++..................", "beyond-stack",
        "invalid {told} stack R{regno} off={min_off} size={size}"),
    row("+++++++++++.........................", "variable-offset-beyond-stack",
        "invalid variable-offset {told} stack R{regno} var_off={var} size={size}"),
    row("...........+++++++..................", "variable-offset-beyond-stack",
        "invalid variable-offset {told} stack R{regno} var_off={var} off={off} size={size}"),
    row("++++++++++++++++++..................", "unbounded-stack-offset",
        "invalid unbounded variable-offset {told} stack R{regno}"),
    row("++++++++++++++++++..................", "uninitialized-stack-argument",
        "invalid indirect read from stack R{regno} off {min_off}+{byte} size {size}"),
    row("++++++++.+..........................", "uninitialized-variable-stack-argument by=call",
        "invalid indirect read from stack R{regno} var_off {var}+{byte} size {size}"),
    row("+++++++++++.........................", "maybe-zero-size of=fp",
        "invalid zero-sized read"),
    row("+++++++++++.........................", "maybe-zero-size",
        "R{regno-1} min value is outside of the allowed memory range"),
    row("++++++++++++........................", "helper-not-for-program-type",
        "unknown func {name}#{imm}"),
    row("+++++++++++.........................", "misaligned-access",
        "misaligned {what}access off {bits}+{fixed}+{off} size {size}"),
    row("+++++++++++.........................", "not-a-kernel-variable",
        "pseudo btf_id {id} in ldimm64 isn't KIND_VAR."),
    row("+++++...............................", "release-of-unreferenced",
        "func bpf_sk_release#86 reference has not been acquired before"),
    row("+++++...............................", "negative-pointer-offset",
        "dereference of modified {ty} ptr R{regno} off={off} disallowed"),
    row("+++.................................", "arithmetic-before-null-check ty=sock_or_null",
        "R{regno} pointer arithmetic on {ty} prohibited"),
    row("+++.................................", "arithmetic-before-null-check ty=ringbuf_mem_or_null",
        "R{regno} pointer arithmetic on mem_or_null prohibited"),
    row("++++++..............................", "program-type-not-sleepable",
        "Only fentry/fexit/fmod_ret and lsm programs can be sleepable"),
    row("++..................................", "map-not-for-sleepable",
        "Sleepable programs can only use array and hash maps"),
    row("..+++++++...........................", "map-not-for-sleepable",
        "Sleepable programs can only use array, hash, and ringbuf maps"),
    row("......++++..........................", "program-type-not-sleepable",
        "Only fentry/fexit/fmod_ret, lsm, and kprobe/uprobe programs can be sleepable"),
    row(".........+++++++++++................", "cast-to-no-struct",
        "kfunc bpf_rdonly_cast type ID argument must be of a struct"),
    row("...............................+++++", "packet-not-compared",
        "R{regno} {told}"),
    row(".................................++.", "kernel-parameter-target",
        "R{nth+1} pointer type {kind} {name} must point to {or_void}scalar, or struct with scalar"),
    row("...................................+", "kernel-parameter-target kind=STRUCT",
        "R{nth+1} is {ty} expected STRUCT {name}"),
    row("+++++...............................", "sleeping-helper",
        "unknown func {helper}"),
    row("...............................+++++", "sleeping-helper",
        "sleepable helper {helper} in {section}"),
    row(".............+++++..................", "may-goto-operand",
        "invalid may_goto off {off} imm {imm}"),
    row(".....+++++++++......................", "value-without-kptr",
        "map '{map}' has no valid kptr"),
    row("..+++++++++.........................", "arguments-do-not-fit-global-function without_size=yes",
        "arg#0 reference type('UNKNOWN ') size cannot be determined: -22"),
    row("++..................................", "arguments-do-not-fit-global-function pointer=yes",
        "Arg#0 type PTR in {name}() is not supported yet."),
    row("+++++++++++.........................", "arguments-do-not-fit-global-function",
        "Caller passes invalid args into func#{subprog}"),
    row("...............................+++++", "sleeping-global-function",
        "sleepable global function {name}() called in {section}"),
    row("..++++++++++++++++++................", "attach-target-denied",
        ""),
    row("...........................+++++++++", "attach-target-never-returns",
        "Attaching fexit/fsession/fmod_ret to __noreturn function '{name}' is rejected."),
    row("................................++++", "before-buffer",
        "R{regno} invalid negative {what} buffer offset: off={at}, var_off={moved}"),
    row("...............................+++++", "recursive-call",
        "recursive call from {from}() to {to}()"),
    row(".................................+++", "store-refused",
        "R{regno} cannot write into ptr_{name} at off={off} size={size}"),
    row(".................................+++", "maybe-null-argument",
        "Possibly NULL pointer passed to helper R{regno}"),
    row(".................................+++", "maybe-null-trusted-argument",
        "Possibly NULL pointer passed to trusted R{nth+1}"),
    row("+++++...............................", "context-conversion",
        "bpf verifier is misconfigured"),
    row(".........+++........................", "argument-not-a-dynptr",
        "arg#{nth} expected pointer to stack or dynptr_ptr"),
    row("++++++++++++++++++++................", "two-references-in-arguments",
        "verifier internal error: more than one arg with ref_obj_id R{regno} {second} {first}"),
    row(".....++++...........................", "argument-not-a-dynptr",
        "arg#{nth} pointer type STRUCT bpf_dynptr_kern not to stack"),
    row(".....+++++++++......................", "dynptr-not-initialized",
        "Expected an initialized dynptr as arg #{nth+1}"),
    row(".....++++...........................", "release-of-unowned-dynptr",
        "arg 1 is an unacquired reference"),
    row(".................................+++", "argument-not-an-irq-flag",
        "R{nth+1} doesn't point to an irq flag on stack"),
    row(".................................+++", "irq-flag-already-saved",
        "expected uninitialized irq flag as R{nth+1}"),
    row(".................................+++", "lock-argument-not-in-map-or-object",
        "R{nth+1} doesn't point to map value or allocated object"),
    row(".................................+++", "argument-not-a-dynptr",
        "R{nth+1} expected pointer to stack or const struct bpf_dynptr"),
    row(".................................+++", "irq-flag-not-saved",
        "expected an initialized irq flag as R{nth+1}"),
    row(".................................+++", "argument-not-an-iterator",
        "R{nth+1} expected pointer to an iterator on stack"),
    row(".................................++.", "kernel-parameter-pointer",
        "kernel function {name} R{nth+1} pointer type {kind} {to} is not supported"),
    row(".................................+++", "dynptr-not-initialized",
        "Expected an initialized dynptr as R{nth+1}"),
    row(".........+++++......................", "iterator-not-initialized",
        "expected an initialized iter_{name} as arg #{nth+1}"),
    row(".........+++++......................", "iterator-already-initialized",
        "expected uninitialized iter_{name} as arg #{nth+1}"),
    row("............++......................", "argument-not-a-dynptr",
        "arg#{nth+1} expected pointer to stack or const struct bpf_dynptr"),
    row(".................................+++", "iterator-not-initialized",
        "expected an initialized iter_{name} as R{nth+1}"),
    row(".................................+++", "iterator-already-initialized",
        "expected uninitialized iter_{name} as R{nth+1}"),
    row("...............................+++++", "misaligned-access",
        "misaligned {what}access off {sum}+{off} size {size}"),
    row(".................................+++", "argument-not-allocated",
        "R{nth+1} expected pointer to allocated object"),
    row(".................................+++", "release-of-unreferenced",
        "release helper {helper} expects referenced PTR_TO_BTF_ID passed to R{regno}"),
    row(".................................+++", "release-of-unacquired-dynptr",
        "Expected an initialized dynptr as R{regno}"),
    row(".................................+++", "memory-and-length",
        "R{nth+1} and R{len+1} memory, len pair leads to invalid memory access"),
    row(".................................+++", "kernel-function-releases-unreferenced",
        "release kfunc {name} expects referenced PTR_TO_BTF_ID passed to R1"),
    row(".................................+++", "release-of-unowned-dynptr",
        "CONST_PTR_TO_DYNPTR cannot be released"),
    row(".................................+++", "type-without-refcount",
        "R{nth+1} doesn't point to a type with bpf_refcount field"),
    row("...............................++...", "object-for-obj-drop",
        "arg#{nth} expected for bpf_obj_drop()"),
    row(".................................+++", "object-for-obj-drop",
        "R{nth+1} expected for bpf_obj_drop()"),
    row("...............................++...", "object-for-percpu-obj-drop",
        "arg#{nth} expected for bpf_percpu_obj_drop()"),
    row(".................................+++", "object-for-percpu-obj-drop",
        "R{nth+1} expected for bpf_percpu_obj_drop()"),
    row("...............................+++++", "global-function-result",
        "Global function {name}() return value not void or scalar. Only those are supported."),
    row(".................................+++", "kernel-argument-of-other-type",
        "kernel function {name} R{regno} expected pointer to {expected} but R{regno} has a pointer to {actual}"),
    row("...............................+....", "program-type-not-sleepable",
        "Only fentry/fexit/fsession/fmod_ret, lsm, iter, uprobe, and struct_ops programs can be sleepable"),
    row("............+..+++++................", "attach-target-never-returns",
        "Attaching fexit/fmod_ret to __noreturn functions is rejected."),
    row("...++++++...........................", "map-without-timer",
        "map '{name}' doesn't have 'struct bpf_timer'"),
];

/// Parts of texts.
#[rustfmt::skip]
pub const SPELLINGS: &[Word] = &[
    row("..+.................................", "type=buf ",
        "type=rdwr_buf "),
    row("..++................................", "type=ringbuf_mem ",
        "type=mem "),
    row(".........+..........................", "mem, ringbuf_mem, buf, trusted_ptr_",
        "mem, ringbuf_mem, buf"),
    row("..++................................", "mem, ringbuf_mem, buf, trusted_ptr_",
        "mem, rdonly_buf, rdwr_buf"),
    row("...............................+++++", "supported only for fentry/fexit/fmod_ret programs",
        "supported only for fentry/fexit/fsession/fmod_ret programs"),
    row(".........+++++++++++................", "verifier bug: ",
        "verifier internal error: "),
    row("...........+++++++..................", "bpf_rbtree_remove can only take non-owning or refcounted bpf_rb_node pointer",
        "rbtree_remove node input must be non-owning ref"),
    row("...............................+++++", "only for fentry/fexit/fmod_ret programs",
        "only for fentry/fexit/fsession/fmod_ret programs"),
    row("...........+++++++..................", "bpf_rbtree_remove not allowed in rbtree cb",
        "rbtree_remove not allowed in rbtree cb"),
    row("+++++++++...........................", "xdp_sock, ptr_, trusted_ptr_",
        "xdp_sock, ptr_"),
    row(".........++.........................", "expected=percpu_ptr_, percpu_rcu_ptr_, percpu_trusted_ptr_",
        "expected=percpu_ptr_, percpu_trusted_ptr_"),
    row(".........++.........................", "bpf_obj_new/bpf_percpu_obj_new ",
        "bpf_obj_new "),
    row("+++++++++...........................", "expected=percpu_ptr_, percpu_rcu_ptr_, percpu_trusted_ptr_",
        "expected=percpu_ptr_"),
    row("+++++++++...........................", "expected=ptr_, trusted_ptr_, rcu_ptr_",
        "expected=ptr_"),
    row("..+++++++...........................", "mem, ringbuf_mem, buf, trusted_ptr_",
        "mem, alloc_mem, buf"),
    row("++..................................", "map_key, map_value, mem, ringbuf_mem, buf, trusted_ptr_",
        "map_value, mem, rdonly_buf, rdwr_buf"),
    row("..+++++++...........................", "ringbuf_mem",
        "alloc_mem"),
    row("++..................................", "pkt_meta, map_key, map_value",
        "pkt_meta, map_value"),
    row("++..................................", "type=ringbuf_mem ",
        "type=mem "),
    row("++++................................", "'buf_or_null'",
        "'rdwr_buf_or_null'"),
    row("+++++...............................", "'scalar'",
        "'inv'"),
    row("+++++...............................", "type=scalar ",
        "type=inv "),
    row("++..................................", "type=buf expected=fp, pkt, pkt_meta, map_key, map_value",
        "type=rdwr_buf expected=fp, pkt, pkt_meta, map_value"),
    row("++..................................", "BPF_ATOMIC stores into",
        "BPF_XADD stores into"),
    row("+++++++++++.........................", "'trusted_ptr_or_null_",
        "'ptr_or_null_"),
    row("..+++++++++.........................", "At async callback return the",
        "At async callback the"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::COLUMNS;

    #[test]
    fn every_row_has_a_mark_for_each_kernel_and_is_not_said_on_6_18() {
        for row in WORDS.iter().chain(SPELLINGS) {
            assert_eq!(row.marks.len(), COLUMNS.len(), "{}", row.of);
            assert!(row.marks.bytes().all(|it| matches!(it, b'+' | b'.')), "{}", row.of);
            assert_eq!(row.marks.as_bytes()[REFERENCE], b'.', "{}", row.of);
            assert!(row.marks.contains('+'), "{}", row.of);
        }
    }

    #[test]
    fn operands_are_filled_in() {
        let operand = |name: &str| match name {
            "nth" => Some("1".to_owned()),
            "ty" => Some("scalar".to_owned()),
            _ => None,
        };
        assert_eq!(fill("R{nth+1} is {ty}, {ty}", operand), "R2 is scalar, scalar");
        assert_eq!(Words::reference().text("x", "y", operand), None);
    }
}
