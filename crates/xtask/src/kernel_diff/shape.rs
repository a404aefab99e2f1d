//! The shape of a line of a log, by which differences are grouped.

/// A line without its numbers and without the names of functions.
pub(crate) fn shape(line: &str) -> String {
    let mut shape = String::new();
    for c in line.chars().take(140) {
        match c.is_ascii_digit() {
            true if shape.ends_with('#') => {}
            true => shape.push('#'),
            false => shape.push(c),
        }
    }
    match shape.split_once("function ") {
        Some((before, after)) => {
            let after = after.split_once("()").map_or("", |(_, after)| after);
            format!("{before}function ~(){after}")
        }
        None => shape,
    }
}
