//! What breaks: the database in every way, and a service in the middle of its work.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::database::{other_authority, server};
use crate::rig::{Airline, Running, database, send, until};

const QUERY: &str = "fromAirport=LHR&toAirport=JFK&fromDate=2026-11-21&oneWay=true";

fn query(flight: &Running) -> (u16, String) {
    let kind = [("Content-Type", "application/x-www-form-urlencoded")];
    let answer = send(flight.at, "POST", "/flight/queryflights", &kind, QUERY);
    (answer.status, answer.body)
}

fn state(service: &Running, expected: &str) -> String {
    until(expected, || {
        let status = service.status();
        match status["database"]["state"] == expected {
            true => Ok(status["database"]["why"]
                .as_str()
                .unwrap_or_default()
                .to_owned()),
            false => Err(status["database"].to_string()),
        }
    })
}

#[test]
fn a_database_that_is_not_there_at_the_start_is_waited_for_and_said() {
    let door = server().door();
    door.shut();
    let uri = server().uri_at(door.at);
    let flight = Running::start(
        "flight",
        &[database(&uri, "flight"), vec!["--load".to_owned()]].concat(),
    );
    let (status, why) = flight.admin("/ready");
    assert_eq!(status, 503);
    assert!(why.contains("localhost"), "{why}");
    let (status, body) = query(&flight);
    assert_eq!(status, 503);
    assert!(
        body.contains("is not there") && body.contains("try again"),
        "{body}"
    );
    door.open();
    flight.until_ready();
    assert_eq!(query(&flight).0, 200);
    assert!(flight.said().contains("is up"), "{}", flight.said());
}

#[test]
fn a_database_that_never_comes_ends_the_service_in_words() {
    let nobody = SocketAddr::from(([127, 0, 0, 1], 1));
    let uri = server().uri_at(nobody);
    let mut arguments = database(&uri, "flight");
    arguments.pop();
    arguments.extend(["--database-timeout=200", "--database-within=1"].map(str::to_owned));
    let mut flight = Running::start("flight", &arguments);
    assert!(!flight.ended().success());
    until("the reason is said", || {
        let said = flight.said();
        match said.contains("never reached its database in 1 s: nothing listens there") {
            true => Ok(()),
            false => Err(said),
        }
    });
}

#[test]
fn a_database_that_goes_away_is_told_at_once_and_found_again() {
    let door = server().door();
    let uri = server().uri_at(door.at);
    let flight = Running::start(
        "flight",
        &[database(&uri, "flight"), vec!["--load".to_owned()]].concat(),
    );
    flight.until_ready();
    assert_eq!(query(&flight).0, 200);
    door.shut();
    until("it is noticed", || match query(&flight).0 {
        503 => Ok(()),
        other => Err(format!("status {other}")),
    });
    state(&flight, "down");
    // While it is known to be away nothing is tried, so nobody waits.
    let (refused, passed) = (
        flight.counted("acmeair_db_failures_total", "refused"),
        door.passed(),
    );
    assert_eq!(query(&flight).0, 503);
    assert_eq!(
        flight.counted("acmeair_db_failures_total", "refused"),
        refused + 1
    );
    assert_eq!(door.passed(), passed);
    door.open();
    state(&flight, "up");
    assert_eq!(query(&flight).0, 200);
}

#[test]
fn a_database_that_takes_too_long_is_given_up_in_time() {
    let door = server().door();
    let uri = server().uri_at(door.at);
    let flight = Running::start(
        "flight",
        &[database(&uri, "flight"), vec!["--load".to_owned()]].concat(),
    );
    flight.until_ready();
    drop(flight);
    let mut arguments = database(&uri, "flight");
    arguments.pop();
    arguments.push("--database-timeout=1500".to_owned());
    let flight = Running::start("flight", &arguments);
    flight.until_ready();
    door.stick();
    let began = Instant::now();
    let (status, body) = query(&flight);
    assert!(began.elapsed() >= Duration::from_millis(1500));
    assert_eq!(status, 504, "{body}");
    assert!(body.contains("took longer than 1500 ms"), "{body}");
    assert_eq!(flight.counted("acmeair_db_failures_total", "late"), 1);
    let why = state(&flight, "down");
    assert!(why.contains("1500 ms") || why.contains("imeout"), "{why}");
    door.open();
    state(&flight, "up");
}

