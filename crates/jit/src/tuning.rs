//! `Tuning`: what may differ between two compilations of the same program.

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
    /// Sites in the code are patched, so nothing is loaded. Falls back to `Flag` where the host
    /// refuses (see [`crate::patching_is_refused`]).
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
    /// Emits the patch sites for statistics, if the linkage says where to count.
    pub sites: bool,
    /// How sites are implemented.
    pub poke: PokeMode,
    /// Processor features to use.
    pub cpu: CpuFeatures,
    /// Which passes run.
    pub passes: Passes,
    /// Whether it is checked that the passes leave alone what other threads see
    /// (`docs/memory-model.md`); if they do not, that is an error ([`crate::Error::is_bug`]). By
    /// default in builds with debug assertions.
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
    /// AVX: processors that have it store an aligned block of 16 bytes at once.
    pub avx: bool,
}

impl CpuFeatures {
    /// The features of this processor.
    pub fn host() -> CpuFeatures {
        #[cfg(target_arch = "x86_64")]
        return CpuFeatures {
            bmi2: std::arch::is_x86_feature_detected!("bmi2"),
            movbe: std::arch::is_x86_feature_detected!("movbe"),
            avx: std::arch::is_x86_feature_detected!("avx"),
        };
        #[cfg(not(target_arch = "x86_64"))]
        CpuFeatures::default()
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
    /// Removes what no one reads.
    dead,
    /// Lookups in arrays without a call.
    lookup,
    /// Operations on hash maps by a direct call.
    direct,
    /// Checks of divisors that divisions make themselves.
    guards,
    /// Jumps to and over jumps.
    branches,
    /// Results that are known.
    constants,
    /// Two shifts as one rotation.
    rotate,
    /// Loads of single bytes as one load.
    bytes,
    /// Drops extensions and masks that change nothing.
    zext,
    /// Tests of a sign as tests of a bit.
    signs,
    /// Drops masks and extensions whose cleared bits no one reads.
    demand,
    /// Reads values from where they were first.
    copies,
    /// Address arithmetic in addresses.
    address,
    /// Moves and additions as `lea`.
    lea,
    /// Stack slots in spare registers.
    slots,
    /// Addresses of global variables that loops need in spare registers.
    bases,
    /// Sums and shifts in place in the addresses that alone read them.
    index,
    /// Sums wait for their latest part last.
    chains,
    /// Loads and stores that swap bytes.
    movbe,
    /// Loads as operands.
    fold,
    /// Copies of neighbouring bytes as copies of words.
    words,
    /// Zeros next to one another by wide stores.
    fills,
    /// Division by constants as multiplication.
    magic,
    /// Multiplication by 3, 5 and 9 as `lea`; by shifts where the next round waits for it.
    products,
    /// Flags of arithmetic in place of a comparison with 0.
    flags,
    /// Short loops written several times in a row.
    unroll,
    /// Loops of a known number of rounds are tested once for all that are written.
    trips,
    /// Counters of unrolled loops step once for all rounds.
    counters,
    /// Sums of unrolled loops go to two registers in turn.
    sums,
    /// Ends of loops written where they are jumped to.
    latches,
    /// Blocks stand where they are likely to be needed.
    layout,
    /// Loop heads at multiples of 32 bytes.
    align,
}
