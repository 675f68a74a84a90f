//! The service customer: profiles, logins and miles.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::routing::{get, post};
use axum::{Json, Router};
use mongodb::bson::{Document, doc};
use mongodb::options::ReturnDocument;
use serde::Deserialize;
use serde_json::{Value, json};
use serving::metrics::{Counter, MetricsPage};
use tokio::sync::Mutex;

use crate::api_error::ApiError;
use crate::database::{Database, Op};
use crate::domain::customer::{Customer, MILES_AT_FIRST};
use crate::form::Form;
use crate::keyring::Keyring;
use crate::service::Service;

const COLLECTION: &str = "customer";
/// Most customers loaded.
const CUSTOMERS_MAX: u32 = 1_000_000;
/// Most miles that one update may add or remove: twice around the earth.
const MILES_MAX: i64 = 50_000;

/// The service.
#[derive(Debug)]
pub struct Customers {
    database: Arc<Database>,
    keyring: Arc<Keyring>,
    loading: Mutex<()>,
    updates: Counter,
    mile_updates: Counter,
}

impl Customers {
    /// Over this database, with these token keys.
    pub fn new(database: Arc<Database>, keyring: Arc<Keyring>) -> Arc<Customers> {
        Arc::new(Customers {
            database,
            keyring,
            loading: Mutex::new(()),
            updates: Counter::default(),
            mile_updates: Counter::default(),
        })
    }

    /// Replaces all customers by this number of new ones.
    pub async fn load(&self, customers: u32) -> Result<(), ApiError> {
        if !(1..=CUSTOMERS_MAX).contains(&customers) {
            return Err(ApiError::Malformed(format!(
                "numCustomers is from 1 to {CUSTOMERS_MAX}, not {customers}"
            )));
        }
        let _only = self.loading.lock().await;
        let all: Vec<Customer> = (0..customers).map(Customer::loaded).collect();
        self.database.replace_all(COLLECTION, &all).await
    }

    async fn find(&self, id: &str) -> Result<Option<Customer>, ApiError> {
        let customers = self.database.collection::<Customer>(COLLECTION);
        let found = async { customers.find_one(doc! { "_id": id }).await };
        self.database.run(Op::Find, found).await
    }

    /// The customer, if the password is right.
    async fn authentic(&self, id: &str, password: &str) -> Result<Option<Customer>, ApiError> {
        let found = self.find(id).await?;
        Ok(found.filter(|customer| same(&customer.password, password)))
    }

    async fn change(&self, id: &str, change: Document) -> Result<Option<Customer>, ApiError> {
        let customers = self.database.collection::<Customer>(COLLECTION);
        let changed = async {
            customers
                .find_one_and_update(doc! { "_id": id }, change)
                .return_document(ReturnDocument::After)
                .await
        };
        self.database
            .run_locked(id, Op::FindAndModify, changed)
            .await
    }
}

impl Customers {
    /// A sum over all customers. One sum per query: in FerretDB 1.24, the second of two in a group is always 0.
    async fn sum(&self, of: Document) -> Result<i64, ApiError> {
        let group = doc! { "$group": { "_id": null, "sum": of } };
        let documents = self.database.collection::<Document>(COLLECTION);
        let summed = async {
            let mut cursor = documents.aggregate([group]).await?;
            match cursor.advance().await? {
                true => cursor.deserialize_current().map(Some),
                false => Ok(None),
            }
        };
        let summed = self.database.run_long(Op::Aggregate, summed).await?;
        Ok(summed
            .and_then(|sums| whole_number(&sums, "sum"))
            .unwrap_or(0))
    }
}

/// Compares in time that does not depend on the position of differences.
fn same(one: &str, other: &str) -> bool {
    let differences = one.bytes().zip(other.bytes()).filter(|(a, b)| a != b);
    one.len() == other.len() && differences.count() == 0
}

fn nobody(id: &str) -> ApiError {
    ApiError::NotFound(format!("there is no customer {id:?}"))
}

