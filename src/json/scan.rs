//! The one reader of JSON text: RFC 8259, token by token, in one pass and without recursion.

use super::{
    fault::Fault,
    is_blank, number,
    string::{Escape, JsonStr},
};

/// What a scanner meets. A member's value follows its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    ObjectStart,
    ObjectEnd,
    ArrayStart,
    ArrayEnd,
    Name(JsonStr<'a>),
    String(JsonStr<'a>),
    Number(&'a str),
    Bool(bool),
    Null,
}

/// Reads one JSON value and the blanks around it.
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// Where the last token started.
    token_start: usize,
    open: Open,
    expect: Expect,
}

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    /// Just after `[`.
    ValueOrEnd,
    Name,
    /// Just after `{`.
    NameOrEnd,
    /// After a value: in a container its comma or end, outside of all the end of the text.
    AfterValue,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, token_start: 0, open: Open::default(), expect: Expect::Value }
    }

    /// The next token; `None` once the one value has ended and only blanks stood behind it. Not to be called again after a fault.
    pub(super) fn token(&mut self) -> Result<Option<Token<'a>>, Fault> {
        self.skip_blanks();
        if self.expect == Expect::AfterValue {
            let Some(container) = self.open.innermost() else {
                return if self.at == self.text.len() { Ok(None) } else { Err(self.fault("the end of the text")) };
            };
            match (container, self.peek()) {
                (Container::Array, Some(b',')) => self.expect = Expect::Value,
                (Container::Object, Some(b',')) => self.expect = Expect::Name,
                (Container::Array, Some(b']')) | (Container::Object, Some(b'}')) => {
                    return Ok(Some(self.close(container)));
                }
                (Container::Array, _) => return Err(self.fault("\",\" or \"]\"")),
                (Container::Object, _) => return Err(self.fault("\",\" or \"}\"")),
            }
            self.at += 1;
            self.skip_blanks();
        }
        self.token_start = self.at;
        match (self.expect, self.peek()) {
            (Expect::ValueOrEnd, Some(b']')) => Ok(Some(self.close(Container::Array))),
            (Expect::NameOrEnd, Some(b'}')) => Ok(Some(self.close(Container::Object))),
            (Expect::Name | Expect::NameOrEnd, Some(b'"')) => self.name().map(Some),
            (Expect::Name, _) => Err(self.fault("a member name in quotes")),
            (Expect::NameOrEnd, _) => Err(self.fault("a member name in quotes, or \"}\"")),
            (Expect::Value | Expect::ValueOrEnd | Expect::AfterValue, first) => self.value(first).map(Some),
        }
    }

    /// Passes over the value that comes next, whatever its size.
    pub(super) fn skip_value(&mut self) -> Result<(), Fault> {
        let depth = self.depth();
        while self.token()?.is_some() {
            if self.depth() == depth {
                break;
            }
        }
        Ok(())
    }

    /// How many objects and arrays are open.
    pub(super) fn depth(&self) -> usize {
        self.open.depth
    }

    /// The offset of the last token's first byte.
    pub(super) fn token_start(&self) -> usize {
        self.token_start
    }

    /// The offset behind the last token.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    fn value(&mut self, first: Option<u8>) -> Result<Token<'a>, Fault> {
        match first {
            Some(b'{') => Ok(self.open(Container::Object)),
            Some(b'[') => Ok(self.open(Container::Array)),
            Some(b'"') => {
                let string = self.string()?;
                self.expect = Expect::AfterValue;
                Ok(Token::String(string))
            }
            Some(b'-' | b'0'..=b'9') => {
                let end = number::end(self.text.as_bytes(), self.at)
                    .map_err(|(at, expected)| Fault::malformed(self.text, at, expected))?;
                let number = &self.text[self.at..end];
                self.at = end;
                self.expect = Expect::AfterValue;
                Ok(Token::Number(number))
            }
            Some(b't') => self.literal("true", Token::Bool(true)),
            Some(b'f') => self.literal("false", Token::Bool(false)),
            Some(b'n') => self.literal("null", Token::Null),
            Some(_) | None => Err(self.expected_value()),
        }
    }

    fn literal(&mut self, word: &str, token: Token<'a>) -> Result<Token<'a>, Fault> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return Err(self.expected_value());
        }
        self.at += word.len();
        self.expect = Expect::AfterValue;
        Ok(token)
    }

    fn name(&mut self) -> Result<Token<'a>, Fault> {
        let name = self.string()?;
        self.skip_blanks();
        if self.peek() != Some(b':') {
            return Err(self.fault("\":\""));
        }
        self.at += 1;
        self.expect = Expect::Value;
        Ok(Token::Name(name))
    }

    /// Reads a string whose opening quote comes next.
    fn string(&mut self) -> Result<JsonStr<'a>, Fault> {
        let text = self.text.as_bytes();
        let start = self.at + 1;
        let (mut at, mut escaped, mut lone_surrogate) = (start, false, None);
        loop {
            at += plain(&text[at..]);
            match text.get(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    let escape =
                        Escape::read(text, at).map_err(|bad| Fault::malformed(self.text, bad.at, bad.expected))?;
                    if escape.character.is_none() {
                        lone_surrogate = lone_surrogate.or(Some(at));
                    }
                    escaped = true;
                    at = escape.end;
                }
                Some(_) => return Err(Fault::malformed(self.text, at, "an escape for this control character")),
                None => return Err(Fault::malformed(self.text, at, "the string's closing quote")),
            }
        }
        self.at = at + 1;
        Ok(JsonStr { raw: &self.text[start..at], escaped, lone_surrogate })
    }

    fn open(&mut self, container: Container) -> Token<'a> {
        self.at += 1;
        self.open.push(container);
        match container {
            Container::Object => {
                self.expect = Expect::NameOrEnd;
                Token::ObjectStart
            }
            Container::Array => {
                self.expect = Expect::ValueOrEnd;
                Token::ArrayStart
            }
        }
    }

    fn close(&mut self, container: Container) -> Token<'a> {
        self.token_start = self.at;
        self.at += 1;
        self.open.pop();
        self.expect = Expect::AfterValue;
        match container {
            Container::Object => Token::ObjectEnd,
            Container::Array => Token::ArrayEnd,
        }
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn expected_value(&self) -> Fault {
        self.fault(if self.expect == Expect::ValueOrEnd { "a value, or \"]\"" } else { "a value" })
    }

    fn fault(&self, expected: &'static str) -> Fault {
        Fault::malformed(self.text, self.at, expected)
    }
}

