//! Protocol for sending programs to a kernel in a virtual machine, and returning its results.
//!
//! `skep-guest` runs there: it has no objects, no BTF and no loader; it loads what it receives. A
//! message is a frame: a four-byte length, followed by that many bytes, the first of which is the
//! kind. All numbers are little-endian.
//!
//! # Invariants
//! 1. Lengths are checked: a frame that is truncated, or claims to contain more than it does, is an
//!    error, never a panic.
//! 2. A program that was sent and received loads as it would have loaded here: the same insns, maps
//!    and BTF, module ids in the modules' own numbering.

use crate::judge::{Answer, NotJudged, Prepared, as_loaded};
use crate::kernel_log::{self, KernelStats};
use crate::modules::{Named, Place};
pub use crate::not_judged::NoAttachTarget;
use crate::wire_bytes::{Reader, Writer, broken};
use skep_btf::Btf;
use skep_insn::{Endian, InsnIdx, decode_all, encode_all};
use skep_program::{AttachTarget, FuncInfo, LineInfo, MapDef, Program, TargetFunction};
use skep_uapi::{Judged, MapFlags, MapType, ProgFlags, ProgType};
use std::convert::Infallible;
use std::io::{self, Read, Write};
use std::sync::Arc;

/// Longer frames are invalid.
const FRAME_BYTES_MAX: usize = 1 << 30;

/// What is asked.
#[derive(Debug)]
pub enum Request {
    /// Read a file.
    Read(String),
    /// List the names in a directory.
    List(String),
    /// The BTF of the programs that follow; empty for none.
    Btf(Vec<u8>),
    /// Load a program and close it.
    Load(Box<Load>),
    /// Power off the machine.
    Quit,
}

/// A program, complete except for its BTF, which was sent before.
#[derive(Debug)]
pub struct Load {
    pub(crate) program: Program,
    pub(crate) named: Named,
    /// Log level; with `logged_insns_max`, only for programs whose verification is not longer.
    pub log_level: u32,
    /// Longer verifications return the statistics and the message only.
    pub logged_insns_max: u64,
}

/// What is answered.
#[derive(Debug, PartialEq, Eq)]
pub enum Reply {
    /// The guest is ready: the kernel's release.
    Ready(String),
    /// A file's bytes, or a directory's names, one per line; `None` if it cannot be read.
    Bytes(Option<Vec<u8>>),
    /// Of a load.
    Loaded(Box<LoadResult>),
}

/// A kernel's result for a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadResult {
    /// The verifier ran.
    pub judged: bool,
    /// It accepts it.
    pub accepted: bool,
    /// The kernel accepted the program's BTF, or there is none.
    pub with_btf: bool,
    /// errno of a rejection, else 0.
    pub errno: u32,
    /// Log level of `log`.
    pub log_level: u32,
    /// The log; for a program that was not judged, the reason.
    pub log: String,
}

impl Load {
    /// A program to be sent.
    ///
    /// # Errors
    ///
    /// Its attach target does not exist.
    pub fn new(program: &Program, log_level: u32) -> Result<Load, NoAttachTarget> {
        let named = Named::of(program)?;
        let program = program.clone();
        Ok(Load { program, named, log_level, logged_insns_max: u64::MAX })
    }

    /// Loads it into the kernel of this machine, and closes it.
    pub fn load_here(&self) -> LoadResult {
        let program = as_loaded(&self.program);
        let with_btf = program.btf.is_some() == self.program.btf.is_some();
        let not_judged = |NotJudged { reason, detail }| {
            let log = format!("{reason} {detail}").trim_end().to_owned();
            LoadResult { with_btf, log, ..LoadResult::default() }
        };
        let prepared = match Prepared::named(&program, self.named.clone()) {
            Ok(prepared) => prepared,
            Err(why) => return not_judged(why),
        };
        let mut told =
            LoadResult { judged: true, with_btf, log_level: STATS, ..LoadResult::default() };
        match prepared.load(STATS) {
            Answer::NotJudged(why) => return not_judged(why),
            Answer::Judged(it) => {
                let walked = it.stats.map_or(0, |stats| stats.insns_processed);
                (told.accepted, told.errno, told.log) = (it.accepted, it.errno as u32, it.log);
                if self.log_level == STATS || walked > self.logged_insns_max {
                    return told;
                }
            }
        }
        if let Answer::Judged(it) = prepared.load(self.log_level) {
            (told.log, told.log_level) = (it.log, self.log_level);
        }
        told
    }
}

