//! Real programs, on packets: `cargo xtask exec-diff OBJECT...`.
//!
//! Each program of a type that takes packets is loaded separately, with its maps, into the kernel
//! (twice) and into our runtime (interpreted and compiled), and run on the same packets. A program
//! whose two runs in the kernel differ (time, random numbers, addresses) is not compared.

use crate::objects;
use crate::outcome::Ended;
use skep::program::Program;
use skep_kernel::bpf::RunInput;
use skep_kernel::judge::as_loaded;
use skep_kernel::run::Loaded;
use skep_runtime::{Ctx, Engine, LoadOptions, Options, Runtime, takes_packet};
use skep_testkit::engine;
use skep_testkit::rng::Rng;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The result for each packet.
type Ran = Vec<Result<(u32, Vec<u8>), String>>;

pub(super) fn run(paths: &[PathBuf], inputs: u64) -> crate::Outcome {
    let host = objects::host()?;
    let packets = packets(inputs);
    let mut classes: BTreeMap<&str, u64> = BTreeMap::new();
    let mut missing: BTreeMap<String, u64> = BTreeMap::new();
    for path in objects::find(paths)? {
        let Ok(object) = objects::open(&path, &host) else { continue };
        for entry in &object.programs {
            let Ok(program) = &entry.program else { continue };
            if !takes_packet(program.prog_type) {
                continue;
            }
            let (class, detail) = compare(&as_loaded(program), &packets);
            *classes.entry(class).or_default() += 1;
            if class == "not supported yet" {
                let what = detail.rsplit("not supported yet: ").next().unwrap_or_default();
                *missing.entry(what.to_owned()).or_default() += 1;
            }
            if class == "differs" || class == "ours fails" {
                println!("{} {}: {class}: {detail}", objects::short_name(&path), entry.name);
            }
        }
    }
    print_missing(missing);
    let text: Vec<String> = classes.iter().map(|(class, n)| format!("{class} {n}")).collect();
    println!("{}", text.join(", "));
    Ok((!classes.contains_key("differs")).into())
}

/// Loads every program that verifies into the runtime, and counts the reasons for failures.
pub(super) fn load(paths: &[PathBuf]) -> crate::Outcome {
    let host = objects::host()?;
    let (mut loaded, mut verified, mut missing) = (0, 0, BTreeMap::new());
    for path in objects::find(paths)? {
        let Ok(object) = objects::open(&path, &host) else { continue };
        for entry in &object.programs {
            let Ok(program) = &entry.program else { continue };
            let Ok(program) = engine::verified(&as_loaded(program)) else { continue };
            verified += 1;
            match by_runtime(&program, &[], Engine::MachineCode) {
                Ok(_) => loaded += 1,
                Err(why) => {
                    let what = why.rsplit("not supported yet: ").next().unwrap_or_default();
                    *missing.entry(what.to_owned()).or_insert(0u64) += 1;
                }
            }
        }
    }
    print_missing(missing);
    println!("{verified} programs verify, {loaded} of them load");
    Ok(Ended::Passed)
}

/// Prints the most frequent ones first.
fn print_missing(missing: BTreeMap<String, u64>) {
    let mut missing: Vec<_> = missing.into_iter().collect();
    missing.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    missing.iter().for_each(|(what, count)| println!("{count:5} not supported yet: {what}"));
}

fn compare(program: &Program, packets: &[Vec<u8>]) -> (&'static str, String) {
    let Ok(verified) = engine::verified(program) else { return ("refused", String::new()) };
    let (Ok(first), Ok(second)) = (by_kernel(program, packets), by_kernel(program, packets)) else {
        return ("not loaded by the kernel", String::new());
    };
    if first != second {
        return ("not the same twice in the kernel", String::new());
    }
    // A packet that the kernel does not accept must not change our maps either.
    let taken = |(_, ran): &(&Vec<u8>, &Result<_, _>)| ran.is_ok();
    let both = packets.iter().zip(&first).filter(taken);
    let (packets, first): (Vec<Vec<u8>>, Ran) = both.map(|(p, r)| (p.clone(), r.clone())).unzip();
    for how in [Engine::Interpreter, Engine::MachineCode] {
        let ours = match by_runtime(&verified, &packets, how.clone()) {
            Ok(ours) => ours,
            Err(why) if why.contains("not supported yet") => return ("not supported yet", why),
            Err(why) => return ("ours fails", why),
        };
        for (i, (ours, kernel)) in ours.iter().zip(&first).enumerate() {
            if ours.as_ref().is_err_and(|why| why.contains("not supported yet")) {
                return ("not supported yet", "not supported yet: packets of the type".to_owned());
            }
            if ours != kernel {
                let detail =
                    format!("{how:?} packet {i}\n  ours   {ours:x?}\n  kernel {kernel:x?}");
                return ("differs", detail);
            }
        }
    }
    ("equal", String::new())
}

