//! A list by reference (R2): from a reference to the list that it leads to.

use super::{
    Refusal, Violation,
    reference::{FIELD, Reference, is_field},
};
use crate::{
    batch_json,
    engine::variables::Output,
    json::{self, DeadEnd, Holder, Kind, Step, cut, quote},
    proto::ToolCall,
};

/// What of a name stands in a message.
const MAX_NAME_BYTES: usize = 80;
/// How many lists are looked for where none was named, and how many of them are told: those nearest to the top.
const LISTS_SOUGHT: usize = 64;
const LISTS_TOLD: usize = 4;

const LIST: &str = "an array of {\"tool\", \"args\", \"key\"} objects";

/// The name of the output that a reference is to; `None` where the text is no reference.
#[must_use]
pub fn named_output(text: &str) -> Option<&str> {
    Reference::parse(text).ok().map(|reference| reference.name)
}

/// The calls of the list that a reference leads to.
pub(super) fn calls(text: &str, output: &Output) -> Result<Vec<ToolCall>, Refusal> {
    let one = |violation| Refusal::new(violation);
    let reference = Reference::parse(text).map_err(|malformed| one(malformed.violation(text)))?;
    let refused = |description: String| one(Violation::new(FIELD, format!("{}{description}", quote(text))));
    let Some(value) = &output.value else { return Err(refused(missing(&reference, output))) };
    let found = json::walk(value, &reference.steps).map_err(|end| refused(leads_nowhere(&reference, &end)))?;
    match json::kind(found) {
        Some(Kind::Array) => batch_json::parse_calls(found, FIELD).map_err(|error| misshapen(&error)),
        Some(kind) => Err(refused(not_a_list(kind))),
        None => Err(refused(container(&reference, found))),
    }
}

fn missing(reference: &Reference<'_>, output: &Output) -> String {
    let name = cut(reference.name, MAX_NAME_BYTES);
    let known = match output.others.as_slice() {
        [] => "it has none".to_owned(),
        others => format!("such as {}", listed(others.iter().map(|name| cut(name, MAX_NAME_BYTES)))),
    };
    format!(": missing step output {name}; expected the name of an output that this task has: {known}")
}

fn leads_nowhere(reference: &Reference<'_>, end: &DeadEnd) -> String {
    let here = reference.up_to(end.steps).to_string();
    let here = cut(&here, MAX_NAME_BYTES);
    let why = match &end.at {
        Holder::Object { names, .. } if names.is_empty() => format!("{here} is an empty object; expected {LIST}"),
        Holder::Object { names, more } => {
            let more = if *more == 0 { String::new() } else { format!(" and {more} more") };
            let names = listed(names.iter().map(|name| quote(name)));
            format!("{here} is an object without this field; expected one of {names}{more}")
        }
        Holder::Array { length: 0 } => format!("{here} is an empty array; expected {LIST}"),
        Holder::Array { length } => {
            format!(
                "{here} is an array of {length}; expected an index from [0] to [{}], or no more than {here}",
                length - 1
            )
        }
        Holder::Unnumbered => {
            format!("{here} is an object, which has no element; expected a field, such as {here}.calls")
        }
        Holder::Scalar(kind) => format!("{here} is {kind}, which holds nothing further; expected {LIST}"),
    };
    format!(" leads nowhere: {why}")
}

fn not_a_list(kind: Kind) -> String {
    let advice = match kind {
        Kind::String => ", as text is not parsed: let the output be the list itself, not its text",
        Kind::Null | Kind::Boolean | Kind::Number | Kind::Array => "",
    };
    format!(" leads to {kind}; expected {LIST}{advice}")
}

/// An object, where a list was expected: where its lists are.
fn container(reference: &Reference<'_>, object: &str) -> String {
    let mut lists = json::arrays(object, LISTS_SOUGHT, is_field);
    lists.sort_by_key(Vec::len);
    let paths: Vec<String> = lists.iter().take(LISTS_TOLD).map(|names| names.join(".")).collect();
    let near = |path: &str| format!("{reference}.{path}");
    match paths.as_slice() {
        [] => match reference.steps.split_last() {
            Some((Step::Index(_), around)) => {
                let list = reference.up_to(around.len());
                format!(" leads to an object, one element of a list; expected the list: {list}")
            }
            Some((Step::Field(_), _)) | None => {
                format!(" leads to an object, in which no field holds a list; expected {LIST}")
            }
        },
        [only] => format!(" leads to an object, whose field {only} holds a list; expected the list: {}", near(only)),
        several => format!(
            " leads to an object, whose fields {} hold lists; expected one of these: {}",
            several.join(", "),
            listed(several.iter().map(|path| near(path)))
        ),
    }
}

fn misshapen(error: &batch_json::Error) -> Refusal {
    let problems = match error {
        batch_json::Error::Invalid(problems) => problems,
        batch_json::Error::TooLarge { .. } | batch_json::Error::Syntax(_) => {
            return Refusal::new(Violation::new(FIELD, error.to_string()));
        }
    };
    let told = problems.told.iter().map(|problem| Violation::new(&problem.path, &problem.message));
    let more = (problems.more > 0).then(|| Violation::new(FIELD, format!("and {} more", problems.more)));
    let mut all = told.chain(more);
    let first = all.next().unwrap_or_else(|| Violation::new(FIELD, error.to_string()));
    Refusal { first, rest: all.collect() }
}

fn listed<T: AsRef<str>>(items: impl Iterator<Item = T>) -> String {
    items.map(|item| item.as_ref().to_owned()).collect::<Vec<_>>().join(", ")
}
