//! The catalogue's helps are in C. For a program in Rust, the code in them is given in Rust, as far
//! as that is a matter of notation; else the help says that it is C.

use crate::btf::Kind;
use crate::program::Program;

/// Types that compilers of C do not name so: those are `unsigned int`, and typedefs of it.
const INTEGERS: [&str; 4] = ["u8", "u16", "u32", "u64"];

/// Whole pieces of code.
const PIECES: [(&str, &str); 2] = [
    (
        "char LICENSE[] SEC(\"license\") = \"GPL\";",
        "#[link_section = \"license\"] #[no_mangle] static LICENSE: [u8; 4] = *b\"GPL\\0\";",
    ),
    ("= {}", "= core::mem::zeroed()"),
];

/// What remains C.
const ONLY_C: [&str; 9] =
    ["(void *)", "->", "SEC(\"", "__", "asm volatile", "const char", "sizeof", "struct ", "void *"];

/// Whether the program's source, or else a type of its BTF, is one of Rust.
pub(super) fn is_rust(program: &Program) -> bool {
    if let Some(place) = program.source_place(0) {
        return place.file.ends_with(".rs");
    }
    let (_, btf) = program.source_functions();
    let is_integer = |name: &str| INTEGERS.contains(&name);
    btf.is_some_and(|btf| btf.iter().any(|ty| ty.kind() == Kind::Int && is_integer(ty.name())))
}

/// A help for a program in Rust.
pub(super) fn in_rust(help: &str) -> String {
    // Every other part is between backticks.
    let parts = help.split('`').enumerate();
    let parts: Vec<String> = parts
        .map(|(n, part)| if n % 2 == 1 { code_in_rust(part) } else { part.to_owned() })
        .collect();
    let is_c = |part: &String| ONLY_C.iter().any(|words| part.contains(words));
    let mark = if parts.iter().skip(1).step_by(2).any(is_c) { " (The code is C.)" } else { "" };
    parts.join("`") + mark
}

fn code_in_rust(code: &str) -> String {
    if let Some((_, rust)) = PIECES.iter().find(|(c, _)| *c == code) {
        return (*rust).to_owned();
    }
    let code = opaque_in_rust(code);
    let (before, condition) = match code.split_once("if (") {
        Some((before, rest)) => (before, rest),
        None => return code,
    };
    // The last parenthesis closes the condition, if nothing but a return follows.
    let (condition, then) = match condition.strip_suffix(" return 0;") {
        Some(condition) => (condition, " { return 0; }"),
        None => (condition, ""),
    };
    let Some(condition) = condition.strip_suffix(')') else { return code };
    let condition = end_in_rust(condition).unwrap_or_else(|| condition.to_owned());
    format!("{before}if {condition}{then}")
}

/// `asm volatile("" : "+r"(i));`
fn opaque_in_rust(code: &str) -> String {
    let inner = || {
        let (before, rest) = code.split_once("asm volatile(\"\" : \"+r\"(")?;
        let (name, after) = rest.split_once("));")?;
        Some(format!("{before}{name} = core::hint::black_box({name});{after}"))
    };
    inner().unwrap_or_else(|| code.to_owned())
}

/// `(void *)(p + 1) > data_end`, of a pointer and a number.
fn end_in_rust(condition: &str) -> Option<String> {
    let (pointer, end) = condition.strip_prefix("(void *)(")?.split_once(" + 1) > ")?;
    let is_plain = !pointer.contains(['&', '>', '[']);
    let end = end.strip_prefix("ctx->").map_or(end.to_owned(), |field| format!("(*ctx).{field}"));
    is_plain.then(|| format!("{pointer}.add(1) as usize > {end}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_helps_is_in_rust_or_marked() {
        for (c, rust) in [
            ("Bound `i` first.", "Bound `i` first."),
            ("Do `if ((void *)(p + 1) > data_end)`.", "Do `if p.add(1) as usize > data_end`."),
            ("Do `if (i > SIZE) return 0;`.", "Do `if i > SIZE { return 0; }`."),
            (
                "Do `i = x % N; asm volatile(\"\" : \"+r\"(i)); if (i >= N) return 0;`.",
                "Do `i = x % N; i = core::hint::black_box(i); if i >= N { return 0; }`.",
            ),
            ("Do `if (data + size > data_end)`.", "Do `if data + size > data_end`."),
            (
                "Do `if ((void *)(p + 1) > ctx->optval_end)`.",
                "Do `if p.add(1) as usize > (*ctx).optval_end`.",
            ),
            ("Do `i &= SIZE - 1`.", "Do `i &= SIZE - 1`."),
            (
                "Do `if ((void *)(&a[i] + 1) > data_end)`.",
                "Do `if (void *)(&a[i] + 1) > data_end`. (The code is C.)",
            ),
            ("Make it (`SEC(\"xdp\")`).", "Make it (`SEC(\"xdp\")`). (The code is C.)"),
            ("Say `= {}`.", "Say `= core::mem::zeroed()`."),
        ] {
            assert_eq!(in_rust(c), rust);
        }
    }
}
