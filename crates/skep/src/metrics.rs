//! Program statistics as OpenMetrics text, and a server for Prometheus to scrape.
//!
//! ```
//! use skep::metrics;
//! use skep::runtime::{Options, Runtime, StatsOptions};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let runtime = Runtime::new(Options::default())?;
//!     let _on = runtime.enable_stats(StatsOptions::default())?;
//!     // As text; or at http://127.0.0.1:PORT/metrics for as long as the server lives.
//!     println!("{}", metrics::text(&runtime.programs()));
//!     let server = metrics::serve("127.0.0.1:0".parse()?, runtime.observer())?;
//!     println!("{}", server.url());
//!     Ok(())
//! }
//! ```
//!
//! # Invariants
//! 1. The server listens on loopback addresses only: packet statistics must not be exposed to the
//!    network.
//! 2. Clients do not wait for each other: each has a thread and a time limit. If there are too
//!    many, the oldest is dropped, so a new client is always served.
//!
//! Source: the OpenMetrics 1.0 specification.

use skep_runtime::{Observer, ProgInfo};
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// HTTP content type of the text.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Name, unit, description and value of the counter families.
type Family = (&'static str, Option<&'static str>, &'static str, fn(&ProgInfo) -> String);

const FAMILIES: [Family; 5] = [
    (
        "skep_prog_run_time_seconds",
        Some("seconds"),
        "Time in the program (run_time_ns), an estimate if not all runs are timed.",
        |prog| seconds(prog.stats.run_time_ns),
    ),
    ("skep_prog_runs", None, "Runs of the program (run_cnt).", |prog| {
        prog.stats.run_cnt.to_string()
    }),
    (
        "skep_prog_recursion_misses",
        None,
        "Runs skipped because the thread was already in the program.",
        |prog| prog.stats.recursion_misses.to_string(),
    ),
    ("skep_prog_timed_runs", None, "Timed runs.", |prog| prog.stats.timed_cnt.to_string()),
    (
        "skep_prog_clock_jumps",
        None,
        "Runs left out of the time because the clock jumped.",
        |prog| prog.stats.clock_jumps.to_string(),
    ),
];

const HISTOGRAM: &str = "skep_prog_run_duration_seconds";

/// Statistics of the programs as OpenMetrics text.
pub fn text(programs: &[ProgInfo]) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    for (name, unit, help, value) in FAMILIES {
        head(&mut text, name, "counter", unit, help);
        for prog in programs {
            let _ = writeln!(text, "{name}_total{{{}}} {}", labels(prog), value(prog));
        }
    }
    head(&mut text, HISTOGRAM, "histogram", Some("seconds"), "Duration of single runs.");
    for prog in programs.iter().filter(|prog| prog.stats.histogram.iter().any(|n| *n > 0)) {
        histogram(&mut text, prog);
    }
    text.push_str("# EOF\n");
    text
}

fn head(text: &mut String, name: &str, kind: &str, unit: Option<&str>, help: &str) {
    let _ = writeln!(text, "# TYPE {name} {kind}");
    if let Some(unit) = unit {
        let _ = writeln!(text, "# UNIT {name} {unit}");
    }
    let _ = writeln!(text, "# HELP {name} {help}");
}

/// The exported buckets, 16 ns to 17 s: a fixed set, as scrapers expect. Shorter runs are in the
/// first, longer ones in the last, which is unbounded.
const TOLD: RangeInclusive<usize> = 3..=33;

/// Buckets, cumulative.
fn histogram(text: &mut String, prog: &ProgInfo) {
    let labels = labels(prog);
    let mut sum = 0;
    for (number, runs) in prog.stats.histogram.iter().enumerate() {
        sum += runs;
        if TOLD.contains(&number) {
            let le = canonical(2 << number);
            let _ = writeln!(text, "{HISTOGRAM}_bucket{{{labels},le=\"{le}\"}} {sum}");
        }
    }
    let _ = writeln!(text, "{HISTOGRAM}_bucket{{{labels},le=\"+Inf\"}} {sum}");
    let _ = writeln!(text, "{HISTOGRAM}_count{{{labels}}} {sum}");
    let _ = writeln!(text, "{HISTOGRAM}_sum{{{labels}}} {}", seconds(prog.stats.histogram_time_ns));
}

