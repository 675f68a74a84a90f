//! Airports, the segments between them, and their distances.

use std::sync::LazyLock;

use serde::Serialize;

/// Airports of departure: the first twelve are destinations too.
const ORIGINS: [&str; 14] = [
    "AMS", "CDG", "DEL", "DXB", "FRA", "HKG", "JFK", "LHR", "NRT", "SFO", "SIN", "SYD", "BOM",
    "IST",
];

/// Airports that are destinations only.
const DESTINATIONS_ONLY: [&str; 17] = [
    "AKL", "BKK", "CAI", "CPH", "DUB", "EZE", "FCO", "GRU", "ICN", "JNB", "KUL", "LAX", "MAD",
    "MEX", "NBO", "YYZ", "ZRH",
];

/// How many of the origins are destinations too.
const BOTH: usize = 12;

/// Mean radius of the earth in statute miles.
const EARTH_RADIUS_MILES: f64 = 3958.8;

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Airport {
    /// Its IATA code.
    pub code: &'static str,
    /// Its city.
    pub name: &'static str,
    /// Degrees north.
    #[serde(skip)]
    latitude: f64,
    /// Degrees east.
    #[serde(skip)]
    longitude: f64,
}

const fn airport(code: &'static str, name: &'static str, latitude: f64, longitude: f64) -> Airport {
    Airport {
        code,
        name,
        latitude,
        longitude,
    }
}

/// All airports, by code.
pub const AIRPORTS: [Airport; 31] = [
    airport("AKL", "Auckland", -37.01, 174.79),
    airport("AMS", "Amsterdam", 52.31, 4.76),
    airport("BKK", "Bangkok", 13.69, 100.75),
    airport("BOM", "Mumbai", 19.09, 72.87),
    airport("CAI", "Cairo", 30.12, 31.41),
    airport("CDG", "Paris", 49.01, 2.55),
    airport("CPH", "Copenhagen", 55.62, 12.66),
    airport("DEL", "Delhi", 28.57, 77.10),
    airport("DUB", "Dublin", 53.42, -6.27),
    airport("DXB", "Dubai", 25.25, 55.36),
    airport("EZE", "Buenos Aires", -34.82, -58.54),
    airport("FCO", "Rome", 41.80, 12.24),
    airport("FRA", "Frankfurt", 50.03, 8.57),
    airport("GRU", "São Paulo", -23.44, -46.47),
    airport("HKG", "Hong Kong", 22.31, 113.91),
    airport("ICN", "Seoul", 37.47, 126.45),
    airport("IST", "Istanbul", 41.26, 28.74),
    airport("JFK", "New York", 40.64, -73.78),
    airport("JNB", "Johannesburg", -26.14, 28.25),
    airport("KUL", "Kuala Lumpur", 2.75, 101.71),
    airport("LAX", "Los Angeles", 33.94, -118.41),
    airport("LHR", "London", 51.47, -0.46),
    airport("MAD", "Madrid", 40.47, -3.56),
    airport("MEX", "Mexico City", 19.44, -99.07),
    airport("NBO", "Nairobi", -1.32, 36.93),
    airport("NRT", "Tokyo", 35.76, 140.39),
    airport("SFO", "San Francisco", 37.62, -122.38),
    airport("SIN", "Singapore", 1.36, 103.99),
    airport("SYD", "Sydney", -33.95, 151.18),
    airport("YYZ", "Toronto", 43.68, -79.63),
    airport("ZRH", "Zurich", 47.46, 8.55),
];

/// A connection between two airports with flights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// `AA0`, `AA1` and so on.
    pub id: String,
    /// Airport of departure.
    pub origin: &'static str,
    /// Airport of arrival.
    pub destination: &'static str,
    /// Great-circle distance.
    pub miles: i64,
}

/// All segments: 14 origins by 29 destinations, without those from an airport to itself.
pub static SEGMENTS: LazyLock<Vec<Segment>> = LazyLock::new(|| {
    let destinations = || ORIGINS[..BOTH].iter().chain(&DESTINATIONS_ONLY).copied();
    let pairs = ORIGINS
        .iter()
        .flat_map(|&origin| destinations().map(move |destination| (origin, destination)))
        .filter(|(origin, destination)| origin != destination);
    pairs
        .enumerate()
        .map(|(number, (origin, destination))| Segment {
            id: format!("AA{number}"),
            origin,
            destination,
            miles: miles(origin, destination),
        })
        .collect()
});

fn place(code: &str) -> Option<&'static Airport> {
    AIRPORTS.iter().find(|airport| airport.code == code)
}

/// Great-circle distance (haversine formula); a test ensures that every code of the tables is an airport.
fn miles(origin: &str, destination: &str) -> i64 {
    let (Some(from), Some(to)) = (place(origin), place(destination)) else {
        return 0;
    };
    let north = (to.latitude - from.latitude).to_radians();
    let east = (to.longitude - from.longitude).to_radians();
    let chord = (north / 2.0).sin().powi(2)
        + from.latitude.to_radians().cos()
            * to.latitude.to_radians().cos()
            * (east / 2.0).sin().powi(2);
    (2.0 * EARTH_RADIUS_MILES * chord.sqrt().asin()).round() as i64
}

#[cfg(test)]
mod tests;
