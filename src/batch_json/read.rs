//! Reads JSON values one level at a time, without building what is below, and notes what has another type than expected.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{
    error::Problems,
    names::{Shape, nearest},
};

/// The most members of one object that are looked at. Ours have at most nine; an object of a million unknown names must
/// not become a million strings.
const MAX_MEMBERS: usize = 64;
/// How many characters of a value a message quotes: enough to recognise it by.
pub(super) const QUOTED_CHARS: usize = 60;
const DURATION_EXPECTED: &str = "a duration as a string, such as \"500ms\", \"30s\", \"5m\" or \"1h\"";

/// What a value is, by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    Array,
    String,
    Number,
    Bool,
    Null,
}

/// The kind of a value. `RawValue` begins with the value's first byte, since it was parsed and trimmed.
pub(super) fn kind(raw: &RawValue) -> Kind {
    match raw.get().as_bytes().first() {
        Some(b'{') => Kind::Object,
        Some(b'[') => Kind::Array,
        Some(b'"') => Kind::String,
        Some(b't' | b'f') => Kind::Bool,
        Some(b'n') => Kind::Null,
        Some(_) | None => Kind::Number,
    }
}

/// The value as a message names it: `null`, `the number 5`, `the string "x"`, `an array`.
pub(super) fn found(raw: &RawValue) -> String {
    let text = raw.get();
    match kind(raw) {
        Kind::Object => "an object".to_owned(),
        Kind::Array => "an array".to_owned(),
        Kind::Null | Kind::Bool => text.to_owned(),
        Kind::Number => format!("the number {}", cut(text)),
        Kind::String if text.chars().count() > QUOTED_CHARS => format!("the string {}\"", cut(text)),
        Kind::String => format!("the string {text}"),
    }
}

/// Whether a string holds the text of an object or array: models encode what should stand as it is.
fn is_encoded(raw: &RawValue) -> bool {
    let text = raw.get().strip_prefix('"').unwrap_or_default();
    text.trim_start().starts_with(['{', '['])
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(QUOTED_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The members of one object, values unparsed.
pub(super) struct Members<'a> {
    kept: Vec<(String, &'a RawValue)>,
    total: usize,
}

impl<'a> Members<'a> {
    /// The member's value.
    pub(super) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.kept.iter().find(|(known, _)| known == name).map(|(_, raw)| *raw)
    }

    /// The member's value, where null means that it was left out: models that must name every field write null.
    pub(super) fn optional(&self, name: &str) -> Option<&'a RawValue> {
        self.get(name).filter(|raw| kind(raw) != Kind::Null)
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Take;
        impl<'de> Visitor<'de> for Take {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Members { kept: Vec::new(), total: 0 };
                while members.kept.len() < MAX_MEMBERS
                    && let Some(member) = map.next_entry()?
                {
                    members.kept.push(member);
                    members.total += 1;
                }
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
                    members.total += 1;
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Take)
    }
}

/// The first elements of an array, unparsed, and how many there are.
pub(super) struct Elements<'a> {
    pub(super) kept: Vec<&'a RawValue>,
    pub(super) total: usize,
}

/// Takes at most so many elements and counts the others.
struct TakeElements(usize);

impl<'de> Visitor<'de> for TakeElements {
    type Value = Elements<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
        let mut elements = Elements { kept: Vec::new(), total: 0 };
        while elements.kept.len() < self.0
            && let Some(element) = sequence.next_element()?
        {
            elements.kept.push(element);
            elements.total += 1;
        }
        while sequence.next_element::<IgnoredAny>()?.is_some() {
            elements.total += 1;
        }
        Ok(elements)
    }
}

/// Reads values and collects what is wrong with them.
pub(super) struct Reader {
    problems: Problems,
}

impl Reader {
    pub(super) fn new() -> Self {
        Self { problems: Problems::default() }
    }

    pub(super) fn finish(self) -> Problems {
        self.problems
    }

    pub(super) fn problem(&mut self, path: &str, message: String) {
        self.problems.push(path, message);
    }

    pub(super) fn mismatch(&mut self, path: &str, expected: &str, raw: &RawValue) {
        let advice = if is_encoded(raw) { "; write the value itself, not its text" } else { "" };
        self.problem(path, format!("expected {expected}, found {}{advice}", found(raw)));
    }

