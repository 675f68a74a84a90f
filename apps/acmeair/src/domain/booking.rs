//! A booking: one customer on one flight.

use mongodb::bson::{DateTime, Uuid};
use serde::{Deserialize, Serialize};

/// A booking, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Booking {
    /// A UUID as text.
    #[serde(rename = "_id")]
    pub id: String,
    #[serde(rename = "customerId")]
    pub customer_id: String,
    #[serde(rename = "flightId")]
    pub flight_id: String,
    /// The flight segment.
    #[serde(rename = "flightSegmentId")]
    pub segment_id: String,
    /// When it was made.
    #[serde(rename = "dateOfBooking")]
    pub made: DateTime,
}

/// A booking in a list.
#[derive(Debug, Serialize)]
pub struct Listed {
    #[serde(rename = "_id")]
    id: String,
    #[serde(rename = "customerId")]
    customer_id: String,
    #[serde(rename = "flightId")]
    flight_id: String,
    #[serde(rename = "flightSegmentId")]
    segment_id: String,
    #[serde(rename = "dateOfBooking")]
    made: String,
}

impl Booking {
    pub fn new(customer: &str, flight: &str, segment: &str) -> Booking {
        Booking {
            id: Uuid::new().to_string(),
            customer_id: customer.to_owned(),
            flight_id: flight.to_owned(),
            segment_id: segment.to_owned(),
            made: DateTime::now(),
        }
    }
}

impl From<Booking> for Listed {
    fn from(booking: Booking) -> Listed {
        Listed {
            id: booking.id,
            customer_id: booking.customer_id,
            flight_id: booking.flight_id,
            segment_id: booking.segment_id,
            made: super::flight::instant(booking.made),
        }
    }
}
