//! Claims written beside the insns of a case: facts and rejections.

/// `; key=value`: what the log must say after this insn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// Line in the block, from 1.
    pub line: u32,
    /// `r1`, `fp-8`, in lower case.
    pub key: String,
    /// The value as in the log; of `name(a=1,b=2)` only the relevant parameters need to be given.
    pub value: String,
}

/// `//~ reject: text`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reject {
    /// Line in the block, from 1.
    pub line: u32,
    /// A part of the message.
    pub text: String,
}

/// All claims of a block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims {
    /// In order.
    pub facts: Vec<Fact>,
    /// None: the program is accepted.
    pub reject: Option<Reject>,
}

impl Claims {
    /// Finds the claims in the comments of a block.
    pub fn read(bpf: &str) -> Result<Claims, String> {
        let mut claims = Claims::default();
        for (line, text) in (1..).zip(bpf.lines()) {
            let (code, reject) = match text.split_once("//~") {
                Some((code, claim)) => (code, Some(claim.trim())),
                None => (text, None),
            };
            if let Some(claim) = reject {
                let text = claim.strip_prefix("reject:").ok_or("`//~` without `reject:`")?;
                let reject = Reject { line, text: text.trim().to_owned() };
                if claims.reject.replace(reject).is_some() {
                    return Err("refused twice".to_owned());
                }
            }
            if let Some((_, comment)) = code.split_once(';') {
                let facts = pairs(comment);
                let fact =
                    |(key, value): (String, &str)| Fact { line, key, value: value.to_owned() };
                claims.facts.extend(facts.into_iter().map(fact));
            }
        }
        Ok(claims)
    }
}

/// The `key=value` pairs of a state line or a claim; other words are skipped, and a value extends
/// to the next space outside of parentheses. Keys are converted to lower case.
pub(super) fn pairs(text: &str) -> Vec<(String, &str)> {
    let mut found = Vec::new();
    for word in split_outside_parentheses(text, |c| c.is_ascii_whitespace()) {
        let Some((key, value)) = word.split_once('=') else { continue };
        let key = key.strip_suffix("_w").unwrap_or(key);
        let register = key.strip_prefix(['r', 'R']).map(|number| format!("r{number}"));
        let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let is_register = register.as_ref().is_some_and(|r| r.get(1..).is_some_and(number));
        let is_slot = key.strip_prefix("fp-").is_some_and(number);
        let is_refs = matches!(key, "refs" | "cb");
        match register {
            Some(register) if is_register => found.push((register, value)),
            _ if is_slot || is_refs => found.push((key.to_owned(), value)),
            _ => {}
        }
    }
    found
}

/// Whether the log's value matches the claim: equal, or the same name with at least the claimed
/// parameters.
pub(super) fn value_agrees(claimed: &str, logged: &str) -> bool {
    if claimed == logged {
        return true;
    }
    let parts = |text: &'_ str| -> Option<(String, Vec<String>)> {
        let (name, rest) = text.split_once('(')?;
        let inside = rest.strip_suffix(')')?;
        let parts = split_outside_parentheses(inside, |c| c == ',');
        Some((name.to_owned(), parts.into_iter().map(str::to_owned).collect()))
    };
    match (parts(claimed), parts(logged)) {
        (Some((name, wanted)), Some((logged_name, has))) => {
            name == logged_name && wanted.iter().all(|part| has.contains(part))
        }
        _ => false,
    }
}

fn split_outside_parentheses(text: &str, separator: impl Fn(char) -> bool) -> Vec<&str> {
    let mut depth = 0i32;
    text.split(move |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth == 0 && separator(c)
    })
    .filter(|part| !part.is_empty())
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_and_refusals_are_told_from_comments() {
        let text = "r1 = 5 ; r1=5 fp-8=mmmm????\nr2 = r1 ; a copy of r1, x=1\nexit //~ reject: R0 !read_ok";
        let claims = Claims::read(text).expect("claims");
        let facts: Vec<_> =
            claims.facts.iter().map(|f| (f.line, f.key.as_str(), f.value.as_str())).collect();
        assert_eq!(facts, [(1, "r1", "5"), (1, "fp-8", "mmmm????")]);
        assert_eq!(claims.reject, Some(Reject { line: 3, text: "R0 !read_ok".to_owned() }));
    }

    #[test]
    fn values_may_hold_spaces_and_parameters() {
        let line = "R0_w=scalar(id=1,var_off=(0x0; 0xff)) R10=fp0";
        assert_eq!(
            pairs(line),
            [("r0".to_owned(), "scalar(id=1,var_off=(0x0; 0xff))"), ("r10".to_owned(), "fp0")]
        );
        assert!(value_agrees("scalar(var_off=(0x0; 0xff))", "scalar(id=1,var_off=(0x0; 0xff))"));
        assert!(!value_agrees("scalar(umax=1)", "scalar(umax=12)"));
        assert!(!value_agrees("fp8", "fp-8"));
    }
}
