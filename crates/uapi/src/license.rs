//! Licences of programs.

/// Whether the licence permits what is reserved for GPL programs.
///
/// Kernel: `license_is_gpl_compatible`, 6.18; the strings are those of `MODULE_LICENSE`.
pub fn is_gpl_compatible(license: &str) -> bool {
    matches!(
        license,
        "GPL"
            | "GPL v2"
            | "GPL and additional rights"
            | "Dual BSD/GPL"
            | "Dual MIT/GPL"
            | "Dual MPL/GPL"
    )
}