/// The running kernel's result for a program that is loaded, and closed again.
pub fn ask(program: &Program) -> Judged {
    judged(program, |load| Ok::<_, Infallible>(load.load_here())).unwrap_or_else(|it| match it {})
}

/// The result for a program of the kernel by which `load` loads it.
///
/// # Errors
///
/// Those of `load`.
pub fn judged<E>(
    program: &Program,
    load: impl FnOnce(Load) -> Result<LoadResult, E>,
) -> Result<Judged, E> {
    let told = match Load::new(program, STATS) {
        Ok(it) => load(it)?,
        Err(why) => return Ok(Judged { message: why.to_string(), ..Judged::default() }),
    };
    let stats = told.stats();
    Ok(Judged {
        judged: told.judged,
        accepted: told.accepted,
        with_btf: told.with_btf,
        insns: stats.insns_processed,
        peak_states: stats.peak_states,
        message: told.message(),
    })
}

impl LoadResult {
    /// The last message; for a program that was not judged, the reason.
    pub fn message(&self) -> String {
        if !self.judged {
            return self.log.clone();
        }
        // Without the insns, the source line of the last one follows the message.
        let is_source = |line: &&str| self.log_level == STATS && line.starts_with("; ");
        let lines: Vec<&str> = self.log.lines().filter(|line| !is_source(line)).collect();
        kernel_log::reason(&lines.join("\n")).unwrap_or_default().trim_end().to_owned()
    }

    /// The statistics at the end of the log; zeros if there are none.
    pub fn stats(&self) -> KernelStats {
        KernelStats::parse(&self.log).unwrap_or_default()
    }
}

/// The log level for statistics only, which includes the message of a rejection.
const STATS: u32 = 4;

impl Request {
    /// Writes the frame.
    ///
    /// # Errors
    ///
    /// Of the stream.
    pub fn send(&self, out: &mut impl Write) -> io::Result<()> {
        let mut w = Writer::default();
        match self {
            Request::Read(path) => w.u8(0).str(path),
            Request::List(path) => w.u8(1).str(path),
            Request::Btf(bytes) => w.u8(2).bytes(bytes),
            Request::Load(load) => {
                w.u8(3).u32(load.log_level).u64(load.logged_insns_max);
                named(&mut w, &load.named);
                program(&mut w, &load.program)
            }
            Request::Quit => w.u8(4),
        };
        write_frame(out, &w.0)
    }

    /// Reads a frame; `btf` is the most recent one from [`Request::Btf`].
    ///
    /// # Errors
    ///
    /// An error of the stream, or an invalid frame.
    pub fn receive(from: &mut impl Read, btf: Option<&Arc<Btf>>) -> io::Result<Request> {
        let frame = read_frame(from)?;
        let mut r = Reader(&frame);
        let request = match r.u8()? {
            0 => Request::Read(r.str()?),
            1 => Request::List(r.str()?),
            2 => Request::Btf(r.bytes()?.to_vec()),
            3 => {
                let (log_level, logged_insns_max) = (r.u32()?, r.u64()?);
                let named = read_named(&mut r)?;
                let program = read_program(&mut r, btf, &named)?;
                Request::Load(Box::new(Load { program, named, log_level, logged_insns_max }))
            }
            4 => Request::Quit,
            _ => return Err(broken()),
        };
        Ok(request)
    }
}

