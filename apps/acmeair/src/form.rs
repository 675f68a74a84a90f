//! Posted forms: each field once, text only.

use std::collections::BTreeMap;

use axum::body::Bytes;

use crate::api_error::ApiError;

/// Longest name or value.
const VALUE_MAX: usize = 256;
/// Most fields.
const FIELDS_MAX: usize = 32;

/// A form. Values are always text, never part of a query's structure.
#[derive(Debug)]
pub struct Form(BTreeMap<String, String>);

impl Form {
    /// Parses a body.
    /// Fails if a field is repeated, too long, or not text.
    pub fn read(body: &Bytes) -> Result<Form, ApiError> {
        let mut fields = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(body) {
            let odd = |c: char| c.is_control() || c == char::REPLACEMENT_CHARACTER;
            if name.contains(odd) || value.contains(odd) {
                return Err(ApiError::Malformed(
                    "the form holds bytes that are no text; send UTF-8 without control characters"
                        .to_owned(),
                ));
            }
            if name.len() > VALUE_MAX || value.len() > VALUE_MAX || fields.len() == FIELDS_MAX {
                return Err(ApiError::Malformed(format!(
                    "a form has at most {FIELDS_MAX} fields of at most {VALUE_MAX} bytes"
                )));
            }
            let name = name.into_owned();
            if fields.contains_key(&name) {
                return Err(ApiError::Malformed(format!(
                    "the field {name} stands there twice"
                )));
            }
            fields.insert(name, value.into_owned());
        }
        Ok(Form(fields))
    }

    /// The value of a required field.
    /// Fails if it is missing or empty.
    pub fn need(&self, name: &str) -> Result<&str, ApiError> {
        let missing = || ApiError::Malformed(format!("the form has no field {name}"));
        self.find(name).ok_or_else(missing)
    }

    /// The value of an optional field.
    pub fn find(&self, name: &str) -> Option<&str> {
        let value = self.0.get(name)?;
        (!value.is_empty()).then_some(value.as_str())
    }

    /// A boolean field; `false` if it is missing.
    /// Fails if it is neither `true` nor `false`.
    pub fn truth(&self, name: &str) -> Result<bool, ApiError> {
        match self.find(name) {
            None => Ok(false),
            Some(word) => word
                .parse()
                .map_err(|_| ApiError::Malformed(format!("{name} is true or false, not {word:?}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &'static str) -> Result<Form, ApiError> {
        Form::read(&Bytes::from_static(body.as_bytes()))
    }

    #[test]
    fn a_value_is_text_whatever_stands_in_it() {
        let form = read("login=%7B%22%24ne%22%3A1%7D&password=a%26b%3D+c&empty=").unwrap();
        assert_eq!(form.need("login").unwrap(), "{\"$ne\":1}");
        assert_eq!(form.need("password").unwrap(), "a&b= c");
        assert_eq!(form.find("empty"), None);
        assert!(!form.truth("oneWay").unwrap());
    }

    #[test]
    fn a_name_with_an_operator_is_another_name() {
        let form = read("login[$ne]=x&password[%24gt]=").unwrap();
        assert!(form.need("login").is_err());
        assert!(form.need("password").is_err());
    }

    #[test]
    fn what_is_no_form_is_refused_in_words() {
        let long = format!("login={}", "x".repeat(VALUE_MAX + 1));
        for (body, said) in [
            ("login=a&login=b", "twice"),
            ("login=%00", "no text"),
            ("login=%ff%fe", "no text"),
            (long.as_str(), "at most"),
        ] {
            let refused = Form::read(&Bytes::copy_from_slice(body.as_bytes())).unwrap_err();
            assert_eq!(refused.status().as_u16(), 400);
            assert!(refused.to_string().contains(said), "{refused}");
        }
        assert!(read("oneWay=maybe").unwrap().truth("oneWay").is_err());
    }
}