/// How many bytes of a string stand for themselves before the first that does not. A result of 64 MiB may be a single string, so this
/// goes by blocks without a branch in them, of which the compiler makes vector operations.
fn plain(text: &[u8]) -> usize {
    let special = |byte: &u8| u8::from(*byte == b'"') | u8::from(*byte == b'\\') | u8::from(*byte < b' ');
    let (blocks, _) = text.as_chunks::<64>();
    let whole =
        64 * blocks.iter().take_while(|block| block.iter().fold(0, |any, byte| any | special(byte)) == 0).count();
    whole + text[whole..].iter().take_while(|&byte| special(byte) == 0).count()
}

/// The two things that nest.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Container {
    Object,
    Array,
}

/// The objects and arrays that are open, one bit each: 64 MiB of brackets cost 8 MiB.
#[derive(Default)]
struct Open {
    /// Set for an object.
    bits: Vec<u64>,
    depth: usize,
}

impl Open {
    fn push(&mut self, container: Container) {
        let (word, bit) = (self.depth / 64, 1 << (self.depth % 64));
        if word == self.bits.len() {
            self.bits.push(0);
        }
        match container {
            Container::Object => self.bits[word] |= bit,
            Container::Array => self.bits[word] &= !bit,
        }
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    fn innermost(&self) -> Option<Container> {
        let top = self.depth.checked_sub(1)?;
        let is_object = self.bits[top / 64] & 1 << (top % 64) != 0;
        Some(if is_object { Container::Object } else { Container::Array })
    }
}
