//! A digest of a JSON value, whatever its spelling (R5).

use std::borrow::Cow;

use sha2::{Digest as _, Sha256};

use super::{
    fault::Fault,
    number,
    scan::{Scanner, Token},
};

/// SHA-256 of the value that `args` spells: member order, blanks and escapes do not count, numbers count by sign, digits and exponent,
/// and a string is never a number or a boolean. `args` passed `check_args`; of other text it is a digest of the bytes.
#[must_use]
pub fn digest(args: &str) -> [u8; 32] {
    value_digest(args).unwrap_or_else(|_| {
        let mut hash = Sha256::new_with_prefix(b"x");
        hash.update(args);
        hash.finalize().into()
    })
}

/// Values are encoded with a tag and, where their size varies, a length. An object or array is hashed as soon as it ends and counts as its
/// hash in what holds it, so that nothing is encoded twice and memory is bounded by the children of what is open.
fn value_digest(args: &str) -> Result<[u8; 32], Fault> {
    let mut scanner = Scanner::new(args);
    let mut fold = Fold::default();
    while let Some(token) = scanner.token()? {
        match token {
            Token::ObjectStart | Token::ArrayStart => fold.open(),
            Token::ObjectEnd => fold.close_object(),
            Token::ArrayEnd => fold.close_array(),
            Token::Name(name) => fold.members.push(Member { name: name.unescape(), from: fold.encoded.len(), to: 0 }),
            Token::String(string) => fold.scalar(b's', string.unescape().as_bytes()),
            Token::Number(number) => fold.scalar(b'n', number::canonical(number).as_bytes()),
            Token::Bool(true) => fold.encoded.push(b't'),
            Token::Bool(false) => fold.encoded.push(b'f'),
            Token::Null => fold.encoded.push(b'z'),
        }
    }
    Ok(Sha256::digest(&fold.encoded).into())
}

#[derive(Default)]
struct Fold<'a> {
    /// The encoded children of everything that is open, outermost first.
    encoded: Vec<u8>,
    /// The members of every object that is open.
    members: Vec<Member<'a>>,
    /// Where the children and the members of everything open begin.
    open: Vec<(usize, usize)>,
}

/// A member's name and where its value stands in `Fold::encoded`.
struct Member<'a> {
    name: Cow<'a, str>,
    from: usize,
    to: usize,
}

impl Fold<'_> {
    fn scalar(&mut self, tag: u8, bytes: &[u8]) {
        self.encoded.push(tag);
        self.encoded.extend_from_slice(&length(bytes));
        self.encoded.extend_from_slice(bytes);
    }

    fn open(&mut self) {
        self.open.push((self.encoded.len(), self.members.len()));
    }

    fn close_array(&mut self) {
        let (children, _) = self.open.pop().unwrap_or_default();
        let hash = Sha256::digest(&self.encoded[children..]);
        self.close(b'a', children, &hash);
    }

    fn close_object(&mut self) {
        let (children, first) = self.open.pop().unwrap_or_default();
        let mut to = self.encoded.len();
        for member in self.members[first..].iter_mut().rev() {
            member.to = to;
            to = member.from;
        }
        self.members[first..].sort_unstable_by(|a, b| (&a.name, a.from).cmp(&(&b.name, b.from)));
        let mut hash = Sha256::new();
        for member in self.members.drain(first..) {
            hash.update(length(member.name.as_bytes()));
            hash.update(member.name.as_bytes());
            hash.update(&self.encoded[member.from..member.to]);
        }
        self.close(b'o', children, &hash.finalize());
    }

    fn close(&mut self, tag: u8, children: usize, hash: &[u8]) {
        self.encoded.truncate(children);
        self.encoded.push(tag);
        self.encoded.extend_from_slice(hash);
    }
}

fn length(bytes: &[u8]) -> [u8; 8] {
    (bytes.len() as u64).to_be_bytes()
}