    /// An object's members. Unknown and repeated names are noted, each unknown one with the nearest known.
    pub(super) fn members<'a>(
        &mut self,
        path: &str,
        raw: &'a RawValue,
        shape: &Shape,
        expected: &str,
    ) -> Option<Members<'a>> {
        if kind(raw) != Kind::Object {
            self.mismatch(path, expected, raw);
            return None;
        }
        let Ok(members) = serde_json::from_str::<Members<'a>>(raw.get()) else {
            // The text was parsed before, so only a name that is no Unicode text can fail here.
            self.problem(path, "a member's name holds a lone surrogate (\\ud800 to \\udfff)".to_owned());
            return None;
        };
        for (position, (name, value)) in members.kept.iter().enumerate() {
            let here = join(path, name);
            if members.kept[..position].iter().any(|(earlier, _)| earlier == name) {
                self.problem(&here, "given twice".to_owned());
            } else if !shape.fields.contains(&name.as_str()) {
                self.problem(&here, shape.unknown(name, value));
            }
        }
        if members.total > members.kept.len() {
            self.problem(
                path,
                format!(
                    "has {} members, more than the {MAX_MEMBERS} that are read; known are {}",
                    members.total,
                    shape.fields.join(", ")
                ),
            );
        }
        Some(members)
    }

    /// An array's first `limit` elements.
    pub(super) fn elements<'a>(&mut self, path: &str, raw: &'a RawValue, limit: usize) -> Option<Elements<'a>> {
        let mut deserializer = serde_json::Deserializer::from_str(raw.get());
        let elements = deserializer.deserialize_seq(TakeElements(limit));
        if elements.is_err() {
            self.mismatch(path, "an array", raw);
        }
        elements.ok()
    }

    pub(super) fn string(&mut self, path: &str, raw: &RawValue, expected: &str) -> Option<String> {
        if kind(raw) != Kind::String {
            self.mismatch(path, expected, raw);
            return None;
        }
        let text = serde_json::from_str(raw.get());
        if text.is_err() {
            self.problem(path, format!("{} holds a lone surrogate (\\ud800 to \\udfff)", found(raw)));
        }
        text.ok()
    }

    pub(super) fn boolean(&mut self, path: &str, raw: &RawValue) -> Option<bool> {
        match raw.get() {
            "true" => Some(true),
            "false" => Some(false),
            _ => {
                self.mismatch(path, "true or false", raw);
                None
            }
        }
    }

    /// A whole number of 32 bits, however it is written: 4, 4.0 and 4e0 are the same JSON number.
    pub(super) fn count(&mut self, path: &str, raw: &RawValue, expected: &str) -> Option<u32> {
        let count = match raw.get().parse::<u32>() {
            Ok(count) => Some(count),
            Err(_) => finite(raw).and_then(whole),
        };
        if count.is_none() {
            self.mismatch(path, expected, raw);
        }
        count
    }

    pub(super) fn number(&mut self, path: &str, raw: &RawValue, expected: &str) -> Option<f64> {
        let number = finite(raw);
        if number.is_none() {
            self.mismatch(path, expected, raw);
        }
        number
    }

    /// One of a few names.
    pub(super) fn choice(&mut self, path: &str, raw: &RawValue, choices: &[(&str, i32)]) -> Option<i32> {
        let names: Vec<String> = choices.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        let expected = names.join(" or ");
        let text = self.string(path, raw, &expected)?;
        if let Some((_, value)) = choices.iter().find(|(name, _)| *name == text) {
            return Some(*value);
        }
        let known: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let suggestion = nearest(&text, &known).map(|name| format!("; did you mean \"{name}\"?")).unwrap_or_default();
        self.problem(path, format!("expected {expected}, found {}{suggestion}", found(raw)));
        None
    }

    /// A whole number and a unit: "500ms", "30s", "5m", "1h".
    pub(super) fn duration(&mut self, path: &str, raw: &RawValue) -> Option<prost_types::Duration> {
        let text = self.string(path, raw, DURATION_EXPECTED)?;
        let duration = parse_duration(&text);
        if duration.is_none() {
            self.mismatch(path, DURATION_EXPECTED, raw);
        }
        duration
    }
}

fn finite(raw: &RawValue) -> Option<f64> {
    if kind(raw) != Kind::Number {
        return None;
    }
    raw.get().parse::<f64>().ok().filter(|number| number.is_finite())
}

fn whole(number: f64) -> Option<u32> {
    // Writing a whole number out and reading it back refuses fractions, signs and what does not fit, without a lossy cast.
    format!("{number}").parse().ok()
}

fn parse_duration(text: &str) -> Option<prost_types::Duration> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit())?;
    let (digits, unit) = text.split_at(unit_at);
    let amount: i64 = digits.parse().ok()?;
    let seconds = |factor: i64| amount.checked_mul(factor).map(|seconds| prost_types::Duration { seconds, nanos: 0 });
    match unit {
        "ms" => Some(prost_types::Duration {
            seconds: amount / 1_000,
            nanos: i32::try_from(amount % 1_000 * 1_000_000).ok()?,
        }),
        "s" => seconds(1),
        "m" => seconds(60),
        "h" => seconds(3_600),
        _ => None,
    }
}

fn join(path: &str, name: &str) -> String {
    let name = cut(name);
    if path.is_empty() { name } else { format!("{path}.{name}") }
}
