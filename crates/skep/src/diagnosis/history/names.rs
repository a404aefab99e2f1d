//! The source's name of a value: the variable assigned by the line that computed it.
//!
//! BTF has no local variables, but it has the lines: `u64 *v = bpf_map_lookup_elem(&m, &key);`
//! names `v`. A name is given only if the line assigns one variable, and exactly this value.

use crate::btf::{Kind, Type, TypeId};
use crate::diagnosis::dataflow::{Dataflow, Id, Origin};
use crate::diagnosis::notes::{self, Described};
use crate::insn::code::*;
use crate::program::Program;
use crate::program::SourcePlace;

/// The variable to which a value was assigned.
pub(crate) fn of_value(
    dataflow: &Dataflow<'_>,
    id: Id,
    program: &Program,
    describe: &impl Fn(usize) -> Described,
) -> Option<String> {
    let value = &dataflow.values[id];
    let Some(by) = value.by else { return of_parameter(dataflow, id, program) };
    let insn = program.insns.get(by)?;
    match value.made {
        // A copy of the lower half has the name of its source.
        Origin::Computed if insn.op() == BPF_MOV => {
            of_value(dataflow, value.of[0].filter(|of| *of < id)?, program, describe)
        }
        Origin::Returned => of_call(program, by, describe),
        Origin::Loaded if value.of == [None; 2] => {
            let text = program.source_place(by)?.text;
            let of_macro = || argument(&text, dataflow.loaded_from_argument(id)?);
            set_by_load(&text).map(str::to_owned).or_else(of_macro)
        }
        _ => None,
    }
}

/// The parameter of the program, or of a global function that is verified on its own.
fn of_parameter(dataflow: &Dataflow<'_>, id: Id, program: &Program) -> Option<String> {
    let (start, given) = &dataflow.given;
    let (_, regno) = given.iter().find(|(of, _)| *of == id)?;
    let name = parameter(program, *start, *regno)?.0;
    (!name.is_empty()).then(|| name.to_owned())
}

/// The name of a function's parameter, and its type.
fn parameter(program: &Program, start: usize, regno: u8) -> Option<(&str, Type<'_>)> {
    let (rows, btf) = program.source_functions();
    let row = rows.iter().find(|row| row.insn_off.index() == start)?;
    let prototype = btf?.get(TypeId(row.type_id))?.target();
    let param = prototype.params().nth(usize::from(regno).checked_sub(1)?)?;
    Some((param.name, btf?.get(param.ty)?))
}

/// The structure to which a parameter points, if the kernel has one of that name.
pub(super) fn kernel_struct(program: &Program, start: usize, regno: u8) -> Option<&str> {
    let (_, ty) = parameter(program, start, regno)?;
    let btf = program.source_functions().1?;
    let pointer = btf.skip_modifiers(ty.id());
    let pointed = btf.skip_modifiers(pointer.target_id());
    let is_theirs = |name| {
        let kernel = program.kernel_btf.as_ref()?;
        kernel.find_by_name_kind(name, Kind::Struct)
    };
    let name = pointed.name();
    (pointed.kind() == Kind::Struct && is_theirs(name).is_some()).then_some(name)
}

/// The variable to which a call's result is assigned.
pub(crate) fn of_call(
    program: &Program,
    idx: usize,
    describe: &impl Fn(usize) -> Described,
) -> Option<String> {
    let callee = notes::callee(program, idx, describe)?;
    let text = program.source_place(idx)?.text;
    // Macros hide the suffixes that the kernel adds to names.
    let callee = callee.strip_suffix("_impl").unwrap_or(&callee);
    set_by_call(&text, callee).map(str::to_owned)
}

fn set_by_call<'t>(text: &'t str, callee: &str) -> Option<&'t str> {
    let mut calls = text.match_indices(callee).filter(|(at, _)| {
        let after = text[at + callee.len()..].trim_start();
        after.starts_with('(') && !text[..*at].ends_with(is_of_name)
    });
    let (at, _) = calls.next()?;
    if calls.next().is_some() {
        return None;
    }
    let before = without_cast(text[..at].trim_end());
    set(before.strip_suffix('=')?)
}

