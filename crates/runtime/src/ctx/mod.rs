//! `Ctx`: the argument of a run, in the layout of `skep_uapi::run_ctx`, followed by the packet.
//!
//! One context serves many runs; [`Ctx::set_packet`] loads the next packet.

mod field;
mod lent;
mod packet;

pub use lent::Lent;
pub(crate) use packet::{AF_INET, AF_INET6, ETH_HLEN, Headers, Packet, PacketKind, skb};

use crate::Error;
use crate::run::{Effects, Env};
use skep_mem::{Budget, Region};
use skep_uapi::ProgType;
use std::sync::Arc;

/// Maximum size of a raw context, as in the kernel's test run.
const RAW_BYTES_MAX: usize = u16::MAX as usize;
/// Stack size of an interpreted run: more than eight frames and their callbacks need.
const STACK_BYTES: usize = 64 << 10;

/// The argument of a run.
pub struct Ctx {
    prog_type: ProgType,
    body: Body,
    /// What programs did besides returning a number.
    pub(crate) effects: Effects,
    /// Fuel and interruption of its runs.
    pub(crate) env: Env,
    /// What `bpf_get_attach_cookie` gives.
    pub(crate) attach_cookie: u64,
    /// Frames of interpreted runs; allocated at the first one.
    stack: Option<Region>,
    /// Memory to which pointers in the context may lead, and its size.
    lent: Vec<(Region, usize)>,
    budget: Arc<Budget>,
}

enum Body {
    Packet(Packet),
    /// A copy of the caller's bytes, and their number.
    Raw(Region, usize),
}

impl Ctx {
    /// A packet for a program of type `prog_type`: XDP, or one that takes a socket buffer. The
    /// packet starts at its Ethernet header, as in the kernel's test run.
    ///
    /// # Errors
    ///
    /// The packet is shorter than an Ethernet header or longer than a packet can be; programs of
    /// this type take no packet; out of memory.
    pub fn packet(prog_type: ProgType, packet: &[u8]) -> Result<Ctx, Error> {
        let budget = Budget::new(usize::MAX);
        let body = Body::Packet(Packet::new(prog_type, packet, &budget)?);
        Ok(Ctx::new(prog_type, body, budget))
    }

    /// A raw context: for programs of type `syscall`, and for the arguments of tracing programs.
    ///
    /// # Errors
    ///
    /// Programs of this type take a packet, or pointers that only a kernel can provide; more than
    /// 65,535 bytes; out of memory.
    pub fn raw(prog_type: ProgType, bytes: &[u8]) -> Result<Ctx, Error> {
        if takes_packet(prog_type) {
            return Err(Error::input(format!("programs of type {prog_type} need a packet")));
        }
        if !holds_scalars(prog_type) {
            // The verifier assumes that pointers in such a context are the kernel's.
            let what = format!("contexts of type {prog_type}, which contain pointers");
            return Err(Error::unsupported(what));
        }
        if bytes.len() > RAW_BYTES_MAX {
            let len = bytes.len();
            return Err(Error::input(format!("context of {len} bytes, maximum {RAW_BYTES_MAX}")));
        }
        let budget = Budget::new(usize::MAX);
        let region = Region::zeroed(bytes.len(), &budget).map_err(Error::no_memory)?;
        region.write(0, bytes);
        let body = Body::Raw(region, bytes.len());
        Ok(Ctx::new(prog_type, body, budget))
    }

    fn new(prog_type: ProgType, body: Body, budget: Arc<Budget>) -> Ctx {
        let (effects, env) = (Effects::default(), Env::default());
        Ctx {
            prog_type,
            body,
            effects,
            env,
            attach_cookie: 0,
            stack: None,
            lent: Vec::new(),
            budget,
        }
    }

    /// The program type it is for.
    pub fn prog_type(&self) -> ProgType {
        self.prog_type
    }

    /// Loads another packet and resets everything else, except fields set by [`Ctx::set_field`].
    ///
    /// # Errors
    ///
    /// As for [`Ctx::packet`], or the context has no packet.
    pub fn set_packet(&mut self, packet: &[u8]) -> Result<(), Error> {
        match &mut self.body {
            Body::Packet(body) => body.set(packet),
            Body::Raw(..) => Err(Error::input("the context has no packet")),
        }
    }