#[test]
fn a_certificate_of_another_authority_is_refused_and_said() {
    let (_folder, ca) = other_authority();
    let uri = server().uri_with_authority(ca.as_ref());
    let flight = Running::start("flight", &database(&uri, "flight"));
    let why = until("the reason is there", || {
        let why = flight.status()["database"]["why"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        if why == "not yet asked" {
            Err(why)
        } else {
            Ok(why)
        }
    });
    assert!(
        why.contains("certificate was refused") && why.contains("tlsCAFile"),
        "{why}"
    );
    assert_eq!(query(&flight).0, 503);
}

#[test]
fn an_authority_that_cannot_be_read_and_a_uri_that_is_none_end_the_service_in_words() {
    for uri in [
        "mongodb://localhost:1/?tls=true&tlsCAFile=/nowhere/ca.pem",
        "localhost:27017",
        "mongodb://",
    ] {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_acmeair"));
        child.args([
            "flight",
            "--listen=127.0.0.1:0",
            "--admin=127.0.0.1:0",
            "--database",
            uri,
        ]);
        let output = child.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{uri}");
        assert!(
            said.contains("--database") && said.contains("write mongodb://"),
            "{uri}: {said}"
        );
    }
}

#[test]
fn a_database_elsewhere_than_on_a_private_address_ends_the_service_before_it_is_called() {
    for (uri, found) in [
        (
            "mongodb://203.0.113.7/?directConnection=true",
            "203.0.113.7",
        ),
        (
            "mongodb://localhost:1,169.254.169.254:80/",
            "169.254.169.254",
        ),
        ("mongodb://[2001:db8::7]:1/", "2001:db8::7"),
        ("mongodb://nobody.invalid/", "not found"),
    ] {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_acmeair"));
        child.args([
            "flight",
            "--listen=127.0.0.1:0",
            "--admin=127.0.0.1:0",
            "--private-database",
            "--database-within=1",
            "--database",
            uri,
        ]);
        let output = child.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{uri}");
        assert!(
            said.contains("--private-database") && said.contains(found),
            "{uri}: {said}"
        );
    }
}

#[test]
fn when_customer_crashes_the_breaker_opens_and_nothing_is_lost() {
    let mut airline = Airline::open(2);
    let person = airline.person(1).log_in();
    let flight = person.query("LHR", "JFK", 1).unwrap();
    airline.crash_customer();
    for _ in 0..3 {
        let answer = person.post("/auth/login", "login=uid1@email.com&password=password");
        assert_eq!(answer.status, 503);
        assert!(
            answer.body.contains("nobody can log in now"),
            "{}",
            answer.body
        );
    }
    assert!(airline.auth.counted("acmeair_breaker_openings_total", "") >= 1);
    assert!(airline.auth.counted("acmeair_breaker_refusals_total", "") >= 1);
    assert!(airline.auth.counted("acmeair_retries_total", "") >= 3);
    assert_eq!(airline.auth.counted("acmeair_fallbacks_total", ""), 3);
    // To book needs no customer; the miles wait.
    person.book(&flight);
    until("the miles are owed", || {
        match airline
            .booking
            .counted("acmeair_mile_updates_total", "deferred")
        {
            0 => Err("none".to_owned()),
            _ => Ok(()),
        }
    });
    airline.restart_customer();
    // The breakers let trials through again, and ten good ones close them.
    until("people can log in", || {
        let answer = person.post("/auth/login", "login=uid1@email.com&password=password");
        if answer.status == 200 {
            Ok(())
        } else {
            Err(answer.body)
        }
    });
    // One that took too long, on a busy machine, opens them again.
    let mut good = 0;
    until("ten good ones in a row", || {
        let answer = person.post("/auth/login", "login=uid1@email.com&password=password");
        good = if answer.status == 200 { good + 1 } else { 0 };
        if good == 10 {
            Ok(())
        } else {
            Err(format!("{good}, {}", answer.body))
        }
    });
    assert_eq!(airline.auth.counted("acmeair_breaker_state", ""), 0);
    until("the miles are paid", || {
        match airline.booking.counted("acmeair_mile_updates_pending", "") {
            0 => Ok(()),
            pending => Err(format!("{pending} pending")),
        }
    });
    assert_eq!(person.profile()["total_miles"], 1_000_000 + 3442);
}

#[test]
fn a_token_outlives_customer_but_not_the_key_of_auth() {
    let airline = Airline::open(1);
    let person = airline.person(0).log_in();
    let Airline {
        auth,
        main,
        customer,
        flight,
        booking,
        ..
    } = airline;
    let (at, at_customer) = (auth.at, customer.as_ref().unwrap().at);
    drop(auth);
    // The key is known, so nobody has to be asked.
    assert!(person.bookings().is_empty());
    let other = concat!("--key=", env!("CARGO_MANIFEST_DIR"), "/keys/other.der");
    let how = [format!("--customer={at_customer}"), other.to_owned()];
    let again = Running::start_at(at, "auth", &how);
    let fresh = until("people can log in", || {
        let answer = person.post("/auth/login", "login=uid0@email.com&password=password");
        if answer.status == 200 {
            Ok(answer.cookies)
        } else {
            Err(answer.body)
        }
    });
    let cookie = fresh[0].split(';').next().unwrap();
    let path = "/booking/byuser/uid0@email.com";
    // The new token names a new key, which is fetched; the old one is nobody's any more.
    until("the new key is known", || {
        match send(main.at, "GET", path, &[("Cookie", cookie)], "").status {
            200 => Ok(()),
            other => Err(format!("status {other}")),
        }
    });
    assert_eq!(person.get(path).status, 401);
    drop((again, flight, booking));
}
