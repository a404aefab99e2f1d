//! The log's notation of a register in words: `map_value_or_null(map=m,ks=4,vs=8)` is a value of
//! map `m`, or NULL.
//!
//! Unknown notation is left unchanged.

use crate::diagnosis::note::counted;
use std::borrow::Cow;

/// A note such as `R1 is scalar(), since insn 4`, without the log's notation.
pub(crate) fn in_words(text: &str) -> Cow<'_, str> {
    let Some((subject, rest)) = subject(text) else { return Cow::Borrowed(text) };
    let (value, rest) = rest.split_at(value_len(rest));
    match words(value) {
        Some(words) => Cow::Owned(format!("{subject}{words}{rest}")),
        None => Cow::Borrowed(text),
    }
}

/// The words before a value, and the text that begins with it.
fn subject(text: &str) -> Option<(&str, &str)> {
    let (name, _) = text.split_once(' ')?;
    let is_register = name.strip_prefix('R').is_some_and(|number| number.parse::<u8>().is_ok());
    let is_part = ["the offset ", "the length "].iter().any(|part| text.starts_with(part));
    if !is_register && !is_part {
        return None;
    }
    let at = [" is ", " was "].iter().filter_map(|verb| Some(text.find(verb)? + verb.len())).min();
    text.split_at_checked(at?)
}

/// A value ends with its brackets, or with the word.
fn value_len(text: &str) -> usize {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' | ':' if depth == 0 => return at,
            _ => {}
        }
    }
    text.len()
}

/// `name(field=value,...)`.
struct Value<'t> {
    name: &'t str,
    fields: Vec<(&'t str, &'t str)>,
}

impl<'t> Value<'t> {
    fn of(text: &'t str) -> Option<Value<'t>> {
        let (name, inner) = text.split_once('(')?;
        let inner = inner.strip_suffix(')')?;
        let mut fields = Vec::new();
        for part in inner.split([',', ';']) {
            // `smin=smin32=0` gives several fields one value.
            let (names, value) = part.rsplit_once('=').unwrap_or((part, ""));
            fields.extend(names.split('=').map(|name| (name.trim(), value)));
        }
        Some(Value { name, fields })
    }

    fn get(&self, name: &str) -> Option<&'t str> {
        self.fields.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    fn number(&self, name: &str) -> Option<i128> {
        let number = number(self.get(name)?)?;
        // Large values are in hex, negative ones as unsigned.
        let bits = match name {
            "smin" | "smax" => 64,
            "smin32" | "smax32" => 32,
            _ => return Some(number),
        };
        let is_negative = number >= 1 << (bits - 1);
        Some(number - if is_negative { 1 << bits } else { 0 })
    }
}

/// A number as the log has it.
pub(super) fn number(text: &str) -> Option<i128> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let number = match digits.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(sign * number)
}

/// A description of a value; `None` if it is a constant, or unknown notation.
fn words(text: &str) -> Option<String> {
    if let Some(at) = text.strip_prefix("fp").filter(|at| !at.contains('(')) {
        return stack_address(at);
    }
    if text.starts_with("0x") {
        return negative_int(text);
    }
    if text == "arena" {
        return Some("a pointer into an arena".to_owned());
    }
    let value = Value::of(text)?;
    if value.name == "scalar" {
        return Some(scalar(&value));
    }
    let (name, null) = match value.name.strip_suffix("_or_null") {
        Some(name) => (name, ", or NULL"),
        None => (value.name, ""),
    };
    let bytes = |size: &str| Some(counted(value.get(size)?, "byte"));
    let what = match name {
        "pkt" => return Some(packet(&value)),
        "ctx" => "the context".to_owned(),
        _ if name == "fp" || name.starts_with("fp[") => {
            let off = value.number("off").unwrap_or(0) + value.number("imm").unwrap_or(0);
            let frame = name.strip_prefix("fp[").and_then(|name| name.strip_suffix(']'));
            let of = frame.map_or(String::new(), |frame| format!(" of frame {frame}"));
            return Some(format!("the address fp{off} plus {} in the stack{of}", range(&value)));
        }
        "pkt_end" => "the packet's end".to_owned(),
        "pkt_meta" => "a pointer to the packet's metadata".to_owned(),
        "map_value" => {
            let map = value.get("map").map_or(String::new(), |map| format!(" `{map}`"));
            format!("a value ({}) of map{map}", bytes("vs")?)
        }
        "map_key" => "a key of the map".to_owned(),
        "map_ptr" => value.get("map").map_or("a map".to_owned(), |map| format!("map `{map}`")),
        "buf" | "rdonly_buf" | "tp_buffer" => "a buffer".to_owned(),
        "flow_keys" => "the flow keys".to_owned(),
        "sock" | "sock_common" | "tcp_sock" | "xdp_sock" => "a socket".to_owned(),
        "mem" => format!("memory of {}", bytes("sz")?),
        "rdonly_mem" => format!("read-only memory of {}", bytes("sz")?),
        "ringbuf_mem" => format!("a ring buffer's record of {}", bytes("sz")?),
        _ => return object(&value),
    };
    Some(format!("{what}{}{null}", moved(&value)))
}

