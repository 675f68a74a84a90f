//! The service booking: books and cancels, and updates miles.

mod miles;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::TryStreamExt;
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};
use serving::metrics::{Counter, MetricsPage};
use tokio::sync::Mutex;

use super::customer::whole_number;
use crate::api_error::ApiError;
use crate::database::{Database, Op};
use crate::domain::booking::{Booking, Listed};
use crate::form::Form;
use crate::keyring::Keyring;
use crate::service::Service;
pub use miles::Miles;
use miles::{Sign, Update};

const COLLECTION: &str = "booking";
/// Largest number of bookings listed per customer.
const LISTED_MAX: i64 = 10_000;

/// The service.
#[derive(Debug)]
pub struct Bookings {
    database: Arc<Database>,
    keyring: Arc<Keyring>,
    miles: Arc<Miles>,
    loading: Mutex<()>,
    booked: Counter,
    cancelled: Counter,
}

impl Bookings {
    /// Over this database, with these token keys and miles updates.
    pub fn new(database: Arc<Database>, keyring: Arc<Keyring>, miles: Arc<Miles>) -> Arc<Bookings> {
        Arc::new(Bookings {
            database,
            keyring,
            miles,
            loading: Mutex::new(()),
            booked: Counter::default(),
            cancelled: Counter::default(),
        })
    }

    async fn book(&self, who: &str, flight: &str, segment: &str) -> Result<String, ApiError> {
        let booking = Booking::new(who, flight, segment);
        let bookings = self.database.collection::<Booking>(COLLECTION);
        let inserted = async { bookings.insert_one(&booking).await };
        self.database.run(Op::Insert, inserted).await?;
        self.booked.count();
        Arc::clone(&self.miles).update(Update {
            customer: who.to_owned(),
            segment: segment.to_owned(),
            sign: Sign::Give,
        });
        Ok(booking.id)
    }

    /// Deletes all bookings and resets the counters.
    pub async fn clear(&self) -> Result<(), ApiError> {
        let _only = self.loading.lock().await;
        self.database
            .index(COLLECTION, doc! { "customerId": 1 })
            .await?;
        self.database
            .replace_all::<Booking>(COLLECTION, &[])
            .await?;
        self.booked.reset();
        self.cancelled.reset();
        self.miles.reset();
        Ok(())
    }
}

async fn book(
    State(bookings): State<Arc<Bookings>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Value>, ApiError> {
    let form = Form::read(&body)?;
    let who = form.need("userid")?;
    let (flight, segment) = (form.need("toFlightId")?, form.need("toFlightSegId")?);
    let back = match form.truth("oneWayFlight")? {
        true => None,
        false => Some((form.need("retFlightId")?, form.need("retFlightSegId")?)),
    };
    bookings.keyring.must_be(&headers, who).await?;
    let there = bookings.book(who, flight, segment).await?;
    let mut reply = json!({ "oneWay": back.is_none(), "departBookingId": there });
    if let Some((flight, segment)) = back {
        reply["returnBookingId"] = json!(bookings.book(who, flight, segment).await?);
    }
    Ok(Json(reply))
}

async fn by_user(
    State(bookings): State<Arc<Bookings>>,
    Path(who): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Vec<Listed>>, ApiError> {
    bookings.keyring.must_be(&headers, &who).await?;
    let all = bookings.database.collection::<Booking>(COLLECTION);
    let found = async {
        let cursor = all
            .find(doc! { "customerId": &who })
            .limit(LISTED_MAX)
            .await?;
        cursor.try_collect::<Vec<Booking>>().await
    };
    let found = bookings.database.run(Op::Find, found).await?;
    Ok(Json(found.into_iter().map(Listed::from).collect()))
}

async fn cancel(
    State(bookings): State<Arc<Bookings>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Value>, ApiError> {
    let form = Form::read(&body)?;
    let (number, who) = (form.need("number")?, form.need("userid")?);
    bookings.keyring.must_be(&headers, who).await?;
    let all = bookings.database.collection::<Booking>(COLLECTION);
    // Find, ownership check and deletion in one operation: of two concurrent cancellations only one succeeds.
    let its = doc! { "_id": number, "customerId": who };
    let taken = async { all.find_one_and_delete(its).await };
    let taken = bookings
        .database
        .run_locked(number, Op::FindAndModify, taken)
        .await?;
    let none = || ApiError::NotFound(format!("{who} has no booking {number:?}"));
    let booking = taken.ok_or_else(none)?;
    bookings.cancelled.count();
    Arc::clone(&bookings.miles).update(Update {
        customer: booking.customer_id,
        segment: booking.segment_id,
        sign: Sign::Take,
    });
    Ok(Json(json!({ "cancelled": booking.id })))
}

async fn load(State(bookings): State<Arc<Bookings>>) -> Result<Json<Value>, ApiError> {
    bookings.clear().await?;
    Ok(Json(json!({ "bookings": 0 })))
}

/// Counters, and the bookings in the database.
async fn audit(State(bookings): State<Arc<Bookings>>) -> Result<Json<Value>, ApiError> {
    let sums = doc! { "$group": { "_id": "$flightSegmentId", "bookings": { "$sum": 1 } } };
    let documents = bookings.database.collection::<Document>(COLLECTION);
    let summed = async {
        let cursor = documents.aggregate([sums]).await?;
        cursor.try_collect::<Vec<Document>>().await
    };
    let sums = bookings.database.run_long(Op::Aggregate, summed).await?;
    let of_segment = |sum: &Document| {
        let segment = sum.get_str("_id").ok()?.to_owned();
        Some((segment, whole_number(sum, "bookings")?))
    };
    let segments: BTreeMap<String, i64> = sums.iter().filter_map(of_segment).collect();
    let mut reply = bookings.status();
    reply["listed"] = json!(segments.values().sum::<i64>());
    reply["segments"] = json!(segments);
    Ok(Json(reply))
}

impl Service for Bookings {
    const NAME: &'static str = "booking";
    const ROOT: &'static str = "/booking";
    const ROUTES: &'static [&'static str] = &[
        "/booking/bookflights",
        "/booking/byuser/{user}",
        "/booking/cancelbooking",
        "/booking/loader/load",
        "/booking/audit",
    ];

    fn router(self: Arc<Self>) -> Router {
        Router::new()
            .route("/booking/bookflights", post(book))
            .route("/booking/byuser/{user}", get(by_user))
            .route("/booking/cancelbooking", post(cancel))
            .route("/booking/loader/load", get(load))
            .route("/booking/audit", get(audit))
            .with_state(self)
    }

    fn database(&self) -> Option<&Database> {
        Some(&self.database)
    }

    fn write(&self, page: &mut MetricsPage) {
        self.keyring.write(page);
        self.miles.write(page);
        page.counter("acmeair_booked_total", "Bookings made.", "", &self.booked);
        let help = "Bookings cancelled.";
        page.counter("acmeair_cancelled_total", help, "", &self.cancelled);
    }

    fn status(&self) -> Value {
        json!({
            "booked": self.booked.get(),
            "cancelled": self.cancelled.get(),
            "keys": self.keyring.ready().is_ok(),
            "miles": self.miles.status(),
            "calls": self.miles.calls(),
        })
    }

    async fn ready(&self) -> Result<(), String> {
        self.database.ready()
    }
}
