//! `[registration]`: where registered backends may be, and how TLS is spoken to them.

use toml::de::DeValue;

use super::{Field, Reader};
use crate::config::{Registration, value};

const REGISTRATION: [&str; 4] = ["allow", "ca", "cert", "key"];

impl Reader<'_> {
    pub(super) fn registration(&mut self, field: Field<'_, '_>) -> Registration {
        let DeValue::Table(table) = field.value.get_ref() else {
            self.wrong_type(field, "a table headed [registration]");
            return Registration::default();
        };
        self.unknown_fields(table, &REGISTRATION, " in registration", None);
        let tls = self.backend_tls(table, field.name);
        let Some(value) = table.get("allow") else { return Registration { tls, ..Registration::default() } };
        let field = Field { value, name: "registration.allow" };
        let texts = self.texts(field, "networks and folders", |text| value::destination(text).map(drop));
        Registration { allow: texts.iter().filter_map(|text| value::destination(text).ok()).collect(), tls }
    }
}
