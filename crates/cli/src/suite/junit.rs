//! `--junit`: the results as the XML that CI systems read: one suite per file, one case per test.

use super::done::{Done, Ending, Sums};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use skep_report::printable;
use std::io;

/// The document.
pub(super) fn text(done: &[Done<'_>]) -> Vec<u8> {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    // Writing to memory cannot fail.
    let _ = write(&mut writer, done);
    let mut text = writer.into_inner();
    text.push(b'\n');
    text
}

fn write(writer: &mut Writer<Vec<u8>>, done: &[Done<'_>]) -> io::Result<()> {
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let mut suites: Vec<&[Done<'_>]> = Vec::new();
    suites.extend(done.chunk_by(|a, b| a.path() == b.path()));
    let [tests, failures, errors, time] = sums(done);
    writer
        .create_element("testsuites")
        .with_attributes([("name", "skep"), ("tests", &*tests), ("failures", &*failures)])
        .with_attributes([("errors", &*errors), ("time", &*time)])
        .write_inner_content(|writer| {
            suites.iter().try_for_each(|suite| write_suite(writer, suite))
        })?;
    Ok(())
}

fn write_suite(writer: &mut Writer<Vec<u8>>, done: &[Done<'_>]) -> io::Result<()> {
    let [tests, failures, errors, time] = sums(done);
    let name = done.first().map_or(String::new(), |done| done.path().display().to_string());
    writer
        .create_element("testsuite")
        .with_attributes([("name", &*printable(&name)), ("tests", &*tests)])
        .with_attributes([("failures", &*failures), ("errors", &*errors), ("time", &*time)])
        .write_inner_content(|writer| {
            done.iter().try_for_each(|done| write_case(writer, done, &name))
        })?;
    Ok(())
}

fn write_case(writer: &mut Writer<Vec<u8>>, done: &Done<'_>, suite: &str) -> io::Result<()> {
    let (name, time) = (printable(done.test()), format!("{:.6}", done.seconds));
    let line = done.line().to_string();
    let case = writer
        .create_element("testcase")
        .with_attributes([("name", &*name), ("classname", &*printable(suite))])
        .with_attributes([("file", &*printable(suite)), ("line", &*line), ("time", &*time)]);
    let problems = done.outcome.problems.iter().filter(|_| !done.passes());
    let problems: Vec<_> = problems.map(|problem| printable(problem)).collect();
    let kind = if done.ending() == Ending::Failed { "failure" } else { "error" };
    match problems.first() {
        None => case.write_empty()?,
        Some(first) => case.write_inner_content(|writer| {
            let text = format!("{}\n{}", done.place(), problems.join("\n"));
            writer
                .create_element(kind)
                .with_attribute(("message", &**first))
                .write_text_content(BytesText::new(&printable_lines(&text)))?;
            Ok(())
        })?,
    };
    Ok(())
}

fn printable_lines(text: &str) -> String {
    text.lines().map(|line| printable(line).into_owned() + "\n").collect()
}

/// Tests, failures, errors, seconds.
fn sums(done: &[Done<'_>]) -> [String; 4] {
    let Sums { failed, errors, .. } = Sums::of(done);
    let seconds: f64 = done.iter().map(|done| done.seconds).sum();
    [done.len().to_string(), failed.to_string(), errors.to_string(), format!("{seconds:.6}")]
}
