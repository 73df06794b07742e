//! JSON as the suite compares it: members keep their order, and numbers their digits.

use std::fmt;

use anyhow::bail;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Deeper than anything in the contract; what nests deeper is refused before the stack ends.
const DEPTH_MAX: usize = 256;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    /// As it was written.
    Number(String),
    Text(String),
    Array(Vec<Json>),
    /// In the order that they came in.
    Object(Vec<(String, Json)>),
}

struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Collect).map(Members)
    }
}

impl Json {
    /// Reads a JSON text.
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        Self::read(text, 0)
    }

    fn read(text: &str, depth: usize) -> anyhow::Result<Self> {
        if depth > DEPTH_MAX {
            bail!("more than {DEPTH_MAX} levels deep");
        }
        let text = text.trim_ascii();
        Ok(match text.as_bytes().first() {
            Some(b'{') => {
                let Members(members) = serde_json::from_str(text)?;
                let read = |(name, value): (String, &RawValue)| Ok((name, Self::read(value.get(), depth + 1)?));
                Self::Object(members.into_iter().map(read).collect::<anyhow::Result<_>>()?)
            }
            Some(b'[') => {
                let values: Vec<&RawValue> = serde_json::from_str(text)?;
                let read = |value: &RawValue| Self::read(value.get(), depth + 1);
                Self::Array(values.into_iter().map(read).collect::<anyhow::Result<_>>()?)
            }
            Some(b'"') => Self::Text(serde_json::from_str(text)?),
            Some(b'-' | b'0'..=b'9') => {
                let number: &RawValue = serde_json::from_str(text)?;
                Self::Number(number.get().to_owned())
            }
            Some(_) => serde_json::from_str::<Option<bool>>(text)?.map_or(Self::Null, Self::Bool),
            None => bail!("an empty text is no JSON"),
        })
    }

    /// The member of that name, where this is an object that has it.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        members.iter().find(|(member, _)| member == name).map(|(_, value)| value)
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub(crate) fn as_u64(&self) -> Option<u64> {
        if let Self::Number(number) = self { number.parse().ok() } else { None }
    }

    /// Whether it equals what is absent.
    pub(crate) fn is_nothing(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Bool(value) => !value,
            Self::Number(number) => Decimal::of(number).digits.is_empty(),
            Self::Text(text) => text.is_empty(),
            Self::Array(values) => values.is_empty(),
            Self::Object(members) => members.iter().all(|(_, value)| value.is_nothing()),
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |text: &str| serde_json::to_string(text).map_err(|_| fmt::Error);
        match self {
            Self::Null => formatter.write_str("null"),
            Self::Bool(value) => write!(formatter, "{value}"),
            Self::Number(number) => formatter.write_str(number),
            Self::Text(text) => formatter.write_str(&quoted(text)?),
            Self::Array(values) => {
                formatter.write_str("[")?;
                for (place, value) in values.iter().enumerate() {
                    write!(formatter, "{}{value}", if place == 0 { "" } else { "," })?;
                }
                formatter.write_str("]")
            }
            Self::Object(members) => {
                formatter.write_str("{")?;
                for (place, (name, value)) in members.iter().enumerate() {
                    write!(formatter, "{}{}:{value}", if place == 0 { "" } else { "," }, quoted(name)?)?;
                }
                formatter.write_str("}")
            }
        }
    }
}

/// A number's value, exactly: 0.`digits` times ten to the `exponent`.
#[derive(PartialEq)]
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    fn of(number: &str) -> Self {
        let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        // What does not fit is as far from every other number as can be.
        let exponent = exponent.parse().unwrap_or(i64::from(i32::MAX));
        let (negative, mantissa) = mantissa.strip_prefix('-').map_or((false, mantissa), |rest| (true, rest));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let digits = all.trim_start_matches('0');
        let dropped = all.len() - digits.len();
        let digits = digits.trim_end_matches('0').to_owned();
        if digits.is_empty() {
            return Self { negative: false, digits, exponent: 0 };
        }
        let point = i64::try_from(whole.len()).unwrap_or(i64::MAX) - i64::try_from(dropped).unwrap_or(i64::MAX);
        Self { negative, digits, exponent: exponent + point }
    }
}

/// Whether two numbers are the same, however they are written.
pub(crate) fn same_number(one: &str, other: &str) -> bool {
    Decimal::of(one) == Decimal::of(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_comes_back_as_it_was() {
        let text = r#"{"b":1.10,"a":[true,null,"ü\n",{}],"n":123456789012345678901234567890}"#;
        assert_eq!(Json::parse(text).unwrap().to_string(), text);
        assert_eq!(Json::parse(" [ 1 , -2e3 ] ").unwrap().to_string(), "[1,-2e3]");
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in ["", "{", "{\"a\":}", "tru", "1 2", "[1,]", "01", "nul"] {
            assert!(Json::parse(text).is_err(), "{text}");
        }
        assert!(Json::parse(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn numbers_are_the_same_by_value() {
        for (one, other) in [("1", "1.0"), ("0.10", "1e-1"), ("1e21", "1000000000000000000000"), ("0", "-0.0")] {
            assert!(same_number(one, other), "{one} {other}");
        }
        for (one, other) in [("1", "-1"), ("1", "10"), ("0.1", "0.01"), ("9007199254740993", "9007199254740992")] {
            assert!(!same_number(one, other), "{one} {other}");
        }
    }

    #[test]
    fn nothing_is_what_is_empty() {
        for text in ["null", "false", "0", "0.0", "\"\"", "[]", "{}", "{\"a\":0}"] {
            assert!(Json::parse(text).unwrap().is_nothing(), "{text}");
        }
        for text in ["true", "1", "\"0\"", "[0]", "{\"a\":1}"] {
            assert!(!Json::parse(text).unwrap().is_nothing(), "{text}");
        }
    }
}
