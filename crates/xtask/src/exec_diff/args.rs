//! The flags of `exec-diff`, and the kinds of programs that they select.

use super::builder::Kind;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Objects (or folders of them) whose programs are run instead of random ones.
    pub(super) objects: Vec<PathBuf>,
    /// Only load the objects' programs, of all types, into our runtime, and print what is not
    /// supported.
    #[arg(long)]
    pub(super) load: bool,
    /// Seed of the first program.
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Number of programs [default: 1000, or as many as `--minutes` allows].
    #[arg(long)]
    pub(super) count: Option<u64>,
    /// Stop after this many minutes.
    #[arg(long)]
    pub(super) minutes: Option<u64>,
    /// Inputs per program.
    #[arg(long, default_value_t = 100)]
    pub(super) inputs: u64,
    /// Number of those inputs that the kernel runs, too.
    #[arg(long, default_value_t = 10)]
    pub(super) kernel: u64,
    /// Programs that take packets and use maps.
    #[arg(long)]
    pub(super) maps: bool,
    /// Those, with tail calls to each other.
    #[arg(long)]
    pub(super) tails: bool,
    /// Programs with a socket buffer that use maps.
    #[arg(long)]
    pub(super) skb: bool,
    /// Sequences of helpers, fields and accesses, in programs of every type that takes packets.
    #[arg(long)]
    pub(super) sequences: bool,
    /// All kinds in turn, by seed: plain, long, `--maps`, `--tails`, `--skb`, `--sequences`, and
    /// the first three with `--passes`.
    #[arg(long)]
    pub(super) all: bool,
    /// Size of programs: 1 is ten insns and more.
    #[arg(long, default_value_t = 5)]
    pub(super) size: u64,
    /// Also compile with passes switched off, and on, one by one.
    #[arg(long)]
    pub(super) passes: bool,
    /// Print the insns of each program.
    #[arg(long)]
    pub(super) print: bool,
    /// Print the verifier's log of each program.
    #[arg(long)]
    pub(super) log: bool,
    /// Stop after this many differences.
    #[arg(long, default_value_t = 10)]
    pub(super) max: u64,
    /// Number of threads, each bound to its own CPU.
    #[arg(long, default_value_t = 1)]
    pub(super) jobs: usize,
}

/// What programs to generate, and how to compile them.
pub(super) struct Make {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) size: u64,
    pub(super) passes: bool,
}

impl Args {
    /// The kinds selected by the flags.
    pub(super) fn makes(&self) -> Vec<Make> {
        let (size, passes) = (self.size.max(1), self.passes);
        let one = |name, kind| Make { name, kind, size, passes };
        if self.all {
            return vec![
                one("plain", Kind::Words),
                Make { size: 60, ..one("long", Kind::Words) },
                one("maps", Kind::Maps),
                one("tails", Kind::Tails),
                one("skb", Kind::Skb),
                one("sequences", Kind::Sequences),
                Make { passes: true, ..one("plain, passes", Kind::Words) },
                Make { passes: true, size: 60, ..one("long, passes", Kind::Words) },
                Make { passes: true, ..one("maps, passes", Kind::Maps) },
            ];
        }
        vec![match self {
            Args { tails: true, .. } => one("tails", Kind::Tails),
            Args { skb: true, .. } => one("skb", Kind::Skb),
            Args { sequences: true, .. } => one("sequences", Kind::Sequences),
            Args { maps: true, .. } => one("maps", Kind::Maps),
            _ => one("plain", Kind::Words),
        }]
    }

    /// One past the last seed, and when to stop before it.
    pub(super) fn end(&self) -> (u64, Option<Instant>) {
        let count = self.count.unwrap_or(if self.minutes.is_some() { u64::MAX } else { 1000 });
        let lasts = |minutes: u64| Instant::now().checked_add(Duration::from_secs(minutes * 60));
        (self.seed.saturating_add(count), self.minutes.and_then(lasts))
    }
}
