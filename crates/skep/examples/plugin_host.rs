//! A plug-in host: third-party programs get a fuel limit, can be interrupted from another thread,
//! and are counted and timed.
//!
//! `cargo run --example plugin_host`

#![allow(clippy::print_stdout)]

use skep::runtime::{Ctx, ErrorKind, LoadOptions, Options, Runtime, StatsOptions};
use skep::{Session, VerifyOptions};
use std::error::Error;
use std::path::Path;
use std::thread;
use std::time::Duration;

const OBJECT: &[u8] = include_bytes!("programs/filter.bpf.o");

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let session = Session::default();
    let object = session.open(Path::new("plugins.bpf.o"), OBJECT)?;

    // Verification may be limited too: an untrusted program may be designed to take long.
    let options = VerifyOptions { mem_bytes_max: Some(64 << 20), ..VerifyOptions::default() };
    let verified = session.verify(object.program("plugin")?, &options).into_verified()?;

    let runtime = Runtime::new(Options { memory_bytes_max: 16 << 20, ..Options::default() })?;
    let maps = runtime.create_maps(&object.maps, object.btf.as_ref());
    let load = |fuel| {
        runtime.load(&verified, &maps, &LoadOptions { fuel: Some(fuel), ..LoadOptions::default() })
    };
    let (poor, rich) = (load(1_000)?, load(u64::MAX)?);
    let _counting = runtime.enable_stats(StatsOptions::default())?;
    let mut ctx = Ctx::packet(poor.prog_type(), &[0; 60])?;

    // Its 4,194,304 callbacks cost one unit each.
    let spent = poor.run(&mut ctx).expect_err("the fuel is not enough");
    println!("{spent}");
    assert_eq!(spent.kind(), ErrorKind::Stopped);

    // A verified program terminates, but may take long.
    let interrupter = ctx.interrupter();
    let watchdog = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        interrupter.interrupt();
    });
    let stopped = loop {
        if let Err(why) = rich.run(&mut ctx) {
            break why;
        }
    };
    watchdog.join().map_err(|_| "the watchdog died")?;
    println!("{stopped}");
    assert_eq!(stopped.kind(), ErrorKind::Stopped);

    for program in runtime.programs() {
        let stats = program.stats;
        println!("{}: {} runs, {} ns", program.name, stats.run_cnt, stats.run_time_ns);
    }
    Ok(())
}
