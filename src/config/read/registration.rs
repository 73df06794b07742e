//! `[registration]`: where registered backends may be.

use toml::de::DeValue;

use super::{Field, Reader};
use crate::config::{Destination, value};

const REGISTRATION: [&str; 1] = ["allow"];

impl Reader<'_> {
    pub(super) fn registration(&mut self, field: Field<'_, '_>) -> Vec<Destination> {
        let DeValue::Table(table) = field.value.get_ref() else {
            self.wrong_type(field, "a table headed [registration]");
            return Vec::new();
        };
        self.unknown_fields(table, &REGISTRATION, " in registration", None);
        let Some(value) = table.get("allow") else { return Vec::new() };
        let field = Field { value, name: "registration.allow" };
        let texts = self.texts(field, "networks and folders", |text| value::destination(text).map(drop));
        texts.iter().filter_map(|text| value::destination(text).ok()).collect()
    }
}