fn by_kernel(program: &Program, packets: &[Vec<u8>]) -> Result<Ran, String> {
    let loaded = Loaded::new(std::slice::from_ref(program)).map_err(|why| why.to_string())?;
    let run = |packet: &Vec<u8>| {
        let input = RunInput { data: packet, repeat: 1, ..RunInput::default() };
        let ran = loaded.run(&input).map_err(|errno| errno.to_string())?;
        Ok((ran.retval, ran.data))
    };
    Ok(packets.iter().map(run).collect())
}

fn by_runtime(
    verified: &skep_verifier::VerifiedProgram,
    packets: &[Vec<u8>],
    engine: Engine,
) -> Result<Ran, String> {
    let program = verified.program();
    let runtime = Runtime::new(Options { cpus: 2, ..Options::default() });
    let runtime = runtime.map_err(|e| e.to_string())?;
    let maps = runtime.create_maps(&program.maps, program.btf.as_ref());
    let options = LoadOptions { engine, ..LoadOptions::default() };
    let instance = runtime.load(verified, &maps, &options).map_err(|e| e.to_string())?;
    let run = |packet: &Vec<u8>| {
        let mut ctx = Ctx::packet(program.prog_type, packet).map_err(|e| e.to_string())?;
        let result = instance.run(&mut ctx).map_err(|e| e.to_string())?;
        Ok((result.retval, [ctx.meta_bytes(), ctx.packet_bytes()].concat()))
    };
    Ok(packets.iter().map(run).collect())
}

/// Well-formed packets of several kinds, then `random` others.
fn packets(random: u64) -> Vec<Vec<u8>> {
    let mac = "0200000000010200000000 02".replace(' ', "");
    let ip4 = |proto: &str| format!("0800450000320000400040{proto}b9a2c0a80001c0a800c7");
    let ip6 =
        |proto: &str| format!("86dd60000000001e{proto}40{}{}", "fd".repeat(16), "fe".repeat(16));
    let tcp = "1f90005000000001000000025018200012340000";
    let udp = "00350035001e1234";
    let kinds = [
        format!("{mac}{}{tcp}", ip4("06")),
        format!("{mac}{}{udp}", ip4("11")),
        format!("{mac}{}0800f7ff00000000", ip4("01")),
        format!("{mac}{}{tcp}", ip6("06")),
        format!("{mac}{}{udp}", ip6("11")),
        format!("{mac}81000064{}{udp}", ip4("11")),
        format!("{mac}08060001080006040001"),
        "00".repeat(64),
        "ff".repeat(64),
    ];
    let mut rng = Rng::new(0x70ac);
    let mut all: Vec<Vec<u8>> = kinds.iter().map(|hex| padded(hex, &mut rng)).collect();
    for _ in 0..random {
        let mut bytes = all[rng.below(7) as usize].clone();
        for _ in 0..1 + rng.below(4) {
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] = rng.below(256) as u8;
        }
        bytes.truncate(14 + rng.below(bytes.len() as u64 - 13) as usize);
        all.push(bytes);
    }
    all
}

/// The bytes, extended by a payload to at least 100 bytes.
fn padded(hex: &str, rng: &mut Rng) -> Vec<u8> {
    let digits: Vec<u8> =
        hex.bytes().filter_map(|c| (c as char).to_digit(16)).map(|d| d as u8).collect();
    let mut bytes: Vec<u8> =
        digits.chunks(2).map(|pair| pair.iter().fold(0, |sum, d| sum << 4 | d)).collect();
    while bytes.len() < 100 {
        bytes.push(rng.below(256) as u8);
    }
    bytes
}
