//! What people must not: be others, send what is no form, or speak to the database through one.

use serde_json::json;

use crate::rig::{Airline, Answer, send};

#[test]
fn nobody_and_somebody_else_see_and_change_nothing() {
    let airline = Airline::open(3);
    let (owner, other) = (airline.person(1).log_in(), airline.person(2).log_in());
    let booked = owner.book(&owner.query("LHR", "JFK", 1).unwrap());
    let nobody = airline.person(1);
    let mut forged = airline.person(1);
    // The claims of the one under the signature of the other.
    let part = |cookie: &str, at: usize| cookie.split('.').nth(at).unwrap().to_owned();
    let signature = part(&other.cookie, 2);
    let signature = signature.split(';').next().unwrap();
    let head = owner.cookie.split('.').next().unwrap();
    forged.cookie = format!("{head}.{}.{signature}", part(&owner.cookie, 1));
    let form = "userid=uid1@email.com&toFlightId=a&toFlightSegId=AA1&oneWayFlight=true";
    let cancel = format!("number={booked}&userid=uid1@email.com");
    for (person, status) in [(&nobody, 401), (&forged, 401), (&other, 403)] {
        let answers = [
            person.get("/customer/byid/uid1@email.com"),
            person.post_json("/customer/byid/uid1@email.com", &owner.profile()),
            person.get("/booking/byuser/uid1@email.com"),
            person.post("/booking/bookflights", form),
            person.post("/booking/cancelbooking", &cancel),
        ];
        for answer in answers {
            assert_eq!(answer.status, status, "{}", answer.body);
        }
    }
    // Under the own name another's booking is none.
    assert_eq!(other.cancel(&booked).status, 404);
    assert_eq!(owner.bookings(), [booked]);
}

#[test]
fn after_a_logout_the_cookie_is_empty() {
    let airline = Airline::open(1);
    let person = airline.person(0).log_in();
    let cookies = person.post("/auth/logout", "").cookies.join("\n");
    assert!(
        cookies.contains("Bearer=; ") && cookies.contains("Max-Age=0"),
        "{cookies}"
    );
    let login = person.post("/auth/login", "login=uid0@email.com&password=password");
    let cookies = login.cookies.join("\n");
    assert!(
        cookies.contains("HttpOnly")
            && cookies.contains("SameSite=Strict")
            && cookies.contains("Max-Age=3600")
    );
}

#[test]
fn an_operator_in_a_form_is_text_and_logs_nobody_in() {
    let airline = Airline::open(2);
    let person = airline.person(0);
    for (form, status) in [
        ("login=uid0@email.com&password=wrong", 403),
        ("login=uid0@email.com&password[$ne]=x", 400),
        ("login[$ne]=x&password[$ne]=x", 400),
        ("login[$gt]=&password=password", 400),
        (
            "login=%7B%22%24ne%22%3A%22x%22%7D&password=%7B%22%24ne%22%3A%22x%22%7D",
            403,
        ),
        (
            "login=uid0@email.com&password=%7B%22%24ne%22%3Anull%7D",
            403,
        ),
        (
            "login=uid0@email.com'%7C%7C'1'%3D%3D'1&password='%7C%7C'1'%3D%3D'1",
            403,
        ),
        ("login=uid0@email.com%00&password=password", 400),
        ("login=.*&password=.*", 403),
        ("login=$where&password=password", 403),
    ] {
        assert_eq!(person.post("/auth/login", form).status, status, "{form}");
    }
    let person = person.log_in();
    // The same where a logged-in person speaks to the other databases.
    let booked = person.book(&person.query("LHR", "JFK", 1).unwrap());
    for number in ["%7B%22%24ne%22%3A1%7D", "$ne", "%7B%22%24gt%22%3A%22%22%7D"] {
        assert_eq!(person.cancel(number).status, 404, "{number}");
    }
    assert_eq!(
        person
            .post(
                "/booking/cancelbooking",
                "number[$ne]=x&userid=uid0@email.com"
            )
            .status,
        400
    );
    let form = format!(
        "fromAirport=%7B%22%24gt%22%3A%22%22%7D&toAirport=$ne&fromDate={}&oneWay=true",
        crate::rig::day(1)
    );
    let told = person.post("/flight/queryflights", &form).json();
    assert_eq!(told["tripFlights"][0]["flightsOptions"], json!([]));
    let profile = json!({ "_id": { "$ne": "x" }, "password": { "$ne": "x" } });
    assert_eq!(
        person
            .post_json("/customer/byid/uid0@email.com", &profile)
            .status,
        400
    );
    assert_eq!(person.bookings(), [booked]);
    assert_eq!(airline.failures(), 0);
}

