//! Words, numbers and operators of a line, each with its column.

use crate::Error;

/// One token of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A name, keyword, register or directive.
    Word(&'a str),
    /// A number without its sign; hexadecimal ones may stand for the bits of a negative one.
    Number { value: u64, is_hex: bool },
    /// An operator or a bracket.
    Op(&'static str),
    /// The end of the line, or its comment.
    End,
}

/// Longest first among those that start alike.
const OPS: &[&str] = &[
    "s>>=", "s/=", "s%=", "s>=", "s<=", "s>", "s<", "<<=", ">>=", "+=", "-=", "*=", "/=", "%=",
    "|=", "&=", "^=", "==", "!=", ">=", "<=", "=", "<", ">", "&", "+", "-", "*", "(", ")", "[",
    "]", ",", ":", "#",
];

/// Reads the tokens of one line from left to right.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    line: u32,
    text: &'a str,
    /// Where in `text` the token starts and where the rest of the line does.
    start: usize,
    end: usize,
    token: Token<'a>,
}

impl<'a> Cursor<'a> {
    /// Starts at the first token of `text`, line number `line`.
    pub(super) fn new(line: u32, text: &'a str) -> Result<Cursor<'a>, Error> {
        let mut cursor = Cursor { line, text, start: 0, end: 0, token: Token::End };
        cursor.advance()?;
        Ok(cursor)
    }

    /// The token at the cursor.
    pub(super) fn token(&self) -> Token<'a> {
        self.token
    }

    /// Column of the token at the cursor, from 1.
    pub(super) fn column(&self) -> u32 {
        self.text[..self.start].chars().count() as u32 + 1
    }

    /// The line from the token at the cursor on.
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.start..]
    }

    /// An error about the token at the cursor.
    pub(super) fn error(&self, message: impl Into<String>) -> Error {
        Error::text(self.line, self.column(), message)
    }

    /// The error that something else is expected at the cursor.
    pub(super) fn expected(&self, what: &str) -> Error {
        match self.token {
            Token::End => self.error(format!("expected {what} before the end of the line")),
            _ => {
                let found = &self.text[self.start..self.end];
                self.error(format!("expected {what}, found `{found}`"))
            }
        }
    }

    /// Moves `bytes` further than the start of the token, and to the next token there.
    pub(super) fn skip(&mut self, bytes: usize) -> Result<(), Error> {
        self.end = self.start + bytes;
        self.advance()
    }

    /// Moves to the next token.
    pub(super) fn advance(&mut self) -> Result<(), Error> {
        let rest = self.text[self.end..].trim_start();
        self.start = self.text.len() - rest.len();
        let (token, len) = self.lex(rest)?;
        self.token = token;
        self.end = self.start + len;
        Ok(())
    }

    fn lex(&self, rest: &'a str) -> Result<(Token<'a>, usize), Error> {
        if rest.is_empty() || rest.starts_with(';') || rest.starts_with("//") {
            return Ok((Token::End, 0));
        }
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
        let word = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok((self.lex_number(word)?, word.len()));
        }
        // An `s` directly before an operator belongs to it: `s<`.
        if (word.is_empty() || word == "s")
            && let Some(op) = OPS.iter().find(|op| rest.starts_with(**op))
        {
            return Ok((Token::Op(op), op.len()));
        }
        match rest.chars().next() {
            Some(c) if word.is_empty() => Err(self.error(format!("stray character {c:?}"))),
            _ => Ok((Token::Word(word), word.len())),
        }
    }

    fn lex_number(&self, word: &str) -> Result<Token<'a>, Error> {
        let (value, is_hex) = match word.strip_prefix("0x") {
            Some(digits) => (u64::from_str_radix(digits, 16), true),
            None => (word.parse(), false),
        };
        match value {
            Ok(value) => Ok(Token::Number { value, is_hex }),
            Err(_) => Err(self.error(format!("`{word}` is not a number of 64 bits"))),
        }
    }

    /// Skips `op` if it is at the cursor.
    pub(super) fn eat(&mut self, op: &str) -> Result<bool, Error> {
        let found = self.token == Token::Op(OPS.iter().find(|o| **o == op).unwrap_or(&""));
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    /// Skips `word` if it is at the cursor.
    pub(super) fn eat_word(&mut self, word: &str) -> Result<bool, Error> {
        let found = self.token == Token::Word(word);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    /// Skips `op`, which must be at the cursor.
    pub(super) fn expect(&mut self, op: &'static str) -> Result<(), Error> {
        if self.token != Token::Op(op) {
            return Err(self.expected(&format!("`{op}`")));
        }
        self.advance()
    }

    /// Skips a word, which must be at the cursor; `what` names it in the error.
    pub(super) fn word(&mut self, what: &str) -> Result<&'a str, Error> {
        let Token::Word(word) = self.token else { return Err(self.expected(what)) };
        self.advance()?;
        Ok(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Result<Vec<(Token<'_>, u32)>, Error> {
        let mut cursor = Cursor::new(1, text)?;
        let mut tokens = vec![];
        while cursor.token() != Token::End {
            tokens.push((cursor.token(), cursor.column()));
            cursor.advance()?;
        }
        Ok(tokens)
    }

    #[test]
    fn spaces_do_not_matter_and_comments_end_the_line() {
        let number = |value| Token::Number { value, is_hex: false };
        let want = [
            Token::Word("if"),
            Token::Word("w1"),
            Token::Op("s<"),
            Token::Op("-"),
            number(3),
            Token::Word("goto"),
            Token::Op("+"),
            number(2),
        ];
        for text in
            ["if w1 s< -3 goto +2 ; w1=1", "if w1 s<-3 goto+2//~ x", " if w1 s<- 3 goto + 2"]
        {
            let got: Vec<_> = tokens(text).unwrap().into_iter().map(|(token, _)| token).collect();
            assert_eq!(got, want, "{text}");
        }
    }

    #[test]
    fn columns_count_characters() {
        let column = |text| tokens(text).unwrap_err().line_column();
        let columns = tokens("r10 s>>= 0x1f").unwrap().into_iter().map(|(_, column)| column);
        assert_eq!(columns.collect::<Vec<u32>>(), [1, 5, 10]);
        assert_eq!(column("r1 = é"), Some((1, 6)));
        assert_eq!(column("r1 = 5ll"), Some((1, 6)));
        assert_eq!(column("r1 = 0x1ffffffffffffffff"), Some((1, 6)));
    }
}
