//! `ProgInfo`: what is told of a loaded program, as `BPF_OBJ_GET_INFO_BY_FD` does.

use crate::image::ProgImage;
use crate::runtime::Shared;
use crate::stats::{self, ProgStats};
use skep_program::Program;
use skep_uapi::{ProgType, is_gpl_compatible};
use std::sync::{Arc, Weak};
use std::time::SystemTime;

/// Memory is counted in pages.
const PAGE_BYTES: u64 = 4096;

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
    /// Bytes of both, rounded up to pages.
    pub bytes_memlock: u64,
    /// Ids of the maps that it uses, in the order of the object's maps.
    pub map_ids: Vec<u32>,
    /// Its run statistics.
    pub stats: ProgStats,
}

/// Observes a runtime's programs from any thread, without keeping the runtime alive.
#[derive(Clone)]
pub struct Observer(Weak<Shared>);

impl Observer {
    pub(crate) fn new(shared: &Arc<Shared>) -> Observer {
        Observer(Arc::downgrade(shared))
    }

    /// All loaded programs, in id order; none once the runtime is gone.
    pub fn programs(&self) -> Vec<ProgInfo> {
        let Some(shared) = self.0.upgrade() else { return Vec::new() };
        {
            // A child of `fork` finds no map locked by who only reads statistics.
            let _gate = stats::gate();
            shared.registry.settle();
        }
        shared.board.programs().iter().map(ProgInfo::new).collect()
    }
}

impl std::fmt::Debug for Observer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Observer")
    }
}

/// What does not change.
pub(crate) struct Facts {
    tag: [u8; 8],
    gpl_compatible: bool,
    loaded_at: SystemTime,
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

impl ProgInfo {
    pub(crate) fn new(image: &Arc<ProgImage>) -> ProgInfo {
        let bytes_xlated = 8 * image.linked.xlated.insns().len() as u64;
        let bytes_jited = image.bytes_jited();
        let pages = (bytes_xlated + bytes_jited.unwrap_or_default()).div_ceil(PAGE_BYTES);
        ProgInfo {
            id: image.id,
            prog_type: image.prog_type,
            name: image.name.clone(),
            tag: image.facts.tag,
            gpl_compatible: image.facts.gpl_compatible,
            loaded_at: image.facts.loaded_at,
            bytes_xlated,
            bytes_jited,
            bytes_memlock: pages * PAGE_BYTES,
            map_ids: image.map_ids(),
            stats: image.counters.read(),
        }
    }
}
