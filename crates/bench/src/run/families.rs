//! All compute programs by family, in two halves: those that passes may be tuned with, and those
//! held out.
//!
//! # Invariants
//! 1. A held-out program was written before the passes that are measured with it, and only the mean
//!    is looked at: neither its code nor its own time influences a decision.

use super::Kind;
use super::kinds::{KINDS, kind};

/// Which half a program is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// May be looked at when passes are written.
    Tuned,
    /// Held out: part of the mean only.
    Held,
}

/// A program, its family and half.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// The program.
    pub kind: Kind,
    /// What kind of work it does.
    pub family: &'static str,
    /// Its half.
    pub half: Half,
}

/// The families of the first programs, in their order.
const FIRST: [&str; KINDS.len()] = [
    "numerics", "numerics", "hashes", "hashes", "hashes", "numerics", "sorting", "searches",
    "parsers", "machines", "bits", "hashes", "numerics", "numerics", "numerics", "hashes",
    "states", "hashes",
];

/// Programs known to be slow.
const TUNED: [(&str, Kind); 56] = [
    ("hashes", kind!("adler")),
    ("hashes", kind!("poly1305")),
    ("hashes", kind!("bloom")),
    ("ciphers", kind!("chacha")),
    ("ciphers", kind!("blake2s")),
    ("ciphers", kind!("rc4")),
    ("sorting", kind!("heapsort")),
    ("tables", kind!("trie")),
    ("tables", kind!("bsearch")),
    ("tables", kind!("levenshtein")),
    ("tables", kind!("knapsack")),
    ("numerics", kind!("gcd")),
    ("numerics", kind!("nested")),
    ("numerics", kind!("sad")),
    ("parsers", kind!("varint")),
    ("parsers", kind!("base64")),
    ("bits", kind!("popcount")),
    ("parsers", kind!("dnsname")),
    ("parsers", kind!("urldecode")),
    ("sorting", kind!("merge")),
    ("sorting", kind!("radix")),
    ("searches", kind!("rabin")),
    ("bits", kind!("bitrev")),
    ("numerics", kind!("softmul")),
    ("packets", kind!("vlan")),
    ("packets", kind!("acl")),
    ("compression", kind!("lz4")),
    ("parsers", kind!("base32")),
    ("bits", kind!("bitalloc")),
    ("packets", kind!("ipv6ext")),
    ("hashes", kind!("oaat")),
    ("tables", kind!("events")),
    ("searches", kind!("interpolate")),
    ("compression", kind!("huffman")),
    ("hashes", kind!("fletcher")),
    ("tables", kind!("dtw")),
    ("parsers", kind!("tlv")),
    ("parsers", kind!("hex")),
    ("tables", kind!("ringlog")),
    ("sorting", kind!("median")),
    ("numerics", kind!("biquad")),
    ("compression", kind!("zigzag")),
    ("packets", kind!("bucket")),
    ("bits", kind!("rank")),
    ("sorting", kind!("quick")),
    ("tables", kind!("poptrie")),
    ("packets", kind!("ttl")),
    ("bits", kind!("log2hist")),
    ("numerics", kind!("cubic")),
    ("parsers", kind!("cobs")),
    ("parsers", kind!("dotted")),
    ("tables", kind!("bst")),
    ("packets", kind!("drr")),
    ("hashes", kind!("hrw")),
    ("hashes", kind!("murmur")),
    ("sorting", kind!("bitonic")),
];

/// Held-out programs.
const HELD: [(&str, Kind); 75] = [
    ("parsers", kind!("utf8")),
    ("parsers", kind!("json")),
    ("parsers", kind!("csv")),
    ("parsers", kind!("headers")),
    ("parsers", kind!("options")),
    ("parsers", kind!("number")),
    ("hashes", kind!("fnv")),
    ("hashes", kind!("md5")),
    ("hashes", kind!("crc16")),
    ("ciphers", kind!("xtea")),
    ("ciphers", kind!("speck")),
    ("ciphers", kind!("salsa")),
    ("big numbers", kind!("bigmul")),
    ("big numbers", kind!("bigdiv")),
    ("big numbers", kind!("modpow")),
    ("compression", kind!("rle")),
    ("compression", kind!("unpack")),
    ("compression", kind!("prefix")),
    ("sorting", kind!("insertion")),
    ("sorting", kind!("counting")),
    ("sorting", kind!("comb")),
    ("tables", kind!("hashtab")),
    ("tables", kind!("lcs")),
    ("tables", kind!("maglev")),
    ("searches", kind!("horspool")),
    ("searches", kind!("kmp")),
    ("searches", kind!("bitap")),
    ("states", kind!("tcpstate")),
    ("machines", kind!("stackvm")),
    ("machines", kind!("regvm")),
    ("bits", kind!("morton")),
    ("bits", kind!("isqrt")),
    ("numerics", kind!("dct")),
    ("numerics", kind!("mandel")),
    ("numerics", kind!("circle")),
    ("numerics", kind!("fir")),
    ("packets", kind!("nat")),
    ("packets", kind!("toeplitz")),
    ("packets", kind!("tunnel")),
    ("ciphers", kind!("aes")),
    ("ciphers", kind!("rc5")),
    ("hashes", kind!("crc64")),
    ("compression", kind!("lzss")),
    ("compression", kind!("mtf")),
    ("tables", kind!("cuckoo")),
    ("searches", kind!("glob")),
    ("numerics", kind!("cordic")),
    ("numerics", kind!("bcd")),
    ("numerics", kind!("quantile")),
    ("bits", kind!("life")),
    ("bits", kind!("hamming")),
    ("tables", kind!("unionfind")),
    ("sorting", kind!("pqueue")),
    ("tables", kind!("lis")),
    ("parsers", kind!("der")),
    ("hashes", kind!("wyhash")),
    ("numerics", kind!("mulaw")),
    ("searches", kind!("keywords")),
    ("compression", kind!("rice")),
    ("packets", kind!("quic")),
    ("hashes", kind!("syndrome")),
    ("searches", kind!("window")),
    ("compression", kind!("golomb")),
    ("tables", kind!("sketch")),
    ("packets", kind!("rtt")),
    ("parsers", kind!("hpack")),
    ("packets", kind!("conntrack")),
    ("tables", kind!("lru")),
    ("big numbers", kind!("gauss")),
    ("states", kind!("wheel")),
    ("packets", kind!("sack")),
    ("numerics", kind!("date")),
    ("compression", kind!("rangecoder")),
    ("searches", kind!("aho")),
    ("packets", kind!("fragments")),
];

/// All programs: the first, those for tuning, those held out.
pub fn members() -> Vec<Member> {
    let first = FIRST.iter().copied().zip(KINDS);
    let half = |half| move |(family, kind)| Member { kind, family, half };
    let tuned = first.chain(TUNED).map(half(Half::Tuned));
    tuned.chain(HELD.map(half(Half::Held))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn at_least_sixty_half_of_them_held_each_once() {
        let members = members();
        let names: BTreeSet<&str> = members.iter().map(|member| member.kind.name).collect();
        let held = members.iter().filter(|member| member.half == Half::Held).count();
        assert!(members.len() >= 60 && names.len() == members.len());
        assert!(2 * held >= members.len(), "{held} of {}", members.len());
    }
}