#[test]
fn what_cannot_be_read_is_refused_and_never_an_error_of_ours() {
    let airline = Airline::open(1);
    let person = airline.person(0).log_in();
    let user = "userid=uid0@email.com";
    let forms: &[(&str, &[&str])] = &[
        (
            "/auth/login",
            &[
                "",
                "login",
                "login=a",
                "password=b",
                "login=&password=",
                "{\"login\":1}",
                "login=a&login=b&password=c",
                "login=%ff&password=x",
            ],
        ),
        (
            "/flight/queryflights",
            &[
                "",
                "fromAirport=LHR",
                "fromAirport=LHR&toAirport=JFK&fromDate=tomorrow&returnDate=x",
                "fromAirport=LHR&toAirport=JFK&fromDate=2026-02-30&oneWay=true",
                "fromAirport=LHR&toAirport=JFK&fromDate=2026-11-21&oneWay=perhaps",
                "fromAirport=LHR&toAirport=JFK&fromDate=2026-11-21",
            ],
        ),
        (
            "/flight/getrewardmiles",
            &["", "flightSegment=", "segment=AA1"],
        ),
        (
            "/booking/bookflights",
            &[
                "",
                user,
                "userid=uid0@email.com&toFlightId=x",
                "userid=uid0@email.com&toFlightId=x&toFlightSegId=y",
                "userid=uid0@email.com&toFlightId=x&toFlightSegId=y&oneWayFlight=1",
            ],
        ),
        ("/booking/cancelbooking", &["", user, "number=1"]),
    ];
    let refused = |answer: Answer, what: &str| {
        assert_eq!(answer.status, 400, "{what}: {}", answer.body);
        assert!(answer.body.contains("\"error\""), "{what}: {}", answer.body);
    };
    for (path, bodies) in forms {
        for body in *bodies {
            refused(person.post(path, body), &format!("{path} {body}"));
        }
    }
    let customer = "/customer/byid/uid0@email.com";
    for body in [
        json!(null),
        json!([]),
        json!({}),
        json!("x"),
        json!({ "_id": 7 }),
    ] {
        refused(
            person.post_json(customer, &body),
            &format!("{customer} {body}"),
        );
    }
    let mut another = person.profile();
    another["password"] = json!("password");
    another["_id"] = json!("uid1@email.com");
    refused(
        person.post_json(customer, &another),
        "another customer's profile",
    );
    let at = airline.customer.as_ref().unwrap().at;
    let path = "/customer/internal/updateCustomerTotalMiles/uid0@email.com";
    for body in [
        "",
        "miles=",
        "miles=many",
        "miles=1.5",
        "miles=99999999999999999999",
        "miles=50001",
    ] {
        refused(send(at, "POST", path, &[], body), &format!("{path} {body}"));
    }
    let large = "x".repeat(20 << 10);
    assert_eq!(person.post("/auth/login", &large).status, 400);
    assert_eq!(send(at, "POST", path, &[], &large).status, 413);
    assert_eq!(person.get("/auth/login").status, 405);
    assert_eq!(person.get("/nowhere").status, 404);
    // What services ask each other is not for people.
    assert_eq!(
        person
            .post(
                "/customer/internal/validateid",
                "login=uid0@email.com&password=password"
            )
            .status,
        404
    );
    assert_eq!(airline.failures(), 0);
}

#[test]
fn a_strange_login_is_nobody_and_breaks_nothing() {
    let airline = Airline::open(1);
    let person = airline.person(0);
    for login in [
        "%3B%20Path%3D%2F",
        "a%20b",
        "%C3%A9t%C3%A9",
        "%F0%9F%9B%A9",
        "..%2F..%2F",
    ] {
        let form = format!("login={login}&password=password");
        assert_eq!(person.post("/auth/login", &form).status, 403, "{login}");
    }
    assert_eq!(airline.auth.counted("acmeair_logins_total", "wrong"), 5);
    assert_eq!(airline.failures(), 0);
}
