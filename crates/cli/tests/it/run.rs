//! `skep run`, as a user sees it: packets in, verdicts, packets and maps out; and everything that
//! can be wrong with the input.

use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapReader, PcapWriter};
use skep_cli::{Exit, Streams};
use skep_report::Style;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn program(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs").join(file);
    path.to_str().unwrap().to_owned()
}

/// Exit, output and errors of a command line.
fn skep(args: &[&str]) -> (Exit, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut streams =
        Streams { out: &mut out, err: &mut err, style: Style::Plain, progress: false };
    let args = ["skep", "run", "--btf", "none"].iter().chain(args).map(Into::into);
    let exit = skep_cli::run(args, &mut streams).unwrap();
    (exit, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

fn udp(ttl: u8) -> Vec<u8> {
    let mut packet = vec![0; 60];
    packet[12..15].copy_from_slice(&[8, 0, 0x45]);
    packet[22..24].copy_from_slice(&[ttl, 17]);
    packet
}

fn write(path: &Path, packets: &[Vec<u8>]) {
    let header =
        PcapHeader { datalink: DataLink::ETHERNET, snaplen: 1 << 18, ..PcapHeader::default() };
    let mut writer = PcapWriter::with_header(std::fs::File::create(path).unwrap(), header).unwrap();
    for packet in packets {
        let packet = PcapPacket::new(Duration::from_secs(1), packet.len() as u32, packet);
        writer.write_packet(&packet).unwrap();
    }
}

fn read(path: &Path) -> Vec<Vec<u8>> {
    let mut reader = PcapReader::new(std::fs::File::open(path).unwrap()).unwrap();
    std::iter::from_fn(|| Some(reader.next_packet()?.unwrap().data.into_owned())).collect()
}

struct Files {
    dir: tempfile::TempDir,
}

impl Files {
    fn new() -> Files {
        Files { dir: tempfile::tempdir().unwrap() }
    }
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }
}

#[test]
fn a_capture_gives_a_histogram_and_the_packets_that_pass() {
    let files = Files::new();
    let packets: Vec<_> = (0..1000).map(|n| udp((n % 2) as u8 + 1)).collect();
    write(&files.path("in.pcap"), &packets);
    let (input, output) = (files.text("in.pcap"), files.text("out.pcap"));
    for engine in ["--jit", "--interp"] {
        for threads in ["1", "2"] {
            let object = program("tc_mark.bpf.o");
            let args = [&*object, "tc_mark", "--pcap", &input, "--pcap-out", &output];
            let (exit, out, err) = skep(&[&args[..], &[engine, "--threads", threads]].concat());
            assert_eq!((exit, &*err), (Exit::Success, ""));
            assert!(out.contains("tc_mark: 1000 packets"), "{out}");
            assert!(out.contains("TC_ACT_OK                 500   50.0 %"), "{out}");
            assert!(out.contains("TC_ACT_SHOT               500   50.0 %"), "{out}");
            let kept = read(&files.path("out.pcap"));
            assert_eq!(kept, packets.iter().filter(|p| p[22] == 2).cloned().collect::<Vec<_>>());
        }
    }
}

#[test]
fn maps_go_out_and_come_back() {
    let files = Files::new();
    write(&files.path("in.pcap"), &vec![udp(1); 5]);
    let (input, maps) = (files.text("in.pcap"), files.text("maps.json"));
    let object = program("xdp_count.bpf.o");
    let dump = format!("--dump-maps={maps}");
    let count = || {
        let json: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(&maps).unwrap()).unwrap();
        let entry = &json["packets"].as_array().unwrap()[17];
        assert_eq!(entry["key"], serde_json::json!(["0x11", "0x00", "0x00", "0x00"]));
        assert_eq!(entry["formatted"]["key"], 17);
        let values = entry["formatted"]["values"].as_array().unwrap();
        values.iter().map(|value| value["value"].as_u64().unwrap()).sum::<u64>()
    };
    let (exit, ..) = skep(&[&object, "xdp_count", "--pcap", &input, &dump]);
    assert_eq!((exit, count()), (Exit::Success, 5));
    let preload = format!("packets=@{maps}");
    let (exit, _, err) = skep(&[&object, "xdp_count", "--pcap", &input, "--map", &preload, &dump]);
    assert_eq!((exit, &*err, count()), (Exit::Success, "", 10));
}

