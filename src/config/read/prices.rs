//! `[prices]`: a currency, and for each tool what its units cost.

use std::collections::BTreeMap;

use toml::{Spanned, de::DeValue};

use super::{Field, Reader, Value};
use crate::{
    config::value,
    prices::{Price, Prices},
};

/// The most tools with prices: more than a server's backends have between them.
const MAX_TOOLS: usize = 1_000;
/// The most units of one tool: as many as one call can report.
const MAX_UNITS: usize = 64;

const FIELDS: [&str; 2] = ["currency", "tools"];

impl Reader<'_> {
    pub(super) fn prices(&mut self, field: Field<'_, '_>) -> Prices {
        let DeValue::Table(table) = field.value.get_ref() else {
            self.wrong_type(field, "a table with currency and tools");
            return Prices::default();
        };
        self.unknown_fields(table, &FIELDS, " in prices", None);
        let currency = match table.get("currency") {
            Some(value) => {
                self.text(Field { value, name: "prices.currency" }, "a currency such as \"USD\"", value::currency)
            }
            None => self.missing(field.value, field.name, "currency = \"USD\""),
        };
        let tools = table.get("tools").map(|value| {
            let field = Field { value, name: "prices.tools" };
            self.named(field, ("tools", MAX_TOOLS), value::tool, |reader, field| Some(reader.units(field)))
        });
        Prices { currency: currency.unwrap_or_default(), tools: tools.unwrap_or_default() }
    }

    fn units(&mut self, field: Field<'_, '_>) -> BTreeMap<String, Price> {
        self.named(field, ("units", MAX_UNITS), value::unit, |reader, field| {
            reader.text(field, "a price such as \"0.002\"", Price::parse)
        })
    }

    /// A table whose names are the file's own: each checked, and its value read.
    fn named<T>(
        &mut self,
        field: Field<'_, '_>,
        (what, most): (&str, usize),
        check: impl Fn(&str) -> Result<String, String>,
        mut read: impl FnMut(&mut Self, Field<'_, '_>) -> Option<T>,
    ) -> BTreeMap<String, T> {
        let DeValue::Table(table) = field.value.get_ref() else {
            self.wrong_type(field, &format!("a table of {what}"));
            return BTreeMap::new();
        };
        if table.len() > most {
            self.fault(field, format!("{} {what}; expected at most {most}", table.len()));
        }
        let mut found = BTreeMap::new();
        for (key, value) in table {
            let (key, value): (&Spanned<_>, &Value<'_>) = (key, value);
            let text: &str = key.get_ref();
            if let Err(message) = check(text) {
                self.faults.add(key.span().start, format!("{}: {message}", field.name));
            }
            let name = format!("{}.{}", field.name, text.escape_debug());
            if let Some(value) = read(self, Field { value, name: &name }) {
                found.insert(text.to_owned(), value);
            }
        }
        found
    }
}
