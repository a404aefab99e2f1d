//! `skep profile`: where the verification of a program spends its insns and states.

mod aggregate;
mod flow;

use crate::Error;
use crate::choice::read_presets;
use crate::exit::Exit;
use crate::flags::{ProfileFlags, ProfileFormat, WeightFlag};
use crate::html_file::HtmlFile;
use crate::judge_files::{Plan, base_name, exit_of_load, not_loaded};
use crate::kernels;
use crate::memory_gate::over_limit;
use crate::streams::Streams;
use aggregate::aggregate;
use skep::object::Object;
use skep::program::Program;
use skep::{Session, Verdict, Verification, VerifyOptions};
use skep_report::{MatrixKernel, ProgProfile, Weight};
use std::io;

/// Runs the command.
///
/// # Errors
///
/// Only those of the streams.
pub(crate) fn run(flags: &ProfileFlags, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let opened = open(flags).and_then(|opened| Ok((opened, HtmlFile::new(&flags.html.html)?)));
    let ((session, object), html) = match opened {
        Ok(opened) => opened,
        Err(message) => {
            streams.error(&message)?;
            return Ok(Exit::Input);
        }
    };
    let is_below = flags.output_format == ProfileFormat::Table && kernels::is_untested(&session);
    if !is_below {
        kernels::promise(&session, None, streams)?;
    }
    let file = flags.file.display().to_string();
    let mut exit = Exit::Success;
    let mut profiles = Vec::new();
    let wanted = |name: &str| flags.prog.as_ref().is_none_or(|prog| prog == name);
    let mut found = false;
    for entry in object.programs.iter().filter(|entry| wanted(&entry.name)) {
        found = true;
        let here = format!("{file}: program '{}'", entry.name);
        match &entry.program {
            Ok(program) => {
                let (verification, profile) = session.profile(program, &VerifyOptions::default());
                if let Some((why, how_bad)) = no_verdict(&verification) {
                    streams.failure(&format!("{here}: {why}"), how_bad)?;
                    exit.raise(how_bad);
                }
                profiles.push(with_verdict(
                    &file,
                    program,
                    &verification,
                    aggregate(program, &profile),
                ));
            }
            Err(e) => {
                streams.failure(&format!("{here}: {}", not_loaded(e)), exit_of_load(e))?;
                exit.raise(exit_of_load(e));
            }
        }
    }
    if !found {
        let what = match &flags.prog {
            Some(prog) => format!("no program '{prog}'"),
            None => "no BPF program inside".to_owned(),
        };
        streams.error(format!("{file}: {what}"))?;
        return Ok(Exit::Input);
    }
    profiles.sort_by_key(|profile| std::cmp::Reverse(profile.total.insns));
    let page = || kernels::noted(skep_report::profile_page(&profiles, weight(flags)), &session);
    if let Err(message) = html.write(page) {
        streams.error(&message)?;
        exit.raise(Exit::Input);
    }
    let kernel = session.kernel.as_ref().map(|kernel| kernels::described(kernel));
    print(flags, &profiles, kernel.as_ref(), streams)?;
    if let Some(kernel) = kernel.filter(|_| is_below) {
        writeln!(streams.out, "{}", kernel.line())?;
    }
    Ok(exit)
}

fn open(flags: &ProfileFlags) -> Result<(Session, Object), Error> {
    let presets = read_presets(&flags.set_global_vars)?;
    let session = Plan::session_against(&flags.against)?;
    let mut object = session.open_file(&flags.file).map_err(Error::caused)?;
    for preset in &presets {
        let setting =
            |e| format!("{}: while setting '{}': {e}", flags.file.display(), preset.text());
        preset.apply(&mut object).map_err(setting)?;
    }
    Ok((session, object))
}

fn weight(flags: &ProfileFlags) -> Weight {
    match flags.weight {
        WeightFlag::Insns => Weight::Insns,
        WeightFlag::States => Weight::States,
    }
}

fn print(
    flags: &ProfileFlags,
    profiles: &[ProgProfile],
    kernel: Option<&MatrixKernel>,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    let weight = weight(flags);
    match flags.output_format {
        ProfileFormat::Table => {
            for (at, profile) in profiles.iter().enumerate() {
                if at > 0 {
                    writeln!(streams.out)?;
                }
                skep_report::write_profile(streams.out, profile, flags.top_n)?;
            }
            Ok(())
        }
        ProfileFormat::Folded => skep_report::write_folded(streams.out, profiles, weight),
        ProfileFormat::Svg => skep_report::write_flame_graph(streams.out, profiles, weight),
        ProfileFormat::Json => skep_report::write_profiles_json(streams.out, profiles, kernel),
    }
}

/// Why there is no verdict, and the exit code.
fn no_verdict(verification: &Verification) -> Option<(String, Exit)> {
    match &verification.verdict {
        Verdict::Accepted(_) | Verdict::Rejected(_) => None,
        Verdict::Unsupported(what) => Some((format!("not supported yet: {what}"), Exit::Input)),
        Verdict::OutOfMemory => Some((over_limit(verification), Exit::Input)),
        Verdict::Bug(what) => Some((what.clone(), Exit::Bug)),
    }
}

/// The profile with the name of its program and the verdict on it.
fn with_verdict(
    file: &str,
    program: &Program,
    verification: &Verification,
    profile: ProgProfile,
) -> ProgProfile {
    let (verdict, reason) = match &verification.verdict {
        Verdict::Accepted(_) => ("success", None),
        Verdict::Rejected(refusal) => ("failure", Some(refusal.message.trim_end().to_owned())),
        Verdict::Unsupported(_) => ("unsupported", None),
        Verdict::OutOfMemory | Verdict::Bug(_) => ("error", None),
    };
    ProgProfile {
        file: base_name(file).to_owned(),
        prog: program.name.clone(),
        verdict: verdict.to_owned(),
        reason,
        ..profile
    }
}
