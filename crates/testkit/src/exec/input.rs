//! The inputs of a case.

use crate::suite::{Case, bytes};
use skep::uapi::ProgType;

/// The input of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A context made of words.
    Words(Vec<u64>),
    /// A packet.
    Packet(Vec<u8>),
}

/// Default length of a packet: the minimum of Ethernet.
const PACKET_BYTES: u8 = 64;

/// The runs of a case, at least one.
pub fn inputs(case: &Case) -> Result<Vec<Input>, String> {
    let options = &case.options;
    if takes_words(&options.prog_type) {
        let runs = options.words.iter().map(|words| {
            words.iter().map(|word| number(word)).collect::<Result<_, _>>().map(Input::Words)
        });
        let mut runs: Vec<Input> = runs.collect::<Result<_, String>>()?;
        if runs.is_empty() {
            runs.push(Input::Words(vec![0]));
        }
        return Ok(runs);
    }
    let mut runs: Vec<Input> = options
        .packets
        .iter()
        .map(|packet| bytes(packet).map(Input::Packet))
        .collect::<Result<_, _>>()?;
    if runs.is_empty() {
        runs.push(Input::Packet((0..PACKET_BYTES).collect()));
    }
    Ok(runs)
}

fn takes_words(prog_type: &str) -> bool {
    ProgType::from_name(prog_type).is_some_and(|known| !skep_runtime::takes_packet(known))
}

/// Decimal, negative, or hexadecimal.
fn number(text: &str) -> Result<u64, String> {
    let wrong = || format!("not a number of 64 bits: {text}");
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).map_err(|_| wrong());
    }
    let signed = text.parse::<i64>().map(|n| n as u64);
    signed.or_else(|_| text.parse::<u64>()).map_err(|_| wrong())
}
