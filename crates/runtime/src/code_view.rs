//! `CodeView`: the machine code of a program, to look at.
//!
//! Deliberately absent: addresses. What has one can jump to it, or wait until it is freed.

use skep_jit::{PatchSite, PokeMode, Symbol};
use skep_text::MachineCode;

/// The machine code of an [`crate::Instance`].
#[derive(Clone, Copy, Debug)]
pub struct CodeView<'a>(&'a MachineCode);

impl<'a> CodeView<'a> {
    pub(crate) fn new(code: &'a MachineCode) -> CodeView<'a> {
        CodeView(code)
    }

    /// A copy of the code.
    pub fn bytes(self) -> Vec<u8> {
        self.0.bytes()
    }

    /// Its length in bytes.
    pub fn len_bytes(self) -> usize {
        self.0.len_bytes()
    }

    /// The functions, in order, and the stubs of the statistics.
    pub fn symbols(self) -> &'a [Symbol] {
        self.0.symbols()
    }

    /// All patch sites, in code order.
    pub fn patch_sites(self) -> Vec<PatchSite> {
        self.0.patch_sites()
    }

    /// How its sites are implemented, which may differ from the request.
    pub fn poke_mode(self) -> PokeMode {
        self.0.poke_mode()
    }
}
