//! `Setup`: what a map is created in.

use super::kind::Resources;
use super::registry::Registry;
use skep_btf::Btf;
use std::sync::Arc;

/// Input for creating maps besides their definition.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) resources: Resources,
    pub(crate) btf: Option<Arc<Btf>>,
    /// Maps and programs to which values refer.
    pub(crate) registry: Arc<Registry>,
}
