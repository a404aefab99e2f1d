//! A policy hook: the host consults a program before it acts, and changes the policy while programs
//! run, by filling a map. The program counts the denied requests in the same map.
//!
//! `cargo run --example policy_hook`

#![allow(clippy::print_stdout)]

use skep::runtime::map::{TypedMap, UpdateFlags};
use skep::runtime::{Ctx, Instance, Options, Runtime};
use skep::{LoadAllOptions, Session};
use std::error::Error;
use std::net::Ipv4Addr;
use std::path::Path;

const OBJECT: &[u8] = include_bytes!("programs/filter.bpf.o");
const XDP_PASS: u32 = 2;

/// The program that decides, and the list that it uses.
struct Policy {
    program: Instance,
    /// Addresses, in network order, and how often each was denied.
    blocked: TypedMap<u32, u64>,
}

impl Policy {
    fn load(runtime: &Runtime) -> Result<Policy, Box<dyn Error>> {
        let session = Session::default();
        let object = session.open(Path::new("filter.bpf.o"), OBJECT)?;
        let loaded = session.load_all(&object, runtime, &LoadAllOptions::default())?;
        let blocked = loaded.maps().get("blocked")?.typed()?;
        Ok(Policy { program: loaded.program("filter")?.clone(), blocked })
    }

    fn block(&self, address: Ipv4Addr) -> Result<(), Box<dyn Error>> {
        Ok(self.blocked.set(&u32::from_ne_bytes(address.octets()), &0, UpdateFlags::Any)?)
    }

    /// How often an address was denied, if it is on the list.
    fn refused(&self, address: Ipv4Addr) -> Result<Option<u64>, Box<dyn Error>> {
        Ok(self.blocked.get(&u32::from_ne_bytes(address.octets()))?)
    }

    fn allows(&self, ctx: &mut Ctx, from: Ipv4Addr) -> Result<bool, Box<dyn Error>> {
        let mut frame = [0; 60];
        frame[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
        frame[26..30].copy_from_slice(&from.octets());
        ctx.set_packet(&frame)?;
        Ok(self.program.run(ctx)?.retval == XDP_PASS)
    }
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let runtime = Runtime::new(Options::default())?;
    let policy = Policy::load(&runtime)?;
    let mut ctx = Ctx::packet(policy.program.prog_type(), &[0; 60])?;
    let guest = Ipv4Addr::new(192, 0, 2, 7);

    assert!(policy.allows(&mut ctx, guest)?);
    // Effective from the next run on, on every thread.
    policy.block(guest)?;
    assert!(!policy.allows(&mut ctx, guest)?);
    assert!(!policy.allows(&mut ctx, guest)?);
    assert!(policy.allows(&mut ctx, Ipv4Addr::new(192, 0, 2, 8))?);
    let times = policy.refused(guest)?.unwrap_or_default();
    println!("{guest} was refused {times} times");
    assert_eq!(times, 2);
    Ok(())
}