    /// The packet after the last run, starting with its Ethernet header; empty for a raw context.
    pub fn packet_bytes(&self) -> Vec<u8> {
        match &self.body {
            Body::Packet(packet) => packet.bytes(),
            Body::Raw(..) => Vec::new(),
        }
    }

    /// The bytes between `data_meta` and `data`; only XDP and tc have any.
    pub fn meta_bytes(&self) -> Vec<u8> {
        self.packet_of_run().map(Packet::meta_bytes).unwrap_or_default()
    }

    /// A raw context after the last run; empty for a packet.
    pub fn raw_bytes(&self) -> Vec<u8> {
        match &self.body {
            Body::Packet(_) => Vec::new(),
            Body::Raw(region, len) => region.to_vec(0, *len),
        }
    }

    /// A field of the uapi struct, such as `mark` or `cb[2]`; `None` for a raw context.
    pub fn field(&self, name: &str) -> Option<u64> {
        field::get(self.packet_of_run()?, self.prog_type, name)
    }

    /// All numbers of the uapi struct by name, with one entry per array element; none for a raw
    /// context.
    pub fn fields(&self) -> Vec<(String, u64)> {
        let packet = self.packet_of_run();
        packet.map(|packet| field::all(packet, self.prog_type)).unwrap_or_default()
    }

    /// Sets a field of the uapi struct for all further runs.
    ///
    /// # Errors
    ///
    /// There is no such field, it is a pointer or derived from the packet, or the value does not
    /// fit.
    pub fn set_field(&mut self, name: &str, value: u64) -> Result<(), Error> {
        let prog_type = self.prog_type;
        match &mut self.body {
            Body::Packet(packet) => field::set(packet, prog_type, name, value),
            Body::Raw(..) => Err(Error::input(format!("the context has no field '{name}'"))),
        }
    }

    /// Sets what `bpf_get_attach_cookie` returns in all further runs; initially 0.
    pub fn set_attach_cookie(&mut self, cookie: u64) {
        self.attach_cookie = cookie;
    }

    /// Address that the program gets.
    #[inline]
    pub(crate) fn addr(&self) -> u64 {
        match &self.body {
            Body::Packet(packet) => packet.ctx_addr(),
            Body::Raw(region, _) => region.addr(0),
        }
    }

    /// Bytes that a program may access.
    pub(crate) fn len(&self) -> usize {
        match &self.body {
            Body::Packet(_) => packet::CTX_BYTES,
            Body::Raw(_, len) => *len,
        }
    }

    pub(crate) fn packet_of_run(&self) -> Option<&Packet> {
        match &self.body {
            Body::Packet(packet) => Some(packet),
            Body::Raw(..) => None,
        }
    }

    /// The region and offset of an access to the context, its packet or memory lent to it; none if
    /// it is to something else.
    pub(crate) fn locate(&self, addr: u64, size: usize) -> Option<(&Region, usize)> {
        let own = match &self.body {
            Body::Packet(packet) => packet.locate(addr, size),
            Body::Raw(region, len) => region.locate(addr, size).filter(|(_, at)| at + size <= *len),
        };
        own.or_else(|| self.lent.iter().find_map(|(region, _)| region.locate(addr, size)))
    }

    /// Frames for an interpreted run.
    pub(crate) fn make_stack(&mut self) -> Result<(), Error> {
        if self.stack.is_none() {
            self.stack = Some(Region::zeroed(STACK_BYTES, &self.budget).map_err(Error::no_memory)?);
        }
        Ok(())
    }

    pub(crate) fn stack(&self) -> Option<&Region> {
        self.stack.as_ref()
    }
}

impl std::fmt::Debug for Ctx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ctx {{ {} }}", self.prog_type)
    }
}

/// Whether programs of this type take a packet.
pub fn takes_packet(prog_type: ProgType) -> bool {
    !skep_uapi::run_ctx::run_ctx(prog_type).pointers.is_empty()
}

/// Whether contexts of this program type consist of numbers only, with any values; pointers to
/// kernel structs are dereferenced with checks (`skep_verifier`: `probe_mem`).
fn holds_scalars(prog_type: ProgType) -> bool {
    use ProgType as T;
    matches!(
        prog_type,
        T::Kprobe
            | T::Tracepoint
            | T::PerfEvent
            | T::RawTracepoint
            | T::Tracing
            | T::Lsm
            | T::CgroupDevice
            | T::CgroupSysctl
            | T::LircMode2
            | T::Syscall
    )
}
