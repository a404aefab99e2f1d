//! A packet filter in a user-space network loop: frames come from a socket, a program decides, and
//! those that pass are forwarded. Each thread has its own context; they share the program and its
//! maps.
//!
//! `cargo run --example packet_filter`

#![allow(clippy::print_stdout)]

use skep::runtime::{Ctx, Instance, Options, Runtime};
use skep::{LoadAllOptions, Session};
use std::error::Error;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

const OBJECT: &[u8] = include_bytes!("programs/filter.bpf.o");
const XDP_PASS: u32 = 2;

/// Serves one socket until it gets an empty frame; returns how many frames passed.
fn serve(filter: &Instance, socket: &UnixDatagram) -> Result<u32, skep::runtime::Error> {
    let mut frame = [0; 2048];
    let mut ctx = Ctx::packet(filter.prog_type(), &frame[..60])?;
    let mut passed = 0;
    while let Ok(len) = socket.recv(&mut frame) {
        if len == 0 {
            break;
        }
        ctx.set_packet(&frame[..len])?;
        // Here a real loop would forward `ctx.packet_bytes()`, which the program may have changed.
        passed += u32::from(filter.run(&mut ctx)?.retval == XDP_PASS);
    }
    Ok(passed)
}

/// A UDP/IPv4 frame to a port.
fn frame_to(port: u16) -> [u8; 60] {
    let mut frame = [0; 60];
    frame[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
    frame[23] = 17;
    frame[36..38].copy_from_slice(&port.to_be_bytes());
    frame
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let session = Session::default();
    let mut object = session.open(Path::new("filter.bpf.o"), OBJECT)?;
    // The verifier treats it as a constant: the program is verified for this port.
    object.set_global("blocked_port", 53u16)?;
    let runtime = Runtime::new(Options::default())?;
    let loaded = session.load_all(&object, &runtime, &LoadAllOptions::default())?;
    let filter = loaded.program("filter")?;

    let passed = std::thread::scope(|threads| {
        let workers: Vec<_> = [80, 53]
            .into_iter()
            .map(|port| {
                let (ours, theirs) = UnixDatagram::pair()?;
                let worker = threads.spawn(move || serve(filter, &theirs));
                for _ in 0..100 {
                    ours.send(&frame_to(port))?;
                }
                ours.send(&[])?;
                Ok(worker)
            })
            .collect::<Result<_, std::io::Error>>()?;
        let ended = workers.into_iter().map(|worker| worker.join().map_err(|_| "a worker died"));
        ended.map(|passed| Ok(passed??)).collect::<Result<Vec<u32>, Box<dyn Error>>>()
    })?;
    println!("to port 80: {} of 100 passed; to port 53: {}", passed[0], passed[1]);
    assert_eq!(passed, [100, 0]);
    Ok(())
}
