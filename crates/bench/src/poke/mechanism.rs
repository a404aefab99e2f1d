//! `Kind` and `Mechanism`: what changes at a site, and ways to change many of them under load.
//!
//! Data that a mechanism needs is prepared in advance: only the change itself is measured. Ours
//! check the present bytes before they write; the others do not.

use super::code::{STATES, Shape, Site, Sites};
use super::int3::Int3;
use serde::Serialize;
use skep_cli::Error;
use skep_runtime::poke::Batch;

/// What changes at a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Kind {
    /// A switch: on or off.
    Switch,
    /// The same with an insn of the function itself as the site, as at programs' entries.
    Insn,
    /// A jump goes to one of four targets, as a tail call does.
    Retarget,
    /// Switches and jumps, half of each in a batch.
    Mixed,
}

/// All of them.
pub const ALL_KINDS: [Kind; 4] = [Kind::Switch, Kind::Insn, Kind::Retarget, Kind::Mixed];

impl Kind {
    /// Name, for tables.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Switch => "switch",
            Kind::Insn => "first insn",
            Kind::Retarget => "retarget",
            Kind::Mixed => "half and half",
        }
    }

    /// The mechanisms for it, ours first.
    pub fn mechanisms(self) -> &'static [Mechanism] {
        use Mechanism::{BarrierPerSite, Commit, CommitNowait, DataPointer};
        use Mechanism::{Int3PerCpu, Int3Shared};
        match self {
            Kind::Switch => &MECHANISMS,
            Kind::Retarget => {
                &[Commit, CommitNowait, BarrierPerSite, DataPointer, Int3Shared, Int3PerCpu]
            }
            Kind::Insn | Kind::Mixed => &[Commit, CommitNowait, BarrierPerSite],
        }
    }
}

/// A way to switch sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Mechanism {
    /// One store per site, one barrier per batch.
    Commit,
    /// One store per site, no barrier: for statistics.
    CommitNowait,
    /// One store and one barrier per site.
    BarrierPerSite,
    /// A flag that all sites test.
    GlobalFlag,
    /// A pointer of each site that it jumps through.
    DataPointer,
    /// Breakpoints, three barriers, one reference counter.
    Int3Shared,
    /// The same with one reference counter per CPU.
    Int3PerCpu,
}

/// All of them, ours first.
pub const MECHANISMS: [Mechanism; 7] = [
    Mechanism::Commit,
    Mechanism::CommitNowait,
    Mechanism::BarrierPerSite,
    Mechanism::GlobalFlag,
    Mechanism::DataPointer,
    Mechanism::Int3Shared,
    Mechanism::Int3PerCpu,
];

/// With more sites, one barrier each takes seconds.
const BARRIERS_MAX: u32 = 16_384;

impl Mechanism {
    /// Name, for tables.
    pub fn name(self) -> &'static str {
        match self {
            Mechanism::Commit => "commit",
            Mechanism::CommitNowait => "commit_nowait",
            Mechanism::BarrierPerSite => "one barrier per site",
            Mechanism::GlobalFlag => "global flag",
            Mechanism::DataPointer => "data pointer",
            Mechanism::Int3Shared => "int3, shared reference",
            Mechanism::Int3PerCpu => "int3, per-CPU references",
        }
    }

    /// Whether every execution after the change returned must see the new state.
    pub fn is_bound(self) -> bool {
        self != Mechanism::CommitNowait
    }

    /// Whether this many sites are changed in acceptable time.
    pub fn takes(self, sites: u32) -> bool {
        self != Mechanism::BarrierPerSite || sites <= BARRIERS_MAX
    }

    fn is_int3(self) -> bool {
        matches!(self, Mechanism::Int3Shared | Mechanism::Int3PerCpu)
    }

    fn shape(self, kind: Kind) -> Shape {
        match (self, kind) {
            (Mechanism::GlobalFlag, _) => Shape::Flag,
            (Mechanism::DataPointer, _) => Shape::Pointer,
            (_, Kind::Switch) if self.is_int3() => Shape::Nop,
            (_, Kind::Switch) => Shape::Switch,
            (_, Kind::Insn) => Shape::Insn,
            (_, Kind::Retarget) => Shape::Jump,
            (_, Kind::Mixed) => Shape::Mixed,
        }
    }
}