impl Reply {
    /// Writes the frame.
    ///
    /// # Errors
    ///
    /// Of the stream.
    pub fn send(&self, out: &mut impl Write) -> io::Result<()> {
        let mut w = Writer::default();
        match self {
            Reply::Ready(release) => w.u8(0).str(release),
            Reply::Bytes(None) => w.u8(1),
            Reply::Bytes(Some(bytes)) => w.u8(2).bytes(bytes),
            Reply::Loaded(told) => {
                let flags = [told.judged, told.accepted, told.with_btf];
                w.u8(3).u8(flags.iter().rev().fold(0, |all, &flag| all << 1 | u8::from(flag)));
                w.u32(told.errno).u32(told.log_level).str(&told.log)
            }
        };
        write_frame(out, &w.0)
    }

    /// Reads a frame.
    ///
    /// # Errors
    ///
    /// An error of the stream, or an invalid frame.
    pub fn receive(from: &mut impl Read) -> io::Result<Reply> {
        let frame = read_frame(from)?;
        let mut r = Reader(&frame);
        Ok(match r.u8()? {
            0 => Reply::Ready(r.str()?),
            1 => Reply::Bytes(None),
            2 => Reply::Bytes(Some(r.bytes()?.to_vec())),
            3 => {
                let flags = r.u8()?;
                let flag = |bit: u8| flags >> bit & 1 != 0;
                let (errno, log_level, log) = (r.u32()?, r.u32()?, r.str()?);
                let (judged, accepted, with_btf) = (flag(0), flag(1), flag(2));
                Reply::Loaded(Box::new(LoadResult {
                    judged,
                    accepted,
                    with_btf,
                    errno,
                    log_level,
                    log,
                }))
            }
            _ => return Err(broken()),
        })
    }
}

fn named(w: &mut Writer, named: &Named) {
    w.list(&named.modules, |w, module| w.str(module));
    w.list(&named.places, |w, place| {
        w.u32(place.insn as u32).u32(place.module as u32).u32(place.id)
    });
    w.u32(named.target.0).u32(named.target.1.map_or(u32::MAX, |at| at as u32));
}

fn read_named(r: &mut Reader<'_>) -> io::Result<Named> {
    let modules = r.list(Reader::str)?;
    let place = |r: &mut Reader<'_>| {
        Ok(Place { insn: r.u32()? as usize, module: r.u32()? as usize, id: r.u32()? })
    };
    let places = r.list(place)?;
    let (id, module) = (r.u32()?, r.u32()?);
    let target = (id, (module != u32::MAX).then_some(module as usize));
    Ok(Named { modules, places, target })
}

fn program<'w>(w: &'w mut Writer, program: &Program) -> &'w mut Writer {
    w.str(&program.name).u32(program.prog_type as u32).u32(program.expected_attach_type);
    w.u32(program.prog_flags.bits()).str(&program.license).u32(program.kern_version);
    w.bytes(&encode_all(&program.insns, Endian::Little)).u8(u8::from(program.btf.is_some()));
    w.list(&program.func_info, |w, row| w.u32(row.insn_off.0).u32(row.type_id));
    w.list(&program.line_info, |w, row| {
        w.u32(row.insn_off.0).u32(row.file_name_off).u32(row.line_off).u32(row.line_col)
    });
    w.list(&program.maps, map);
    match &program.attach {
        AttachTarget::Function(target) => {
            // Its BTF may be another than this program's.
            let btf = target.program.btf.as_ref();
            w.u8(1).u32(target.btf_id);
            named(w, &Named::of(&target.program).unwrap_or_default());
            w.bytes(&btf.map_or(Vec::new(), |btf| btf.to_bytes(skep_btf::Endian::Little)));
            self::program(w, &target.program)
        }
        _ => w.u8(0),
    }
}

