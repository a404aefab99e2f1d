//! Captures of every kind, broken and whole, larger than memory, and from pipes.

use skep_cli::{Exit, Streams};
use skep_report::Style;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const OBJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/xdp_count.bpf.o");

/// Exit, output and errors of `xdp_count` on a capture.
fn count(capture: &[u8], more: &[&str]) -> (Exit, String, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("in.cap");
    fs::write(&path, capture).unwrap();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut streams =
        Streams { out: &mut out, err: &mut err, style: Style::Plain, progress: false };
    let args = ["skep", "run", "--btf=none", OBJECT, "xdp_count", "--pcap", path.to_str().unwrap()];
    let exit = skep_cli::run(args.iter().chain(more).map(Into::into), &mut streams).unwrap();
    (exit, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

/// The child does the same with `args`, below a limit of memory if there is one.
fn child(limit_kib: Option<u32>, args: &[&str]) -> Child {
    child_of(Path::new(OBJECT), limit_kib, args)
}

fn child_of(object: &Path, limit_kib: Option<u32>, args: &[&str]) -> Child {
    let limit = limit_kib.map_or(String::new(), |limit| format!("ulimit -v {limit};"));
    let mut command = Command::new("sh");
    command.current_dir(ROOT).args(["-c", &format!("{limit} exec \"$@\""), "sh"]);
    command.arg(env!("CARGO_BIN_EXE_skep")).args(["run", "--btf=none"]);
    command.arg(object).arg("xdp_count");
    // Each thread's arena and room for machine code would take their share of the limit.
    command.args(args).arg(if limit_kib.is_some() { "--interp" } else { "--jit" });
    command.env("MALLOC_ARENA_MAX", "1");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn finish(child: Child) -> (Option<i32>, String, String) {
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn packet(number: u32) -> Vec<u8> {
    let mut packet = vec![0; 60];
    packet[12..14].copy_from_slice(&[0x88, 0xb5]);
    packet[20..24].copy_from_slice(&number.to_be_bytes());
    packet
}

/// Fields in one byte order or the other.
#[derive(Clone, Copy)]
struct Order {
    is_big: bool,
}

const LITTLE: Order = Order { is_big: false };
const BIG: Order = Order { is_big: true };

impl Order {
    fn u16(self, field: u16) -> [u8; 2] {
        if self.is_big { field.to_be_bytes() } else { field.to_le_bytes() }
    }
    fn u32s(self, fields: &[u32]) -> Vec<u8> {
        let bytes = |n: &u32| if self.is_big { n.to_be_bytes() } else { n.to_le_bytes() };
        fields.iter().flat_map(bytes).collect()
    }
    fn pcap(self, magic: u32, records: &[Vec<u8>]) -> Vec<u8> {
        let version = [self.u16(2), self.u16(4)].concat();
        let header = [self.u32s(&[magic]), version, self.u32s(&[0, 0, 65_535, 1])].concat();
        [header, records.concat()].concat()
    }
    fn record(self, seconds: u32, fraction: u32, packet: &[u8]) -> Vec<u8> {
        let len = packet.len() as u32;
        [self.u32s(&[seconds, fraction, len, len]), packet.to_vec()].concat()
    }
    fn block(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let mut body = body.to_vec();
        body.resize(body.len().next_multiple_of(4), 0);
        let len = body.len() as u32 + 12;
        [self.u32s(&[kind, len]), body, self.u32s(&[len])].concat()
    }
    fn section(self) -> Vec<u8> {
        let version = [self.u16(1), self.u16(0)].concat();
        let body = [self.u32s(&[0x1a2b_3c4d]), version, vec![0xff; 8]].concat();
        self.block(0x0a0d_0d0a, &body)
    }
    fn interface(self, link: u16, options: &[u8]) -> Vec<u8> {
        let body =
            [self.u16(link).to_vec(), vec![0; 2], self.u32s(&[0]), options.to_vec()].concat();
        self.block(1, &body)
    }
    fn enhanced(self, interface: u32, time: u64, packet: &[u8]) -> Vec<u8> {
        let (high, low, len) = ((time >> 32) as u32, time as u32, packet.len() as u32);
        let fields = self.u32s(&[interface, high, low, len, len]);
        self.block(6, &[fields, packet.to_vec()].concat())
    }
    fn option(self, code: u16, value: &[u8]) -> Vec<u8> {
        let mut option = [self.u16(code), self.u16(value.len() as u16)].concat();
        option.extend(value);
        option.resize(option.len().next_multiple_of(4), 0);
        option
    }
}

/// Seconds, their fraction, and the packet, of a capture in this machine's order.
fn written(path: &Path) -> (u32, Vec<(u32, u32, Vec<u8>)>) {
    let bytes = fs::read(path).unwrap();
    let field = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let (mut at, mut packets) = (24, Vec::new());
    while at < bytes.len() {
        let len = field(at + 8) as usize;
        packets.push((field(at), field(at + 4), bytes[at + 16..][..len].to_vec()));
        at += 16 + len;
    }
    (field(0), packets)
}

struct Out(tempfile::TempDir);

impl Out {
    fn new() -> Out {
        Out(tempfile::tempdir().unwrap())
    }
    fn path(&self) -> PathBuf {
        self.0.path().join("out.pcap")
    }
    fn text(&self) -> String {
        self.path().to_str().unwrap().to_owned()
    }
}

#[test]
fn either_byte_order_and_either_unit_of_time() {
    for order in [LITTLE, BIG] {
        for (magic, part) in [(0xa1b2_c3d4, 999_999), (0xa1b2_3c4d, 999_999_999)] {
            let records = [order.record(7, part, &packet(1)), order.record(8, 1, &packet(2))];
            let out = Out::new();
            let capture = order.pcap(magic, &records);
            let (exit, text, err) = count(&capture, &["--pcap-out", &out.text()]);
            assert_eq!((exit, &*err), (Exit::Success, ""));
            assert!(text.contains("XDP_PASS                    2  100.0 %"), "{text}");
            let wanted = vec![(7, part, packet(1)), (8, 1, packet(2))];
            assert_eq!(written(&out.path()), (magic, wanted));
        }
    }
    // Kuznetzov's records have eight bytes more.
    let extended = [LITTLE.u32s(&[1, 0, 60, 60]), LITTLE.u32s(&[2, 8]), packet(1)].concat();
    let (exit, text, _) = count(&LITTLE.pcap(0xa1b2_cd34, &[extended.clone(), extended]), &[]);
    assert!(exit == Exit::Success && text.contains("xdp_count: 2 packets"), "{text}");
}

/// tcpdump and tshark stop at a long record, and read one with too many microseconds.
#[test]
fn a_bad_record_is_said_with_its_place_and_the_others_are_run() {
    let long = LITTLE.record(1, 0, &vec![0; 300_000]);
    let records = [LITTLE.record(1, 0, &packet(1)), long, LITTLE.record(2, 1_500_000, &packet(2))];
    let capture = LITTLE.pcap(0xa1b2_c3d4, &records);
    let out = Out::new();
    for threads in ["1", "3"] {
        let (exit, text, err) = count(&capture, &["--threads", threads, "--pcap-out", &out.text()]);
        assert_eq!(exit, Exit::Input);
        let wanted = "in.cap: packet 2, at offset 100: a record of 300000 bytes; the maximum \
                      is 262144\n";
        assert!(err.contains(wanted), "{err}");
        assert!(err.contains("note: ") && err.contains("packet 3, at offset 300116: "), "{err}");
        assert!(text.contains("xdp_count: 3 packets") && text.contains("errors: 1"), "{text}");
        assert!(text.contains("XDP_PASS                    2  100.0 %"), "{text}");
        let wanted = vec![(1, 0, packet(1)), (3, 500_000, packet(2))];
        assert_eq!(written(&out.path()).1, wanted);
    }
    // A length that leads out of the capture leads nowhere.
    let mut capture = capture[..100].to_vec();
    capture.extend(LITTLE.u32s(&[1, 0, u32::MAX, 60]));
    let (exit, text, err) = count(&capture, &[]);
    assert_eq!(exit, Exit::Input);
    assert!(err.contains("a record of 4294967295 bytes") && err.contains("cut off: 0"), "{err}");
    assert!(text.contains("XDP_PASS                    1  100.0 %"), "{text}");
}

#[test]
fn a_capture_may_be_cut_off_anywhere() {
    let pcap = LITTLE.pcap(0xa1b2_c3d4, &[1, 2].map(|n| LITTLE.record(n, 0, &packet(n))));
    let blocks = [BIG.section(), BIG.interface(1, &[]), BIG.enhanced(0, 1, &packet(1))];
    // Where the first packet ends.
    for (capture, end) in [(pcap, 100), (blocks.concat(), 136)] {
        for len in 0..capture.len() {
            let (exit, text, err) = count(&capture[..len], &[]);
            let wanted = if err.is_empty() { Exit::Success } else { Exit::Input };
            assert_eq!(exit, wanted, "{len}: {err}");
            assert_eq!(text.contains("XDP_PASS"), len >= end, "{len}: {text}{err}");
        }
    }
}

#[test]
fn packets_of_several_sections_and_interfaces() {
    let nanoseconds = |order: Order| order.option(9, &[9]);
    let shifted = |order: Order| {
        let seconds = 100i64;
        let bytes = if order.is_big { seconds.to_be_bytes() } else { seconds.to_le_bytes() };
        [order.option(9, &[0x83]), order.option(14, &bytes), order.option(0, &[])].concat()
    };
    for (first, second) in [(LITTLE, BIG), (BIG, LITTLE)] {
        let simple = [first.u32s(&[60]), packet(4)].concat();
        let obsolete =
            [[first.u16(0), first.u16(0)].concat(), first.u32s(&[0, 5, 60, 60]), packet(5)];
        let capture = [
            first.section(),
            first.block(0x0000_0bad, &[1, 2, 3]),
            first.interface(1, &nanoseconds(first)),
            first.interface(101, &[]),
            first.enhanced(0, 2_000_000_003, &packet(1)),
            first.enhanced(1, 0, &packet(2)),
            first.enhanced(2, 0, &packet(3)),
            first.block(3, &simple),
            first.block(2, &obsolete.concat()),
            second.section(),
            // Eighths of a second, from 100 s on.
            second.interface(1, &shifted(second)),
            second.enhanced(0, 9, &packet(6)),
        ];
        let out = Out::new();
        let (exit, text, err) = count(&capture.concat(), &["--pcap-out", &out.text()]);
        assert_eq!(exit, Exit::Input);
        assert!(text.contains("xdp_count: 6 packets") && text.contains("errors: 2"), "{text}");
        assert!(
            err.contains("packet 2, at offset 184: link type 101 (RAW) is not supported"),
            "{err}"
        );
        assert!(err.contains("packet 3, at offset 276: interface 2, which"), "{err}");
        let wanted = vec![
            (2, 3, packet(1)),
            (0, 0, packet(4)),
            (0, 5, packet(5)),
            (101, 125_000_000, packet(6)),
        ];
        assert_eq!(written(&out.path()), (0xa1b2_3c4d, wanted));
    }
}

#[test]
fn a_bad_block_is_said_and_the_others_are_run() {
    let mut room = LITTLE.enhanced(0, 0, &packet(2));
    room[20..24].copy_from_slice(&1_000u32.to_le_bytes());
    let parts = [
        LITTLE.section(),
        LITTLE.interface(1, &[]),
        LITTLE.enhanced(0, 0, &packet(1)),
        room,
        LITTLE.block(6, &[0; 8]),
        LITTLE.enhanced(0, 0, &packet(3)),
        LITTLE.u32s(&[6, 4]),
    ];
    let (exit, text, err) = count(&parts.concat(), &[]);
    assert_eq!(exit, Exit::Input);
    for wanted in [
        "packet 2, at offset 140: a packet of 1000 bytes in a block with room for 60",
        "packet 3, at offset 232: a packet's block with 8 bytes in it",
        "packet 5, at offset 344: a block of 4 bytes",
    ] {
        assert!(err.contains(wanted), "{err}");
    }
    assert!(text.contains("XDP_PASS                    2  100.0 %"), "{text}");
}

#[test]
fn what_was_not_captured_is_a_note() {
    let cut = [LITTLE.u32s(&[1, 0, 60, 1_500]), packet(1)].concat();
    let (exit, _, err) = count(&LITTLE.pcap(0xa1b2_c3d4, &[cut]), &[]);
    assert_eq!(exit, Exit::Success);
    assert!(
        err.starts_with("note: ") && err.contains("1 packet was truncated when captured"),
        "{err}"
    );
}

#[test]
fn what_is_no_capture_says_what_it_is() {
    for (bytes, wanted) in [
        (&b""[..], "not a capture: empty"),
        (b"\x1f\x8b\x08\0", "compressed; pipe `gunzip -c "),
        (b"\x28\xb5\x2f\xfd", "compressed; pipe `zstd -dc "),
        (b"\xd4\xc3\xb2\xa1\x02\0", "cut off: 6 of the 24 bytes"),
        (&LITTLE.u32s(&[0xa1b2_c3d4, 1, 0, 0, 0, 1]), "pcap version 1.0 is not supported"),
        (&LITTLE.u32s(&[0xa1b2_c3d4, 0x0004_0002, 0, 0, 0, 113]), "link type 113 (LINUX_SLL)"),
    ] {
        let (exit, text, err) = count(bytes, &[]);
        assert_eq!((exit, &*text), (Exit::Input, ""));
        assert!(err.contains(wanted), "{err}");
    }
    let (code, _, err) = finish(child(None, &["--pcap", "tests"]));
    assert!(
        code == Some(2) && err.contains("tests: while reading the capture: is a directory"),
        "{err}"
    );
}

/// A gigabyte of packets, in a process that may not have a third of it.
#[test]
fn a_capture_may_be_larger_than_memory() {
    const PACKETS: u32 = 18_000;
    let long = LITTLE.record(1, 0, &vec![0; 60_000]);
    for threads in ["1", "2"] {
        let mut child = child(Some(300 << 10), &["--pcap", "-", "--threads", threads]);
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(&LITTLE.pcap(0xa1b2_c3d4, &[])).unwrap();
        for _ in 0..PACKETS {
            if pipe.write_all(&long).is_err() {
                break;
            }
        }
        drop(pipe);
        let (code, out, err) = finish(child);
        assert_eq!((code, &*err), (Some(0), ""), "{out}");
        assert!(out.contains(&format!("XDP_PASS {PACKETS:>20}  100.0 %")), "{out}");
    }
}

/// Entries of a map, likewise; and a text that would not fit.
#[test]
fn the_entries_of_a_map_may_be_larger_than_memory() {
    let args = ["--map", "packets=@/dev/stdin", "--dump-maps"];
    let run = |parts: &mut dyn Iterator<Item = &[u8]>| {
        let mut child = child(Some(300 << 10), &args);
        let mut pipe = child.stdin.take().unwrap();
        // Who has found something wrong reads no further.
        let _ = parts.map(|part| pipe.write_all(part)).find(Result::is_err);
        drop(pipe);
        finish(child)
    };
    let entries: String =
        (0..4_096).map(|n| format!(",{{\"key\":{},\"value\":{n}}}", n % 256)).collect();
    let first = br#"{"other":[{"a":"b"}],"packets":[{"key":17,"value":9}"#;
    let all = std::iter::once(&first[..]).chain(std::iter::repeat_n(entries.as_bytes(), 512));
    let (code, out, err) = run(&mut all.chain([&b"]}"[..]]));
    assert!(code == Some(0) && !err.contains("error"), "{err}");
    let maps: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(maps["packets"][17]["formatted"]["values"][0]["value"], 4_096 - 256 + 17);

    let endless = std::iter::repeat_n(&[b'x'; 1 << 16][..], 1 << 13);
    let (code, _, err) = run(&mut std::iter::once(&b"[{\"key\":\""[..]).chain(endless));
    assert_eq!(code, Some(2));
    assert!(err.contains("a number or string longer than 1048576 bytes"), "{err}");
}

/// What is dumped may be larger than memory in JSON.
#[test]
fn a_large_map_is_dumped() {
    const ENTRIES: u32 = 1 << 17;
    let dir = tempfile::tempdir().unwrap();
    let (object, dump) = (dir.path().join("large.o"), dir.path().join("maps.json"));
    let bytes = fs::read(OBJECT).unwrap();
    let words = (0..bytes.len() / 4).filter(|at| bytes[4 * at..][..4] == 256u32.to_le_bytes());
    let is_dumped = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[4 * at..][..4].copy_from_slice(&ENTRIES.to_le_bytes());
        fs::write(&object, bytes).unwrap();
        let dump_maps = format!("--dump-maps={}", dump.display());
        let child = child_of(&object, Some(300 << 10), &["--threads", "2", &dump_maps]);
        let (code, ..) = finish(child);
        let text = fs::read_to_string(&dump).unwrap_or_default();
        code == Some(0) && text.matches("\"formatted\"").count() == ENTRIES as usize
    };
    // One of these words is the map's.
    assert!(words.into_iter().any(is_dumped));
}

/// What comes is run when it comes, and Ctrl-C does not wait for more.
#[test]
fn a_pipe_that_nobody_writes_to_can_be_interrupted() {
    for threads in ["1", "2"] {
        let out = Out::new();
        let mut child = child(None, &["--pcap", "-", "--threads", threads, "--top", "--trace"]);
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(&LITTLE.pcap(0xa1b2_c3d4, &[LITTLE.record(1, 0, &packet(1))])).unwrap();
        // The table that is shown each second has a row when the packet has been run.
        let (mut seen, mut err) = (Vec::new(), child.stderr.take().unwrap());
        while !String::from_utf8_lossy(&seen).contains("xdp_count") {
            let mut byte = [0];
            assert_eq!(err.read(&mut byte).unwrap(), 1);
            seen.push(byte[0]);
        }
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        let mut rest = String::new();
        err.read_to_string(&mut rest).unwrap();
        let (code, text, _) = finish(child);
        assert_eq!(code, Some(130), "{rest}");
        assert!(rest.contains("interrupted after 1 packet"), "{rest}");
        assert!(text.contains("XDP_PASS                    1  100.0 %"), "{text}");
        drop((pipe, out));
    }
}

/// Threads that the host does not give: what the others do counts.
#[test]
fn threads_that_are_not_to_be_had_are_said() {
    let (code, out, err) = finish(child(Some(300 << 10), &["--threads", "200"]));
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains(" of 200 threads started: "), "{err}");
    assert!(out.starts_with("retval: XDP_PASS\n"), "{out}");
}

#[test]
fn packets_go_through_pipes() {
    let records: Vec<_> = (0..600).map(|n| LITTLE.record(n, 0, &packet(n))).collect();
    let capture = LITTLE.pcap(0xa1b2_c3d4, &records);
    let mut child = child(None, &["--pcap", "-", "--pcap-out", "-"]);
    child.stdin.take().unwrap().write_all(&capture).unwrap();
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && err.contains("XDP_PASS                  600"), "{err}");
    assert_eq!(output.stdout[24..], capture[24..]);
    let (code, _, err) = finish(self::child(None, &["--pcap-out", "-", "--dump-maps"]));
    assert!(code == Some(2) && err.contains("both to standard output"), "{err}");
}

#[test]
fn packets_stay_in_order_on_any_number_of_threads() {
    let records: Vec<_> = (0..5_000).map(|n| LITTLE.record(n, 0, &packet(n))).collect();
    let capture = LITTLE.pcap(0xa1b2_c3d4, &records);
    for threads in ["1", "7"] {
        let out = Out::new();
        let (exit, ..) = count(&capture, &["--threads", threads, "--pcap-out", &out.text()]);
        assert_eq!(exit, Exit::Success);
        let (_, packets) = written(&out.path());
        let seconds: Vec<u32> = packets.iter().map(|(second, ..)| *second).collect();
        assert_eq!(seconds, (0..5_000).collect::<Vec<_>>());
    }
    let (exit, text, err) = count(&capture, &["--pcap-out", "/dev/full"]);
    assert_eq!(exit, Exit::Input);
    assert!(err.contains("/dev/full: while writing: no space left on device"), "{err}");
    assert!(text.contains("XDP_PASS                 5000"), "{text}");
}
