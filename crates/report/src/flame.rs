//! Call stacks with weights: folded, for other flame graph tools, and as an SVG flame graph.
//!
//! The usual crate for flame graphs is under the CDDL; this one only draws boxes. The picture is a
//! single file without scripts, and follows the reader's colour scheme.

use crate::escape::printable;
use crate::profile::{ProgProfile, Spent, percent};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

/// The unit of a box's width.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Weight {
    /// Insns walked.
    #[default]
    Insns,
    /// States kept.
    States,
}

impl Weight {
    fn of(self, spent: &Spent) -> u64 {
        match self {
            Weight::Insns => spent.insns,
            Weight::States => spent.states,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Weight::Insns => "insns",
            Weight::States => "states",
        }
    }
}

/// Writes one line per stack: its frames, separated by semicolons, and its weight.
///
/// # Errors
///
/// Only those of `out`.
pub fn write_folded(
    out: &mut dyn Write,
    profiles: &[ProgProfile],
    weight: Weight,
) -> io::Result<()> {
    for stack in profiles.iter().flat_map(|profile| &profile.stacks) {
        let spent = weight.of(&stack.spent);
        if spent > 0 {
            let frames = stack.stack.iter().map(|frame| printable(frame).replace(';', ":"));
            writeln!(out, "{} {spent}", frames.collect::<Vec<_>>().join(";"))?;
        }
    }
    Ok(())
}

const WIDTH: f64 = 1200.0;
const ROW: f64 = 18.0;
const MARGIN: f64 = 10.0;
/// A caption is above the boxes.
const TOP: f64 = 34.0;
/// Narrower boxes are not drawn.
const WIDTH_MIN: f64 = 0.2;
/// Maximum width of a letter of the font.
const LETTER: f64 = 7.0;

/// A frame with the weight below it.
#[derive(Default)]
struct Frame {
    weight: u64,
    /// By name, so that the same profile gives the same picture.
    callees: BTreeMap<String, Frame>,
}

impl Frame {
    fn add(&mut self, stack: &[String], weight: u64) {
        self.weight += weight;
        let mut at = self;
        for name in stack {
            at = at.callees.entry(name.clone()).or_default();
            at.weight += weight;
        }
    }
}

/// Writes a flame graph, its root at the top.
///
/// # Errors
///
/// Only those of `out`.
pub fn write_flame_graph(
    out: &mut dyn Write,
    profiles: &[ProgProfile],
    weight: Weight,
) -> io::Result<()> {
    let mut root = Frame::default();
    for stack in profiles.iter().flat_map(|profile| &profile.stacks) {
        root.add(&stack.stack, weight.of(&stack.spent));
    }
    let mut picture = Picture { boxes: String::new(), rows: 0, whole: root.weight, weight };
    let per_unit = (WIDTH - 2.0 * MARGIN) / root.weight.max(1) as f64;
    picture.draw(&root, MARGIN, 0, per_unit);
    let height = TOP + picture.rows as f64 * ROW + MARGIN;
    let title = format!("{} {} by call path and line", root.weight, weight.name());
    write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"{title}\">\n<style>\n{STYLE}</style>\n<rect class=\"paper\" width=\"100%\" \
         height=\"100%\"/>\n<text class=\"title\" x=\"{MARGIN}\" y=\"22\">{title}</text>\n{}</svg>\n",
        picture.boxes
    )
}