/// `x = a->b;` only.
fn set_by_load(text: &str) -> Option<&str> {
    let (left, right) = text.trim().strip_suffix(';')?.split_once('=')?;
    let mut steps = right.matches("->").count() + right.matches('.').count();
    steps += right.matches('[').count();
    let is_part = |c: char| is_of_name(c) || "->.[] ".contains(c);
    let is_path = right.chars().all(is_part) && !right.replace("->", "").contains(['-', '>']);
    (steps <= 1 && is_path).then(|| set(left))?
}

/// The parameter that `BPF_PROG()` or `BPF_KPROBE()` reads from an offset of the context.
fn argument(text: &str, off: i64) -> Option<String> {
    /// Those of x86-64 in `struct pt_regs`; other machines have them at its start.
    const REGS: [i64; 6] = [112, 104, 96, 88, 72, 64];
    let macros = ["BPF_PROG(", "BPF_KPROBE("];
    let (_, rest) = macros.iter().find_map(|name| text.split_once(name))?;
    let at = match REGS.iter().position(|&reg| reg == off) {
        Some(at) if text.contains("BPF_KPROBE(") => at,
        _ => usize::try_from(off).ok().filter(|off| off % 8 == 0 && *off < 48)? / 8,
    };
    let params = rest.split_once(')')?.0;
    let param = params.split(',').nth(at + 1)?.trim();
    let name = param.rsplit(|c: char| !is_of_name(c)).next()?;
    (!name.is_empty() && name.len() < param.len()).then(|| name.to_owned())
}

/// The pointer that an access at a place goes through: `eth` of `eth->type`, `*eth` and `eth[0]`,
/// if it is the only one.
pub(crate) fn accessed_at(spot: &SourcePlace) -> Option<String> {
    let at = usize::try_from(spot.column?.get()).ok()?.checked_sub(1)?;
    let (before, after) = spot.text.split_at_checked(at)?;
    if let Some((name, _)) = dereferenced(before, after) {
        return Some(name.to_owned());
    }
    if is_assignment(after) {
        return assigned_through(before).map(str::to_owned);
    }
    let is_path = |c: char| is_of_name(c) || "->.".contains(c);
    let start = before.trim_end_matches(is_path).len();
    let end = before.len() + after.len() - after.trim_start_matches(is_path).len();
    let path = spot.text.get(start..end)?.trim_matches(['-', '>', '.']);
    let is_whole = !before[..start].ends_with([']', ')']);
    // The column is that of the field: of several steps, those before it lead there.
    if let Some(steps) = before[start..].strip_suffix("->") {
        let is_path = is_whole && steps.split("->").next().is_some_and(is_variable);
        return is_path.then(|| steps.to_owned());
    }
    let (name, field) = match path.split_once("->") {
        Some(found) => found,
        // A macro or function has the place of its call.
        None if after[end - at..].starts_with('(') => only_step(&spot.text)?,
        None => return None,
    };
    let is_one = is_variable(name) && !field.contains(['-', '>']);
    (is_one && is_whole).then(|| name.to_owned())
}

/// Whether a text begins with an operator that assigns to what is before it.
fn is_assignment(text: &str) -> bool {
    let text = text.trim_start_matches(['+', '-', '*', '/', '%', '&', '|', '^']);
    let text = text.trim_start_matches("<<").trim_start_matches(">>");
    text.starts_with('=') && !text.starts_with("==")
}

/// The pointer through which the left side of an assignment leads: stores have the place of `=`.
fn assigned_through(left: &str) -> Option<&str> {
    let left = left.trim_end();
    let is_path = |c: char| is_of_name(c) || "->.".contains(c);
    let path = &left[left.trim_end_matches(is_path).len()..];
    let before = left[..left.len() - path.len()].trim_end();
    if let Some(before) = before.strip_suffix('*') {
        let is_whole = before.trim_end().is_empty() || before.ends_with([';', '{', ')']);
        return (is_whole && is_variable(path)).then_some(path);
    }
    let (name, _) = path.rsplit_once("->")?;
    let is_whole = !before.ends_with([']', ')', '&']);
    (is_whole && name.split("->").all(is_variable)).then_some(name)
}

/// The variable and the field of the only `->` in a line that goes through no other pointer.
fn only_step(text: &str) -> Option<(&str, &str)> {
    let (before, field) = text.split_once("->")?;
    let name = &before[before.trim_end_matches(is_of_name).len()..];
    let is_whole = !before[..before.len() - name.len()].ends_with(['.', ']', ')']);
    let others = ['*', '[', '&'];
    (is_whole && !text.contains(others) && !field.contains("->")).then_some((name, field))
}

fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic()) && name.chars().all(is_of_name)
}

/// The address that an access at a place is to, of which the type is what is accessed: `&p[i]`
/// where [`accessed_at`] has `p`.
pub(crate) fn address_at(spot: &SourcePlace) -> Option<String> {
    let at = usize::try_from(spot.column?.get()).ok()?.checked_sub(1)?;
    let (before, after) = spot.text.split_at_checked(at)?;
    match dereferenced(before, after) {
        Some((name, index)) if index > 0 => Some(format!("&{}", &after[..name.len() + index])),
        _ => accessed_at(spot),
    }
}

/// The variable in `*p` or `p[i]`, where `after` begins with that, and the length of `[i]`.
fn dereferenced<'t>(before: &str, after: &'t str) -> Option<(&'t str, usize)> {
    let (is_star, from) = match after.strip_prefix('*') {
        Some(rest) => (true, rest),
        None => (false, after),
    };
    let name = &from[..from.len() - from.trim_start_matches(is_of_name).len()];
    let rest = &from[name.len()..];
    let is_name = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
    let before = before.trim_end();
    // A product has an operand before it.
    let has_operand = before.ends_with(|c: char| is_of_name(c) || ")].>*".contains(c));
    let is_whole = !has_operand || before.ends_with("return");
    let index = rest.find(']').filter(|_| rest.starts_with('[')).map_or(0, |end| end + 1);
    let is_last = (is_star != (index > 0)) && !rest[index..].starts_with(['[', ']', '(', '.', '-']);
    (is_name && is_whole && is_last).then_some((name, index))
}

/// The call that ends what the call in a line begins: `bpf_spin_unlock(&v->lock)`.
pub(crate) fn end_of(text: &str) -> Option<String> {
    const ENDS: [(&str, &str); 5] = [
        ("spin_lock", "spin_unlock"),
        ("rcu_read_lock", "rcu_read_unlock"),
        ("preempt_disable", "preempt_enable"),
        ("local_irq_save", "local_irq_restore"),
        ("spin_lock_irqsave", "spin_unlock_irqrestore"),
    ];
    ENDS.iter().find_map(|(begins, ends)| {
        let (before, rest) = text.split_once(&format!("{begins}("))?;
        let (arguments, _) = rest.split_once(')')?;
        let prefix = &before[before.trim_end_matches(is_of_name).len()..];
        let is_nested = arguments.contains('(');
        (!is_nested).then(|| format!("{prefix}{ends}({arguments})"))
    })
}

/// Without the trailing cast.
fn without_cast(text: &str) -> &str {
    let inner = text.strip_suffix(')').and_then(|text| text.rsplit_once('('));
    match inner {
        Some((before, cast)) if cast.trim_end().ends_with('*') => before.trim_end(),
        _ => text,
    }
}

/// The last name on the left of `=`.
fn set(left: &str) -> Option<&str> {
    let left = left.trim_end();
    let is_path = |c: char| is_of_name(c) || c == '.';
    let mut start = left.len();
    loop {
        let before = left[..start].trim_end_matches(is_path);
        if before.len() == start {
            return None;
        }
        start = before.len();
        match before.strip_suffix("->") {
            Some(more) => start = more.len(),
            None => break,
        }
    }
    let name = &left[start..];
    let is_name = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
    is_name.then_some(name)
}

