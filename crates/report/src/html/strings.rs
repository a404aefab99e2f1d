//! The string table, and the escaping of invisible characters.

use crate::escape::printable;
use std::collections::HashMap;

/// Texts, each with the index of its first use.
#[derive(Debug, Default)]
pub(super) struct Once {
    all: Vec<String>,
    known: HashMap<String, usize>,
}

impl Once {
    pub(super) fn index(&mut self, text: String) -> usize {
        if let Some(&index) = self.known.get(&text) {
            return index;
        }
        let index = self.all.len();
        self.all.push(text.clone());
        self.known.insert(text, index);
        index
    }

    pub(super) fn all(&self) -> &[String] {
        &self.all
    }
}

/// `text` as shown in a page: newlines and tabs are kept, other control characters are escaped.
pub(super) fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            c => shown.push_str(&printable(c.encode_utf8(&mut [0; 4]))),
        }
    }
    shown
}