fn read_program(r: &mut Reader<'_>, btf: Option<&Arc<Btf>>, named: &Named) -> io::Result<Program> {
    let mut program = Program {
        name: r.str()?,
        prog_type: ProgType::from_number(r.u32()?).ok_or_else(broken)?,
        expected_attach_type: r.u32()?,
        prog_flags: ProgFlags::from_bits_retain(r.u32()?),
        license: r.str()?,
        kern_version: r.u32()?,
        insns: decode_all(r.bytes()?, Endian::Little).map_err(|_| broken())?,
        ..Program::default()
    };
    program.btf = if r.u8()? != 0 { btf.cloned() } else { None };
    let func = |r: &mut Reader<'_>| Ok(FuncInfo { insn_off: InsnIdx(r.u32()?), type_id: r.u32()? });
    program.func_info = r.list(func)?;
    let line = |r: &mut Reader<'_>| {
        let (insn_off, file_name_off) = (InsnIdx(r.u32()?), r.u32()?);
        Ok(LineInfo { insn_off, file_name_off, line_off: r.u32()?, line_col: r.u32()? })
    };
    program.line_info = r.list(line)?;
    program.maps = r.list(read_map)?.into();
    if named.target.0 != 0 {
        program.attach = AttachTarget::Kernel { btf_id: named.target.0, name: String::new() };
    }
    if r.u8()? != 0 {
        let btf_id = r.u32()?;
        let its_own = read_named(r)?;
        let bytes = r.bytes()?;
        let own = match bytes.is_empty() {
            true => None,
            false => Some(Arc::new(Btf::parse(bytes).map_err(|_| broken())?)),
        };
        let target = read_program(r, own.as_ref(), &its_own)?;
        program.attach =
            AttachTarget::Function(Arc::new(TargetFunction { program: target, btf_id }));
    }
    Ok(program)
}

fn map<'w>(w: &'w mut Writer, map: &MapDef) -> &'w mut Writer {
    let used = map.contents.iter().rposition(|&byte| byte != 0).map_or(1, |last| last + 1);
    let contents = map.contents.get(..used).unwrap_or_default();
    w.str(&map.name).u32(map.map_type as u32).u32(map.key_size).u32(map.value_size);
    w.u32(map.max_entries).u32(map.map_flags.bits()).u64(map.map_extra).u32(map.numa_node);
    w.u32(map.btf_key_type_id).u32(map.btf_value_type_id).u32(map.btf_vmlinux_value_type_id);
    w.bytes(contents).u8(u8::from(map.frozen)).u8(u8::from(map.inner.is_some()));
    match &map.inner {
        Some(inner) => self::map(w, inner),
        None => w,
    }
}

fn read_map(r: &mut Reader<'_>) -> io::Result<MapDef> {
    let mut map = MapDef {
        name: r.str()?,
        map_type: MapType::from_number(r.u32()?).ok_or_else(broken)?,
        key_size: r.u32()?,
        value_size: r.u32()?,
        max_entries: r.u32()?,
        map_flags: MapFlags::from_bits_retain(r.u32()?),
        map_extra: r.u64()?,
        numa_node: r.u32()?,
        btf_key_type_id: r.u32()?,
        btf_value_type_id: r.u32()?,
        btf_vmlinux_value_type_id: r.u32()?,
        contents: r.bytes()?.to_vec(),
        frozen: r.u8()? != 0,
        ..MapDef::default()
    };
    if r.u8()? != 0 {
        map.inner = Some(Box::new(read_map(r)?));
    }
    Ok(map)
}

fn write_frame(out: &mut impl Write, frame: &[u8]) -> io::Result<()> {
    let len = u32::try_from(frame.len()).map_err(|_| broken())?;
    out.write_all(&len.to_le_bytes())?;
    out.write_all(frame)?;
    out.flush()
}

