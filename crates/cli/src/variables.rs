//! `skep globals`: the global variables that can be set before programs load.

use crate::Error;
use crate::exit::Exit;
use crate::flags::{GlobalsFlags, GlobalsFormat};
use crate::judge_files::Plan;
use crate::streams::Streams;
use skep::Session;
use skep::object::{GlobalValue, GlobalVariable, Object};
use skep_report::{GlobalRow, JsonForm, write_globals, write_json_text};
use std::io;

/// Bytes shown of a value that is not a number.
const SHOWN_BYTES: usize = 16;

/// Runs the command.
///
/// # Errors
///
/// Only those of the streams.
pub(crate) fn run(flags: &GlobalsFlags, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let (session, object) = match open(flags) {
        Ok(opened) => opened,
        Err(message) => {
            streams.error(&message)?;
            return Ok(Exit::Input);
        }
    };
    if object.btf.is_none() {
        streams
            .error(format!("{}: no BTF, which describes the variables", flags.file.display()))?;
        return Ok(Exit::Input);
    }
    let mut variables = object.variables();
    forget_unknown(&session, &mut variables, streams)?;
    match flags.output_format {
        GlobalsFormat::Table => {
            let rows: Vec<GlobalRow> = variables.iter().map(row).collect();
            write_globals(streams.out, &rows)?;
        }
        GlobalsFormat::Json => {
            let variables: Vec<_> = variables.iter().map(json).collect();
            let whole = serde_json::json!({ "version": 1, "globals": variables });
            write_json_text(streams.out, &whole, JsonForm::Pretty)?;
            writeln!(streams.out)?;
        }
    }
    Ok(Exit::Success)
}

/// Values from a kernel's configuration are unknown without it, rather than 0.
fn forget_unknown(
    session: &Session,
    variables: &mut [GlobalVariable],
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    let Some(kernel) = session.kernel.as_ref().filter(|kernel| kernel.kconfig().is_none()) else {
        return Ok(());
    };
    let asks =
        |it: &&mut GlobalVariable| it.section == ".kconfig" && it.name.starts_with("CONFIG_");
    let mut is_any = false;
    for variable in variables.iter_mut().filter(asks) {
        variable.value = None;
        is_any = true;
    }
    match is_any {
        true => streams.note(&format!(
            "{}: the kernel's configuration is not known",
            crate::kernels::label(kernel)
        )),
        false => Ok(()),
    }
}

fn open(flags: &GlobalsFlags) -> Result<(Session, Object), Error> {
    let session = Plan::session_against(&flags.against)?;
    let mut object = session.open_file(&flags.file).map_err(Error::caused)?;
    for preset in crate::choice::read_presets(&flags.set_global_vars)? {
        let file = flags.file.display();
        let setting = |e| format!("{file}: while setting '{}': {e}", preset.text());
        preset.apply(&mut object).map_err(setting)?;
    }
    Ok((session, object))
}

fn row(variable: &GlobalVariable) -> GlobalRow {
    let value = match &variable.value {
        None => String::new(),
        Some(GlobalValue::Number(number)) => number.to_string(),
        Some(GlobalValue::Enumerator(name, _)) => name.clone(),
        Some(GlobalValue::Text(text)) => format!("{text:?}"),
        Some(GlobalValue::Bytes(bytes)) if bytes.iter().all(|&byte| byte == 0) => "zeroes".into(),
        Some(GlobalValue::Bytes(bytes)) => {
            let more = if bytes.len() > SHOWN_BYTES { " ..." } else { "" };
            hex(&bytes[..bytes.len().min(SHOWN_BYTES)]) + more
        }
    };
    GlobalRow {
        name: variable.name.clone(),
        ty: variable.ty.clone(),
        section: variable.section.clone(),
        value,
        set: settable(variable).map_or("", |(_, words)| words),
        size: variable.size,
    }
}

/// How `-G` sets a variable, as a word and for people; `None` if it cannot.
fn settable(variable: &GlobalVariable) -> Option<(&'static str, &'static str)> {
    let ty = variable.ty.trim_start_matches("const ").trim_start_matches("volatile ");
    let is_text = ty.starts_with("char[") && ty.matches('[').count() == 1;
    match variable.value.as_ref()? {
        GlobalValue::Enumerator(..) => Some(("number", "a number or name")),
        GlobalValue::Number(_) if ty.starts_with("enum ") => Some(("number", "a number or name")),
        GlobalValue::Number(_) => Some(("number", "a number")),
        GlobalValue::Text(_) => Some(("text", "a text")),
        GlobalValue::Bytes(_) if is_text => Some(("text", "a text")),
        GlobalValue::Bytes(_) if ty.ends_with(']') => Some(("elements", "NAME[i]")),
        GlobalValue::Bytes(_) if ty.starts_with("struct ") || ty.starts_with("union ") => {
            Some(("members", "NAME.member"))
        }
        GlobalValue::Bytes(_) => None,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

fn json(variable: &GlobalVariable) -> serde_json::Value {
    let number = |number: &i128| match (i64::try_from(*number), u64::try_from(*number)) {
        (Ok(number), _) => serde_json::Value::from(number),
        (_, Ok(number)) => serde_json::Value::from(number),
        _ => serde_json::Value::Null,
    };
    let mut object = serde_json::json!({
        "name": variable.name,
        "type": variable.ty,
        "size": variable.size,
        "section": variable.section,
        "set": settable(variable).map(|(word, _)| word),
    });
    let (key, value) = match &variable.value {
        None => ("value", serde_json::Value::Null),
        Some(GlobalValue::Number(of)) => ("value", number(of)),
        Some(GlobalValue::Enumerator(name, of)) => {
            object["enumerator"] = name.as_str().into();
            ("value", number(of))
        }
        Some(GlobalValue::Text(text)) => ("value", text.as_str().into()),
        Some(GlobalValue::Bytes(bytes)) => ("bytes", hex(bytes).into()),
    };
    object[key] = value;
    object
}