fn is_of_name(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_that_a_line_sets() {
        for (text, name) in [
            ("\tu64 *v = lookup(&m, &key);", Some("v")),
            ("if (!(v = lookup(&m, &key)))", Some("v")),
            ("e->task = (struct task *)lookup(&m);", Some("e->task")),
            ("s.sk = lookup (&m);", Some("s.sk")),
            ("if (x == lookup(&m))", None),
            ("v += lookup(&m);", None),
            ("return lookup(&m);", None),
            ("a = my_lookup(&m);", None),
            ("a = lookup(lookup(&m));", None),
            ("a[3] = lookup(&m);", None),
        ] {
            assert_eq!(set_by_call(text, "lookup"), name, "{text}");
        }
        for (text, name) in [
            ("int len = ctx->count;", Some("len")),
            ("x = *p;", None),
            ("x = a->b->c;", None),
            ("x = f(a->b);", None),
            ("x = a->b + 1;", None),
            ("x = a > b;", None),
            ("x -= a->b;", None),
            ("if (x = a->b)", None),
            ("for (x = a->b; x; x = x->next);", None),
        ] {
            assert_eq!(set_by_load(text), name, "{text}");
        }
    }

    #[test]
    fn the_parameter_that_a_macro_reads() {
        let kprobe = "int BPF_KPROBE(wr, unsigned int fd, const char *buf, size_t count)";
        let traced = "int BPF_PROG(sw, bool preempt, struct task_struct *prev)";
        for (text, off, name) in [
            (kprobe, 112, Some("fd")),
            (kprobe, 104, Some("buf")),
            (kprobe, 96, Some("count")),
            (kprobe, 88, None),
            (kprobe, 100, None),
            (traced, 8, Some("prev")),
            (traced, 16, None),
            ("int BPF_PROG(sw, bool preempt,", 0, None),
            ("int f(struct pt_regs *ctx)", 112, None),
        ] {
            assert_eq!(argument(text, off).as_deref(), name, "{text} {off}");
        }
    }

    #[test]
    fn the_pointer_that_a_line_goes_through() {
        for (text, column, name) in [
            ("\tif (eth->h_proto != 8)", 11, Some("eth")),
            ("\tu16 family = sk->__sk_common.skc_family;", 31, Some("sk")),
            ("sum += e->d[i];", 8, Some("e")),
            ("x = a->b->c;", 11, Some("a->b")),
            ("x = a->b->c;", 8, Some("a")),
            ("x = a->b->c.d;", 11, Some("a->b")),
            ("x = s.a->b->c;", 13, None),
            ("switch (bpf_ntohs(eth->h_proto)) {", 9, Some("eth")),
            ("x = f(a->b, c->d);", 5, None),
            ("x = f(*p, c->d);", 5, None),
            ("x = a[3]->c;", 11, None),
            ("x = f(a)->c;", 11, None),
            ("x = s.a->c;", 10, None),
            ("x = *p;", 5, Some("p")),
            ("*v += 1;", 1, Some("v")),
            ("if (name[0] == '/')", 5, Some("name")),
            ("return p[a[3]];", 8, None),
            ("x = a * b;", 7, None),
            ("x = **p;", 6, None),
            ("x = *p->q;", 5, None),
            ("x = s.p[1];", 7, None),
            ("x = p[1].q;", 5, None),
            ("\teth->h_proto = 8;", 15, Some("eth")),
            ("a->b->c.d |= 8;", 11, Some("a->b")),
            ("\t*count = 0;", 9, Some("count")),
            ("*(u64 *)p = 0;", 11, None),
            ("p[1]->a = 0;", 9, None),
            ("f(x)->a = 0;", 9, None),
            ("**p = 0;", 5, None),
            ("s.p->x = 0;", 8, None),
            ("x = 0;", 3, None),
            ("x = a->b;", 90, None),
            ("", 0, None),
        ] {
            let column = std::num::NonZeroU32::new(column);
            let spot = SourcePlace { file: "f.c".into(), line: 1, column, text: text.into() };
            assert_eq!(accessed_at(&spot).as_deref(), name, "{text}");
        }
    }

    #[test]
    fn the_address_that_a_line_goes_through() {
        for (text, column, address) in [
            ("if (eth->h_proto != 8)", 10, Some("eth")),
            ("return *p;", 8, Some("p")),
            ("return data[14] != 0x45;", 8, Some("&data[14]")),
            ("sum += pos[i];", 8, Some("&pos[i]")),
        ] {
            let column = std::num::NonZeroU32::new(column);
            let spot = SourcePlace { file: "f.c".into(), line: 1, column, text: text.into() };
            assert_eq!(address_at(&spot).as_deref(), address, "{text}");
        }
    }

    #[test]
    fn what_ends_what_a_line_begins() {
        for (text, ends) in [
            ("\tbpf_spin_lock(&v->lock);", Some("bpf_spin_unlock(&v->lock)")),
            ("if (bpf_res_spin_lock(&v->lock))", Some("bpf_res_spin_unlock(&v->lock)")),
            ("bpf_rcu_read_lock();", Some("bpf_rcu_read_unlock()")),
            ("bpf_local_irq_save(&flags);", Some("bpf_local_irq_restore(&flags)")),
            ("bpf_spin_lock(lock_of(v));", None),
            ("v->a++;", None),
        ] {
            assert_eq!(end_of(text).as_deref(), ends, "{text}");
        }
    }
}
