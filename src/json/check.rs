//! Which texts pass: arguments at the door (R1), results from a tool (R6).

use std::borrow::Cow;

use super::{
    fault::{Fault, Kind, Place},
    quote::quote,
    scan::{Scanner, Token},
    string::JsonStr,
};

/// How deep arguments may nest; the outermost object is level 1. Below the 127 that `serde_json` reads and the 100 levels that many
/// protobuf and JSON readers behind a tool stop at (R1).
pub const MAX_DEPTH: usize = 100;

/// How many values arguments may hold: a reader that builds a tree takes up to 64 bytes for each, thus 64 MB at most.
pub const MAX_NODES: usize = 1_000_000;

/// Checks the arguments of a call (R1): exactly one object by RFC 8259 and I-JSON. Numbers may have any size and precision; at most
/// [`MAX_DEPTH`] levels and [`MAX_NODES`] values; no member twice in one object, no lone surrogate. Linear in the text, but for the
/// sorting of each object's names.
pub fn check_args(text: &str) -> Result<(), Fault> {
    check(text, only_object)
}

/// Checks any value by the same rules: what a variable may hold.
pub fn check_value(text: &str) -> Result<(), Fault> {
    check(text, |_| Ok(()))
}

fn check(text: &str, first: fn(Token<'_>) -> Result<(), Fault>) -> Result<(), Fault> {
    let mut scanner = Scanner::new(text);
    let mut names = Names::default();
    let mut nodes = 0_usize;
    while let Some(token) = scanner.token()? {
        let at = scanner.token_start();
        if nodes == 0 {
            first(token)?;
        }
        match token {
            Token::ObjectStart | Token::ArrayStart if scanner.depth() > MAX_DEPTH => {
                return Err(Fault::TooDeep { place: Place::of(text, at) });
            }
            Token::ObjectStart => names.open(),
            Token::ObjectEnd => names.close(text)?,
            Token::Name(name) => {
                only_whole_characters(text, name)?;
                names.add(name, at);
            }
            Token::String(string) => only_whole_characters(text, string)?,
            Token::ArrayStart | Token::ArrayEnd | Token::Number(_) | Token::Bool(_) | Token::Null => {}
        }
        nodes += usize::from(!matches!(token, Token::ObjectEnd | Token::ArrayEnd | Token::Name(_)));
        if nodes > MAX_NODES {
            return Err(Fault::TooManyNodes { place: Place::of(text, at) });
        }
    }
    Ok(())
}

/// Checks a tool's result (R6): exactly one JSON value by RFC 8259. Any depth passes, and so do equal members and lone surrogates,
/// since the tool has run and its result is kept byte for byte. Linear; one bit of memory for each open object or array.
pub fn check_result(text: &str) -> Result<(), Fault> {
    let mut scanner = Scanner::new(text);
    while scanner.token()?.is_some() {}
    Ok(())
}

fn only_object(first: Token<'_>) -> Result<(), Fault> {
    let kind = match first {
        Token::ObjectStart | Token::ObjectEnd | Token::Name(_) => return Ok(()),
        Token::ArrayStart | Token::ArrayEnd => Kind::Array,
        Token::String(_) => Kind::String,
        Token::Number(_) => Kind::Number,
        Token::Bool(_) => Kind::Boolean,
        Token::Null => Kind::Null,
    };
    Err(Fault::NotAnObject(kind))
}

fn only_whole_characters(text: &str, string: JsonStr<'_>) -> Result<(), Fault> {
    match string.lone_surrogate {
        None => Ok(()),
        Some(at) => Err(Fault::LoneSurrogate { escape: text[at..at + 6].to_owned(), place: Place::of(text, at) }),
    }
}

/// The member names of the objects that are open, innermost last. Sorting them when their object ends finds equal ones without a
/// hash table for each object and without an attacker's choice of hashes.
#[derive(Default)]
struct Names<'a> {
    /// Unescaped, each with its offset.
    names: Vec<(Cow<'a, str>, usize)>,
    /// Where each open object's names begin.
    objects: Vec<usize>,
}

impl<'a> Names<'a> {
    fn open(&mut self) {
        self.objects.push(self.names.len());
    }

    fn add(&mut self, name: JsonStr<'a>, at: usize) {
        self.names.push((name.unescape(), at));
    }

    fn close(&mut self, text: &str) -> Result<(), Fault> {
        let from = self.objects.pop().unwrap_or(0);
        self.names[from..].sort_unstable();
        let repeated = self.names[from..].windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| &pair[1]);
        if let Some((name, at)) = repeated.min_by_key(|(_, at)| *at) {
            return Err(Fault::DuplicateMember { name: quote(name), place: Place::of(text, *at) });
        }
        self.names.truncate(from);
        Ok(())
    }
}
