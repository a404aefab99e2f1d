//! The flags of `exec-diff`, and the kinds of programs that they select.

use super::generate::Kind;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Objects (or folders of them) whose programs are run instead of random ones.
    pub(super) objects: Vec<PathBuf>,
    /// Only load the objects' programs, of all types, into our runtime; say what they lack.
    #[arg(long)]
    pub(super) load: bool,
    /// The first program.
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// How many programs [default: 1000, or as many as `--minutes` lasts].
    #[arg(long)]
    pub(super) count: Option<u64>,
    /// Stop after so many minutes.
    #[arg(long)]
    pub(super) minutes: Option<u64>,
    /// Inputs of each.
    #[arg(long, default_value_t = 100)]
    pub(super) inputs: u64,
    /// Of those, how many the kernel is asked about.
    #[arg(long, default_value_t = 10)]
    pub(super) kernel: u64,
    /// Programs that take packets and use maps.
    #[arg(long)]
    pub(super) maps: bool,
    /// And that tail call each other.
    #[arg(long)]
    pub(super) tails: bool,
    /// Programs that have a socket buffer, and use maps.
    #[arg(long)]
    pub(super) skb: bool,
    /// All kinds in turn, seed by seed: plain, long, `--maps`, `--tails`, `--skb`, and the first
    /// three with `--passes`.
    #[arg(long)]
    pub(super) all: bool,
    /// How long programs are: 1 is ten insns and more.
    #[arg(long, default_value_t = 5)]
    pub(super) size: u64,
    /// Switch the compiler's passes off, and on, one by one too.
    #[arg(long)]
    pub(super) passes: bool,
    /// Print the insns of each program.
    #[arg(long)]
    pub(super) print: bool,
    /// Print the verifier's log of each program.
    #[arg(long)]
    pub(super) log: bool,
    /// Stop after so many differences.
    #[arg(long, default_value_t = 10)]
    pub(super) max: u64,
    /// Threads, each bound to a CPU of its own.
    #[arg(long, default_value_t = 1)]
    pub(super) jobs: usize,
}

/// What programs are made, and how they are compiled.
pub(super) struct Make {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) size: u64,
    pub(super) passes: bool,
}

impl Args {
    /// The ways in turn: the one that the flags say, or all.
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
                Make { passes: true, ..one("plain, passes", Kind::Words) },
                Make { passes: true, size: 60, ..one("long, passes", Kind::Words) },
                Make { passes: true, ..one("maps, passes", Kind::Maps) },
            ];
        }
        vec![match self {
            Args { tails: true, .. } => one("tails", Kind::Tails),
            Args { skb: true, .. } => one("skb", Kind::Skb),
            Args { maps: true, .. } => one("maps", Kind::Maps),
            _ => one("plain", Kind::Words),
        }]
    }

    /// The first seed behind the last, and when to stop before it.
    pub(super) fn end(&self) -> (u64, Option<Instant>) {
        let count = self.count.unwrap_or(if self.minutes.is_some() { u64::MAX } else { 1000 });
        let lasts = |minutes: u64| Instant::now().checked_add(Duration::from_secs(minutes * 60));
        (self.seed.saturating_add(count), self.minutes.and_then(lasts))
    }
}
