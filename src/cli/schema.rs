//! `toolbatch schema`: tools as the APIs of models take them.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    args::{Api, SchemaArgs},
    exit::{Exit, Failure},
    render::{Form, print_json, tell},
    tools,
};
use crate::{
    proto::Tool,
    schema::{batch_tools, compact},
};

/// What many of OpenAI's models take of a function's description, in characters; they refuse a longer one.
const OPENAI_DESCRIPTION_MAX: usize = 1_024;
/// How like a name must be to be suggested (normalised Damerau-Levenshtein, 0 to 1), as for unknown fields.
const LIKENESS_MIN: f64 = 0.5;

#[derive(Serialize)]
#[serde(untagged)]
enum Definition<'a> {
    Anthropic {
        name: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        description: &'a str,
        input_schema: Box<RawValue>,
    },
    OpenAi {
        r#type: &'static str,
        function: Function<'a>,
    },
    Mcp {
        name: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        description: &'a str,
        #[serde(rename = "inputSchema")]
        input_schema: Box<RawValue>,
    },
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parameters: Box<RawValue>,
}

/// Prints the tools.
pub(crate) async fn schema(args: &SchemaArgs) -> Result<Exit, Failure> {
    let mut tools = if args.all { tools::listed(&args.server).await? } else { batch_tools().into() };
    if let Some(name) = &args.tool {
        if !tools.iter().any(|tool| tool.name == *name) {
            return Err(Failure::Refused(unknown(name, &tools, args.all)));
        }
        tools.retain(|tool| tool.name == *name);
    }
    let misfits: Vec<String> = tools.iter().filter_map(|tool| misfit(args.api, &tool.name)).collect();
    if !misfits.is_empty() {
        return Err(Failure::Refused(misfits.join("\n")));
    }
    for tool in tools.iter().filter(|_| args.api == Api::OpenAi) {
        let length = tool.description.chars().count();
        if length > OPENAI_DESCRIPTION_MAX {
            let name = &tool.name;
            tell(&format!(
                "{name}: its description has {length} characters; many of OpenAI's models take {OPENAI_DESCRIPTION_MAX}"
            ));
        }
    }
    let lines: Vec<String> = tools.iter().map(|tool| line(args.api, tool)).collect();
    let terminal = matches!(Form::choose(true), Form::Json { terminal: true });
    if args.tool.is_some() {
        print_json(&lines.concat(), terminal)?;
        return Ok(Exit::Done);
    }
    print_json("[", terminal)?;
    for (position, line) in (1..).zip(&lines) {
        let comma = if position < lines.len() { "," } else { "" };
        print_json(&format!("{line}{comma}"), terminal)?;
    }
    print_json("]", terminal)?;
    Ok(Exit::Done)
}

fn line(api: Api, tool: &Tool) -> String {
    let (name, description) = (tool.name.as_str(), tool.description.as_str());
    let schema = object_schema(&tool.input_schema_json);
    let definition = match api {
        Api::Anthropic => Definition::Anthropic { name, description, input_schema: schema },
        Api::OpenAi => {
            Definition::OpenAi { r#type: "function", function: Function { name, description, parameters: schema } }
        }
        Api::Mcp => Definition::Mcp { name, description, input_schema: schema },
    };
    serde_json::to_string(&definition).expect("text and checked JSON are always written")
}

/// A tool's schema as the APIs want it: one of an object, whose type and properties stand there. Args are always an object, so that
/// says nothing new; all else stays byte for byte.
fn object_schema(text: &str) -> Box<RawValue> {
    // No schema, or one that is no object, such as `true`: any object.
    let mut members: BTreeMap<String, Box<RawValue>> = serde_json::from_str(text).unwrap_or_default();
    let whole = if members.contains_key("type") && members.contains_key("properties") {
        compact(text)
    } else {
        for (name, value) in [("type", "\"object\""), ("properties", "{}")] {
            let value = RawValue::from_string(value.to_owned()).expect("it is JSON");
            members.entry(name.to_owned()).or_insert(value);
        }
        compact(&serde_json::to_string(&members).expect("checked JSON is always written"))
    };
    RawValue::from_string(whole).expect("it was JSON before")
}

/// Why an API does not take a name.
fn misfit(api: Api, name: &str) -> Option<String> {
    let (whose, max) = match api {
        Api::Anthropic => ("Anthropic", 128),
        Api::OpenAi => ("OpenAI", 64),
        Api::Mcp => return None,
    };
    let fits = (1..=max).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    (!fits).then(|| {
        format!(
            "the tool name {name:?} does not fit: {whose} takes 1 to {max} of A to Z, a to z, 0 to 9, _ and -; \
             give the tool a display name that fits, in the agent's `tools`"
        )
    })
}

fn unknown(name: &str, tools: &[Tool], all: bool) -> String {
    let alike = |tool: &Tool| strsim::normalized_damerau_levenshtein(name, &tool.name);
    let nearest = tools.iter().max_by(|one, other| alike(one).total_cmp(&alike(other)));
    let meant = nearest.filter(|tool| alike(tool) >= LIKENESS_MIN);
    let meant = meant.map(|tool| format!("; did you mean {:?}?", tool.name)).unwrap_or_default();
    let further = if all { "" } else { "\nWith --all it is looked for among the tools that the server lists." };
    format!("there is no tool {name:?}{meant}{further}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_that_of_an_object_and_keeps_its_bytes() {
        let any = r#"{"properties":{},"type":"object"}"#;
        for (text, expected) in [
            ("", any),
            ("true", any),
            ("{}", any),
            (r#"{"type":"object"}"#, any),
            (
                "{\"type\": \"object\",\n \"properties\": {\"z\": {\"maximum\": 12345678901234567890123}, \"a\": {\"const\": 1.10}}}",
                r#"{"type":"object","properties":{"z":{"maximum":12345678901234567890123},"a":{"const":1.10}}}"#,
            ),
            (
                r#"{ "required": ["a b"], "maxProperties": 1e400 }"#,
                r#"{"maxProperties":1e400,"properties":{},"required":["a b"],"type":"object"}"#,
            ),
        ] {
            assert_eq!(object_schema(text).get(), expected, "of {text}");
        }
    }

    #[test]
    fn names_have_the_bounds_of_each_api() {
        for (name, anthropic, openai) in [
            ("a".repeat(64), true, true),
            ("a".repeat(65), true, false),
            ("a".repeat(129), false, false),
            ("create_order-2".to_owned(), true, true),
            ("Create order".to_owned(), false, false),
            ("functions.effect".to_owned(), false, false),
            ("größe".to_owned(), false, false),
        ] {
            assert_eq!(misfit(Api::Anthropic, &name).is_none(), anthropic, "{name}");
            assert_eq!(misfit(Api::OpenAi, &name).is_none(), openai, "{name}");
            assert_eq!(misfit(Api::Mcp, &name), None);
        }
    }
}