/// A constant that is a small negative number in 32 bits, such as an errno.
fn negative_int(text: &str) -> Option<String> {
    const SMALL: i128 = 4096;
    let number = number(text)?;
    let below = (1 << 32) - number;
    (1..=SMALL).contains(&below).then(|| format!("{text} (-{below} as an int)"))
}

/// `-8`, or `[0]-8` in another frame.
fn stack_address(at: &str) -> Option<String> {
    let other = at.strip_prefix('[').and_then(|at| at.split_once(']'));
    let (frame, off) = other.map_or((None, at), |(frame, off)| (Some(frame), off));
    number(off)?;
    Some(match frame {
        Some(frame) => format!("the address fp{off} in the stack of frame {frame}"),
        None => format!("the address fp{off} in the stack"),
    })
}

/// A pointer to an object of the kernel or of the program.
fn object(value: &Value<'_>) -> Option<String> {
    const KINDS: [(&str, &str); 7] = [
        ("percpu_ptr_", "a per-CPU pointer to"),
        ("percpu_rcu_ptr_", "a per-CPU pointer under RCU to"),
        ("user_ptr_", "a pointer into user memory to"),
        ("trusted_ptr_", "a trusted pointer to"),
        ("untrusted_ptr_", "an untrusted pointer to"),
        ("rcu_ptr_", "a pointer under RCU to"),
        ("ptr_", "a pointer to"),
    ];
    let (says, name) = KINDS.iter().find_map(|(prefix, says)| {
        let name = value.name.strip_prefix(prefix)?;
        Some((*says, name))
    })?;
    let (name, null) = match name.strip_prefix("or_null_") {
        Some(name) => (name, ", or NULL"),
        None => (name, ""),
    };
    let owned = match (value.get("non_own_ref"), value.get("ref_obj_id")) {
        (Some(_), _) => ", not owned",
        (None, Some(_)) => ", owned",
        (None, None) => "",
    };
    let name = if name.is_empty() { "an object" } else { name };
    Some(format!("{says} {name}{}{owned}{null}", moved(value)))
}

/// The offset of a pointer.
fn moved(value: &Value<'_>) -> String {
    let fixed = value.number("off").unwrap_or(0) + value.number("imm").unwrap_or(0);
    let mut text = match fixed {
        0 => String::new(),
        1.. => format!(" plus {fixed}"),
        _ => format!(" minus {}", -fixed),
    };
    if value.get("var_off").is_some() || value.fields.iter().any(|(name, _)| is_bound(name)) {
        text += &format!(" plus {}", range(value));
    }
    text
}

fn packet(value: &Value<'_>) -> String {
    let place = match moved(value) {
        moved if moved.is_empty() => "the packet's start".to_owned(),
        moved => format!("the packet's start{moved}"),
    };
    match value.number("r") {
        None | Some(0) => format!("{place}, not compared with its end"),
        Some(bytes) => {
            let is_variable = value.get("var_off").is_some() || value.get("id").is_some();
            let behind = if is_variable { " from that variable offset on" } else { "" };
            let (unit, are) = if bytes == 1 { ("byte", "is") } else { ("bytes", "are") };
            format!("{place}, where {bytes} {unit}{behind} {are} inside of it")
        }
    }
}

