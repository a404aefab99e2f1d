//! The operations of a sequence, as text of the suites: helpers with arguments at the edges of what
//! they take, loads and stores of context fields, direct accesses to the packet.
//!
//! r6 is the context, r9 the map value that takes the results, and `BUFFER` bytes of the stack the
//! memory of helpers.

use super::super::generate::number;
use skep::uapi::ProgType;
use skep::uapi::ctx::{CtxLayout, CtxRange, CtxValue};
use skep_testkit::rng::Rng;
use std::fmt::Write;

/// Bytes of the stack that helpers read and write.
pub(super) const BUFFER: u64 = 64;

/// One operation. All of its results are stored.
#[derive(Clone)]
pub(super) struct Operation {
    /// The insns, with the first result in r0.
    pub(super) text: String,
    /// Number of words of the buffer that are results, too.
    pub(super) words: u64,
}

/// An argument of a helper.
#[derive(Clone, Copy)]
enum Arg {
    /// The context.
    Ctx,
    /// A length or an offset: near those of headers or of the packet.
    Len,
    /// A number of bytes to grow or shrink by, both ways.
    Diff,
    /// One of these; rarely, something else.
    Of(&'static [u64]),
    /// Exactly one of these.
    Only(&'static [u64]),
    /// Some of these bits; rarely, others.
    Bits(&'static [u64]),
    /// Anything.
    Any,
    /// The buffer, as input.
    In,
    /// The buffer, of which the helper writes as many bytes as the next argument says.
    Out,
    /// The length of the buffer before it: 1 to 64.
    Size,
    /// A multiple of four: 0 to 64.
    Multiple,
}

use Arg::*;

/// Flags of `bpf_skb_adjust_room`: those that often go together.
const ROOM: &[u64] = &[
    1 << 0,
    1 << 1,
    1 << 2,
    1 << 3,
    1 << 4,
    1 << 5,
    1 << 6,
    1 << 7,
    1 << 8,
    14 << 56,
    18 << 56,
    1 << 56,
];
/// `htons(ETH_P_8021Q)`, `htons(ETH_P_8021AD)`.
const TAGS: &[u64] = &[0x0081, 0xa888];
/// Words of which sums have edges: ones and zeros count alike.
const WORDS: &[u64] = &[0, 1, 0xffff, 0xfffe, 0x1_0000, 0xffff_0000, 0xffff_ffff, 0xffff_fffe];
/// `htons(ETH_P_IP)`, `htons(ETH_P_IPV6)`.
const PROTOCOLS: &[u64] = &[0x0008, 0xdd86];
/// Sizes of `struct bpf_tunnel_key`.
const KEY_SIZES: &[u64] = &[8, 22, 24, 28, 44];

/// Helpers and their arguments. A program type has those that its table of helpers allows; the
/// verifier says which.
const HELPERS: &[(&str, &[Arg])] = &[
    ("skb_store_bytes", &[Ctx, Len, In, Size, Of(&[0, 1, 2, 3])]),
    ("skb_load_bytes", &[Ctx, Len, Out, Size]),
    ("skb_load_bytes_relative", &[Ctx, Len, Out, Size, Of(&[0, 1])]),
    ("l3_csum_replace", &[Ctx, Len, Any, Any, Of(&[0, 2, 4])]),
    ("l3_csum_replace", &[Ctx, Len, Only(&[0]), Any, Only(&[0])]),
    ("l3_csum_replace", &[Ctx, Len, Of(WORDS), Of(WORDS), Only(&[2, 4])]),
    ("l4_csum_replace", &[Ctx, Len, Of(WORDS), Of(WORDS), Bits(&[2, 4, 0x20])]),
    ("l4_csum_replace", &[Ctx, Len, Any, Any, Bits(&[2, 4, 0x10, 0x20, 0x40, 0x80])]),
    ("l4_csum_replace", &[Ctx, Len, Only(&[0]), Any, Bits(&[0x10, 0x20, 0x40, 0x80])]),
    ("csum_diff", &[In, Multiple, In, Multiple, Any]),
    ("csum_update", &[Ctx, Any]),
    ("csum_level", &[Ctx, Of(&[0, 1, 2, 3])]),
    ("skb_vlan_push", &[Ctx, Of(TAGS), Any]),
    ("skb_vlan_pop", &[Ctx]),
    ("skb_change_proto", &[Ctx, Of(PROTOCOLS), Of(&[0])]),
    ("skb_change_type", &[Ctx, Of(&[0, 1, 2, 3, 4])]),
    ("skb_change_tail", &[Ctx, Len, Of(&[0])]),
    ("skb_change_head", &[Ctx, Len, Of(&[0])]),
    ("skb_pull_data", &[Ctx, Len]),
    ("skb_adjust_room", &[Ctx, Diff, Of(&[0, 1]), Bits(ROOM)]),
    ("skb_adjust_room", &[Ctx, Diff, Only(&[1]), Of(&[0])]),
    ("set_hash", &[Ctx, Any]),
    ("set_hash_invalid", &[Ctx]),
    ("skb_ecn_set_ce", &[Ctx]),
    ("skb_set_tunnel_key", &[Ctx, In, Of(KEY_SIZES), Bits(&[1, 2, 4, 8, 16])]),
    ("skb_get_tunnel_key", &[Ctx, Out, Of(KEY_SIZES), Bits(&[1, 16])]),
    ("skb_set_tunnel_opt", &[Ctx, In, Size]),
    ("skb_get_tunnel_opt", &[Ctx, Out, Size]),
    ("skb_set_tstamp", &[Ctx, Any, Of(&[0, 1, 2])]),
    ("get_cgroup_classid", &[Ctx]),
    ("get_route_realm", &[Ctx]),
    ("xdp_adjust_head", &[Ctx, Diff]),
    ("xdp_adjust_tail", &[Ctx, Diff]),
    ("xdp_adjust_meta", &[Ctx, Diff]),
    ("xdp_get_buff_len", &[Ctx]),
    ("xdp_load_bytes", &[Ctx, Len, Out, Size]),
    ("xdp_store_bytes", &[Ctx, Len, In, Size]),
];

/// Operations of several calls, as text: `FROM` makes a dynptr of the packet; `LEN`, `SIZE`,
/// `DIFF`, `WORD` and `FLAGS` are numbers.
const TEXTS: &[&str] = &[
    "FROM r1 = r10; r1 += -64; r2 = SIZE; r3 = r10; r3 += -80; r4 = LEN; r5 = 0
     call bpf_dynptr_read",
    "FROM r1 = r10; r1 += -80; r2 = LEN; r3 = r10; r3 += -64; r4 = SIZE; r5 = FLAGS
     call bpf_dynptr_write",
    "FROM r1 = r10; r1 += -80; r2 = LEN; r3 = r10; r3 += -64; r4 = SIZE
     call kfunc[bpf_dynptr_slice]; if r0 == 0 goto +1; r0 = *(u8 *)(r0 + 0)",
    "FROM r1 = r10; r1 += -80; r2 = LEN; r3 = r10; r3 += -64; r4 = SIZE
     call kfunc[bpf_dynptr_slice_rdwr]; if r0 == 0 goto +2; *(u8 *)(r0 + 0) = 7; r0 = 1",
    "FROM r1 = r10; r1 += -80; r2 = LEN; r3 = LEN; call kfunc[bpf_dynptr_adjust]; r7 = r0
     r1 = r10; r1 += -80; call kfunc[bpf_dynptr_size]; r7 <<= 32; r0 |= r7",
    "FROM r1 = r10; r1 += -80; r2 = LEN; r3 = SIZE; r4 = 9; call kfunc[bpf_dynptr_memset]",
    "r1 = r6; r2 = WORD; call bpf_set_hash; r1 = r6; call bpf_get_hash_recalc",
    "*(u64 *)(r10 - 88) = WORD; r1 = r6; r2 = 0; r3 = r10; r3 += -88; r4 = DIFF; r5 = 0
     call bpf_check_mtu",
    "*(u64 *)(r10 - 88) = 0; r1 = r6; r2 = 0; r3 = r10; r3 += -88; r4 = DIFF; r5 = 0
     call bpf_check_mtu; r0 = *(u32 *)(r10 - 88)",
    "r1 = WORD; r2 = FLAGS; call bpf_redirect",
    "r1 = r6; r2 = LEN; call kfunc[bpf_xdp_pull_data]",
];

/// Fields that are not comparable: a hash that was not set depends on the kernel's key, and the
/// socket's are those of a socket that does not exist here.
const APART: [&str; 2] = ["hash", "napi_id"];

/// What operations are made of.
pub(super) struct Maker<'a> {
    pub(super) rng: Rng,
    pub(super) prog_type: ProgType,
    /// The packet that the program will get.
    pub(super) packet: &'a [u8],
    /// The helpers that this program type has.
    pub(super) helpers: &'a [usize],
}

/// Number of rows in the table of helpers.
pub(super) fn helpers() -> usize {
    HELPERS.len() + TEXTS.len()
}

/// The operation of that row with arguments that verify.
pub(super) fn plain_call(prog_type: ProgType, row: usize) -> Operation {
    let rng = Rng::new(1);
    Maker { rng, prog_type, packet: &[0; 64], helpers: &[] }.call(row)
}

impl Maker<'_> {
    /// Any operation.
    pub(super) fn operation(&mut self) -> Operation {
        match self.rng.below(20) {
            0..11 if !self.helpers.is_empty() => {
                let row = self.rng.pick(self.helpers);
                self.call(row)
            }
            0..14 => self.load(),
            14..16 => self.store(),
            16..18 => self.data(),
            18 => self.meta(),
            _ => self.legacy(),
        }
    }

    /// Loads of all fields that are numbers.
    pub(super) fn all_fields(&self) -> Vec<Operation> {
        let loads = self.fields().into_iter().filter_map(|off| self.field(off, 4, "u32"));
        loads.map(|text| Operation { text, words: 0 }).collect()
    }

    /// The operation of a row with other numbers.
    fn call(&mut self, row: usize) -> Operation {
        let Some(&(name, args)) = HELPERS.get(row) else {
            return self.written(TEXTS[row - HELPERS.len()]);
        };
        let mut text = String::new();
        let (mut words, mut out) = (0, false);
        for (reg, arg) in (1..).zip(args) {
            // Writing to a string cannot fail.
            let _ = match arg {
                Ctx => writeln!(text, "r{reg} = r6"),
                In | Out => writeln!(text, "r{reg} = r10\nr{reg} += -{BUFFER}"),
                _ => writeln!(text, "r{reg} = {}", literal(self.number(*arg, out, &mut words))),
            };
            out = matches!(arg, Out);
        }
        let _ = writeln!(text, "call bpf_{name}");
        Operation { text, words }
    }

    fn written(&mut self, text: &str) -> Operation {
        let from = if self.prog_type == ProgType::Xdp { "xdp" } else { "skb" };
        let from =
            format!("r1 = r6; r2 = 0; r3 = r10; r3 += -80; call kfunc[bpf_dynptr_from_{from}];");
        let size = 1 + self.rng.below(BUFFER);
        let mut text = text.replace("FROM", &from).replace("SIZE", &size.to_string());
        for (name, arg) in
            [("LEN", Len), ("DIFF", Diff), ("WORD", Any), ("FLAGS", Of(&[0, 0, 1, 2]))]
        {
            while text.contains(name) {
                let mut number = self.number(arg, false, &mut 0);
                if name == "WORD" && text.contains("= WORD; r1") {
                    number = number as i32 as u64;
                }
                text = text.replacen(name, &literal(number), 1);
            }
        }
        let words = if text.contains("dynptr_read") { size.div_ceil(8) } else { 0 };
        let lines = text.split([';', '\n']).map(|line| format!("{}\n", line.trim()));
        Operation { text: lines.collect(), words }
    }

    /// A number for an argument; if it is the size of an output, `words` tells how many words that
    /// is.
    fn number(&mut self, arg: Arg, out: bool, words: &mut u64) -> u64 {
        let rng = &mut self.rng;
        let value = match arg {
            Len => self.len(),
            Diff => match rng.below(6) {
                0 => number(rng),
                1 => (rng.below(0x1000) as i64 - 0x800) as u64,
                _ => {
                    (rng.pick(&[0, 1, 2, 4, 8, 14, 20, 28, 36, 40, 48, 60, 64, 100, 252, 256])
                        as i64
                        * rng.pick(&[1, -1])) as u64
                }
            },
            Of(values) if out || rng.chance(95) => rng.pick(values),
            Of(KEY_SIZES) => 1 + rng.below(44),
            Only(values) => rng.pick(values),
            Bits(bits) if rng.chance(95) => {
                let count = rng.pick(&[0, 1, 1, 2, 2, 3]);
                (0..count).fold(0, |all, _| all | rng.pick(bits))
            }
            Size => 1 + rng.below(BUFFER),
            Multiple => 4 * rng.below(BUFFER / 4 + 1),
            _ => number(rng),
        };
        if out {
            *words = value.div_ceil(8);
        }
        value
    }

    /// A length or offset.
    fn len(&mut self) -> u64 {
        let packet = self.packet.len() as u64;
        let rng = &mut self.rng;
        let near = |rng: &mut Rng, at: u64| at.wrapping_add(rng.below(5)).wrapping_sub(2);
        match rng.below(16) {
            0..3 => near(rng, packet),
            3 => near(rng, packet.saturating_sub(14)),
            4 => near(rng, packet + 14),
            5..9 => {
                let at = rng.pick(&[0, 4, 14, 18, 20, 34, 38, 40, 54, 58, 64, 74]);
                near(rng, at)
            }
            9..12 => rng.below(80),
            12 => rng.below(1600),
            13 => {
                let at = rng.pick(&[128, 252, 256, 1514, 4096, 16064, 0xffff, 0x1_0000]);
                near(rng, at)
            }
            14 => rng.below(100) | rng.below(16) << 32,
            _ => number(rng),
        }
    }

    /// The offsets of fields that are numbers.
    fn fields(&self) -> Vec<i32> {
        let fields = CtxLayout::find(self.prog_type, 0).map(CtxLayout::fields).unwrap_or_default();
        let numbers = fields
            .iter()
            .filter(|field| field.value == CtxValue::Scalar && !APART.contains(&field.name));
        let words = |size: u32| (0..size).step_by(4);
        numbers.flat_map(|field| words(field.size).map(|at| field.off + at as i32)).collect()
    }

    /// `r0` = the field, if such a load is allowed; of a field of eight bytes, all of it.
    fn field(&self, off: i32, bytes: u32, size: &str) -> Option<String> {
        let layout = CtxLayout::find(self.prog_type, 0)?;
        let load = |off, size| layout.load(CtxRange { off, size }, false);
        if load(off, bytes).is_some() {
            return Some(format!("r0 = *({size} *)(r6 + {off})\n"));
        }
        load(off, 8).map(|_| format!("r0 = *(u64 *)(r6 + {off})\n"))
    }

    fn load(&mut self) -> Operation {
        let fields = self.fields();
        let off = if fields.is_empty() { 0 } else { self.rng.pick(&fields) };
        let (bytes, size) = self.rng.pick(&[(4, "u32"), (4, "u32"), (2, "u16"), (1, "u8")]);
        let inside = (self.rng.below(4) as u32 / bytes * bytes) as i32;
        let text = self.field(off + inside, bytes, size);
        Operation { text: text.unwrap_or_else(|| "r0 = 0\n".to_owned()), words: 0 }
    }

    fn store(&mut self) -> Operation {
        let sizes = [(1, "u8"), (2, "u16"), (4, "u32"), (8, "u64")];
        let layout = CtxLayout::find(self.prog_type, 0);
        let may = |off: i32, size: u32| {
            layout.is_some_and(|layout| layout.store(CtxRange { off, size }).is_some())
        };
        let places: Vec<(i32, &str)> = (0..256)
            .flat_map(|off| sizes.map(|(bytes, size)| (off, bytes, size)))
            .filter(|&(off, bytes, _)| may(off, bytes))
            .map(|(off, _, size)| (off, size))
            .collect();
        let value = literal(number(&mut self.rng));
        let text = match places.is_empty() {
            true => format!("r0 = {value}\n"),
            false => {
                let (off, size) = self.rng.pick(&places);
                format!("r0 = {value}\n*({size} *)(r6 + {off}) = r0\n")
            }
        };
        Operation { text, words: 0 }
    }

    /// Names of the context's pointers to the packet: offset and size.
    fn pointer(&self, value: CtxValue) -> Option<String> {
        let fields = CtxLayout::find(self.prog_type, 0)?.fields();
        let field = fields.iter().find(|field| field.value == value)?;
        Some(format!("*(u32 *)(r6 + {})", field.off))
    }

    /// A load or store between two pointers of the context, or their distance.
    fn between(&mut self, start: CtxValue, end: CtxValue) -> Operation {
        let (Some(start), Some(end)) = (self.pointer(start), self.pointer(end)) else {
            return self.load();
        };
        let rng = &mut self.rng;
        let any = 1 + rng.below(64);
        let len = rng.pick(&[any, 14, 34, 54]);
        let (bytes, size) = rng.pick(&[(1, "u8"), (2, "u16"), (4, "u32"), (8, "u64")]);
        let mut text = format!("r7 = {start}\nr8 = {end}\n");
        // Writing to a string cannot fail.
        let _ = match rng.below(3) {
            0 => writeln!(text, "r0 = r8\nr0 -= r7"),
            way => {
                let len = len.max(bytes);
                let off = rng.below(len - bytes + 1);
                let access = match way {
                    1 => format!("r0 = *({size} *)(r7 + {off})"),
                    _ => format!("*({size} *)(r7 + {off}) = {}", rng.word() as u8),
                };
                writeln!(text, "r1 = r7\nr1 += {len}\nr0 = 0\nif r1 > r8 goto +1\n{access}")
            }
        };
        Operation { text, words: 0 }
    }

    fn data(&mut self) -> Operation {
        self.between(CtxValue::Packet, CtxValue::PacketEnd)
    }

    fn meta(&mut self) -> Operation {
        self.between(CtxValue::PacketMeta, CtxValue::Packet)
    }

    /// A legacy load, which ends the program if the packet is too short.
    fn legacy(&mut self) -> Operation {
        use ProgType as T;
        if !matches!(self.prog_type, T::SocketFilter | T::SchedCls | T::SchedAct) {
            return self.load();
        }
        let rng = &mut self.rng;
        let base = rng.pick(&[0, 0, -0x10_0000, -0x20_0000]);
        let off = base + rng.below(24) as i32;
        let size = rng.pick(&["u8", "u16", "u32"]);
        Operation { text: format!("r0 = *({size} *)skb[{off}]\n"), words: 0 }
    }
}

/// A number as the assembler takes it.
fn literal(value: u64) -> String {
    match i32::try_from(value as i64) {
        Ok(value) => value.to_string(),
        Err(_) => format!("{} ll", value as i64),
    }
}
