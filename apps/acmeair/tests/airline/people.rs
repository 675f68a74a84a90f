//! What people do, from login to leaving, and that it adds up.

use serde_json::json;

use crate::rig::{Airline, until};

#[test]
fn a_person_logs_in_searches_books_lists_and_cancels() {
    let airline = Airline::open(3);
    let person = airline.person(1).log_in();
    assert_eq!(person.profile()["total_miles"], 1_000_000);
    let flight = person.query("LHR", "JFK", 1).expect("a flight tomorrow");
    assert_eq!(person.query("LHR", "LHR", 1), None);
    assert_eq!(person.query("MEX", "JFK", 1), None);
    assert_eq!(person.query("LHR", "JFK", 5), None);
    let number = person.book(&flight);
    assert_eq!(person.bookings(), [number.as_str()]);
    let miles = |expected: i64| {
        until("the miles are there", || {
            let found = person.profile()["total_miles"].as_i64().unwrap();
            if found == expected {
                Ok(())
            } else {
                Err(format!("{found}, not {expected}"))
            }
        });
    };
    // Given after the booking was answered: the way from London to New York.
    miles(1_000_000 + 3442);
    assert_eq!(person.cancel(&number).status, 200);
    assert!(person.bookings().is_empty());
    miles(1_000_000);
    assert_eq!(person.cancel(&number).status, 404);
    assert_eq!(
        airline
            .booking
            .counted("acmeair_mile_updates_total", "applied"),
        2
    );
    // What a busy machine answers too late is asked for again.
    assert_eq!(
        airline
            .booking
            .counted("acmeair_calls_total", "booking__flight"),
        2 + airline
            .booking
            .counted("acmeair_retries_total", "getrewardmiles")
    );
    assert_eq!(
        airline
            .booking
            .counted("acmeair_calls_total", "booking__customer"),
        2
    );
    assert_eq!(
        airline.flight.counted("acmeair_flight_searches_total", ""),
        8
    );
    assert_eq!(
        airline.flight.counted("acmeair_flight_successes_total", ""),
        1
    );
    assert_eq!(airline.failures(), 0);
}

#[test]
fn a_profile_is_read_whole_and_changed_with_the_password_only() {
    let airline = Airline::open(3);
    let person = airline.person(2).log_in();
    let path = "/customer/byid/uid2@email.com";
    let mut profile = person.profile();
    assert_eq!(
        (&profile["status"], profile.get("password")),
        (&json!("GOLD"), None)
    );
    profile["phoneNumber"] = json!("1-2-3");
    profile["total_miles"] = json!(9_999_999);
    profile["password"] = json!("wrong");
    assert_eq!(person.post_json(path, &profile).status, 403);
    profile["password"] = json!("password");
    let changed = person.post_json(path, &profile).json();
    assert_eq!(changed["phoneNumber"], "1-2-3");
    // Miles are the airline's.
    assert_eq!(changed["total_miles"], 1_000_000);
    assert_eq!(person.profile(), changed);
}

#[test]
fn the_loaders_load_what_there_shall_be_and_begin_anew() {
    let airline = Airline::open(1);
    let person = airline.person(0).log_in();
    person.book(&person.query("SIN", "SYD", 0).unwrap());
    // Given after the booking was answered: not to the customers that are loaded now.
    until("the miles are paid", || {
        match airline.booking.counted("acmeair_mile_updates_pending", "") {
            0 => Ok(()),
            pending => Err(format!("{pending} pending")),
        }
    });
    let loaded = person.get("/acmeair/loader/load").json();
    assert_eq!(
        loaded["flight"],
        json!({ "segments": 394, "flights": 2364 })
    );
    assert_eq!(loaded["customer"], json!({ "customers": 10_000 }));
    assert!(person.bookings().is_empty());
    let last = airline.person(9_999).log_in();
    assert_eq!(last.profile()["total_miles"], 1_000_000);
    let audit = person.get("/customer/audit").json();
    assert_eq!(audit, json!({ "customers": 10_000, "miles": 0 }));
    assert_eq!(
        person.get("/customer/loader/load?numCustomers=0").status,
        400
    );
    assert_eq!(
        person.get("/customer/loader/load?numCustomers=x").status,
        400
    );
}

/// As the scripted session has them.
const FROM: [&str; 15] = [
    "BOM", "DEL", "HKG", "LHR", "JFK", "SIN", "CDG", "FRA", "NRT", "SYD", "IST", "MEX", "DXB",
    "AMS", "SFO",
];
const TO: [&str; 14] = [
    "JFK", "AMS", "MEX", "CDG", "DXB", "SIN", "SYD", "IST", "SFO", "LHR", "FRA", "HKG", "NRT",
    "DEL",
];