fn is_bound(name: &str) -> bool {
    ["smin", "smax", "umin", "umax"].iter().any(|bound| name.starts_with(bound))
}

fn scalar(value: &Value<'_>) -> String {
    match range(value) {
        range if range == ANY => "any number".to_owned(),
        range if range == NOT_ZERO => "any number but 0".to_owned(),
        range => format!("a number, {range}"),
    }
}

const ANY: &str = "anything";
const NOT_ZERO: &str = "anything but 0";

/// A number as programmers write it: large ones as powers of two or in hex.
fn shown(number: i128) -> String {
    const DECIMAL_BELOW: u128 = 1 << 20;
    let size = number.unsigned_abs();
    let sign = if number < 0 { "-" } else { "" };
    match size {
        ..DECIMAL_BELOW => number.to_string(),
        _ if size.is_power_of_two() => format!("{sign}2^{}", size.trailing_zeros()),
        _ if (size + 1).is_power_of_two() && number > 0 => {
            format!("2^{}-1", size.trailing_ones())
        }
        _ => format!("{sign}{size:#x}"),
    }
}

/// The range of a variable value.
fn range(value: &Value<'_>) -> String {
    let (smin, smax) = (value.number("smin"), value.number("smax"));
    let (umin, umax) = (value.number("umin"), value.number("umax"));
    let sure = smin.filter(|&min| min >= 0);
    if sure.is_some() || umax.is_some_and(|max| max <= i128::from(i64::MAX)) {
        let min = umin.max(sure).unwrap_or(0);
        let max = umax.into_iter().chain(smax.filter(|&max| max >= 0)).min();
        return match max {
            Some(max) => format!("{} to {}", shown(min), shown(max)),
            None => format!("at least {}", shown(min)),
        };
    }
    match (smin, smax) {
        (Some(min), Some(max)) => format!("{} to {}", shown(min), shown(max)),
        (None, Some(max)) => format!("at most {}, maybe negative", shown(max)),
        (Some(min), None) => format!("at least {}", shown(min)),
        (None, None) => unsigned(umin, umax, value),
    }
}

fn unsigned(umin: Option<i128>, umax: Option<i128>, value: &Value<'_>) -> String {
    match (umin, umax) {
        (Some(1), None) => NOT_ZERO.to_owned(),
        (Some(min), Some(max)) => {
            format!("{} to {}, if it is read as unsigned", shown(min), shown(max))
        }
        (Some(min), None) => format!("at least {}, if it is read as unsigned", shown(min)),
        (None, Some(max)) => format!("at most {}, if it is read as unsigned", shown(max)),
        (None, None) => lower_half(value),
    }
}

/// The known range of the lower 32 bits.
fn lower_half(value: &Value<'_>) -> String {
    let says = |range: String| format!("of whose lower 32 bits is known: {range}");
    let (smin, smax) = (value.number("smin32"), value.number("smax32"));
    let (umin, umax) = (value.number("umin32"), value.number("umax32"));
    let is_signed = smin.is_none_or(|min| min < 0) && umax.is_none();
    match (smin, smax) {
        (Some(min), Some(max)) if is_signed => {
            return says(format!("{} to {}", shown(min), shown(max)));
        }
        (None, Some(max)) if is_signed => {
            return says(format!("at most {}, maybe negative", shown(max)));
        }
        (Some(min), None) if is_signed => return says(format!("at least {}", shown(min))),
        _ => {}
    }
    match (umin.max(smin.filter(|&min| min >= 0)), umax.or(smax.filter(|&max| max >= 0))) {
        (min, Some(max)) => says(format!("{} to {}", shown(min.unwrap_or(0)), shown(max))),
        (Some(min), None) => says(format!("at least {}", shown(min))),
        (None, None) => step(value),
    }
}