const STYLE: &str = "\
text { font: 11px monospace; fill: #111; pointer-events: none }
.paper { fill: #fff }
.title { font-size: 14px }
g rect { stroke: #fff; stroke-width: .5; fill: hsl(var(--hue) 85% 68%) }
g:hover rect { stroke: #000 }
@media (prefers-color-scheme: dark) {
  .paper { fill: #1b1b1b }
  .title { fill: #eee }
  g rect { stroke: #1b1b1b; fill: hsl(var(--hue) 55% 58%) }
  g:hover rect { stroke: #fff }
}
";

/// Where a box is drawn.
#[derive(Clone, Copy)]
struct Place {
    x: f64,
    row: usize,
    width: f64,
}

/// The drawing so far.
struct Picture {
    boxes: String,
    rows: usize,
    whole: u64,
    weight: Weight,
}

impl Picture {
    /// Draws the callees of a frame from the left edge, the heaviest first.
    fn draw(&mut self, frame: &Frame, left: f64, row: usize, per_unit: f64) {
        let mut callees: Vec<_> = frame.callees.iter().collect();
        callees.sort_by_key(|(_, callee)| std::cmp::Reverse(callee.weight));
        let mut x = left;
        for (name, callee) in callees {
            let width = callee.weight as f64 * per_unit;
            if width < WIDTH_MIN {
                break;
            }
            self.rows = self.rows.max(row + 1);
            self.draw_box(name, callee.weight, Place { x, row, width });
            self.draw(callee, x, row + 1, per_unit);
            x += width;
        }
    }

    fn draw_box(&mut self, name: &str, weight: u64, place: Place) {
        let Place { x, row, width } = place;
        let y = TOP + row as f64 * ROW;
        let name = printable(name);
        let share = percent(weight, self.whole);
        let what = self.weight.name();
        // Writing to a String cannot fail.
        let _ = write!(
            self.boxes,
            "<g><title>{}: {weight} {what} ({share} %)</title><rect x=\"{x:.2}\" y=\"{y}\" \
             width=\"{width:.2}\" height=\"{}\" style=\"--hue:{}\"/>",
            escaped(&name),
            ROW - 1.0,
            hue(&name),
        );
        let letters = ((width - 4.0) / LETTER) as usize;
        if letters >= 3 {
            let text: String = match name.chars().count() > letters {
                true => name.chars().take(letters - 2).chain("..".chars()).collect(),
                false => name.into_owned(),
            };
            let (x, y) = (x + 3.0, y + 13.0);
            let _ = write!(self.boxes, "<text x=\"{x:.2}\" y=\"{y}\">{}</text>", escaped(&text));
        }
        self.boxes.push_str("</g>\n");
    }
}

/// A warm colour, the same for the same name.
fn hue(name: &str) -> u32 {
    name.bytes().fold(7, |sum: u32, byte| sum.wrapping_mul(31).wrapping_add(byte.into())) % 55
}

/// Text, escaped for XML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::StackCost;

    fn profile(stacks: &[(&[&str], u64)]) -> ProgProfile {
        let stack = |(frames, insns): &(&[&str], u64)| StackCost {
            stack: frames.iter().map(|&frame| frame.to_owned()).collect(),
            spent: Spent { insns: *insns, ..Spent::default() },
        };
        ProgProfile {
            file: "a.o".to_owned(),
            prog: "p".to_owned(),
            verdict: "success".to_owned(),
            reason: None,
            total: Spent::default(),
            functions: Vec::new(),
            lines: Vec::new(),
            kept_apart: Vec::new(),
            flow: Vec::new(),
            stacks: stacks.iter().map(stack).collect(),
        }
    }

    fn drawn(profiles: &[ProgProfile]) -> String {
        let mut out = Vec::new();
        write_flame_graph(&mut out, profiles, Weight::Insns).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn folded_stacks_have_one_weight_each() {
        let all = [profile(&[(&["p", "a;b", "x.c:1"], 7), (&["p", "x.c:2"], 0)])];
        let mut out = Vec::new();
        write_folded(&mut out, &all, Weight::Insns).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "p;a:b;x.c:1 7\n");
    }

    #[test]
    fn boxes_are_as_wide_as_their_share() {
        let svg = drawn(&[profile(&[(&["p", "f<&>"], 75), (&["p", "g"], 25)])]);
        assert!(svg.contains("<title>p: 100 insns (100.0 %)</title>"), "{svg}");
        assert!(svg.contains("<title>f&lt;&amp;&gt;: 75 insns (75.0 %)</title>"), "{svg}");
        let widths: Vec<_> =
            svg.split(" width=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(widths, ["100%", "1180.00", "885.00", "295.00"]);
    }

    #[test]
    fn hostile_names_and_nothing_at_all() {
        let svg = drawn(&[profile(&[(&["\u{1b}[2J</svg>\"'", ""], 1)])]);
        assert_eq!(svg.matches("</svg>").count(), 1, "{svg}");
        assert!(!svg.contains('\u{1b}'));
        assert!(drawn(&[]).contains("0 insns by call path and line"));
    }
}