#[test]
fn after_scripted_sessions_flights_bookings_and_miles_add_up() {
    let airline = Airline::open(5);
    let (mut asked, mut booked, mut cancelled) = (0, 0, 0);
    for number in [0, 3] {
        let person = airline.person(number).log_in();
        for round in 0..5 {
            let mut found = None;
            for _ in 0..5 {
                let days = asked as i32 % 6;
                found = person.query(FROM[asked % 15], TO[asked % 14], days);
                asked += 1;
            }
            if let Some(flight) = found {
                person.book(&flight);
                booked += 1;
            }
            for number in person.bookings().iter().skip(2).filter(|_| round % 2 == 0) {
                assert_eq!(person.cancel(number).status, 200);
                cancelled += 1;
            }
        }
    }
    assert!(
        booked > 2 && cancelled > 0,
        "{booked} booked, {cancelled} cancelled"
    );
    let audit = airline.person(0).get("/acmeair/audit").json();
    assert_eq!(audit["ok"], true, "{audit}");
    let names: Vec<&str> = audit["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| check["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "flights-found",
            "bookings-listed",
            "miles",
            "mile-updates-settled"
        ]
    );
    assert_eq!(audit["checks"][0]["found"]["legs"], 100);
    assert_eq!(audit["checks"][1]["found"]["listed"], booked - cancelled);
    assert!(audit["checks"][2]["found"]["customers"].as_i64().unwrap() > 0);
    // An audit that cannot fail is none: miles that no booking is for are found.
    let customer = airline.customer.as_ref().unwrap().at;
    let kind = [("Content-Type", "application/x-www-form-urlencoded")];
    let path = "/customer/internal/updateCustomerTotalMiles/uid4@email.com";
    assert_eq!(
        crate::rig::send(customer, "POST", path, &kind, "miles=1").status,
        200
    );
    let audit = airline.person(0).get("/acmeair/audit");
    assert_eq!(audit.status, 409);
    assert_eq!(airline.failures(), 0);
}

/// A database may read a document and write it back as two steps: then one of two changes is lost, or both take away the same.
#[test]
fn changes_of_one_document_at_once_count_once_each() {
    let airline = Airline::open(1);
    let person = airline.person(0).log_in();
    let customer = airline.customer.as_ref().unwrap().at;
    let kind = [("Content-Type", "application/x-www-form-urlencoded")];
    let path = "/customer/internal/updateCustomerTotalMiles/uid0@email.com";
    let mut profile = person.profile();
    profile["password"] = json!("password");
    std::thread::scope(|all| {
        for _ in 0..8 {
            all.spawn(|| {
                for _ in 0..10 {
                    let answer = crate::rig::send(customer, "POST", path, &kind, "miles=1");
                    assert_eq!(answer.status, 200);
                }
            });
        }
        // A changed telephone is a change of the same document.
        for _ in 0..10 {
            let answer = person.post_json("/customer/byid/uid0@email.com", &profile);
            assert_eq!(answer.status, 200);
        }
    });
    assert_eq!(person.profile()["total_miles"], 1_000_080);
    let flight = person.query("LHR", "JFK", 1).unwrap();
    for _ in 0..5 {
        let number = person.book(&flight);
        let mut told: Vec<u16> = std::thread::scope(|all| {
            let asked: Vec<_> = (0..8)
                .map(|_| all.spawn(|| person.cancel(&number).status))
                .collect();
            asked.into_iter().map(|one| one.join().unwrap()).collect()
        });
        told.sort_unstable();
        assert_eq!(told, [200, 404, 404, 404, 404, 404, 404, 404]);
    }
    assert_eq!(airline.failures(), 0);
}

#[test]
fn every_service_tells_how_it_is_and_what_it_counts() {
    let airline = Airline::open(1);
    let system = airline.person(0).get("/acmeair/system").json();
    for (name, has_database) in [
        ("auth", false),
        ("customer", true),
        ("flight", true),
        ("booking", true),
    ] {
        let status = &system[name];
        assert_eq!(
            (&status["service"], &status["ready"]),
            (&json!(name), &json!(true))
        );
        let state = has_database.then(|| json!("up"));
        assert_eq!(status["database"].get("state"), state.as_ref(), "{status}");
    }
    let page = airline.booking.admin("/metrics").1;
    for metric in [
        "acmeair_requests_total{route=\"/booking/bookflights\"} 0",
        "acmeair_breaker_state{call=\"getrewardmiles\"} 0",
        "acmeair_breaker_openings_total{call=\"updateCustomerTotalMiles\"} 0",
        "acmeair_retries_total{call=\"getrewardmiles\"} 0",
        "acmeair_db_operation_seconds_count{op=\"insert\"} 0",
        "acmeair_mile_updates_pending 0",
        "acmeair_db_up 1",
    ] {
        assert!(page.contains(metric), "{metric}\n{page}");
    }
    assert!(
        airline
            .person(0)
            .get("/acmeair/")
            .body
            .contains("<title>Acme Air</title>")
    );
    assert_eq!(
        airline
            .person(0)
            .get("/acmeair/airports")
            .json()
            .as_array()
            .unwrap()
            .len(),
        31
    );
}
