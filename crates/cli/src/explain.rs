//! `skep explain`: the meaning of a kind of rejection, why the rule exists, how to fix the program.

use crate::exit::Exit;
use crate::flags::{ExplainFlags, TextFormat};
use crate::streams::Streams;
use serde_json::json;
use skep::catalogue::{self, Section};
use skep_report::{JsonForm, write_json_text};
use std::io::{self, Write};

/// Runs the command.
///
/// # Errors
///
/// Only those of the streams.
pub(crate) fn run(flags: &ExplainFlags, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let as_json = flags.output_format == TextFormat::Json;
    if flags.list {
        match as_json {
            true => write_json(&catalogue::sections().iter().collect::<Vec<_>>(), streams.out)?,
            false => list(streams.out)?,
        }
        return Ok(Exit::Success);
    }
    let asked = flags.code.join(" ");
    let asked = asked.trim();
    // `error[leaked-reference]` is how a message begins.
    let code = asked.strip_prefix("error[").and_then(|rest| rest.split(']').next());
    let one = catalogue::section(code.unwrap_or(asked)).map(|section| vec![section]);
    let each = || asked.split_whitespace().map(catalogue::section).collect::<Option<Vec<_>>>();
    if let Some(named) = one.or_else(each).filter(|named| !named.is_empty()) {
        match as_json {
            true => write_json(&named, streams.out)?,
            false => named.into_iter().try_for_each(|section| explain(section, streams.out))?,
        }
        return Ok(Exit::Success);
    }
    let of_message = sections(catalogue::codes_of_message(asked));
    if as_json && !of_message.is_empty() {
        write_json(&of_message, streams.out)?;
        return Ok(Exit::Success);
    }
    match of_message.as_slice() {
        [] => {}
        [section] => {
            explain(section, streams.out)?;
            return Ok(Exit::Success);
        }
        several => {
            for section in several {
                line(section.codes[0], section, streams.out)?;
            }
            return Ok(Exit::Success);
        }
    }
    streams.error(format!("neither a rejection code nor a kernel message: '{asked}'"))?;
    match catalogue::near_codes(asked).as_slice() {
        [] => streams.note("skep explain --list lists all codes")?,
        near => streams.note(&catalogue::did_you_mean(near))?,
    }
    Ok(Exit::Input)
}

/// Each once, in the order of the codes.
fn sections(codes: Vec<&str>) -> Vec<&'static Section> {
    let mut found: Vec<&Section> = Vec::new();
    for section in codes.into_iter().filter_map(catalogue::section) {
        if !found.iter().any(|known| std::ptr::eq(*known, section)) {
            found.push(section);
        }
    }
    found
}

/// Writes the sections, with the messages of each code.
fn write_json(sections: &[&Section], out: &mut dyn Write) -> io::Result<()> {
    let messages = |wanted: &str| -> Vec<String> {
        let of_code = catalogue::codes().into_iter().filter(|(code, _)| code == wanted);
        of_code.flat_map(|(_, text)| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
    };
    let kind = |section: &&Section| {
        let codes = section.codes.iter();
        let codes = codes.map(|code| json!({ "code": code, "messages": messages(code) }));
        let special_help = section.special_help.iter();
        let special_help: Vec<_> =
            special_help.map(|(words, help)| json!({ "contains": words, "help": help })).collect();
        json!({
            "codes": codes.collect::<Vec<_>>(),
            "chapter": section.chapter,
            "title": section.title,
            "help": section.help,
            "special_help": special_help,
            "text": section.text,
        })
    };
    let kinds: Vec<_> = sections.iter().map(kind).collect();
    write_json_text(out, &json!({ "version": 1, "kinds": kinds }), JsonForm::Pretty)?;
    writeln!(out)
}

/// All codes with their titles.
fn list(out: &mut dyn Write) -> io::Result<()> {
    let mut chapter = "";
    for section in catalogue::sections() {
        if section.chapter != chapter {
            let gap = if chapter.is_empty() { "" } else { "\n" };
            chapter = section.chapter;
            writeln!(out, "{gap}{chapter}:")?;
        }
        for code in &section.codes {
            line(code, section, out)?;
        }
    }
    Ok(())
}

fn line(code: &str, section: &Section, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "  {code:<42} {}", section.title)
}

fn explain(section: &Section, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}.\n\nhelp: {}\n", section.title, section.help)?;
    for (words, help) in &section.special_help {
        writeln!(out, "help, if the message or a note contains `{words}`: {help}\n")?;
    }
    writeln!(out, "{}\n", section.text)?;
    writeln!(out, "Codes and kernel messages:")?;
    for (code, text) in catalogue::codes() {
        if section.codes.contains(&code.as_str()) {
            writeln!(out, "  {code}")?;
            for said in text.lines() {
                writeln!(out, "    {said}")?;
            }
        }
    }
    Ok(())
}
