//! Names that the kernel takes for programs and maps.
//!
//! Kernel: `bpf_obj_name_cpy`, 6.18: every byte was tried, alone and as the fifteenth.

/// Bytes of a name that loaders pass on.
const NAME_BYTES: usize = 15;

/// Whether the kernel takes the name for a program or map; loaders cut it.
pub fn object_name_is_valid(name: &str) -> bool {
    let is_letter = |byte: u8| byte >= 0xc0 && byte != 0xd7 && byte != 0xf7;
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_.".contains(&byte);
    name.bytes().take(NAME_BYTES).all(|byte| is_word(byte) || is_letter(byte))
}

#[cfg(test)]
mod tests {
    use super::object_name_is_valid;

    /// Seen on 6.18 for programs and maps.
    #[test]
    fn names_are_words_and_dots_in_their_first_15_bytes() {
        for name in ["", "a", "1a", ".data", "a_b", "abcdefghijklmno$"] {
            assert!(object_name_is_valid(name), "{name}");
        }
        for name in ["a$b", "a-b", "a b", "\u{e4}", "abcdefghijklmn$", "a/b", "\u{d7}"] {
            assert!(!object_name_is_valid(name), "{name}");
        }
        assert!(object_name_is_valid("abcdefghijklmn\u{e4}"), "its first byte is a letter there");
    }
}