/// Exact, in decimal.
fn seconds(ns: u64) -> String {
    let (whole, part) = (ns / 1_000_000_000, ns % 1_000_000_000);
    let text = format!("{whole}.{part:09}");
    let text = text.trim_end_matches('0');
    let point = if text.ends_with('.') { "0" } else { "" };
    format!("{text}{point}")
}

/// A number in a label, in the specification's canonical form: below 0.0001 with an exponent.
fn canonical(ns: u64) -> String {
    let digits = ns.to_string();
    let exponent = digits.len() as i32 - 10;
    let (first, rest) = digits.split_at(1);
    match rest.trim_end_matches('0') {
        _ if exponent >= -4 || ns == 0 => seconds(ns),
        "" => format!("{first}e-{:02}", -exponent),
        rest => format!("{first}.{rest}e-{:02}", -exponent),
    }
}

fn labels(prog: &ProgInfo) -> String {
    let tag: String = prog.tag.iter().map(|byte| format!("{byte:02x}")).collect();
    let (id, name, kind) = (prog.id, escaped(&prog.name), prog.prog_type);
    format!("id=\"{id}\",name=\"{name}\",type=\"{kind}\",tag=\"{tag}\"")
}

/// A label's value.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Serves a runtime's program statistics until dropped.
#[derive(Debug)]
pub struct Server {
    addr: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Serves `GET /metrics` on a loopback address; port 0 picks a free port.
///
/// # Errors
///
/// The address is not loopback, or is in use.
pub fn serve(addr: SocketAddr, observer: Observer) -> io::Result<Server> {
    if !addr.ip().is_loopback() {
        let text = "metrics are only served on loopback addresses";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let listener = TcpListener::bind(addr)?;
    let (addr, stop) = (listener.local_addr()?, Arc::new(AtomicBool::new(false)));
    let stopped = stop.clone();
    let work = move || answer_all(&listener, &stopped, &observer);
    let thread = thread::Builder::new().name("skep-metrics".to_owned()).spawn(work)?;
    Ok(Server { addr, stop, thread: Some(thread) })
}

impl Server {
    /// The address it listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The URL to scrape.
    pub fn url(&self) -> String {
        format!("http://{}/metrics", self.addr)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        // Wakes the thread, which then sees the flag. A thread that cannot be woken is left alone.
        if TcpStream::connect_timeout(&self.addr, Duration::from_secs(1)).is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

/// Maximum number of concurrent clients.
const CLIENTS_MAX: usize = 16;

/// The clients being served, the oldest first.
#[derive(Default)]
struct Clients(Mutex<VecDeque<(u64, TcpStream)>>);

impl Clients {
    fn lock(&self) -> MutexGuard<'_, VecDeque<(u64, TcpStream)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a client, dropping the oldest if there are too many.
    fn add(&self, number: u64, stream: TcpStream) {
        let mut clients = self.lock();
        if clients.len() >= CLIENTS_MAX {
            clients.pop_front().into_iter().for_each(|(_, stream)| hang_up(stream));
        }
        clients.push_back((number, stream));
    }

    fn remove(&self, number: u64) {
        self.lock().retain(|(other, _)| *other != number);
    }
}

/// Blocked reads and writes return immediately, with an error.
fn hang_up(stream: TcpStream) {
    let _ = stream.shutdown(Shutdown::Both);
}

/// Until it is stopped.
fn answer_all(listener: &TcpListener, stopped: &AtomicBool, observer: &Observer) {
    let clients = Clients::default();
    thread::scope(|scope| {
        for (number, stream) in (0..).zip(listener.incoming()) {
            if stopped.load(Ordering::Acquire) {
                break;
            }
            let Ok((stream, other)) = stream.and_then(|s| Ok((s.try_clone()?, s))) else {
                // Out of file descriptors: there will be more when a client has gone.
                thread::park_timeout(Duration::from_millis(20));
                continue;
            };
            clients.add(number, other);
            let clients = &clients;
            let work = move || {
                // An error of one client only affects that client.
                let _ = answer(stream, observer);
                clients.remove(number);
            };
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                clients.remove(number);
            }
        }
        clients.lock().drain(..).for_each(|(_, stream)| hang_up(stream));
    });
}

/// Maximum number of request bytes to read.
const REQUEST_BYTES_MAX: usize = 16 << 10;
/// A client that has not sent its request by then is dropped.
const PATIENCE: Duration = Duration::from_millis(500);
/// So is one that has not received the response.
const ANSWER_PATIENCE: Duration = Duration::from_secs(2);

/// The relevant part of a request: the complete head, or what has arrived in time.
fn request(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let until = Instant::now() + PATIENCE;
    let mut head = Vec::new();
    let mut part = [0; 1024];
    let has_ended = |head: &[u8]| {
        head.windows(4).any(|end| end == b"\r\n\r\n") || head.windows(2).any(|end| end == b"\n\n")
    };
    while !has_ended(&head) && head.len() < REQUEST_BYTES_MAX {
        let left = until.saturating_duration_since(Instant::now());
        stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        match stream.read(&mut part)? {
            0 => break,
            bytes => head.extend(part.iter().take(bytes)),
        }
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
    Ok(head)
}

fn answer(mut stream: TcpStream, observer: &Observer) -> io::Result<()> {
    let head = request(&mut stream)?;
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let first = String::from_utf8_lossy(first);
    let words: Vec<&str> = first.split_whitespace().collect();
    let path = words.get(1).and_then(|path| path.split('?').next()).unwrap_or_default();
    let (status, body) = match (words.first().copied().unwrap_or_default(), path, words.len()) {
        ("GET" | "HEAD", "/metrics" | "/", 3) => ("200 OK", text(&observer.programs())),
        ("GET" | "HEAD", _, 3) => ("404 Not Found", String::new()),
        (_, _, 3) => ("405 Method Not Allowed\r\nAllow: GET, HEAD", String::new()),
        _ => ("400 Bad Request", String::new()),
    };
    let len = body.len();
    let mut answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {CONTENT_TYPE}\r\nContent-Length: {len}\r\n\
         Connection: close\r\n\r\n"
    );
    if words.first() != Some(&"HEAD") {
        answer.push_str(&body);
    }
    send(&mut stream, answer.as_bytes())
}

/// Writes everything, within a time limit for the whole response.
fn send(stream: &mut TcpStream, mut rest: &[u8]) -> io::Result<()> {
    let until = Instant::now() + ANSWER_PATIENCE;
    while !rest.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_write_timeout(Some(left))?;
        let written = stream.write(rest)?;
        rest = rest.get(written..).unwrap_or_default();
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_runtime::{Options, ProgStats, Runtime};
    use skep_uapi::ProgType;
    use std::time::SystemTime;

    fn prog(stats: ProgStats) -> ProgInfo {
        ProgInfo {
            id: 3,
            prog_type: ProgType::Xdp,
            name: "a\"b".into(),
            tag: [0, 1, 2, 3, 4, 5, 6, 255],
            gpl_compatible: true,
            loaded_at: SystemTime::UNIX_EPOCH,
            bytes_xlated: 16,
            bytes_jited: None,
            bytes_memlock: 4096,
            map_ids: vec![],
            stats,
        }
    }

    #[test]
    fn the_text_is_openmetrics() {
        let mut stats = ProgStats { run_time_ns: 1_500_000_007, run_cnt: 5, ..Default::default() };
        (stats.timed_cnt, stats.histogram_time_ns) = (5, 201);
        (stats.histogram[0], stats.histogram[5]) = (1, 4);
        let labels = r#"id="3",name="a\"b",type="xdp",tag="00010203040506ff""#;
        let text = text(&[prog(stats)]);
        for line in [
            "# TYPE skep_prog_run_time_seconds counter".to_owned(),
            "# UNIT skep_prog_run_time_seconds seconds".to_owned(),
            format!("skep_prog_run_time_seconds_total{{{labels}}} 1.500000007"),
            format!("skep_prog_runs_total{{{labels}}} 5"),
            format!("skep_prog_recursion_misses_total{{{labels}}} 0"),
            format!("{HISTOGRAM}_bucket{{{labels},le=\"1.6e-08\"}} 1"),
            format!("{HISTOGRAM}_bucket{{{labels},le=\"3.2e-08\"}} 1"),
            format!("{HISTOGRAM}_bucket{{{labels},le=\"6.4e-08\"}} 5"),
            format!("{HISTOGRAM}_bucket{{{labels},le=\"17.179869184\"}} 5"),
            format!("{HISTOGRAM}_bucket{{{labels},le=\"+Inf\"}} 5"),
            format!("{HISTOGRAM}_count{{{labels}}} 5"),
            format!("{HISTOGRAM}_sum{{{labels}}} 0.000000201"),
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\nis not in\n{text}");
        }
        assert!(text.ends_with("\n# EOF\n"));
        assert_eq!((&*seconds(0), &*seconds(1_000_000_000)), ("0.0", "1.0"));
        for (ns, wanted) in [
            (1, "1e-09"),
            (10, "1e-08"),
            (65_536, "6.5536e-05"),
            (99_999, "9.9999e-05"),
            (100_000, "0.0001"),
            (131_072, "0.000131072"),
            (1_000_000_000, "1.0"),
            (17_179_869_184, "17.179869184"),
        ] {
            assert_eq!(canonical(ns), wanted);
        }
    }

    fn get(addr: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(addr).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn one_get_is_answered_and_the_rest_refused() {
        let runtime = Runtime::new(Options::default()).unwrap();
        let server = serve("127.0.0.1:0".parse().unwrap(), runtime.observer()).unwrap();
        let addr = server.addr();
        assert_eq!(server.url(), format!("http://{addr}/metrics"));
        let good = get(addr, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(good.starts_with("HTTP/1.1 200 OK\r\n") && good.contains(CONTENT_TYPE), "{good}");
        assert!(good.ends_with("# EOF\n"), "{good}");
        let head = get(addr, "HEAD /metrics?x=1 HTTP/1.1\r\n\r\n");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.ends_with("\r\n\r\n"), "{head}");
        for (request, status) in [
            ("GET /other HTTP/1.1\r\n\r\n", "404"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
            ("nonsense\r\n\r\n", "400"),
        ] {
            let answer = get(addr, request);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request:?}: {answer}");
        }
        drop(server);
        assert!(TcpStream::connect(addr).is_err(), "the server is gone");
        let outside = serve("0.0.0.0:0".parse().unwrap(), runtime.observer());
        assert_eq!(outside.unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
    /// Many clients at a time that send nothing, send slowly, or do not read their responses:
    /// others are served all the same, and the server stops when told to.
    #[test]
    fn clients_do_not_wait_for_each_other() {
        let runtime = Runtime::new(Options::default()).unwrap();
        let server = serve("127.0.0.1:0".parse().unwrap(), runtime.observer()).unwrap();
        let addr = server.addr();
        let mut others: Vec<TcpStream> = Vec::new();
        for round in 0..4 * CLIENTS_MAX {
            let mut silent = TcpStream::connect(addr).unwrap();
            match round % 3 {
                0 => {}
                1 => silent.write_all(b"GET /metr").unwrap(),
                _ => silent.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap(),
            }
            others.push(silent);
            if round % 8 == 7 {
                let started = Instant::now();
                let good = get(addr, "GET /metrics HTTP/1.1\r\n\r\n");
                assert!(good.ends_with("# EOF\n"), "{good}");
                assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
            }
        }
        let started = Instant::now();
        drop(server);
        assert!(started.elapsed() < ANSWER_PATIENCE, "{:?}", started.elapsed());
    }

    /// A client that reads slowly has as much time as one that reads nothing.
    #[test]
    fn an_answer_has_to_be_taken_in_time() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        let sender = thread::spawn(move || {
            let (started, much) = (Instant::now(), vec![0; 64 << 20]);
            let sent = send(&mut stream, &much);
            (sent.is_err(), started.elapsed())
        });
        while !sender.is_finished() {
            let _ = client.read(&mut [0; 4096]);
            thread::sleep(Duration::from_millis(1));
        }
        let (is_err, elapsed) = sender.join().unwrap();
        assert!(is_err && elapsed < 2 * ANSWER_PATIENCE, "{is_err} {elapsed:?}");
    }
}
