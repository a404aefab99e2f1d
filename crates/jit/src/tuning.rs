//! `Tuning`: options of a compilation.

/// Function prologues and epilogues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prologue {
    /// Saves only the registers that the function uses, and sets up a frame only if it needs one.
    #[default]
    Minimal,
    /// Saves every register a program may use, in a frame of at least 512 bytes with a frame
    /// pointer, as kernels did before 2021. For comparison.
    Full,
}

/// How switches and retargetable jumps are implemented.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PokeMode {
    /// Sites in the code are patched, so nothing is loaded. Falls back to `Flag` if the host does
    /// not allow it (see `skep_text::patching_is_refused`).
    #[default]
    Patch,
    /// A load and a branch; code is never written once it is in place.
    Flag,
}

/// Compiler options. Programs that tail call each other need the same `fuel`, and may differ in
/// everything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// The kind of prologue. Programs with fuel, and those that throw exceptions, always get the
    /// minimal one, since they need `rbp` for other purposes.
    pub prologue: Prologue,
    /// Counts fuel ([`crate::RunEnv::fuel`]) and checks the interrupt flag at each unit.
    pub fuel: bool,
    /// Emits the patch sites for statistics, if the linkage contains the counters.
    pub sites: bool,
    /// How sites are implemented.
    pub poke: PokeMode,
    /// Processor features to use. A runtime uses only those that the host has, too.
    pub cpu: CpuFeatures,
    /// Which passes run.
    pub passes: Passes,
    /// Check that the passes preserve shared memory accesses (`docs/memory-model.md`); if they do
    /// not, that is an error ([`crate::Error::is_bug`]). By default in builds with debug
    /// assertions.
    pub checked: bool,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning {
            prologue: Prologue::Minimal,
            fuel: false,
            sites: true,
            poke: PokeMode::Patch,
            cpu: CpuFeatures::host(),
            passes: Passes::ALL,
            checked: cfg!(debug_assertions),
        }
    }
}

/// Processor extensions that the emitter can use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuFeatures {
    /// `shlx`, `shrx`, `sarx`, `rorx`.
    pub bmi2: bool,
    /// `movbe`.
    pub movbe: bool,
}

impl CpuFeatures {
    /// The features of this processor.
    pub fn host() -> CpuFeatures {
        #[cfg(target_arch = "x86_64")]
        return CpuFeatures {
            bmi2: std::arch::is_x86_feature_detected!("bmi2"),
            movbe: std::arch::is_x86_feature_detected!("movbe"),
        };
        #[cfg(not(target_arch = "x86_64"))]
        CpuFeatures::default()
    }

    /// The features that both have.
    pub fn and(self, other: CpuFeatures) -> CpuFeatures {
        CpuFeatures { bmi2: self.bmi2 && other.bmi2, movbe: self.movbe && other.movbe }
    }
}

macro_rules! passes {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Which optimisation passes run; each is a file of that name in `opt/`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Passes {
            $($(#[$doc])* pub $name: bool,)*
        }

        impl Passes {
            /// Every pass.
            pub const ALL: Passes = Passes { $($name: true,)* };
            /// No pass.
            pub const NONE: Passes = Passes { $($name: false,)* };
            /// Names of all passes.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name),)*];

            /// The switch of the pass of that name.
            pub fn by_name(&mut self, name: &str) -> Option<&mut bool> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)*
                    _ => None,
                }
            }
        }
    };
}

passes! {
    /// Removes dead ops.
    dead,
    /// Inlines array lookups.
    lookup,
    /// Direct calls for operations on hash maps.
    direct,
    /// Removes divisor checks that are part of the division op.
    guards,
    /// Threads jumps to jumps, and inverts jumps over jumps.
    branches,
    /// Results that are known.
    constants,
    /// Two shifts become a rotation.
    rotate,
    /// Loads of single bytes become one load.
    bytes,
    /// Removes redundant extensions and masks.
    zext,
    /// Sign tests become bit tests.
    signs,
    /// Removes masks and extensions whose cleared bits are dead.
    demand,
    /// Copy propagation.
    copies,
    /// Address arithmetic in addresses.
    address,
    /// Moves and additions become `lea`.
    lea,
    /// Moves stack slots to spare registers.
    slots,
    /// Addresses of global variables that loops need in spare registers.
    bases,
    /// Results are computed in the registers that they are copied to.
    joins,
    /// Sums and shifts in place in the addresses that alone read them.
    index,
    /// Reassociates sums so that the latest operand comes last.
    chains,
    /// Loads and stores with byte swap.
    movbe,
    /// Loads as operands.
    fold,
    /// Copies of adjacent bytes become copies of words.
    words,
    /// The smaller or the larger of two numbers becomes a conditional move.
    selects,
    /// Adjacent stores of zeros become wide stores.
    fills,
    /// Division by constants becomes multiplication.
    magic,
    /// Multiplication by 3, 5 and 9 becomes `lea`; by shifts if it is loop-carried.
    products,
    /// Uses the flags of arithmetic instead of a comparison with 0.
    flags,
    /// Unrolls short loops.
    unroll,
    /// Tests unrolled loops with a known trip count once per unrolled body.
    trips,
    /// Counters of unrolled loops are updated once per unrolled body.
    counters,
    /// Sums of unrolled loops alternate between two registers.
    sums,
    /// Duplicates loop latches at jumps to them.
    latches,
    /// Blocks stand where they are likely to be needed.
    layout,
    /// Aligns loop heads to 32 bytes.
    align,
}
