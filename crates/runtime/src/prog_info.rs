//! `ProgInfo`: information about a loaded program, as from `BPF_OBJ_GET_INFO_BY_FD`.

use crate::stats::ProgStats;
use skep_program::Program;
use skep_uapi::{ProgType, is_gpl_compatible};
use std::time::SystemTime;

/// A loaded program; the fields have bpftool's names.
#[derive(Clone, Debug)]
pub struct ProgInfo {
    /// Its id in the runtime.
    pub id: u32,
    /// Type.
    pub prog_type: ProgType,
    /// Name of the entry function, not truncated.
    pub name: String,
    /// Hash of its insns ([`Program::tag`]).
    pub tag: [u8; 8],
    /// Whether its licence allows GPL-only helpers.
    pub gpl_compatible: bool,
    /// When it was loaded.
    pub loaded_at: SystemTime,
    /// Bytes of insns after the verifier's rewrites.
    pub bytes_xlated: u64,
    /// Bytes of machine code; `None` if it is interpreted.
    pub bytes_jited: Option<u64>,
    /// Memory for both, in whole pages.
    pub bytes_memlock: u64,
    /// Ids of the maps that it uses, in the order of the object's maps.
    pub map_ids: Vec<u32>,
    /// Its run statistics.
    pub stats: ProgStats,
}

/// What does not change.
pub(crate) struct Facts {
    pub(crate) tag: [u8; 8],
    pub(crate) gpl_compatible: bool,
    pub(crate) loaded_at: SystemTime,
}

impl Facts {
    pub(crate) fn new(program: &Program) -> Facts {
        Facts {
            tag: program.tag(),
            gpl_compatible: is_gpl_compatible(&program.license),
            loaded_at: SystemTime::now(),
        }
    }
}
