//! Repeats what Linux 6.18 answered to every offset, size and direction (`ctx_probe.txt`).

use skep_uapi::ProgType;
use skep_uapi::ctx::{CtxLayout, CtxRange, SockPointer};

struct Probe {
    layout: CtxLayout,
    what: String,
    /// Four bits an offset.
    nibbles: Vec<u8>,
}

fn probes() -> Vec<Probe> {
    let text = include_str!("ctx_probe.txt");
    text.lines().filter(|line| !line.starts_with('#')).map(probe).collect()
}

fn probe(line: &str) -> Probe {
    let mut words = line.split(' ');
    let prog_type = ProgType::from_name(words.next().unwrap()).unwrap();
    let attach_type: u32 = words.next().unwrap().parse().unwrap();
    let what = words.next().unwrap().to_owned();
    let hex = words.next().unwrap();
    let layout = CtxLayout::find(prog_type, attach_type).unwrap();
    let byte = |i: usize| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap();
    let nibbles = (0..hex.len()).map(|n| byte(n / 2) >> (4 * (n % 2)) & 15).collect();
    Probe { layout, what, nibbles }
}

#[test]
fn every_answer_of_the_kernel_is_repeated() {
    let mut accepted = 0;
    for probe in probes() {
        for (off, sizes) in probe.nibbles.iter().enumerate() {
            for size in [1, 2, 4, 8] {
                let at = CtxRange { off: off as i32, size };
                let ours = match probe.what.as_str() {
                    "write" => probe.layout.store(at).is_some(),
                    value => {
                        let load = probe.layout.load(at, false);
                        load.is_some_and(|a| format!("{:?}", a.value) == value)
                    }
                };
                let theirs = u32::from(*sizes) & size != 0;
                assert_eq!(ours, theirs, "{} {at:?}", probe.what);
                accepted += u32::from(theirs);
            }
        }
    }
    assert!(accepted > 3000, "{accepted} answers were yes");
}

#[test]
fn loads_that_the_kernel_refused_give_nothing() {
    let probes = probes();
    let values: Vec<_> = probes.iter().filter(|p| p.what != "write").collect();
    for probe in &values {
        let same = |p: &&&Probe| p.layout.fields().as_ptr() == probe.layout.fields().as_ptr();
        let all: Vec<_> = values.iter().filter(same).collect();
        for off in 0..264usize {
            for size in [1u32, 2, 4, 8] {
                let theirs = all.iter().any(|p| u32::from(p.nibbles[off]) & size != 0);
                let at = CtxRange { off: off as i32, size };
                assert_eq!(probe.layout.load(at, false).is_some(), theirs, "{at:?}");
            }
        }
    }
}

#[test]
fn every_answer_about_sockets_is_repeated() {
    let text = include_str!("sock_probe.txt");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, hex) = line.split_once(' ').unwrap();
        let layout = match name {
            "sock_common" => SockPointer::SockCommon,
            "sock" => SockPointer::Socket,
            "tcp_sock" => SockPointer::TcpSock,
            _ => SockPointer::XdpSock,
        };
        for off in 0..160usize {
            let byte = u8::from_str_radix(&hex[off / 2 * 2..off / 2 * 2 + 2], 16).unwrap();
            let sizes = u32::from(byte >> (4 * (off % 2)) & 15);
            for size in [1, 2, 4, 8] {
                let at = CtxRange { off: off as i32, size };
                let ours = layout.layout().load(at, false).is_some();
                assert_eq!(ours, sizes & size != 0, "{name} {at:?}");
                assert!(layout.layout().store(at).is_none());
            }
        }
    }
}
