//! JSON output with every control character escaped, including those that JSON allows (U+007F to
//! U+009F) but terminals interpret.

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter, PrettyFormatter};
use std::io::{self, Write};

/// The layout of JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JsonForm {
    /// In one line.
    #[default]
    Line,
    /// Indented.
    Pretty,
}

/// Writes a value, without a final newline.
///
/// # Errors
///
/// Those of the stream, or a value that JSON cannot represent.
pub fn write_json_text<T: Serialize + ?Sized>(
    out: &mut dyn Write,
    value: &T,
    form: JsonForm,
) -> io::Result<()> {
    match form {
        JsonForm::Line => {
            value.serialize(&mut Serializer::with_formatter(out, Escaping(CompactFormatter)))?;
        }
        JsonForm::Pretty => {
            let form = Escaping(PrettyFormatter::new());
            value.serialize(&mut Serializer::with_formatter(out, form))?;
        }
    }
    Ok(())
}

/// The output of another formatter, with the remaining control characters escaped.
struct Escaping<F>(F);

/// Control characters that JSON does not escape.
fn is_bare_control(c: char) -> bool {
    ('\u{7f}'..='\u{9f}').contains(&c)
}

macro_rules! as_inside {
    ($($name:ident($($arg:ident: $ty:ty),*);)*) => {
        $(fn $name<W: ?Sized + Write>(&mut self, out: &mut W $(, $arg: $ty)*) -> io::Result<()> {
            self.0.$name(out $(, $arg)*)
        })*
    };
}

impl<F: Formatter> Formatter for Escaping<F> {
    as_inside! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        end_object_key();
        begin_object_value();
        end_object_value();
        write_char_escape(escape: CharEscape);
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        text: &str,
    ) -> io::Result<()> {
        let mut rest = text;
        while let Some(at) = rest.find(is_bare_control) {
            let (before, from) = rest.split_at(at);
            let mut chars = from.chars();
            let code = chars.next().map_or(0, u32::from);
            self.0.write_string_fragment(out, before)?;
            write!(out, "\\u{code:04x}")?;
            rest = chars.as_str();
        }
        self.0.write_string_fragment(out, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_character_is_left() {
        let all: String = (0..=0x2_00).filter_map(char::from_u32).collect();
        for form in [JsonForm::Line, JsonForm::Pretty] {
            let mut out = Vec::new();
            write_json_text(&mut out, &[&all, "", "\u{9b}"], form).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert!(text.chars().all(|c| !c.is_control() || c == '\n'), "{text}");
            let back: Vec<String> = serde_json::from_str(&text).unwrap();
            assert_eq!(back, [&*all, "", "\u{9b}"]);
        }
        let mut out = Vec::new();
        write_json_text(&mut out, "a\t\"\\\u{1b}'\u{7f}", JsonForm::Line).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), r#""a\t\"\\\u001b'\u007f""#);
    }
}
