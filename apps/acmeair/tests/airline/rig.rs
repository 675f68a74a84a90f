//! Starts the real binary as each of the services, and asks over real sockets as a person's browser would.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::database::{free_address, server};

/// Limit of everything that is waited for.
pub const LIMIT: Duration = Duration::from_secs(60);
/// Patience with a real database on a busy machine.
const PATIENT: &str = "--database-timeout=20000";
/// The same with other services: a call that takes too long opens their breaker.
const PATIENT_CALLS: &str = "--call-timeout=50000";

/// A running service; it is killed when the test lets go of it.
pub struct Running {
    child: Child,
    /// Where it serves.
    pub at: SocketAddr,
    admin: SocketAddr,
    said: Arc<Mutex<String>>,
}

impl Running {
    /// Starts a service with further arguments.
    pub fn start(service: &str, more: &[String]) -> Running {
        Running::start_at("127.0.0.1:0".parse().unwrap(), service, more)
    }

    /// Starts it at this address.
    pub fn start_at(at: SocketAddr, service: &str, more: &[String]) -> Running {
        let mut child = Command::new(env!("CARGO_BIN_EXE_acmeair"))
            .args([service, &format!("--listen={at}"), "--admin=127.0.0.1:0"])
            .args(more)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut address = |after: &str| -> SocketAddr {
            loop {
                let line = lines.next().expect("it says where it listens").unwrap();
                if let Some(at) = line.strip_prefix(after) {
                    return at.parse().unwrap();
                }
            }
        };
        let at = address(&format!("{service} listens on "));
        let admin = address(&format!("{service} admin listens on "));
        let said = Arc::new(Mutex::new(String::new()));
        let heard = Arc::clone(&said);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let mut heard = heard.lock().unwrap();
                heard.push_str(&line);
                heard.push('\n');
            }
        });
        Running {
            child,
            at,
            admin,
            said,
        }
    }

    /// Status and body of an administration page.
    pub fn admin(&self, path: &str) -> (u16, String) {
        let answer = send(self.admin, "GET", path, &[], "");
        (answer.status, answer.body)
    }

    /// What it tells about itself.
    pub fn status(&self) -> Value {
        serde_json::from_str(&self.admin("/status").1).unwrap()
    }

    /// The sum of all lines of a metric that hold this text.
    pub fn counted(&self, metric: &str, holding: &str) -> i64 {
        let (status, page) = self.admin("/metrics");
        assert_eq!(status, 200);
        let of_metric = page.lines().filter(|line| line.starts_with(metric));
        let counts = of_metric.filter(|line| line.contains(holding));
        counts
            .map(|line| line.rsplit(' ').next().unwrap().parse::<i64>().unwrap())
            .sum()
    }

    /// Waits until it says that it is ready.
    pub fn until_ready(&self) {
        until("it is ready", || {
            let (status, why) = self.admin("/ready");
            if status == 200 { Ok(()) } else { Err(why) }
        });
    }

    /// What it said after its addresses.
    pub fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Waits for its end.
    pub fn ended(&mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(began.elapsed() < LIMIT, "it is still there");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks again and again, within the limit.
pub fn until<T>(what: &str, mut ask: impl FnMut() -> Result<T, String>) -> T {
    let began = Instant::now();
    loop {
        match ask() {
            Ok(found) => return found,
            Err(why) => assert!(began.elapsed() < LIMIT, "not yet: {what}: {why}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Arguments for a service's database: one of its own at this URI.
pub fn database(uri: &str, service: &str) -> Vec<String> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let process = std::process::id();
    vec![
        format!("--database={uri}"),
        format!("--database-name=t{process}_{number}_{service}"),
        PATIENT.to_owned(),
    ]
}

/// All five services over one database.
pub struct Airline {
    pub main: Running,
    pub auth: Running,
    pub customer: Option<Running>,
    pub flight: Running,
    pub booking: Running,
    customer_arguments: Vec<String>,
    customer_at: SocketAddr,
}

impl Airline {
    /// Loaded and ready, with so many customers.
    pub fn open(customers: u32) -> Airline {
        let uri = server().uri();
        let at_auth = free_address();
        let to = |name: &str, at: SocketAddr| format!("--{name}={at}");
        let with = |name: &str, more: &[String]| [&database(&uri, name), more].concat();
        let patient = PATIENT_CALLS.to_owned();
        let loading = [
            patient.clone(),
            to("auth", at_auth),
            format!("--load={customers}"),
        ];
        let mut customer_arguments = with("customer", &loading);
        // It comes back where it was: at none of the ports that others' connections are given meanwhile.
        let customer = Running::start_at(free_address(), "customer", &customer_arguments);
        customer_arguments.pop();
        let checking = [patient.clone(), to("customer", customer.at)];
        let auth = Running::start_at(at_auth, "auth", &checking);
        let flight = Running::start("flight", &with("flight", &["--load".to_owned()]));
        let others = [
            to("auth", auth.at),
            to("customer", customer.at),
            to("flight", flight.at),
        ];
        let cleared = [others.as_slice(), &[patient.clone(), "--load".to_owned()]].concat();
        let booking = Running::start("booking", &with("booking", &cleared));
        let all = [others.as_slice(), &[patient, to("booking", booking.at)]].concat();
        let main = Running::start("main", &all);
        main.until_ready();
        Airline {
            main,
            auth,
            flight,
            booking,
            customer_arguments,
            customer_at: customer.at,
            customer: Some(customer),
        }
    }

    /// Ends customer in the middle of whatever it does.
    pub fn crash_customer(&mut self) {
        self.customer = None;
    }

    /// Starts it again where it was, with what it had.
    pub fn restart_customer(&mut self) {
        let again = Running::start_at(self.customer_at, "customer", &self.customer_arguments);
        again.until_ready();
        self.customer = Some(again);
    }

    /// A person at the page.
    pub fn person(&self, number: u32) -> Person {
        Person {
            at: self.main.at,
            login: format!("uid{number}@email.com"),
            cookie: String::new(),
        }
    }

    /// Requests that were answered with a status 5xx, by all services.
    pub fn failures(&self) -> i64 {
        let all = [&self.main, &self.auth, &self.flight, &self.booking];
        all.into_iter()
            .chain(&self.customer)
            .map(|service| service.counted("acmeair_failures_total", ""))
            .sum()
    }
}

/// A person with a browser that keeps cookies.
pub struct Person {
    at: SocketAddr,
    pub login: String,
    pub cookie: String,
}

impl Person {
    /// Logs in.
    pub fn log_in(mut self) -> Person {
        let form = format!("login={}&password=password", self.login);
        let answer = self.post("/auth/login", &form);
        assert_eq!((answer.status, answer.body.as_str()), (200, "logged in"));
        let cookies: Vec<&str> = answer
            .cookies
            .iter()
            .map(|line| line.split(';').next().unwrap())
            .collect();
        self.cookie = cookies.join("; ");
        assert!(self.cookie.contains("Bearer=") && self.cookie.contains("loggedinuser="));
        self
    }

    /// Posts a form.
    pub fn post(&self, path: &str, form: &str) -> Answer {
        let kind = ("Content-Type", "application/x-www-form-urlencoded");
        send(
            self.at,
            "POST",
            path,
            &[kind, ("Cookie", &self.cookie)],
            form,
        )
    }

    /// Posts JSON.
    pub fn post_json(&self, path: &str, json: &Value) -> Answer {
        let kind = ("Content-Type", "application/json");
        send(
            self.at,
            "POST",
            path,
            &[kind, ("Cookie", &self.cookie)],
            &json.to_string(),
        )
    }

    /// Gets a page.
    pub fn get(&self, path: &str) -> Answer {
        send(self.at, "GET", path, &[("Cookie", &self.cookie)], "")
    }

    /// The profile.
    pub fn profile(&self) -> Value {
        self.get(&format!("/customer/byid/{}", self.login)).json()
    }

    /// Numbers of all bookings.
    pub fn bookings(&self) -> Vec<String> {
        let all = self.get(&format!("/booking/byuser/{}", self.login)).json();
        let numbers = all.as_array().unwrap().iter();
        numbers
            .map(|booking| booking["_id"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The first flight between two airports, some days from today.
    pub fn query(&self, from: &str, to: &str, days: i32) -> Option<(String, String)> {
        let (there, back) = (day(days), day(days + 7));
        let form = format!(
            "fromAirport={from}&toAirport={to}&fromDate={there}&returnDate={back}&oneWay=false"
        );
        let told = self.post("/flight/queryflights", &form).json();
        assert_eq!(told["tripLegs"], 2);
        assert_eq!(
            told["tripFlights"][1]["flightsOptions"],
            serde_json::json!([])
        );
        let flight = told["tripFlights"][0]["flightsOptions"].get(0)?;
        let text = |name: &str| flight[name].as_str().unwrap().to_owned();
        Some((text("_id"), text("flightSegmentId")))
    }

    /// Books a flight.
    pub fn book(&self, (flight, segment): &(String, String)) -> String {
        let form = format!(
            "userid={}&toFlightId={flight}&toFlightSegId={segment}&oneWayFlight=true",
            self.login
        );
        let told = self.post("/booking/bookflights", &form).json();
        told["departBookingId"].as_str().unwrap().to_owned()
    }

    /// Cancels a booking.
    pub fn cancel(&self, number: &str) -> Answer {
        let form = format!("number={number}&userid={}", self.login);
        self.post("/booking/cancelbooking", &form)
    }
}

/// A day, so many from today (UTC).
pub fn day(days: i32) -> String {
    let today = jiff::Timestamp::now()
        .to_zoned_datetime(jiff::tz::TimeZone::UTC)
        .date();
    today
        .checked_add(jiff::Span::new().days(days))
        .unwrap()
        .to_string()
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub cookies: Vec<String>,
    pub body: String,
}

impl Answer {
    /// The body of a good answer.
    pub fn json(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.body);
        serde_json::from_str(&self.body).unwrap()
    }
}

/// Sends a request and reads to the end of the connection.
pub fn send(
    at: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let headers: String = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: acmeair\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let cookies = head
        .lines()
        .filter_map(|line| line.strip_prefix("set-cookie: "));
    Answer {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        cookies: cookies.map(str::to_owned).collect(),
        body: body.to_owned(),
    }
}
