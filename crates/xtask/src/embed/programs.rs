//! The programs and inputs that are run.

use super::args::Args;
use crate::exec_diff::generate::{self as computing, number};
use crate::mutate::{BATCH, Sources};
use crate::objects;
use crate::random::generate;
use skep::Host;
use skep::program::Program;
use skep::uapi::ProgFlags;
use skep_kernel::judge::as_loaded;
use skep_runtime::{Ctx, Instance, takes_packet};
use skep_testkit::rng::Rng;
use std::path::PathBuf;

/// Source of the programs.
pub(super) enum Source {
    Random,
    Objects(Vec<PathBuf>, Box<Host>),
    /// Programs that `cargo xtask mutate` derives from objects.
    Mutants(Box<Sources>),
}

/// The seed of all mutants: programs are distinguished by their batch.
const MUTATE_SEED: u64 = 1;

impl Source {
    pub(super) fn new(args: &Args) -> Result<Source, Box<dyn std::error::Error>> {
        if let Some(generated) = args.mutants {
            let sources = Sources::new(objects::find(&args.objects)?, generated)?;
            return Ok(Source::Mutants(Box::new(sources)));
        }
        if args.objects.is_empty() {
            return Ok(Source::Random);
        }
        Ok(Source::Objects(objects::find(&args.objects)?, Box::new(objects::host()?)))
    }

    /// One past the last seed.
    pub(super) fn end(&self, args: &Args) -> u64 {
        let all = match self {
            Source::Objects(files, _) => files.len() as u64,
            _ if args.minutes.is_some() => u64::MAX,
            Source::Random => 1000,
            Source::Mutants(_) => 10,
        };
        args.seed.saturating_add(args.count.unwrap_or(all))
    }

    /// The programs of a seed.
    pub(super) fn programs(&self, seed: u64, each: &mut dyn FnMut(String, Program)) {
        match self {
            Source::Random => {
                for program in random(seed) {
                    each(format!("seed {seed}"), program);
                }
            }
            Source::Objects(files, host) => {
                let file = &files[(seed - 1) as usize % files.len()];
                let Ok(object) = objects::open(file, host) else { return };
                for entry in &object.programs {
                    let Ok(program) = &entry.program else { continue };
                    let name = format!("{} {}", objects::short_name(file), entry.name);
                    each(name, as_loaded(program).into_owned());
                }
            }
            Source::Mutants(sources) => {
                let Some(batch) = sources.batch(MUTATE_SEED, seed) else { return };
                for i in 0..BATCH {
                    let mutant = skep::contain_panic(|| batch.mutant(i));
                    let Ok(Ok(mutant)) = mutant else { continue };
                    each(format!("{MUTATE_SEED}/{seed}/{i} {}", batch.name), mutant.program);
                }
            }
        }
    }
}

/// A random context.
pub(super) fn context(instance: &Instance, rng: &mut Rng) -> Result<Ctx, String> {
    let prog_type = instance.prog_type();
    if takes_packet(prog_type) {
        return Ctx::packet(prog_type, &packet(rng)).map_err(|e| e.to_string());
    }
    let len = instance.ctx_bytes().max(64).next_multiple_of(8);
    let bytes: Vec<u8> = (0..len / 8).flat_map(|_| number(rng).to_le_bytes()).collect();
    Ctx::raw(prog_type, &bytes).map_err(|e| e.to_string())
}

/// A packet, often one that parsers accept.
pub(crate) fn packet(rng: &mut Rng) -> Vec<u8> {
    let len = 14 + rng.below(200) as usize;
    let mut bytes: Vec<u8> = (0..len).map(|_| rng.below(256) as u8).collect();
    let kinds: [&[u8]; 3] = [&[8, 0, 0x45], &[0x86, 0xdd, 0x60], &[0x81, 0, 0]];
    if rng.chance(70) {
        let kind = rng.pick(&kinds);
        let end = (12 + kind.len()).min(len);
        bytes[12..end].copy_from_slice(&kind[..end - 12]);
        if let Some(proto) = bytes.get_mut(23) {
            *proto = rng.pick(&[6, 17, 1, 47]);
        }
    }
    if rng.chance(30) {
        for word in bytes.chunks_exact_mut(8) {
            word.copy_from_slice(&number(rng).to_le_bytes());
        }
    }
    bytes
}

/// The kind of a failure, without details.
pub(crate) fn kind_of(why: &str) -> String {
    why.chars().filter(|c| !c.is_ascii_digit()).take(90).collect()
}

/// The random programs of that seed, cycling through all kinds.
fn random(seed: u64) -> Vec<Program> {
    let kinds = [computing::Kind::Words, computing::Kind::Maps, computing::Kind::Skb];
    let mut programs = match seed % 6 {
        0 | 3 | 5 => vec![generate::program(seed)],
        at => {
            let kind = kinds[(seed / 6 % 3) as usize];
            let size = if at == 4 { 30 } else { 5 };
            computing::programs(seed, kind, size)
        }
    };
    if seed % 4 == 1 {
        for program in &mut programs {
            program.prog_flags |= ProgFlags::TEST_STATE_FREQ;
        }
    }
    programs
}
