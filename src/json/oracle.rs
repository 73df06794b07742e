//! R1's rules for arguments once more, on top of `serde_json`: slow, recursive, and independent of the scanner.

use std::{collections::HashSet, fmt};

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Whether `serde_json` takes the text for one JSON value.
pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Whether the text may be the arguments of a call (their size and their number of values aside).
pub(crate) fn is_args(text: &str) -> bool {
    is_json(text) && text.trim_start().starts_with('{') && is_sound(text, 1)
}

/// The same of any value.
pub(crate) fn is_value(text: &str) -> bool {
    is_json(text) && is_sound(text, 1)
}

fn is_sound(text: &str, level: usize) -> bool {
    let text = text.trim();
    match text.as_bytes()[0] {
        b'{' => {
            let Members(members) = serde_json::from_str(text).unwrap();
            // A name with a lone surrogate was kept as `None`.
            let names: Option<HashSet<&String>> = members.iter().map(|(name, _)| name.as_ref()).collect();
            level <= 100
                && names.is_some_and(|names| names.len() == members.len())
                && members.iter().all(|(_, value)| is_sound(value.get(), level + 1))
        }
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_str(text).unwrap();
            level <= 100 && items.iter().all(|item| is_sound(item.get(), level + 1))
        }
        b'"' => serde_json::from_str::<String>(text).is_ok(),
        _ => true,
    }
}

struct Members<'a>(Vec<(Option<String>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(Name(name)) = map.next_key()? {
                    members.push((name, map.next_value()?));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// Read as bytes, in which `serde_json` lets lone surrogates pass.
struct Name(Option<String>);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Name;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Name, E> {
                Ok(Name(String::from_utf8(bytes.to_vec()).ok()))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}
