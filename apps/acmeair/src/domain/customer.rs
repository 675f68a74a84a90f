//! Customers and their miles.

use mongodb::bson::{Document, doc};
use serde::{Deserialize, Serialize};

/// Initial miles of every customer.
pub const MILES_AT_FIRST: i64 = 1_000_000;
/// Initial miles of the current year.
pub const MILES_OF_YEAR_AT_FIRST: i64 = 1000;
/// Longest text field of a profile.
const TEXT_MAX: usize = 100;

/// A customer, as stored. The password is demo data, as in the original application: no real one belongs here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Customer {
    /// The login, an e-mail address.
    #[serde(rename = "_id")]
    pub id: String,
    /// Never sent: cleared before a customer is returned.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub password: String,
    /// GOLD and so on.
    pub status: String,
    pub total_miles: i64,
    /// Those of this year.
    pub miles_ytd: i64,
    /// Where the customer lives.
    pub address: Address,
    /// Telephone.
    #[serde(rename = "phoneNumber")]
    pub phone: String,
    /// HOME or BUSINESS.
    #[serde(rename = "phoneNumberType")]
    pub phone_kind: String,
}

/// A postal address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Address {
    pub street_address1: String,
    /// More of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub street_address2: Option<String>,
    pub city: String,
    pub state_province: String,
    pub country: String,
    pub postal_code: String,
}

pub fn login(number: u32) -> String {
    format!("uid{number}@email.com")
}

impl Customer {
    pub fn loaded(number: u32) -> Customer {
        Customer {
            id: login(number),
            password: "password".to_owned(),
            status: "GOLD".to_owned(),
            total_miles: MILES_AT_FIRST,
            miles_ytd: MILES_OF_YEAR_AT_FIRST,
            address: Address {
                street_address1: "123 Main St.".to_owned(),
                street_address2: None,
                city: "Anytown".to_owned(),
                state_province: "NC".to_owned(),
                country: "USA".to_owned(),
                postal_code: "27617".to_owned(),
            },
            phone: "919-123-4567".to_owned(),
            phone_kind: "BUSINESS".to_owned(),
        }
    }

    /// The customer without its password, for responses.
    pub fn without_password(mut self) -> Customer {
        self.password.clear();
        self
    }

    /// The update of the fields that a customer may change; miles and status are the airline's.
    /// Errors: which field is too long or contains control characters.
    pub fn changes(&self) -> Result<Document, String> {
        let address = &self.address;
        let texts = [
            ("phoneNumber", &self.phone),
            ("phoneNumberType", &self.phone_kind),
            ("streetAddress1", &address.street_address1),
            ("city", &address.city),
            ("stateProvince", &address.state_province),
            ("country", &address.country),
            ("postalCode", &address.postal_code),
        ];
        let second = address.street_address2.as_ref();
        let all = texts
            .into_iter()
            .chain(second.map(|text| ("streetAddress2", text)));
        for (name, text) in all {
            if text.len() > TEXT_MAX || text.chars().any(char::is_control) {
                return Err(format!(
                    "{name} must be text of at most {TEXT_MAX} bytes without control characters"
                ));
            }
        }
        let mut kept = doc! {
            "streetAddress1": &address.street_address1,
            "city": &address.city,
            "stateProvince": &address.state_province,
            "country": &address.country,
            "postalCode": &address.postal_code,
        };
        if let Some(second) = second {
            kept.insert("streetAddress2", second);
        }
        Ok(doc! { "$set": {
            "address": kept,
            "phoneNumber": &self.phone,
            "phoneNumberType": &self.phone_kind,
        }})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_kept_but_never_answered() {
        let customer = Customer::loaded(7);
        assert_eq!(customer.id, "uid7@email.com");
        let kept = serde_json::to_value(&customer).unwrap();
        assert_eq!(kept["password"], "password");
        let answered = serde_json::to_value(customer.without_password()).unwrap();
        assert_eq!(answered.get("password"), None);
        assert_eq!(answered["address"]["streetAddress1"], "123 Main St.");
    }

    #[test]
    fn a_customer_changes_address_and_telephone_but_not_miles() {
        let mut customer = Customer::loaded(7);
        customer.total_miles = i64::MAX;
        customer.phone = "$set".to_owned();
        let changes = customer.changes().unwrap();
        let set = changes.get_document("$set").unwrap();
        let names: Vec<_> = set.keys().map(String::as_str).collect();
        assert_eq!(names, ["address", "phoneNumber", "phoneNumberType"]);
        assert_eq!(set.get_str("phoneNumber").unwrap(), "$set");
        customer.phone = "x".repeat(TEXT_MAX + 1);
        assert!(customer.changes().unwrap_err().contains("phoneNumber"));
    }
}