/// A value with known bits.
fn step(value: &Value<'_>) -> String {
    let mask = value.fields.iter().position(|(name, _)| *name == "var_off");
    let bits = mask.and_then(|at| {
        let known = number(value.fields.get(at)?.1.strip_prefix('(')?)?;
        let open = value.fields.get(at + 1)?.0.strip_suffix(')')?;
        Some((known, number(open)?))
    });
    match bits {
        Some((0, open)) if open != 0 && open.trailing_zeros() > 0 => {
            format!("a multiple of {}", 1i128 << open.trailing_zeros())
        }
        Some((known, open)) => format!("with the bits {known:#x}, and any of {open:#x}"),
        None => ANY.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_log_writes_short_is_said_in_words() {
        for (value, said) in [
            ("map_value_or_null(id=1,map=m,ks=4,vs=8)", "a value (8 bytes) of map `m`, or NULL"),
            (
                "map_value(map=m,ks=4,vs=64,off=4,smin=smin32=0,smax=umax=smax32=umax32=64,\
                 var_off=(0x0; 0x7f))",
                "a value (64 bytes) of map `m` plus 4 plus 0 to 64",
            ),
            ("pkt(r=0)", "the packet's start, not compared with its end"),
            ("pkt(r=1)", "the packet's start, where 1 byte is inside of it"),
            ("pkt(off=14,r=34)", "the packet's start plus 14, where 34 bytes are inside of it"),
            (
                "pkt(id=1,off=14,r=0,smin=smin32=0,smax=umax=smax32=umax32=60,var_off=(0x0; 0x3c))",
                "the packet's start plus 14 plus 0 to 60, not compared with its end",
            ),
            ("ctx(off=24)", "the context plus 24"),
            ("fp-300", "the address fp-300 in the stack"),
            ("fp[0]-8", "the address fp-8 in the stack of frame 0"),
            (
                "fp(off=-16,smin=smin32=0,smax=umax=smax32=umax32=8,var_off=(0x0; 0x8))",
                "the address fp-16 plus 0 to 8 in the stack",
            ),
            ("percpu_rcu_ptr_or_null_count(id=1)", "a per-CPU pointer under RCU to count, or NULL"),
            ("arena", "a pointer into an arena"),
            ("scalar()", "any number"),
            (
                "scalar(id=3,smin=0,smax=umax=0xffffffff,var_off=(0x0; 0xffffffff))",
                "a number, 0 to 2^32-1",
            ),
            (
                "scalar(smax32=255)",
                "a number, of whose lower 32 bits is known: at most 255, maybe negative",
            ),
            ("scalar(umin=5)", "a number, at least 5, if it is read as unsigned"),
            ("scalar(umin=1)", "any number but 0"),
            ("scalar(smin=0,smax=umax=0x3fffffffc)", "a number, 0 to 0x3fffffffc"),
            ("0xffffffff", "0xffffffff (-1 as an int)"),
            (
                "fp[0](off=-72,smin=0,smax=umax=63,var_off=(0x0; 0x3f))",
                "the address fp-72 plus 0 to 63 in the stack of frame 0",
            ),
            ("scalar(smin=-8,smax=7)", "a number, -8 to 7"),
            ("scalar(smin=0xffffffff80000000,smax=0x7fffffff)", "a number, -2^31 to 2^31-1"),
            ("scalar(var_off=(0x0; 0xfffffffffffffff8))", "a number, a multiple of 8"),
            (
                "ringbuf_mem_or_null(id=2,ref_obj_id=2,sz=68)",
                "a ring buffer's record of 68 bytes, or NULL",
            ),
            (
                "trusted_ptr_or_null_task_struct(id=2,ref_obj_id=2)",
                "a trusted pointer to task_struct, owned, or NULL",
            ),
            ("ptr_node(non_own_ref,off=16)", "a pointer to node plus 16, not owned"),
        ] {
            assert_eq!(
                in_words(&format!("R1 is {value}, since insn 4")),
                format!("R1 is {said}, since insn 4")
            );
        }
        assert_eq!(
            in_words("the offset is scalar(), made by insn 2"),
            "the offset is any number, made by insn 2"
        );
    }

    #[test]
    fn what_is_not_known_stays() {
        for text in [
            "R0 is 0xffff, since insn 1",
            "R1 is dynptr_ptr(type=local), since insn 1",
            "R1 holds nothing since insn 4",
            "R2 was func(, since",
            "the lock that is held was taken at insn 10",
            "",
        ] {
            assert_eq!(in_words(text), text);
        }
    }
}
