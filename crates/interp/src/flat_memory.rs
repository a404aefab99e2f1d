//! A host for bare insns: a context and a stack at arbitrary addresses, no maps, and only the
//! helpers that tests need.

use crate::{AtomicAccess, AtomicOp, Fault, Host, Linked, Stack, Vm};
use std::cell::RefCell;
use std::sync::Arc;

/// Start of the stack.
const STACK_BASE: u64 = 0x2000_0000;
const STACK_BYTES: usize = 16 * 1024;

/// Memory of a context and a stack.
#[derive(Debug)]
pub struct FlatMemory {
    ctx: RefCell<Vec<u8>>,
    stack: RefCell<Vec<u8>>,
}

impl FlatMemory {
    /// Address of the context.
    pub const CTX: u64 = 0x1000_0000;

    /// Memory with this context.
    pub fn new(ctx: &[u8]) -> FlatMemory {
        FlatMemory { ctx: RefCell::new(ctx.to_vec()), stack: RefCell::new(vec![0; STACK_BYTES]) }
    }

    /// Another context, for another run; the stack keeps what the last run left there.
    pub fn set_ctx(&mut self, ctx: &[u8]) {
        let bytes = self.ctx.get_mut();
        bytes.clear();
        bytes.extend_from_slice(ctx);
    }

    /// The context as it is now.
    pub fn ctx(&self) -> Vec<u8> {
        self.ctx.borrow().clone()
    }

    /// Calls `f` with the bytes of an access.
    fn at<T>(
        &self,
        addr: u64,
        size: u32,
        write: bool,
        f: impl FnOnce(&mut [u8]) -> T,
    ) -> Result<T, Fault> {
        let (base, region) = match addr >= STACK_BASE {
            true => (STACK_BASE, &self.stack),
            false => (FlatMemory::CTX, &self.ctx),
        };
        let start = addr.wrapping_sub(base) as usize;
        let mut bytes = region.borrow_mut();
        let found = start.checked_add(size as usize).and_then(|end| bytes.get_mut(start..end));
        found.map(f).ok_or_else(|| Fault::bad_access(addr, size, write))
    }
}

fn read(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

fn write(bytes: &mut [u8], value: u64) {
    let size = bytes.len().min(8);
    bytes[..size].copy_from_slice(&value.to_le_bytes()[..size]);
}

impl Host for FlatMemory {
    fn load(&self, addr: u64, size: u32) -> Result<u64, Fault> {
        self.at(addr, size, false, |bytes| read(bytes))
    }

    fn store(&self, addr: u64, size: u32, value: u64) -> Result<(), Fault> {
        self.at(addr, size, true, |bytes| write(bytes, value))
    }

    fn atomic(&self, addr: u64, access: AtomicAccess) -> Result<u64, Fault> {
        self.at(addr, access.size, true, |bytes| {
            let old = read(bytes);
            let value = match access.op {
                AtomicOp::Add => old.wrapping_add(access.value),
                AtomicOp::Or => old | access.value,
                AtomicOp::And => old & access.value,
                AtomicOp::Xor => old ^ access.value,
                AtomicOp::Xchg => access.value,
                AtomicOp::Cmpxchg(expected) if expected == old => access.value,
                AtomicOp::Cmpxchg(_) => old,
            };
            write(bytes, value);
            old
        })
    }

    fn helper(&self, vm: &mut Vm<'_>, number: i32, args: [u64; 5]) -> Result<u64, Fault> {
        // `bpf_loop`, which needs nothing else.
        if number == 181 {
            let [rounds, callback, ctx, ..] = args;
            for round in 0..rounds {
                if vm.callback(callback, [round, ctx, 0, 0, 0])? != 0 {
                    return Ok(round + 1);
                }
            }
            return Ok(rounds);
        }
        Err(Fault::not_supported(format!("helper {number}")))
    }

    fn tail_call(&self, _handle: u64, _index: u32) -> Result<Option<Arc<Linked>>, Fault> {
        Ok(None)
    }

    fn stack(&self) -> Stack {
        Stack { base: STACK_BASE, bytes: STACK_BYTES as u64 }
    }
}