#[test]
fn a_program_in_a_prog_array_is_tail_called() {
    let files = Files::new();
    std::fs::write(files.path("jump.json"), r#"[{"key": 1, "value": "tc_rewrite"}]"#).unwrap();
    let object = program("tc_mark.bpf.o");
    let hex: String = udp(9).iter().map(|byte| format!("{byte:02x}")).collect();
    let preload = format!("jump_table=@{}", files.text("jump.json"));
    for engine in ["--jit", "--interp"] {
        let args = [&*object, "tc_mark", "--hex", &hex, engine];
        let (_, out, _) = skep(&args);
        assert!(out.contains(&format!("packet: {hex}")), "{out}");
        let (exit, out, err) = skep(&[&args[..], &["--map", &preload]].concat());
        assert_eq!((exit, &*err), (Exit::Success, ""));
        // The other program rewrites the packet.
        assert!(!out.contains(&hex), "{out}");
    }
}

#[test]
fn what_is_wrong_is_said_and_the_rest_is_run() {
    let files = Files::new();
    let object = program("xdp_count.bpf.o");
    let capture = |packets: &[Vec<u8>]| write(&files.path("in.pcap"), packets);
    let input = files.text("in.pcap");
    let run = |more: &[&str]| skep(&[&[&*object, "xdp_count", "--pcap", &input], more].concat());

    capture(&[udp(1), vec![0; 5], udp(1)]);
    let (exit, out, err) = run(&[]);
    assert_eq!(exit, Exit::Input);
    assert!(err.contains("packet 2: a packet of 5 bytes is shorter than"), "{err}");
    assert!(out.contains("XDP_PASS                    2") && out.contains("errors: 1"), "{out}");

    let bytes = std::fs::read(files.path("in.pcap")).unwrap();
    std::fs::write(files.path("in.pcap"), &bytes[..bytes.len() - 7]).unwrap();
    let (exit, out, err) = run(&[]);
    assert_eq!(exit, Exit::Input);
    assert!(err.contains("packet 3, at offset 121: cut off: 53 of 60 bytes are there"), "{err}");
    assert!(out.contains("XDP_PASS                    1"), "{out}");

    std::fs::write(files.path("in.pcap"), b"not a capture at all, but a text").unwrap();
    let (exit, out, err) = run(&[]);
    assert_eq!((exit, &*out), (Exit::Input, ""));
    assert!(err.contains("not a pcap or pcapng file"), "{err}");

    capture(&[]);
    let (exit, out, _) = run(&[]);
    assert_eq!(exit, Exit::Success);
    assert!(out.contains("xdp_count: 0 packets"), "{out}");
}

/// A packet that is longer than any; the map of a program that needs more memory than there is.
#[test]
fn what_is_too_large_is_an_error_of_its_own() {
    let files = Files::new();
    let object = program("xdp_count.bpf.o");
    write(&files.path("in.pcap"), &[udp(1), vec![0; 70_000], udp(1)]);
    for engine in ["--jit", "--interp"] {
        let input = files.text("in.pcap");
        let (exit, out, err) = skep(&[&object, "xdp_count", "--pcap", &input, engine]);
        assert_eq!(exit, Exit::Input);
        assert!(err.contains("packet 2: a packet of 70000 bytes is longer than 65535"), "{err}");
        assert!(out.contains("XDP_PASS                    2"), "{out}");
    }

    // As many elements as there can be in place of 256, each with a value for every CPU.
    let bytes = std::fs::read(&object).unwrap();
    let words = bytes.chunks(4).enumerate().filter(|(_, word)| *word == 256u32.to_le_bytes());
    let is_said = words.map(|(at, _)| {
        let mut bytes = bytes.clone();
        bytes[4 * at..][..4].copy_from_slice(&u32::MAX.to_le_bytes());
        std::fs::write(files.path("large.o"), bytes).unwrap();
        let (exit, out, err) = skep(&[&files.text("large.o"), "xdp_count"]);
        (exit, &*out) == (Exit::Input, "") && err.contains("map 'packets' (percpu_array): ENOMEM")
    });
    // One of these words is the map's.
    assert!(is_said.into_iter().any(|is_said| is_said));
}

/// As libpcap reads them: with packets longer than the header says they can be.
#[test]
fn a_capture_whose_header_says_no_length_is_read() {
    let (object, files) = (program("xdp_count.bpf.o"), Files::new());
    write(&files.path("in.pcap"), &[udp(1), udp(2)]);
    for says in [0u32, 14] {
        let mut bytes = std::fs::read(files.path("in.pcap")).unwrap();
        bytes[16..20].copy_from_slice(&says.to_le_bytes());
        std::fs::write(files.path("odd.pcap"), bytes).unwrap();
        let output = files.text("out.pcap");
        let args =
            [&*object, "xdp_count", "--pcap", &files.text("odd.pcap"), "--pcap-out", &output];
        assert_eq!(skep(&args).0, Exit::Success);
        assert_eq!(read(&files.path("out.pcap")), [udp(1), udp(2)]);
    }
}

/// What is there stays as it was until the program runs.
#[test]
fn an_output_that_cannot_be_is_found_out_before() {
    let files = Files::new();
    let object = program("xdp_count.bpf.o");
    write(&files.path("in.pcap"), &[udp(1)]);
    let (input, output) = (files.text("in.pcap"), files.text("out.pcap"));
    std::fs::write(&output, "before").unwrap();
    std::fs::hard_link(&input, files.path("link.pcap")).unwrap();
    std::os::unix::fs::symlink(&input, files.path("symlink.pcap")).unwrap();
    let same = format!("--dump-maps={output}");
    for (args, wanted) in [
        (&["xdp_count", "--pcap-out", &files.text("link.pcap")][..], "would overwrite"),
        (&["xdp_count", "--pcap-out", &files.text("symlink.pcap")], "would overwrite"),
        (&["xdp_count", "--metrics", &input], "--metrics would overwrite an input (--pcap)"),
        (&["xdp_count", "--pcap-out", &output, &same], "two outputs to the same file"),
        (&["xdp_count", "--metrics", &output, &same], "two outputs to the same file"),
        (
            &["xdp_count", "--metrics", &output, "--jitdump", &output],
            "two outputs to the same file",
        ),
        (&["xdp_count", "--threads", "4097"], "--threads 4097: the maximum is 4096"),
        (&["nope", "--pcap-out", &output], "no program 'nope'"),
        (&["xdp_count", "--pcap-out", &output, "--metrics", "/no/such/file"], "metrics"),
        (&["xdp_count", "--pcap-out", "/no/such/file"], "/no/such/file: while opening"),
    ] {
        let (exit, out, err) = skep(&[&[&*object, "--pcap", &input], args].concat());
        assert_eq!((exit, &*out), (Exit::Input, ""), "{args:?}: {err}");
        assert!(err.contains(wanted), "{args:?}: {err}");
        assert_eq!(std::fs::read(&output).unwrap(), b"before");
        assert_eq!(read(&files.path("in.pcap")), [udp(1)]);
    }
    // A shorter file than before is no longer than it should be.
    std::fs::write(&output, vec![1; 1 << 16]).unwrap();
    let (exit, ..) = skep(&[&object, "xdp_count", "--pcap", &input, "--pcap-out", &output]);
    assert_eq!((exit, read(&files.path("out.pcap"))), (Exit::Success, vec![udp(1)]));
    let args = [&*object, "xdp_count", "--pcap", &input, "--pcap-out", "/dev/null"];
    assert_eq!(skep(&args).0, Exit::Success);
}

#[test]
fn each_wrong_value_has_its_error() {
    let object = program("xdp_count.bpf.o");
    let long = "00".repeat(70_000);
    for (args, wanted) in [
        (&["xdp_count", "--hex", "0g"][..], "--hex: expected two hex digits"),
        (&["xdp_count", "--hex", "00"], "shorter than an Ethernet header"),
        (&["xdp_count", "--hex", &long], "a packet of 70000 bytes is longer than 65535"),
        (&["xdp_count", "--data-file", "/no/such/file"], "no such file"),
        (&["xdp_count", "--data-file", "/dev/zero"], "more than 16777216 bytes"),
        (&["xdp_count", "--ctx-json", r#"{"mark": 1}"#], "no field 'mark'"),
        (&["xdp_count", "--ctx-json", "{"], "--ctx-json: EOF"),
        (&["xdp_count", "--ctx-json", "/dev/zero"], "--ctx-json: /dev/zero: expected value"),
        (&["xdp_count", "--map", "packets"], "expected NAME=@FILE"),
        (&["xdp_count", "--map", "packets=@/dev/zero"], "line 1, column 1: expected value"),
        (&["xdp_count", "--map", "packets=@/"], "--map packets=@/: "),
        (&["xdp_count", "--map", "nothing=@/dev/null"], "no map 'nothing'; there are: packets"),
        (&["nope"], "no program 'nope'; there are: xdp_count, xdp_reflect"),
        (&[], "several programs, name one of: xdp_count, xdp_reflect"),
    ] {
        let (exit, _, err) = skep(&[&[&*object], args].concat());
        assert_eq!(exit, Exit::Input, "{args:?}");
        assert!(err.starts_with("error: ") && err.contains(wanted), "{args:?}: {err}");
    }
    let (exit, _, err) = skep(&[&program("refused.bpf.o"), "no_null_check"]);
    assert_eq!(exit, Exit::Refused);
    assert!(err.contains("kernel: R0 invalid mem access 'map_value_or_null'"), "{err}");
    let (exit, _, err) = skep(&[&program("kprobe_latency.bpf.o"), "on_entry", "--pcap", "x"]);
    assert_eq!(exit, Exit::Input);
    assert!(err.contains("programs of type kprobe take no packets"), "{err}");
}

/// What a program writes to its context is seen, in the words in which it can be given.
#[test]
fn what_a_program_changes_in_its_context_is_shown() {
    let mut packet = udp(9);
    packet[15] = 0x20;
    let hex: String = packet.iter().map(|byte| format!("{byte:02x}")).collect();
    for engine in ["--jit", "--interp"] {
        let fields = r#"{"mark": 8, "cb": [1, 2]}"#;
        for (json, wanted) in [("{}", "ctx: mark 8, cb[0] 17\n"), (fields, "ctx: cb[0] 17\n")] {
            let object = program("tc_mark.bpf.o");
            let args = [&*object, "tc_mark", "--hex", &hex, "--ctx-json", json, engine];
            let (exit, out, err) = skep(&args);
            assert_eq!((exit, &*err), (Exit::Success, ""));
            assert!(out.contains(&format!("\n{wanted}packet: {hex}\n")), "{out}");
        }
    }
}

/// `run_cnt 20` in the line of a program.
fn number_behind(text: &str, key: &str) -> u64 {
    let at = text.find(key).unwrap_or_else(|| panic!("no '{key}' in {text}")) + key.len();
    let digits = text[at..].trim_start().split(|c: char| !c.is_ascii_digit()).next();
    digits.and_then(|digits| digits.parse().ok()).unwrap_or_else(|| panic!("{key} in {text}"))
}

#[test]
fn statistics_are_bpftools_line_on_every_engine() {
    let object = program("xdp_count.bpf.o");
    for extra in [&[][..], &["--interp"], &["--fuel", "1000"], &["--threads", "2"]] {
        let args = [&[&*object, "xdp_count", "--repeat", "20", "--stats"], extra].concat();
        let (exit, out, err) = skep(&args);
        assert_eq!((exit, &*err), (Exit::Success, ""));
        let line = out.lines().last().unwrap();
        assert!(line.contains(": xdp  name xdp_count  tag 7369d4ac00bc8d61  gpl "), "{line}");
        let runs = if extra.contains(&"--threads") { 40 } else { 20 };
        assert_eq!(number_behind(line, " run_cnt "), runs, "{line}");
        assert!(number_behind(line, " run_time_ns ") > 0, "{line}");
    }
    let (_, out, _) = skep(&[&object, "xdp_count", "--repeat", "5000", "--stats-sample", "100"]);
    assert_eq!(number_behind(&out, " run_cnt "), 5000);
    let (_, out, _) = skep(&[&object, "xdp_count", "--repeat", "500", "--stats-histogram"]);
    let bars = out.lines().filter(|line| line.contains(" ns "));
    let runs: u64 = bars.filter(|line| line.contains('|')).map(|l| number_behind(l, " ns ")).sum();
    assert_eq!(runs, 500, "{out}");
    let (_, out, _) = skep(&[&object, "xdp_count", "--repeat", "20"]);
    assert!(!out.contains("run_cnt"), "{out}");
}

#[test]
fn a_table_while_the_run_goes_and_metrics_for_scrapers() {
    let (object, files) = (program("xdp_count.bpf.o"), Files::new());
    let metrics = files.text("metrics.txt");
    let args = [&*object, "xdp_count", "--repeat", "20", "--top", "--metrics", &metrics];
    let (exit, out, err) = skep(&args);
    assert_eq!(exit, Exit::Success);
    assert!(out.starts_with("retval: XDP_PASS\n") && !out.contains("run_cnt"), "{out}");
    let mut lines = err.lines();
    assert!(lines.next().unwrap().contains("run_cnt"), "{err}");
    let row: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!((row[1], row[2], row[3], row[6]), ("xdp", "xdp_count", "20", "100.0"), "{err}");
    let text = std::fs::read_to_string(&metrics).unwrap();
    assert!(text.contains("name=\"xdp_count\"") && text.ends_with("# EOF\n"), "{text}");
    assert!(
        text.lines()
            .any(|line| line.starts_with("skep_prog_runs_total{") && line.ends_with("} 20"))
    );

    // What a link leads to is written, and the link stays; no other file is touched.
    let (link, part) = (files.path("link.txt"), files.path("link.txt.part"));
    std::fs::write(&metrics, vec![b'x'; 1 << 16]).unwrap();
    std::fs::write(&part, "another's").unwrap();
    std::os::unix::fs::symlink(&metrics, &link).unwrap();
    let args = [&*object, "xdp_count", "--metrics", &files.text("link.txt")];
    assert_eq!(skep(&args).0, Exit::Success);
    assert!(link.is_symlink() && std::fs::read(&part).unwrap() == b"another's");
    let written = std::fs::read_to_string(&metrics).unwrap();
    assert!(written.starts_with('#') && written.ends_with("# EOF\n"), "{written}");

    for target in ["127.0.0.1:0", "localhost:0"] {
        let (exit, _, err) = skep(&[&object, "xdp_count", "--metrics", target]);
        assert_eq!(exit, Exit::Success);
        assert!(err.starts_with("metrics: http://127.0.0.1:"), "{err}");
    }
    for (target, wanted) in [
        ("192.0.2.1:9100", "only served on loopback addresses"),
        ("/no/such/folder/file", "while writing metrics"),
    ] {
        let (exit, _, err) = skep(&[&object, "xdp_count", "--metrics", target]);
        assert_eq!(exit, Exit::Input, "{target}");
        assert!(err.contains(wanted), "{target}: {err}");
    }
}

#[test]
fn programs_are_shown_as_bpftool_shows_them() {
    let object = program("xdp_count.bpf.o");
    let prog = |args: &[&str]| {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut streams =
            Streams { out: &mut out, err: &mut err, style: Style::Plain, progress: false };
        let args = ["skep", "prog"].iter().chain(args).chain(&["--btf", "none"]).map(Into::into);
        let exit = skep_cli::run(args, &mut streams).unwrap();
        (exit, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    };
    let (exit, out, _) = prog(&["show", &object]);
    assert_eq!(exit, Exit::Success);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "2: xdp  name xdp_count  tag 7369d4ac00bc8d61  gpl");
    assert!(lines[1].starts_with("\tloaded_at 2") && lines[1].contains("+0000  uid "), "{out}");
    assert!(lines[2].starts_with("\txlated 240B  jited "), "{out}");
    assert!(lines[2].ends_with("  memlock 4096B  map_ids 1"), "{out}");
    assert!(lines[3].starts_with("3: xdp  name xdp_reflect  tag ") && lines.len() == 6, "{out}");

    let (exit, out, _) = prog(&["stat", "-j", &object]);
    assert_eq!(exit, Exit::Success);
    let all: serde_json::Value = serde_json::from_str(&out).unwrap();
    for program in all.as_array().unwrap() {
        assert_eq!(program["run_cnt"], 1000, "{out}");
        assert!(program["run_time_ns"].as_u64() > Some(0) && program["jited"] == true, "{out}");
    }
    // The same counts without a write to code.
    let (exit, flags, _) = prog(&["stat", "-j", "--poke", "flag", &object]);
    assert_eq!(exit, Exit::Success);
    let flags: serde_json::Value = serde_json::from_str(&flags).unwrap();
    assert_eq!(flags[0]["run_cnt"], 1000);
    assert!(flags[0]["run_time_ns"].as_u64() > Some(0));
    let (exit, out, err) = prog(&["show", "-p", "--interp", &object, &program("refused.bpf.o")]);
    assert_eq!(exit, Exit::Refused);
    assert!(out.contains("\"jited\": false") && !out.contains("bytes_jited"), "{out}");
    assert!(err.contains("rejected at insn 7"), "{err}");
    let (exit, _, err) = prog(&["show", "/no/such/file"]);
    assert_eq!(exit, Exit::Input);
    assert!(err.starts_with("error: /no/such/file"), "{err}");
}

#[test]
fn statistics_are_in_the_json_too() {
    let object = program("xdp_count.bpf.o");
    for (flag, is_estimate) in [("--stats", false), ("--stats-sample=8", true)] {
        let args = [&*object, "xdp_count", "-j", "--repeat", "100", "--stats-histogram", flag];
        let (exit, out, err) = skep(&args);
        assert_eq!((exit, &*err, out.lines().count()), (Exit::Success, "", 1));
        let json: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!((&json["verdict"], &json["runs"]), (&"XDP_PASS".into(), &100.into()), "{out}");
        let program = &json["programs"][0];
        assert_eq!((&program["name"], &program["run_cnt"]), (&"xdp_count".into(), &100.into()));
        assert!(program["run_time_ns"].as_u64() > Some(0), "{out}");
        let buckets = program["histogram"].as_array().unwrap();
        let counted: u64 = buckets.iter().filter_map(|bucket| bucket["runs"].as_u64()).sum();
        let said = (&program["run_time_is_estimate"], &program["timed_cnt"]);
        match is_estimate {
            true => assert_eq!(said, (&true.into(), &(counted / 8).into()), "{out}"),
            false => assert_eq!((counted, said), (100, (&().into(), &().into())), "{out}"),
        }
    }
}

/// Names come from files that anybody wrote.
#[test]
fn no_name_reaches_the_terminal_as_control_characters() {
    let (wanted, name) = (b"xdp_count\0", "a\x1b[3\u{7f}\u{9b}\n\"\0".as_bytes());
    assert_eq!(wanted.len(), name.len());
    let mut bytes = std::fs::read(program("xdp_count.bpf.o")).unwrap();
    while let Some(at) = bytes.windows(wanted.len()).position(|part| part == wanted) {
        bytes[at..at + name.len()].copy_from_slice(name);
    }
    let files = Files::new();
    std::fs::write(files.path("odd.bpf.o"), bytes).unwrap();
    let object = files.text("odd.bpf.o");
    for args in [
        &["prog", "show"][..],
        &["prog", "show", "-j"],
        &["prog", "stat", "-p"],
        &["stat", "-q"],
        &["stat", "-q", "-o", "json"],
        &["check", "--format", "json"],
        &["check", "--format", "sarif"],
        &["dump"],
        &["dump", "--stage", "xlated"],
        &["run", "xdp_reflect", "--json", "--stats"],
        &["run", "none"],
    ] {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let style = Style::Plain;
        let mut streams = Streams { out: &mut out, err: &mut err, style, progress: false };
        let (command, rest) = args.split_at(if args[0] == "prog" { 2 } else { 1 });
        let args = [&["skep"], command, &[&*object], rest].concat();
        skep_cli::run(args.iter().map(Into::into), &mut streams).unwrap();
        let text = String::from_utf8([out, err].concat()).unwrap();
        assert!(text.len() > 2 && !text.contains("internal error"), "{args:?}: {text:?}");
        let is_odd = |c: char| c.is_control() && !"\n\t".contains(c);
        assert!(!text.contains(is_odd), "{args:?}: {text:?}");
    }
}

/// The file after `--coverage` may be meant as an input.
#[test]
fn coverage_overwrites_only_tracefiles() {
    let files = Files::new();
    let (object, path) = (program("loops.bpf.o"), files.text("out.info"));
    let args = [&*object, "loop_constant", "--coverage", &path];
    assert_eq!(skep(&args).0, Exit::Success);
    let tracefile = std::fs::read_to_string(&path).unwrap();
    assert!(tracefile.starts_with("TN:"), "{tracefile}");
    assert_eq!(skep(&args).0, Exit::Success, "a tracefile, and an empty file");
    std::fs::write(&path, "").unwrap();
    assert_eq!(skep(&args).0, Exit::Success);
    std::fs::write(&path, "int main;\n").unwrap();
    let (exit, _, err) = skep(&args);
    assert_eq!(exit, Exit::Input, "{err}");
    assert!(err.contains("exists and is not a tracefile"), "{err}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "int main;\n");
}