/// Sites and their mechanism.
pub struct Switched {
    mechanism: Mechanism,
    /// Functions that threads call.
    pub sites: Sites,
    /// By state; with one barrier per site, one batch per site.
    batches: Vec<Vec<Batch>>,
    int3: Option<Int3>,
}

impl Switched {
    /// `count` sites, all in state 0.
    ///
    /// # Errors
    ///
    /// The host gives no memory for code, or does not let it be patched.
    pub fn new(kind: Kind, mechanism: Mechanism, count: u32) -> Result<Switched, Error> {
        let sites = Sites::new(mechanism.shape(kind), count)?;
        let is_ours = matches!(
            mechanism,
            Mechanism::Commit | Mechanism::CommitNowait | Mechanism::BarrierPerSite
        );
        let batches = match is_ours {
            true => batches(&sites, mechanism == Mechanism::BarrierPerSite)?,
            false => Vec::new(),
        };
        let int3 = match mechanism {
            Mechanism::Int3Shared => Some(Int3::new(&sites, false)),
            Mechanism::Int3PerCpu => Some(Int3::new(&sites, true)),
            _ => None,
        };
        Ok(Switched { mechanism, sites, batches, int3 })
    }

    /// Number of signals so far.
    pub fn traps(&self) -> u64 {
        self.int3.as_ref().map_or(0, Int3::traps)
    }
}

/// The batches that lead to each state from the previous one.
fn batches(sites: &Sites, one_each: bool) -> Result<Vec<Vec<Batch>>, Error> {
    let states = sites.mask(0).max(sites.mask(1)) + 1;
    let all: Option<Vec<Site>> = (0..sites.len() as u32).map(|n| sites.site(n)).collect();
    let all = all.ok_or("a site is missing")?;
    let to = |state: u32| {
        let from = (state + states - 1) % states;
        let mut made = vec![Batch::new()];
        for site in &all {
            if one_each && made.last().is_some_and(|last| !last.is_empty()) {
                made.push(Batch::new());
            }
            let Some(batch) = made.last_mut() else { continue };
            match site {
                Site::Switch(switch) => batch.add_from(switch, from & 1 == 1, state & 1 == 1),
                Site::Jump(jump, to) => {
                    batch.retarget_from(jump, &to[from as usize], &to[state as usize]);
                }
            }
        }
        made
    };
    Ok((0..states).map(to).collect())
}

/// The data of the switching thread, separate from that of the others.
pub struct Switcher<'a> {
    mechanism: Mechanism,
    sites: &'a Sites,
    batches: &'a mut [Vec<Batch>],
    int3: Option<&'a Int3>,
}

impl Switched {
    /// The sites for the threads that run them, and the switcher.
    pub fn split(&mut self) -> (&Sites, Switcher<'_>) {
        let Switched { mechanism, sites, batches, int3 } = self;
        let switcher = Switcher { mechanism: *mechanism, sites, batches, int3: int3.as_ref() };
        (sites, switcher)
    }
}

impl Switcher<'_> {
    /// Puts all sites, which are in the previous state, into this one of [`STATES`].
    ///
    /// # Errors
    ///
    /// The mechanism's.
    pub fn put(&mut self, state: u32) -> Result<(), Error> {
        debug_assert!(state < STATES);
        let at = state as usize % self.batches.len().max(1);
        let mut batches = self.batches.get_mut(at).into_iter().flatten();
        match (self.mechanism, self.int3) {
            (Mechanism::CommitNowait, _) => {
                batches.try_for_each(Batch::commit_nowait).map_err(Error::caused)
            }
            (Mechanism::GlobalFlag, _) => {
                self.sites.set_flag(state);
                Ok(())
            }
            (Mechanism::DataPointer, _) => {
                self.sites.point(state);
                Ok(())
            }
            (_, Some(int3)) => int3.put(self.sites, state),
            (_, None) => batches.try_for_each(Batch::commit).map_err(Error::caused),
        }
    }
}
