//! Runs a case on the host kernel with BPF_PROG_TEST_RUN.

use super::input::{Input, inputs};
use super::text::{Entry, Output, dumped, map_lines, run_line};
use crate::suite::{Case, bytes};
use skep::program::Program;
use skep::uapi::ctx::ctx_struct;
use skep::uapi::errno::ENOTSUPP;
use skep_kernel::bpf::{Map, RunInput};
use skep_kernel::run::Loaded;

/// `sizeof(struct __sk_buff)`.
pub const SKB_BYTES: usize = 192;

/// Checks that the host kernel loads a case's programs but has no test run for them.
pub fn unjudged_by_kernel(case: &Case, programs: &[Program]) -> Result<(), String> {
    let loaded = Loaded::new(programs).map_err(|why| why.to_string())?;
    for input in inputs(case)? {
        let run = match &input {
            Input::Words(_) => RunInput::default(),
            Input::Packet(packet) => RunInput { data: packet, ..RunInput::default() },
        };
        match loaded.run(&run) {
            // The type has no test run.
            Err(errno) if errno.errno == ENOTSUPP => {}
            Err(errno) => return Err(errno.to_string()),
            Ok(_) => return Err("the kernel runs it; remove `unjudged`".to_owned()),
        }
    }
    Ok(())
}

/// The text of a case's runs on the host kernel.
pub fn on_kernel(case: &Case, programs: &[Program]) -> Result<String, String> {
    let loaded = Loaded::new(programs).map_err(|why| why.to_string())?;
    let maps = programs.first().map_or(&[][..], |program| &program.maps);
    for (index, def) in (0u32..).zip(maps) {
        let entries = case.options.map.get(&def.name).map_or(&[][..], |map| &map.entries);
        for [key, value] in entries {
            let map = loaded.map(index).ok_or("entries of a map that no insn names")?;
            map.update(&bytes(key)?, &bytes(value)?).map_err(|errno| errno.to_string())?;
        }
    }
    let mut text = String::new();
    // With a context, a socket buffer has what a received one has: its length on the wire.
    let is_skb = programs.first().is_some_and(|program| {
        ctx_struct(program.prog_type).is_some_and(|name| name == "__sk_buff")
    });
    for input in inputs(case)? {
        let ctx: Vec<u8>;
        let run = match &input {
            Input::Words(words) => {
                ctx = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                RunInput { ctx: &ctx, ..RunInput::default() }
            }
            Input::Packet(packet) => {
                ctx = vec![0; if is_skb { SKB_BYTES } else { 0 }];
                RunInput { data: packet, ctx: &ctx, repeat: 1, ..RunInput::default() }
            }
        };
        let done = loaded.run(&run).map_err(|errno| errno.to_string())?;
        let is_words = matches!(input, Input::Words(_));
        let after = if is_words { done.ctx } else { done.data };
        run_line(&mut text, &input, &Output { r0: done.retval, bytes: after });
    }
    for (index, def) in dumped(case, maps) {
        let map = loaded.map(index as u32).ok_or("a dump of a map that no insn names")?;
        map_lines(&mut text, &def.name, entries(map, def.value_size as usize)?);
    }
    Ok(text)
}

/// All keys and values.
fn entries(map: &Map, value_size: usize) -> Result<Vec<Entry>, String> {
    let mut found = Vec::new();
    let mut key = map.next_key(&[]).ok();
    while let Some(at) = key {
        let mut value = vec![0; value_size];
        map.lookup(&at, &mut value, false).map_err(|errno| errno.to_string())?;
        key = map.next_key(&at).ok();
        found.push((at, value));
    }
    Ok(found)
}
