//! What stands for something else in a scenario: `${…}`, `$repeat` and `$list`.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};

use crate::json::Json;

/// The largest text in bytes, or list in entries, that a scenario may ask for.
const COPIES_MAX: u64 = 128 * 1024 * 1024;

/// What `${…}` stands for while one scenario runs.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    gates: PathBuf,
    unique: String,
    bound: BTreeMap<String, Json>,
}

impl Names {
    /// Gates are files in this folder, ids end in this text.
    pub(crate) fn new(gates: PathBuf, unique: String) -> Self {
        Self { gates, unique, bound: BTreeMap::new() }
    }

    /// The folder of the gates.
    pub(crate) fn gates(&self) -> &Path {
        &self.gates
    }

    /// From here on `${name}` is that.
    pub(crate) fn bind(&mut self, name: &str, value: Json) {
        self.bound.insert(name.to_owned(), value);
    }

    fn value(&self, name: &str) -> Option<Json> {
        if let Some(gate) = name.strip_prefix("gate:") {
            return Some(Json::Text(self.gates.join(gate).display().to_string()));
        }
        if let Some(id) = name.strip_prefix("id:") {
            return Some(Json::Text(format!("{id}-{}", self.unique)));
        }
        self.bound.get(name).cloned()
    }

    /// The text with what its names stand for. One that is a name as a whole becomes the value itself. Names that stand for
    /// nothing stay: the contract has references that look like them.
    pub(crate) fn fill_text(&self, text: &str) -> Json {
        replace(text, &|name| self.value(name))
    }

    /// The same for every text of a value.
    pub(crate) fn fill(&self, value: &Json) -> Json {
        fill_with(value, &|name| self.value(name))
    }
}

fn fill_with(value: &Json, meaning: &dyn Fn(&str) -> Option<Json>) -> Json {
    match value {
        Json::Text(text) => replace(text, meaning),
        Json::Array(values) => Json::Array(values.iter().map(|value| fill_with(value, meaning)).collect()),
        Json::Object(members) => {
            let filled = members.iter().map(|(name, value)| (name.clone(), fill_with(value, meaning)));
            Json::Object(filled.collect())
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => value.clone(),
    }
}

fn replace(text: &str, meaning: &dyn Fn(&str) -> Option<Json>) -> Json {
    let whole = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).filter(|name| !name.contains('}'));
    if let Some(value) = whole.and_then(meaning) {
        return value;
    }
    let (mut filled, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        filled.push_str(before);
        let named = after.split_once('}').and_then(|(name, behind)| Some((meaning(name)?, behind)));
        if let Some((value, behind)) = named {
            filled.push_str(value.as_text().unwrap_or(&value.to_string()));
            rest = behind;
        } else {
            filled.push_str("${");
            rest = after;
        }
    }
    filled.push_str(rest);
    Json::Text(filled)
}

/// Writes out every `$repeat` and `$list`.
pub(crate) fn write_out(value: &Json) -> anyhow::Result<Json> {
    let Json::Object(members) = value else {
        let Json::Array(values) = value else { return Ok(value.clone()) };
        return Ok(Json::Array(values.iter().map(write_out).collect::<anyhow::Result<_>>()?));
    };
    let [(name, inner)] = &members[..] else { return write_out_members(members) };
    match (name.as_str(), inner) {
        ("$repeat", Json::Array(parts)) => {
            let [Json::Text(text), count] = &parts[..] else {
                bail!("expected {{\"$repeat\": [\"text\", N]}}: {value}");
            };
            Ok(Json::Text(text.repeat(copies(count, text.len())?)))
        }
        ("$list", Json::Array(parts)) => {
            let [count, entry] = &parts[..] else { bail!("expected {{\"$list\": [N, value]}}: {value}") };
            let entry = write_out(entry)?;
            let number = |place: usize| Json::Number(place.to_string());
            let copy = |place| fill_with(&entry, &|name| (name == "i").then(|| number(place)));
            Ok(Json::Array((0..copies(count, 1)?).map(copy).collect()))
        }
        ("$repeat" | "$list", _) => bail!("expected an array of two: {value}"),
        _ => write_out_members(members),
    }
}

fn write_out_members(members: &[(String, Json)]) -> anyhow::Result<Json> {
    let written = members.iter().map(|(name, value)| Ok((name.clone(), write_out(value)?)));
    Ok(Json::Object(written.collect::<anyhow::Result<_>>()?))
}

fn copies(count: &Json, each: usize) -> anyhow::Result<usize> {
    let copies = count.as_u64().with_context(|| format!("{count} is no count of copies"))?;
    let size = copies.checked_mul(u64::try_from(each)?);
    if size.is_none_or(|size| size > COPIES_MAX) {
        bail!("{count} copies are too much: at most {COPIES_MAX} bytes or entries");
    }
    Ok(usize::try_from(copies)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::parse(text).unwrap()
    }

    fn names() -> Names {
        let mut names = Names::new("/g".into(), "u1".into());
        names.bind("x", json("7"));
        names.bind("t", json("\"step\""));
        names
    }

    #[test]
    fn names_stand_for_what_was_bound() {
        let given =
            json(r#"{"a":"${x}","b":"${t}/${x}","c":["${gate:w}","${id:k}"],"d":"${VAR_1}.calls ${x}","e":"${"}"#);
        let filled = r#"{"a":7,"b":"step/7","c":["/g/w","k-u1"],"d":"${VAR_1}.calls 7","e":"${"}"#;
        assert_eq!(names().fill(&given).to_string(), filled);
    }

    #[test]
    fn copies_are_written_out() {
        let given = json(r#"{"t":{"$repeat":["ab",3]},"l":{"$list":[2,{"k":"k${i}","n":"${i}","x":"${x}"}]}}"#);
        let written = r#"{"t":"ababab","l":[{"k":"k0","n":0,"x":"${x}"},{"k":"k1","n":1,"x":"${x}"}]}"#;
        assert_eq!(write_out(&given).unwrap().to_string(), written);
    }

    #[test]
    fn wrong_copies_are_refused() {
        let wrong =
            [r#"{"$repeat":["a"]}"#, r#"{"$repeat":3}"#, r#"{"$list":["a",1]}"#, r#"{"$list":[99999999999,1]}"#];
        for text in wrong {
            assert!(write_out(&json(text)).is_err(), "{text}");
        }
    }
}
