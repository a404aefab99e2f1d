//! `Mechanism`: ways to switch many sites while threads run them.

use super::code::{Shape, Sites};
use super::int3::Int3;
use serde::Serialize;
use skep_jit::Switch;
use skep_runtime::poke::Batch;

/// A way to switch sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Mechanism {
    /// One byte a site, one barrier a batch.
    Commit,
    /// One byte a site, no barrier: for statistics.
    CommitNowait,
    /// One byte and one barrier a site.
    BarrierPerSite,
    /// A flag that all sites test.
    GlobalFlag,
    /// A pointer of each site that it jumps through.
    DataPointer,
    /// Breakpoints, three barriers, one reference counter.
    Int3Shared,
    /// The same with a reference counter of each CPU.
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

impl Mechanism {
    /// For people.
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

    /// Whether every execution is bound to see the new state when the switching has returned.
    pub fn is_bound(self) -> bool {
        self != Mechanism::CommitNowait
    }

    fn shape(self) -> Shape {
        match self {
            Mechanism::GlobalFlag => Shape::Flag,
            Mechanism::DataPointer => Shape::Pointer,
            Mechanism::Int3Shared | Mechanism::Int3PerCpu => Shape::Nop,
            _ => Shape::Switch,
        }
    }
}

/// Sites and how they are switched.
pub struct Switched {
    mechanism: Mechanism,
    /// What threads call.
    pub sites: Sites,
    switches: Vec<Switch>,
    /// Both states, made before: what is measured is the switching.
    batches: [Batch; 2],
    int3: Option<Int3>,
}

impl Switched {
    /// `count` sites, all off.
    ///
    /// # Errors
    ///
    /// The host gives no memory for code, or does not let it be patched.
    pub fn new(mechanism: Mechanism, count: u32) -> Result<Switched, String> {
        let sites = Sites::new(mechanism.shape(), count)?;
        let switches = sites.switches();
        let batches = [false, true].map(|on| {
            let mut batch = Batch::new();
            switches.iter().for_each(|switch| batch.add_from(switch, !on, on));
            batch
        });
        let int3 = match mechanism {
            Mechanism::Int3Shared => Some(Int3::new(&sites, false)),
            Mechanism::Int3PerCpu => Some(Int3::new(&sites, true)),
            _ => None,
        };
        Ok(Switched { mechanism, sites, switches, batches, int3 })
    }

    /// Signals that threads ran into so far.
    pub fn traps(&self) -> u64 {
        self.int3.as_ref().map_or(0, Int3::traps)
    }
}

/// Who switches, apart from what threads use meanwhile.
pub struct Switcher<'a> {
    mechanism: Mechanism,
    sites: &'a Sites,
    switches: &'a [Switch],
    batches: &'a mut [Batch; 2],
    int3: Option<&'a Int3>,
}

impl Switched {
    /// The sites for the threads that run them, and who switches them.
    pub fn split(&mut self) -> (&Sites, Switcher<'_>) {
        let Switched { mechanism, sites, switches, batches, int3 } = self;
        let switcher =
            Switcher { mechanism: *mechanism, sites, switches, batches, int3: int3.as_ref() };
        (sites, switcher)
    }
}

impl Switcher<'_> {
    /// Turns all sites, which are in the other state.
    ///
    /// # Errors
    ///
    /// What the mechanism says.
    pub fn toggle(&mut self, on: bool) -> Result<(), String> {
        let text = |e: skep_runtime::poke::Error| e.to_string();
        let batch = &mut self.batches[usize::from(on)];
        match (self.mechanism, self.int3) {
            (Mechanism::Commit, _) => batch.commit().map_err(text),
            (Mechanism::CommitNowait, _) => batch.commit_nowait().map_err(text),
            (Mechanism::BarrierPerSite, _) => self.switches.iter().try_for_each(|switch| {
                let mut batch = Batch::new();
                batch.add_from(switch, !on, on);
                batch.commit().map_err(text)
            }),
            (Mechanism::GlobalFlag, _) => {
                self.sites.set_flag(on);
                Ok(())
            }
            (Mechanism::DataPointer, _) => {
                self.sites.point(on);
                Ok(())
            }
            (_, Some(int3)) => int3.toggle(self.sites, on),
            (_, None) => Err("no handler".to_owned()),
        }
    }
}