fn read_frame(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut len = [0; 4];
    from.read_exact(&mut len)?;
    let len = u32::from_le_bytes(len) as usize;
    if len > FRAME_BYTES_MAX {
        return Err(broken());
    }
    let mut frame = Vec::new();
    from.take(len as u64).read_to_end(&mut frame)?;
    if frame.len() < len { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(frame) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_insn::Insn;

    fn loaded() -> Load {
        let map = MapDef {
            name: "m".to_owned(),
            map_type: MapType::Array,
            contents: vec![1, 0, 2, 0, 0],
            inner: Some(Box::default()),
            ..MapDef::default()
        };
        let program = Program {
            name: "p".to_owned(),
            prog_type: ProgType::Xdp,
            license: "GPL".to_owned(),
            insns: vec![Insn { code: 0x95, ..Insn::default() }; 2],
            maps: vec![map, MapDef::default()].into(),
            func_info: vec![FuncInfo { insn_off: InsnIdx(1), type_id: 7 }],
            ..Program::default()
        };
        let place = Place { insn: 1, module: 0, id: 99 };
        let named =
            Named { modules: vec!["veth".to_owned()], places: vec![place], target: (5, Some(0)) };
        Load { program, named, log_level: 6, logged_insns_max: 10 }
    }

    #[test]
    fn a_program_arrives_as_it_was_sent() {
        let sent = loaded();
        let (expected, named) = (sent.program.clone(), sent.named.clone());
        let mut bytes = Vec::new();
        Request::Load(Box::new(sent)).send(&mut bytes).expect("sent");
        let Ok(Request::Load(got)) = Request::receive(&mut &bytes[..], None) else {
            panic!("not received")
        };
        assert_eq!(got.named, named);
        assert_eq!(got.program.insns, expected.insns);
        assert_eq!(got.program.func_info, expected.func_info);
        assert_eq!(got.program.maps[0].contents, [1, 0, 2], "zeros behind are the map's own");
        assert_eq!(got.program.maps[0].inner, expected.maps[0].inner);
        assert_eq!((got.log_level, got.logged_insns_max), (6, 10));
    }

    #[test]
    fn a_frame_that_ends_early_is_an_error() {
        let mut bytes = Vec::new();
        Request::Load(Box::new(loaded())).send(&mut bytes).expect("sent");
        for end in 0..bytes.len() {
            assert!(Request::receive(&mut &bytes[..end], None).is_err(), "{end}");
            // The same with a correct length, but truncated contents.
            let mut short = bytes[..end].to_vec();
            let len = (end.saturating_sub(4) as u32).to_le_bytes();
            if let Some(head) = short.get_mut(..4) {
                head.copy_from_slice(&len);
                assert!(Request::receive(&mut &short[..], None).is_err(), "{end}");
            }
        }
        assert!(Reply::receive(&mut &[1, 0, 0, 0, 9][..]).is_err());
    }

    /// 6.18 says it at the level of statistics; the message is not the source line.
    #[test]
    fn the_source_line_after_a_message_is_not_the_message() {
        let log = "invalid bpf_context access off=8 size=8\n; a(b) @ c.c:18\n\
                   processed 2 insns (limit 1000000) max_states_per_insn 0 total_states 0 \
                   peak_states 0 mark_read 0\n";
        let judged = LoadResult { judged: true, log: log.to_owned(), ..LoadResult::default() };
        let told = LoadResult { log_level: STATS, ..judged };
        assert_eq!(told.message(), "invalid bpf_context access off=8 size=8");
    }

    #[test]
    fn an_answer_arrives_as_it_was_sent() {
        let told = LoadResult {
            judged: true,
            errno: 22,
            log: "R1 !read_ok".to_owned(),
            ..LoadResult::default()
        };
        for reply in
            [Reply::Loaded(Box::new(told)), Reply::Bytes(None), Reply::Bytes(Some(vec![1]))]
        {
            let mut bytes = Vec::new();
            reply.send(&mut bytes).expect("sent");
            assert_eq!(Reply::receive(&mut &bytes[..]).expect("received"), reply);
        }
    }
}
