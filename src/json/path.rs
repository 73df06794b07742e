//! A path into a call's arguments: `order.contract` or `/order/contract`.

use std::borrow::Cow;

use super::quote::quote;

/// The longest path. Names of members are short and arguments at most 100 levels deep; a longer path is a mistake.
pub const MAX_PATH_BYTES: usize = 1024;

/// The names to follow from the outermost object to a member; always one at least. It goes through objects only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    pub(super) first: String,
    pub(super) rest: Vec<String>,
}

/// Why a text is no path. Each message says what would work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathFault {
    /// Nothing at all.
    #[error("an empty path; {HINT}")]
    Empty,
    /// Over [`MAX_PATH_BYTES`].
    #[error("a path of {0} bytes; expected at most {MAX_PATH_BYTES}")]
    TooLong(usize),
    /// A dotted path that starts or ends with a dot, or has two in a row.
    #[error("{0} has an empty name before, between or after its dots; {HINT}")]
    EmptyName(String),
    /// A dotted path with a mark that other path languages give a meaning.
    #[error(
        "{path} holds {mark:?}, which a dotted path cannot; {HINT}, and note that a path goes through objects only, never into an array"
    )]
    Mark {
        /// Quoted and cut.
        path: String,
        /// The mark.
        mark: char,
    },
    /// A dotted path with blanks around one of its names.
    #[error("{0} has white space around a name; {HINT}")]
    Blank(String),
    /// A `~` in a JSON Pointer that is not `~0` or `~1`.
    #[error("{0} holds a \"~\" that is not part of \"~0\" (for ~) or \"~1\" (for /); {HINT}")]
    Tilde(String),
}

const HINT: &str = "expected a dotted path such as \"order.contract\" or a JSON Pointer such as \"/order/contract\"";

impl Path {
    /// Reads a JSON Pointer (RFC 6901) where the text starts with `/`, else a dotted path. A name that no dotted path can
    /// spell (one with a dot, a bracket or a slash, or an empty one) can be reached by a pointer.
    pub fn parse(text: &str) -> Result<Self, PathFault> {
        if text.is_empty() {
            return Err(PathFault::Empty);
        }
        if text.len() > MAX_PATH_BYTES {
            return Err(PathFault::TooLong(text.len()));
        }
        let mut names = match text.strip_prefix('/') {
            Some(pointer) => pointer.split('/').map(|name| unescape(name, text)).collect::<Result<Vec<_>, _>>()?,
            None => text.split('.').map(|name| plain(name, text)).collect::<Result<Vec<_>, _>>()?,
        }
        .into_iter();
        let first = names.next().unwrap_or_default();
        Ok(Self { first, rest: names.collect() })
    }
}

fn plain(name: &str, path: &str) -> Result<String, PathFault> {
    if name.is_empty() {
        return Err(PathFault::EmptyName(quote(path)));
    }
    // `$.a`, `items[0]`, `items.*` and `a/b` are other languages' paths. Read as names they would lead to nothing, and the calls
    // would silently run unordered.
    let mark = name.chars().find(|c| "[]/*".contains(*c)).or((name == "$").then_some('$'));
    if let Some(mark) = mark {
        return Err(PathFault::Mark { path: quote(path), mark });
    }
    if name.trim().len() < name.len() {
        return Err(PathFault::Blank(quote(path)));
    }
    Ok(name.to_owned())
}

fn unescape(name: &str, path: &str) -> Result<String, PathFault> {
    let mut parts = name.split('~');
    let mut unescaped = Cow::Borrowed(parts.next().unwrap_or_default());
    for part in parts {
        let (character, rest) = match (part.strip_prefix('0'), part.strip_prefix('1')) {
            (Some(rest), _) => ('~', rest),
            (None, Some(rest)) => ('/', rest),
            (None, None) => return Err(PathFault::Tilde(quote(path))),
        };
        let text = unescaped.to_mut();
        text.push(character);
        text.push_str(rest);
    }
    Ok(unescaped.into_owned())
}

#[cfg(test)]
mod tests {
    use super::{MAX_PATH_BYTES, Path, PathFault};

    fn names(text: &str) -> Vec<String> {
        let path = Path::parse(text).unwrap();
        std::iter::once(path.first).chain(path.rest).collect()
    }

    #[test]
    fn dotted_paths_and_pointers_are_read() {
        assert_eq!(names("doc"), ["doc"]);
        assert_eq!(names("order.contract"), ["order", "contract"]);
        assert_eq!(names("/order/contract"), ["order", "contract"]);
        assert_eq!(names("Sales Doc.Nr~"), ["Sales Doc", "Nr~"]);
        assert_eq!(names("/a.b"), ["a.b"]);
        assert_eq!(names("/a~1b/m~0n/~01"), ["a/b", "m~n", "~1"]);
        assert_eq!(names("/a[0]/ x "), ["a[0]", " x "]);
        assert_eq!(names("/"), [""], "RFC 6901: the member with the empty name");
        assert_eq!(names("/a//b"), ["a", "", "b"]);
        assert_eq!(names("größe.0"), ["größe", "0"]);
    }

    #[test]
    fn malformed_paths_are_refused_and_told_what_would_work() {
        for text in [
            ".",
            ".a",
            "a.",
            "a..b",
            "a[0]",
            "a.b]",
            "$.a",
            "items.*.id",
            "order/contract",
            "#/a",
            " a",
            "a. b",
            "a\n",
            "/~",
            "/a~",
            "/~2",
            "/a/~x",
        ] {
            let fault = Path::parse(text).unwrap_err().to_string();
            assert!(fault.contains(&format!("{text:?}")), "{text:?}: {fault}");
            assert!(fault.contains("\"order.contract\"") && fault.contains("\"/order/contract\""), "{text:?}: {fault}");
        }
        assert_eq!(Path::parse(""), Err(PathFault::Empty));
    }

    #[test]
    fn a_path_has_a_bounded_length() {
        let longest = "a".repeat(MAX_PATH_BYTES);
        assert_eq!(names(&longest).concat(), longest);
        assert_eq!(Path::parse(&format!("{longest}a")), Err(PathFault::TooLong(1025)));
    }
}
