//! Whether what came is what a scenario expects.

use anyhow::{anyhow, bail};

use crate::{
    json::{Json, same_number},
    names::Names,
};

/// How much of a value an error shows, in characters.
const SHOWN: usize = 400;
/// How many pairs of events are compared until a search ends.
const PAIRS_MAX: usize = 1_000_000;

/// How expected events are laid on those that came.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Order {
    /// They may come in any order.
    pub(crate) any: bool,
    /// Others may come, too.
    pub(crate) some: bool,
}

/// Where two values differ, and how.
#[derive(Debug)]
struct Difference {
    path: String,
    expected: String,
    came: String,
}

impl Difference {
    fn new(path: &str, expected: &impl ToString, came: &Json) -> Self {
        let came = if *came == Json::Null { "nothing".to_owned() } else { shorten(&came.to_string()) };
        Self { path: path.to_owned(), expected: shorten(&expected.to_string()), came }
    }

    fn error(&self) -> anyhow::Error {
        anyhow!("{}: expected {}, came {}", self.path, self.expected, self.came)
    }
}

/// The beginning of a long text.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}

/// Compares one value.
pub(crate) fn check(expected: &Json, came: &Json, at: &str, names: &mut Names) -> anyhow::Result<()> {
    compare(expected, came, at, names).map_err(|difference| difference.error())
}

fn compare(expected: &Json, came: &Json, path: &str, names: &mut Names) -> Result<(), Difference> {
    match expected {
        Json::Text(text) => compare_text(text, came, path, names),
        Json::Array(values) => {
            let Json::Array(entries) = came else { return compare_plain(&names.fill(expected), came, path) };
            if values.len() != entries.len() {
                let wanted = format!("{} entries: {}", values.len(), names.fill(expected));
                return Err(Difference::new(path, &wanted, came));
            }
            for (place, (value, entry)) in values.iter().zip(entries).enumerate() {
                compare(value, entry, &format!("{path}[{place}]"), names)?;
            }
            Ok(())
        }
        Json::Object(members) => compare_members(members, came, path, names),
        Json::Null | Json::Bool(_) | Json::Number(_) => compare_plain(expected, came, path),
    }
}

fn compare_plain(expected: &Json, came: &Json, path: &str) -> Result<(), Difference> {
    let same = match (expected, came) {
        (Json::Number(one), Json::Number(other)) => same_number(one, other),
        _ => expected == came || (expected.is_nothing() && came.is_nothing()),
    };
    if same { Ok(()) } else { Err(Difference::new(path, expected, came)) }
}

fn compare_text(text: &str, came: &Json, path: &str, names: &mut Names) -> Result<(), Difference> {
    let binds = text.strip_prefix("$bind:");
    if text != "$any" && binds.is_none() {
        return compare_plain(&names.fill_text(text), came, path);
    }
    if came.is_nothing() {
        return Err(Difference::new(path, &"anything but nothing", came));
    }
    if let Some(name) = binds {
        names.bind(name, came.clone());
    }
    Ok(())
}

fn compare_members(members: &[(String, Json)], came: &Json, path: &str, names: &mut Names) -> Result<(), Difference> {
    if let [(word, Json::Text(text))] = members
        && (word == "$contains" || word == "$json")
    {
        let filled = names.fill_text(text);
        let filled = filled.as_text().map_or_else(|| filled.to_string(), str::to_owned);
        let (wanted, fits) = if word == "$contains" {
            (format!("a text with {filled:?}"), came.as_text().is_some_and(|came| came.contains(&filled)))
        } else {
            (format!("the JSON text {filled}"), came.as_text().is_some_and(|came| same_json(&filled, came)))
        };
        return if fits { Ok(()) } else { Err(Difference::new(path, &wanted, came)) };
    }
    if !matches!(came, Json::Object(_) | Json::Null) {
        return Err(Difference::new(path, &names.fill(&Json::Object(members.to_vec())), came));
    }
    for (name, value) in members {
        compare(value, came.get(name).unwrap_or(&Json::Null), &format!("{path}.{name}"), names)?;
    }
    Ok(())
}

/// Two texts that are the same JSON but for blanks: members in the same order, numbers digit by digit.
fn same_json(one: &str, other: &str) -> bool {
    matches!((Json::parse(one), Json::parse(other)), (Ok(one), Ok(other)) if one == other)
}

/// Whether an event holds all members of `after`.
pub(crate) fn holds(event: &Json, after: &Json, names: &Names) -> bool {
    compare(after, event, "", &mut names.clone()).is_ok()
}

/// Compares the events of a stream.
pub(crate) fn check_events(expected: &[Json], came: &[Json], order: Order, names: &mut Names) -> anyhow::Result<()> {
    if order.any || order.some {
        return search(expected, came, order, names);
    }
    for (place, event) in expected.iter().enumerate() {
        let Some(arrived) = came.get(place) else {
            bail!("events[{place}]: expected {}, came no more", shorten(&names.fill(event).to_string()));
        };
        check(event, arrived, &format!("events[{place}]"), names)?;
    }
    match came.get(expected.len()) {
        Some(more) => bail!("events[{}]: expected no more, came {}", expected.len(), shorten(&more.to_string())),
        None => Ok(()),
    }
}

struct Search<'a> {
    expected: &'a [Json],
    came: &'a [Json],
    any_order: bool,
    used: Vec<bool>,
    pairs: usize,
    /// How many expected events had their place at most, and the names as they were then.
    most: usize,
}

fn search(expected: &[Json], came: &[Json], order: Order, names: &mut Names) -> anyhow::Result<()> {
    if !order.some && expected.len() != came.len() {
        bail!("events: expected {}, came {}", expected.len(), came.len());
    }
    let used = vec![false; came.len()];
    let mut search = Search { expected, came, any_order: order.any, used, pairs: 0, most: 0 };
    if let Some(bound) = search.place(0, 0, names) {
        *names = bound;
        return Ok(());
    }
    let event = expected.get(search.most).map_or_else(String::new, |event| shorten(&names.fill(event).to_string()));
    let how = if order.any { "is not among those that came" } else { "does not come after those before it" };
    bail!("events: expected[{}] {how}: {event}", search.most)
}

impl Search<'_> {
    /// Finds a place for every expected event from `next` on, in what came from `from` on; gives what is bound then.
    fn place(&mut self, next: usize, from: usize, names: &Names) -> Option<Names> {
        self.most = self.most.max(next);
        let Some(event) = self.expected.get(next) else { return Some(names.clone()) };
        for place in from..self.came.len() {
            if self.used[place] {
                continue;
            }
            self.pairs += 1;
            if self.pairs > PAIRS_MAX {
                return None;
            }
            let mut bound = names.clone();
            if compare(event, &self.came[place], "", &mut bound).is_err() {
                continue;
            }
            self.used[place] = true;
            let from = if self.any_order { 0 } else { place + 1 };
            if let Some(found) = self.place(next + 1, from, &bound) {
                return Some(found);
            }
            self.used[place] = false;
        }
        None
    }
}

#[cfg(test)]
mod tests;
