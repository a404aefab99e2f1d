//! Tokens as formatted text.

/// Words that are always followed by a space.
const KEYWORDS: [&str; 8] = ["mut", "dyn", "impl", "as", "in", "for", "where", "const"];

/// `& self , path : & Path` as `&self, path: &Path`.
pub(super) fn text(tokens: impl quote::ToTokens) -> String {
    let tokens = tokens.into_token_stream().to_string();
    let mut out = String::new();
    let mut last = "";
    for word in tokens.split_whitespace() {
        if !out.is_empty() && is_apart(last, word) {
            out.push(' ');
        }
        out.push_str(word);
        last = word;
    }
    out.replace(",)", ")").replace(",>", ">").replace(", )", ")").replace(", >", ">")
}

fn is_apart(before: &str, word: &str) -> bool {
    let opens = |word: &str| word.ends_with(['(', '[', '<', '&', '!', '#', '?', '.']);
    let ends = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    if before == "::" || word == "::" || opens(before) && before != "->" {
        return false;
    }
    if word.starts_with([',', ';', ':', ')', ']', '?', '.'])
        || (word.starts_with('>') && before != "=")
    {
        return false;
    }
    if word.starts_with(['(', '[', '<', '!']) {
        return !(ends || before == ">") || KEYWORDS.contains(&before);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_read_as_they_are_written() {
        for written in [
            "fn f(&self, path: &Path) -> Result<Vec<u8>, Error>",
            "fn f<T: Into<u64> + 'static>(x: [u8; 4], y: &mut [u8]) -> (u8, u8)",
            "fn f(x: impl Fn(&str) -> Option<u8>, y: Box<dyn Error + Send>) -> &'static str",
            "fn f(a: std::fmt::Result) -> impl Iterator<Item = (u8, u8)> + use<'_>",
        ] {
            let tokens: syn::Signature = syn::parse_str(written).expect("parses");
            assert_eq!(text(tokens), written);
        }
    }
}
