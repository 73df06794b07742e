//! Ways into a value: along steps to a part of it, and to the arrays that it holds.

use std::borrow::Cow;

use super::{
    fault::Kind,
    scan::{Scanner, Token},
};

/// How many names of an object are told where a step leads nowhere.
const NAMES_TOLD: usize = 8;

/// One step into a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// To a member of an object, by its name.
    Field(&'a str),
    /// To an element of an array, from 0.
    Index(usize),
}

/// Where a walk ended before its last step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadEnd {
    /// How many steps led on.
    pub steps: usize,
    /// What is there instead.
    pub at: Holder,
}

/// What a step leads nowhere from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// An object without the member.
    Object {
        /// Its first names, at most 8.
        names: Vec<String>,
        /// How many more it has.
        more: usize,
    },
    /// An array without the element, or one that a name was asked of.
    Array {
        /// How many elements it has.
        length: usize,
    },
    /// An object that an index was asked of.
    Unnumbered,
    /// Nothing that holds anything.
    Scalar(Kind),
}

/// The text of the value that the steps lead to. Reads `text` once. It is one JSON value; of two members of one name the first counts.
pub fn walk<'a>(text: &'a str, steps: &[Step<'_>]) -> Result<&'a str, DeadEnd> {
    let mut scanner = Scanner::new(text);
    let mut token = next(&mut scanner);
    for (done, step) in steps.iter().enumerate() {
        let found = match (token, step) {
            (Some(Token::ObjectStart), Step::Field(name)) => member(&mut scanner, name),
            (Some(Token::ArrayStart), Step::Index(index)) => element(&mut scanner, *index),
            (Some(Token::ArrayStart), Step::Field(_)) => element(&mut scanner, usize::MAX),
            (Some(Token::ObjectStart), Step::Index(_)) => Err(Holder::Unnumbered),
            (Some(token), _) => Err(Holder::Scalar(scalar(token))),
            (None, _) => Err(Holder::Scalar(Kind::Null)),
        };
        match found {
            Ok(first) => token = Some(first),
            Err(at) => return Err(DeadEnd { steps: done, at }),
        }
    }
    let start = scanner.token_start();
    if let Some(token) = token {
        pass(&mut scanner, token);
    }
    Ok(&text[start..scanner.position()])
}

/// The arrays that can be reached through objects alone, each by the names that lead there, in the order of the text; at most `limit`,
/// and only by names that are `usable`.
#[must_use]
pub fn arrays<'a>(text: &'a str, limit: usize, usable: impl Fn(&str) -> bool) -> Vec<Vec<Cow<'a, str>>> {
    let mut scanner = Scanner::new(text);
    let mut found = Vec::new();
    // The member that a value is of, after those of the objects around it.
    let mut path: Vec<Cow<'a, str>> = Vec::new();
    while found.len() < limit
        && let Some(token) = next(&mut scanner)
    {
        match token {
            Token::Name(name) => {
                path.truncate(scanner.depth() - 1);
                path.push(name.unescape());
            }
            Token::ArrayStart => {
                pass(&mut scanner, token);
                if !path.is_empty() && path.iter().all(|name| usable(name)) {
                    found.push(path.clone());
                }
            }
            Token::ObjectStart
            | Token::ObjectEnd
            | Token::ArrayEnd
            | Token::String(_)
            | Token::Number(_)
            | Token::Bool(_)
            | Token::Null => {}
        }
    }
    found
}

/// What kind of value a text is; `None` for an object. It is one JSON value, without blanks before it.
#[must_use]
pub fn kind(text: &str) -> Option<Kind> {
    match Scanner::new(text).token() {
        Ok(Some(Token::ObjectStart)) => None,
        Ok(Some(token)) => Some(scalar(token)),
        Ok(None) | Err(_) => Some(Kind::Null),
    }
}

/// The first token of a member's value, behind the start of its object.
fn member<'a>(scanner: &mut Scanner<'a>, wanted: &str) -> Result<Token<'a>, Holder> {
    let (mut names, mut more) = (Vec::new(), 0);
    while let Some(Token::Name(name)) = next(scanner) {
        let Some(first) = next(scanner) else { break };
        let name = name.unescape();
        if name == wanted {
            return Ok(first);
        }
        pass(scanner, first);
        if names.len() < NAMES_TOLD {
            names.push(name.into_owned());
        } else {
            more += 1;
        }
    }
    Err(Holder::Object { names, more })
}

/// The first token of an element, behind the start of its array.
fn element<'a>(scanner: &mut Scanner<'a>, wanted: usize) -> Result<Token<'a>, Holder> {
    let mut length = 0;
    while let Some(first) = next(scanner).filter(|token| *token != Token::ArrayEnd) {
        if length == wanted {
            return Ok(first);
        }
        pass(scanner, first);
        length += 1;
    }
    Err(Holder::Array { length })
}

/// Goes to the end of the value whose first token was read.
fn pass<'a>(scanner: &mut Scanner<'a>, first: Token<'a>) {
    if matches!(first, Token::ObjectStart | Token::ArrayStart) {
        let around = scanner.depth() - 1;
        while scanner.depth() > around && next(scanner).is_some() {}
    }
}