async fn by_id(
    State(customers): State<Arc<Customers>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Customer>, ApiError> {
    customers.keyring.must_be(&headers, &id).await?;
    let found = customers.find(&id).await?;
    let customer = found.ok_or_else(|| nobody(&id))?;
    Ok(Json(customer.without_password()))
}

async fn update(
    State(customers): State<Arc<Customers>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Customer>, ApiError> {
    customers.keyring.must_be(&headers, &id).await?;
    let sent: Customer = serde_json::from_slice(&body).map_err(|error| {
        ApiError::Malformed(format!(
            "the body is not a customer with a password: {error}"
        ))
    })?;
    if sent.id != id {
        return Err(ApiError::Malformed(
            "the body is another customer".to_owned(),
        ));
    }
    let changes = sent.changes().map_err(ApiError::Malformed)?;
    if customers.authentic(&id, &sent.password).await?.is_none() {
        return Err(ApiError::Forbidden("the password is not right".to_owned()));
    }
    let changed = customers.change(&id, changes).await?;
    customers.updates.count();
    Ok(Json(changed.ok_or_else(|| nobody(&id))?.without_password()))
}

async fn validate(
    State(customers): State<Arc<Customers>>,
    body: Bytes,
) -> Result<Json<Value>, ApiError> {
    let form = Form::read(&body)?;
    let (login, password) = (form.need("login")?, form.need("password")?);
    let found = customers.authentic(login, password).await?;
    Ok(Json(json!({ "validCustomer": found.is_some() })))
}

async fn add_miles(
    State(customers): State<Arc<Customers>>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Json<Value>, ApiError> {
    let form = Form::read(&body)?;
    let miles: i64 = form
        .need("miles")?
        .parse()
        .ok()
        .filter(|miles: &i64| miles.abs() <= MILES_MAX)
        .ok_or_else(|| {
            ApiError::Malformed(format!(
                "miles is a whole number up to {MILES_MAX}, or less than 0"
            ))
        })?;
    let more = doc! { "$inc": { "total_miles": miles, "miles_ytd": miles } };
    let changed = customers.change(&id, more).await?;
    let changed = changed.ok_or_else(|| nobody(&id))?;
    customers.mile_updates.count();
    Ok(Json(json!({ "total_miles": changed.total_miles })))
}

#[derive(Deserialize)]
struct HowMany {
    #[serde(rename = "numCustomers", default = "ten_thousand")]
    customers: u32,
}

fn ten_thousand() -> u32 {
    10_000
}

async fn load(
    State(customers): State<Arc<Customers>>,
    Query(how): Query<HowMany>,
) -> Result<Json<Value>, ApiError> {
    customers.load(how.customers).await?;
    Ok(Json(json!({ "customers": how.customers })))
}

/// The number of customers, and the miles they have gained since loading.
async fn audit(State(customers): State<Arc<Customers>>) -> Result<Json<Value>, ApiError> {
    let all = customers.sum(doc! { "$sum": 1 }).await?;
    let miles = customers.sum(doc! { "$sum": "$total_miles" }).await?;
    Ok(Json(
        json!({ "customers": all, "miles": miles - all * MILES_AT_FIRST }),
    ))
}

/// An integer field; databases return it as any numeric type.
pub(super) fn whole_number(of: &Document, name: &str) -> Option<i64> {
    use mongodb::bson::Bson;
    match of.get(name)? {
        Bson::Int32(number) => Some(i64::from(*number)),
        Bson::Int64(number) => Some(*number),
        Bson::Double(number) if number.fract() == 0.0 => Some(*number as i64),
        _ => None,
    }
}

impl Service for Customers {
    const NAME: &'static str = "customer";
    const ROOT: &'static str = "/customer";
    const ROUTES: &'static [&'static str] = &[
        "/customer/byid/{id}",
        "/customer/internal/validateid",
        "/customer/internal/updateCustomerTotalMiles/{id}",
        "/customer/loader/load",
        "/customer/audit",
    ];

    fn router(self: Arc<Self>) -> Router {
        Router::new()
            .route("/customer/byid/{id}", get(by_id).post(update))
            .route("/customer/internal/validateid", post(validate))
            .route(
                "/customer/internal/updateCustomerTotalMiles/{id}",
                post(add_miles),
            )
            .route("/customer/loader/load", get(load))
            .route("/customer/audit", get(audit))
            .with_state(self)
    }

    fn database(&self) -> Option<&Database> {
        Some(&self.database)
    }

    fn write(&self, page: &mut MetricsPage) {
        self.keyring.write(page);
        let help = "Profiles that were changed.";
        page.counter("acmeair_profile_updates_total", help, "", &self.updates);
        let help = "Changes of a customer's miles.";
        let metric = "acmeair_customer_mile_updates_total";
        page.counter(metric, help, "", &self.mile_updates);
    }

    fn status(&self) -> Value {
        json!({
            "keys": self.keyring.ready().is_ok(),
            "profileUpdates": self.updates.get(),
            "mileUpdates": self.mile_updates.get(),
        })
    }

    async fn ready(&self) -> Result<(), String> {
        self.database.ready()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_password_is_the_same() {
        assert!(same("password", "password"));
        for other in ["", "passwor", "passwore", "password1"] {
            assert!(!same("password", other), "{other}");
        }
    }

    #[test]
    fn a_whole_number_is_read_in_every_kind_that_a_database_may_choose() {
        let sums = doc! { "a": 3_i32, "b": 4_i64, "c": 5.0, "d": 5.5, "e": "6" };
        let read: Vec<_> = ["a", "b", "c", "d", "e", "f"]
            .map(|name| whole_number(&sums, name))
            .into();
        assert_eq!(read, [Some(3), Some(4), Some(5), None, None, None]);
    }
}
