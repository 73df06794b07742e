//! JSON objects as text, member by member: what is empty is left out, and foreign JSON stays as it came.

use serde_json::Value;

/// An object that is being written.
#[derive(Default)]
pub(super) struct Object(String);

impl Object {
    /// A text, where it is not empty.
    pub(super) fn text(self, name: &str, text: &str) -> Self {
        if text.is_empty() { self } else { self.raw(name, &Value::from(text).to_string()) }
    }

    /// A whole number, where it is not 0.
    pub(super) fn count(self, name: &str, count: impl Into<u64>) -> Self {
        match count.into() {
            0 => self,
            count => self.raw(name, &count.to_string()),
        }
    }

    /// A number, where it is not 0.
    pub(super) fn number(self, name: &str, number: f64) -> Self {
        if number == 0.0 { self } else { self.raw(name, &Value::from(number).to_string()) }
    }

    /// `true`, where it is.
    pub(super) fn flag(self, name: &str, flag: bool) -> Self {
        if flag { self.raw(name, "true") } else { self }
    }

    /// An array of JSON values, where it is not empty.
    pub(super) fn list(self, name: &str, values: impl IntoIterator<Item = String>) -> Self {
        match array(values).as_str() {
            "[]" => self,
            text => self.raw(name, text),
        }
    }

    /// JSON text, where there is any.
    pub(super) fn raw(mut self, name: &str, json: &str) -> Self {
        if !json.is_empty() {
            self.0.push(if self.0.is_empty() { '{' } else { ',' });
            self.0.push_str(&Value::from(name).to_string());
            self.0.push(':');
            self.0.push_str(json);
        }
        self
    }

    /// All members of another.
    pub(super) fn with(mut self, other: Self) -> Self {
        if self.0.is_empty() {
            return other;
        }
        if let Some(members) = other.0.strip_prefix('{') {
            self.0.push(',');
            self.0.push_str(members);
        }
        self
    }

    /// Its JSON text.
    pub(super) fn end(mut self) -> String {
        self.0.push_str(if self.0.is_empty() { "{}" } else { "}" });
        self.0
    }
}

/// An array of JSON values.
pub(super) fn array(values: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", values.into_iter().collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_empty_is_left_out_and_json_stays_as_it_came() {
        let nothing = Object::default().text("a", "").count("b", 0_u32).number("c", 0.0).flag("d", false).list("e", []);
        assert_eq!(nothing.raw("f", "").end(), "{}");
        let inner = Object::default().text("t", "a\"b").count("n", u64::MAX);
        let whole = Object::default().raw("v", "1.10").with(inner).with(Object::default()).flag("f", true).end();
        assert_eq!(whole, r#"{"v":1.10,"t":"a\"b","n":18446744073709551615,"f":true}"#);
        assert_eq!(Object::default().with(Object::default().number("n", 2.5)).end(), r#"{"n":2.5}"#);
    }
}
