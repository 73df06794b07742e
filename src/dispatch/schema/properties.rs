//! Schemas and arguments of any text: compiled and checked, or refused in a few words.

use std::cell::Cell;

use proptest::{collection::vec, prelude::*, sample::select, test_runner::TestRunner};
use serde_json::{Value, json};

use super::Schema;
use crate::fuzz::{at_least, damage, damaged};

/// The longest that is said of a schema, and of arguments.
const MAX_SAID: usize = 1_400;

fn a_scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..3).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[ab]{0,3}|\\PC{0,4}".prop_map(Value::from),
    ]
}

/// Few names and small numbers, so that schemas and arguments meet.
fn a_value() -> impl Strategy<Value = Value> {
    a_scalar().prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec((select(vec!["a", "b", "c"]), inner), 0..3).prop_map(object),
        ]
    })
}

fn object(members: Vec<(&'static str, Value)>) -> Value {
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<serde_json::Map<_, _>>().into()
}

const OF_ANYTHING: [&str; 14] = [
    "const",
    "default",
    "enum",
    "type",
    "minimum",
    "maxLength",
    "minItems",
    "required",
    "multipleOf",
    "uniqueItems",
    "pattern",
    "format",
    "$schema",
    "$id",
];
const OF_A_SCHEMA: [&str; 8] =
    ["items", "not", "additionalProperties", "contains", "propertyNames", "if", "then", "unevaluatedProperties"];
const OF_SCHEMAS: [&str; 4] = ["anyOf", "allOf", "oneOf", "prefixItems"];
const OF_NAMED_SCHEMAS: [&str; 4] = ["properties", "$defs", "patternProperties", "dependentSchemas"];

/// Sound for the most part, so that most compile.
fn a_schema() -> impl Strategy<Value = Value> {
    let words = vec!["string", "integer", "number", "object", "array", "null"];
    let sound = prop_oneof![
        select(words).prop_map(|word| object(vec![("type", word.into())])),
        (-2_i64..3).prop_map(|least| object(vec![("minimum", least.into())])),
        select(vec!["#", "#/$defs/a", "#/properties/a", "#a", "x", "#/%41"])
            .prop_map(|to| object(vec![("$ref", to.into())])),
        select(vec!["^a+$", "(a|b)*c", "\\d{1,9}", "(?=a)", "[", "\\cA", "a{999}{99}"])
            .prop_map(|pattern| object(vec![("pattern", pattern.into())])),
        select(vec!["a", "b"]).prop_map(|name| object(vec![("required", json!([name]))])),
        any::<bool>().prop_map(Value::from),
    ];
    let any = (select(OF_ANYTHING.to_vec()), a_value()).prop_map(|member| object(vec![member]));
    prop_oneof![12 => sound, 1 => any].prop_recursive(4, 12, 3, |inner| {
        let one = (select(OF_A_SCHEMA.to_vec()), inner.clone());
        let list = (select(OF_SCHEMAS.to_vec()), vec(inner.clone(), 1..3).prop_map(Value::from));
        let named = (select(OF_NAMED_SCHEMAS.to_vec()), vec((select(vec!["a", "b"]), inner), 1..3).prop_map(object));
        vec(prop_oneof![one, list, named], 1..4).prop_map(object)
    })
}

fn an_object() -> impl Strategy<Value = String> {
    vec((select(vec!["a", "b", "c"]), a_value()), 0..4).prop_map(|members| object(members).to_string())
}

fn is_short(said: &str) -> Result<(), TestCaseError> {
    let plain = !said.is_empty() && said.len() <= MAX_SAID && !said.contains(char::is_control);
    prop_assert!(plain, "{} bytes: {:?}", said.len(), said);
    Ok(())
}

#[test]
fn any_schema_and_any_arguments_are_checked_or_refused_in_words() {
    let (compiled, faulty, fitting, unfitting) = (Cell::new(0), Cell::new(0), Cell::new(0), Cell::new(0));
    let count = |counter: &Cell<u32>| counter.set(counter.get() + 1);
    let outcome = TestRunner::new(at_least(20_000)).run(
        &(a_schema(), damage(), an_object(), any::<bool>()),
        |(schema, damage, args, whole)| {
            let text = schema.to_string();
            let text =
                if whole { text } else { String::from_utf8_lossy(&damaged(text.into_bytes(), &damage)).into_owned() };
            match Schema::compile(&text) {
                Schema::Any => {}
                Schema::Faulty(fault) => {
                    count(&faulty);
                    is_short(&fault)?;
                }
                Schema::Compiled(schema) => {
                    count(&compiled);
                    match schema.check(&args) {
                        Ok(()) => count(&fitting),
                        Err(said) => {
                            count(&unfitting);
                            is_short(&said)?;
                        }
                    }
                }
            }
            Ok(())
        },
    );
    outcome.unwrap();
    let counts = [compiled.get(), faulty.get(), fitting.get(), unfitting.get()];
    assert!(counts.into_iter().all(|count| count > 1_000), "compiled, faulty, fitting, unfitting: {counts:?}");
}
