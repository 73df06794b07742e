//! Page sizes and page tokens (AIP-158).

use std::fmt::Write as _;

use prost::Message;
use sha2::{Digest as _, Sha256};
use tonic::Status;

use super::status;

/// What a page holds where the client does not say.
const DEFAULT_SIZE: usize = 50;
/// The largest page; a larger request is given this.
pub(super) const MAX_SIZE: usize = 1_000;
/// What the things on a page come to, unless the first alone is more: clients take 4 MiB, and this leaves room for one more.
const MAX_BYTES: usize = 3 * 1024 * 1024;
/// Tells a token of another list, or an altered one, from a good one. Not a secret: whoever may see the list may see all of it.
const MARK_BYTES: usize = 8;

/// The longest token that is read, ten times what the largest of our own has.
const MAX_TOKEN_BYTES: usize = 64 * 1024;

/// How many things a page holds.
pub(super) fn size(page_size: i32) -> Result<usize, Status> {
    match usize::try_from(page_size) {
        Ok(0) => Ok(DEFAULT_SIZE),
        Ok(size) => Ok(size.min(MAX_SIZE)),
        Err(_) => {
            Err(status::invalid("page_size", format!("is {page_size}; expected 0 (for {DEFAULT_SIZE}) to {MAX_SIZE}")))
        }
    }
}

/// How many of these make a page that any client takes: one at least.
pub(super) fn fitting(things: &[impl Message]) -> usize {
    let mut bytes = 0;
    let fit = things.iter().take_while(|thing| {
        bytes += thing.encoded_len();
        bytes <= MAX_BYTES
    });
    fit.count().max(1)
}

/// A token for the page that begins at `cursor` of the list that `list` describes.
pub(super) fn token(list: &[&str], cursor: &[u8]) -> String {
    let mut text = String::new();
    for byte in mark(list, cursor).iter().chain(cursor) {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Where a token says that its page begins; `None` for the first page.
pub(super) fn cursor<const N: usize>(list: &[&str], token: &str) -> Result<Option<[u8; N]>, Status> {
    if token.is_empty() {
        return Ok(None);
    }
    let cursor = (token.len() == 2 * (MARK_BYTES + N)).then(|| opened(list, token)).flatten();
    cursor.and_then(|cursor| cursor.try_into().ok()).map(Some).ok_or_else(foreign)
}

/// The name behind which a token says that its page begins; `None` for the first page.
pub(super) fn name(list: &[&str], token: &str) -> Result<Option<String>, Status> {
    if token.is_empty() {
        return Ok(None);
    }
    let name = opened(list, token).and_then(|cursor| String::from_utf8(cursor).ok());
    name.map(Some).ok_or_else(foreign)
}

fn foreign() -> Status {
    status::invalid(
        "page_token",
        "is not a token of this list; expected the next_page_token of an answer to the same request, or nothing",
    )
}

/// The cursor in a token of the list that `list` describes; `None` in any other text.
pub(super) fn opened(list: &[&str], token: &str) -> Option<Vec<u8>> {
    let fits = token.len().is_multiple_of(2) && token.len() <= MAX_TOKEN_BYTES;
    let mut bytes = fits.then(|| unhex(token)).flatten()?;
    if bytes.len() < MARK_BYTES {
        return None;
    }
    let cursor = bytes.split_off(MARK_BYTES);
    (bytes == mark(list, &cursor)).then_some(cursor)
}

fn mark(list: &[&str], cursor: &[u8]) -> [u8; MARK_BYTES] {
    let mut hash = Sha256::new();
    for part in list {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hash.update(cursor);
    let digest: [u8; 32] = hash.finalize().into();
    let mut mark = [0; MARK_BYTES];
    mark.copy_from_slice(&digest[..MARK_BYTES]);
    mark
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    text.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_leads_back_to_its_cursor() {
        let token = token(&["batches", "t"], &7_u64.to_be_bytes());
        assert_eq!(cursor(&["batches", "t"], &token).expect("taken"), Some(7_u64.to_be_bytes()));
        assert_eq!(cursor::<8>(&["batches", "t"], "").expect("taken"), None);
    }

    #[test]
    fn foreign_and_altered_tokens_are_refused() {
        let good = token(&["batches", "t"], &7_u64.to_be_bytes());
        for (list, text) in [
            (["batches", "u"], good.clone()),
            (["batches", "t"], good.replace('7', "8")),
            (["batches", "t"], good[..good.len() - 2].to_owned()),
            (["batches", "t"], "é".repeat(16)),
            (["batches", "t"], "zz".repeat(16)),
        ] {
            assert!(cursor::<8>(&list, &text).is_err(), "{list:?} {text}");
        }
    }

    #[test]
    fn sizes_have_a_default_and_bounds() {
        assert_eq!(size(0).expect("taken"), DEFAULT_SIZE);
        assert_eq!(size(i32::MAX).expect("taken"), MAX_SIZE);
        assert!(size(-1).is_err());
    }
}