/// The next token. Text that was no JSON would end where it goes wrong; what is walked through has been checked before.
fn next<'a>(scanner: &mut Scanner<'a>) -> Option<Token<'a>> {
    scanner.token().ok().flatten()
}

/// The kind of a value that is no object, by its first token.
fn scalar(first: Token<'_>) -> Kind {
    match first {
        Token::ArrayStart | Token::ArrayEnd => Kind::Array,
        Token::String(_) | Token::Name(_) => Kind::String,
        Token::Number(_) => Kind::Number,
        Token::Bool(_) => Kind::Boolean,
        Token::Null | Token::ObjectStart | Token::ObjectEnd => Kind::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#" {"a": {"b.c": [1.10, {"d" :"x"} ]}, "list":[ ], "\u0061b": null, "n":-0.0e5} "#;

    #[test]
    fn a_walk_ends_at_the_text_of_a_value_as_it_stands() {
        let at = |steps: &[Step<'_>]| walk(TEXT, steps).unwrap();
        assert_eq!(at(&[]), TEXT.trim());
        assert_eq!(at(&[Step::Field("a")]), r#"{"b.c": [1.10, {"d" :"x"} ]}"#);
        assert_eq!(at(&[Step::Field("a"), Step::Field("b.c")]), r#"[1.10, {"d" :"x"} ]"#);
        assert_eq!(at(&[Step::Field("a"), Step::Field("b.c"), Step::Index(0)]), "1.10");
        assert_eq!(at(&[Step::Field("a"), Step::Field("b.c"), Step::Index(1), Step::Field("d")]), r#""x""#);
        assert_eq!(at(&[Step::Field("list")]), "[ ]");
        assert_eq!(at(&[Step::Field("ab")]), "null", "names are compared unescaped");
        assert_eq!(at(&[Step::Field("n")]), "-0.0e5");
        assert_eq!(walk(r#"{"a":1,"a":2}"#, &[Step::Field("a")]), Ok("1"));
    }

    #[test]
    fn a_walk_that_leads_nowhere_tells_what_is_there() {
        let end = |text: &str, steps: &[Step<'_>]| walk(text, steps).unwrap_err();
        let names: Vec<String> = ["a", "list", "ab", "n"].map(str::to_owned).to_vec();
        let object = Holder::Object { names, more: 0 };
        assert_eq!(end(TEXT, &[Step::Field("b")]), DeadEnd { steps: 0, at: object });
        let array = [Step::Field("a"), Step::Field("b.c"), Step::Index(2)];
        assert_eq!(end(TEXT, &array), DeadEnd { steps: 2, at: Holder::Array { length: 2 } });
        let by_name = [Step::Field("list"), Step::Field("x")];
        assert_eq!(end(TEXT, &by_name), DeadEnd { steps: 1, at: Holder::Array { length: 0 } });
        assert_eq!(end(TEXT, &[Step::Index(0)]), DeadEnd { steps: 0, at: Holder::Unnumbered });
        let scalar = [Step::Field("n"), Step::Field("x")];
        assert_eq!(end(TEXT, &scalar), DeadEnd { steps: 1, at: Holder::Scalar(Kind::Number) });
        let many: Vec<String> = (0..10).map(|n| format!("\"{n}\":{n}")).collect();
        let many = end(&format!("{{{}}}", many.join(",")), &[Step::Field("x")]);
        assert!(matches!(many.at, Holder::Object { names, more: 2 } if names.len() == 8));
    }

    #[test]
    fn arrays_are_found_through_objects_alone() {
        let text = r#"{"x":[{"in":[]}],"a":{"b":[1],"c":{"d":[[2]]},"e":[]},"f g":[],"h":{"i j":{"k":[]}},"l":[]}"#;
        let found = |limit, usable: fn(&str) -> bool| -> Vec<String> {
            arrays(text, limit, usable).iter().map(|names| names.join("/")).collect()
        };
        assert_eq!(found(9, |_| true), ["x", "a/b", "a/c/d", "a/e", "f g", "h/i j/k", "l"]);
        assert_eq!(found(9, |name| !name.contains(' ')), ["x", "a/b", "a/c/d", "a/e", "l"]);
        assert_eq!(found(2, |_| true), ["x", "a/b"]);
        assert!(arrays("[[]]", 9, |_| true).is_empty() && arrays("1", 9, |_| true).is_empty());
    }

    #[test]
    fn a_kind_is_told_by_the_first_token() {
        let kinds = ["{}", "[]", "\"\"", "1", "true", "null"].map(kind);
        let rest = [Kind::Array, Kind::String, Kind::Number, Kind::Boolean, Kind::Null].map(Some);
        assert_eq!(kinds[0], None);
        assert_eq!(kinds[1..], rest);
    }

    #[test]
    fn what_is_no_json_leads_nowhere_and_does_no_harm() {
        for text in ["", "{", "[", "{\"a\"", "{\"a\":", "[1,", "}", "{\"a\":[}", "\"", "[[[[", "{\"a\":{\"a\":"] {
            for steps in [&[][..], &[Step::Field("a")], &[Step::Index(0)], &[Step::Field("a"), Step::Field("a")]] {
                let _ = walk(text, steps);
            }
            let _ = (arrays(text, 9, |_| true), kind(text));
        }
    }
}
