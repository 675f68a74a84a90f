//! The service flight: flight search, and miles of segments.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::TryStreamExt;
use jiff::civil::Date;
use mongodb::bson::doc;
use serde::Serialize;
use serde_json::{Value, json};
use serving::metrics::{Counter, MetricsPage};
use tokio::sync::Mutex;

use crate::airports::SEGMENTS;
use crate::api_error::ApiError;
use crate::database::{Database, Op};
use crate::domain::flight::{Flight, FlightSegment, Offered, loaded, midnight, today};
use crate::form::Form;
use crate::service::Service;

const SEGMENT_COLLECTION: &str = "flightSegment";
const FLIGHT_COLLECTION: &str = "flight";
/// Most flights per day and segment.
const FLIGHTS_MAX: usize = 100;

/// The service.
#[derive(Debug)]
pub struct Flights {
    database: Arc<Database>,
    loading: Mutex<()>,
    /// Legs searched.
    searches: Counter,
    /// Legs with at least one flight.
    successes: Counter,
}

/// The flights of one leg.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Leg {
    num_pages: usize,
    current_page: usize,
    has_more_options: bool,
    page_size: usize,
    flights_options: Vec<Offered>,
}

impl Flights {
    /// Over this database.
    pub fn new(database: Arc<Database>) -> Arc<Flights> {
        Arc::new(Flights {
            database,
            loading: Mutex::new(()),
            searches: Counter::default(),
            successes: Counter::default(),
        })
    }

    /// Replaces all flights and segments; returns their numbers: segments, flights.
    pub async fn load(&self) -> Result<(usize, usize), ApiError> {
        let _only = self.loading.lock().await;
        let segments: Vec<FlightSegment> = SEGMENTS.iter().map(FlightSegment::from).collect();
        let flights = loaded(today());
        let database = &self.database;
        let pair = doc! { "originPort": 1, "destPort": 1 };
        database.index(SEGMENT_COLLECTION, pair).await?;
        let departure = doc! { "flightSegmentId": 1, "scheduledDepartureTime": 1 };
        database.index(FLIGHT_COLLECTION, departure).await?;
        database.replace_all(SEGMENT_COLLECTION, &segments).await?;
        database.replace_all(FLIGHT_COLLECTION, &flights).await?;
        self.searches.reset();
        self.successes.reset();
        Ok((segments.len(), flights.len()))
    }

    /// The flights between two airports on a day: one query, and another if the segment exists.
    async fn leg(&self, from: &str, to: &str, day: Date) -> Result<Leg, ApiError> {
        let segments = self
            .database
            .collection::<FlightSegment>(SEGMENT_COLLECTION);
        let pair = doc! { "originPort": from, "destPort": to };
        let found = async { segments.find_one(pair).await };
        let segment = self.database.run(Op::Find, found).await?;
        let offered = match (segment, midnight(day)) {
            (Some(segment), Some(departure)) => {
                let flights = self.database.collection::<Flight>(FLIGHT_COLLECTION);
                let on =
                    doc! { "flightSegmentId": &segment.id, "scheduledDepartureTime": departure };
                let found = async {
                    let cursor = flights.find(on).limit(FLIGHTS_MAX as i64).await?;
                    cursor.try_collect::<Vec<Flight>>().await
                };
                let flights = self.database.run(Op::Find, found).await?;
                let offered = flights.into_iter().map(|flight| flight.offered(&segment));
                offered.collect()
            }
            _ => Vec::new(),
        };
        self.searches.count();
        if !offered.is_empty() {
            self.successes.count();
        }
        Ok(Leg {
            num_pages: 1,
            current_page: 0,
            has_more_options: false,
            page_size: 10,
            flights_options: offered,
        })
    }
}

fn day(form: &Form, name: &str) -> Result<Date, ApiError> {
    let value = form.need(name)?;
    value
        .parse()
        .map_err(|_| ApiError::Malformed(format!("{name} is a day as 2026-11-21, not {value:?}")))
}

async fn query(State(flights): State<Arc<Flights>>, body: Bytes) -> Result<Json<Value>, ApiError> {
    let form = Form::read(&body)?;
    let (from, to) = (form.need("fromAirport")?, form.need("toAirport")?);
    let one_way = form.truth("oneWay")?;
    let departure = day(&form, "fromDate")?;
    let back = (!one_way).then(|| day(&form, "returnDate")).transpose()?;
    let mut legs = vec![flights.leg(from, to, departure).await?];
    if let Some(back) = back {
        legs.push(flights.leg(to, from, back).await?);
    }
    Ok(Json(json!({ "tripLegs": legs.len(), "tripFlights": legs })))
}

async fn reward_miles(
    State(flights): State<Arc<Flights>>,
    body: Bytes,
) -> Result<Json<Value>, ApiError> {
    let form = Form::read(&body)?;
    let id = form.need("flightSegment")?;
    let segments = flights
        .database
        .collection::<FlightSegment>(SEGMENT_COLLECTION);
    let found = async { segments.find_one(doc! { "_id": id }).await };
    let segment = flights.database.run(Op::Find, found).await?;
    let segment =
        segment.ok_or_else(|| ApiError::NotFound(format!("there is no segment {id:?}")))?;
    Ok(Json(json!({ "miles": segment.miles })))
}

async fn load(State(flights): State<Arc<Flights>>) -> Result<Json<Value>, ApiError> {
    let (segments, flights) = flights.load().await?;
    Ok(Json(json!({ "segments": segments, "flights": flights })))
}

async fn audit(State(flights): State<Arc<Flights>>) -> Json<Value> {
    Json(flights.status())
}

impl Service for Flights {
    const NAME: &'static str = "flight";
    const ROOT: &'static str = "/flight";
    const ROUTES: &'static [&'static str] = &[
        "/flight/queryflights",
        "/flight/getrewardmiles",
        "/flight/loader/load",
        "/flight/audit",
    ];

    fn router(self: Arc<Self>) -> Router {
        Router::new()
            .route("/flight/queryflights", post(query))
            .route("/flight/getrewardmiles", post(reward_miles))
            .route("/flight/loader/load", get(load))
            .route("/flight/audit", get(audit))
            .with_state(self)
    }

    fn database(&self) -> Option<&Database> {
        Some(&self.database)
    }

    fn write(&self, page: &mut MetricsPage) {
        let help = "Legs that were asked for.";
        page.counter("acmeair_flight_searches_total", help, "", &self.searches);
        let help = "Of the legs that were asked for, those with a flight.";
        page.counter("acmeair_flight_successes_total", help, "", &self.successes);
    }

    fn status(&self) -> Value {
        json!({ "searches": self.searches.get(), "successes": self.successes.get() })
    }

    async fn ready(&self) -> Result<(), String> {
        self.database.ready()
    }
}
