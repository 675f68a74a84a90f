//! An airline of five services over a database: users log in, search flights, book and cancel.
//!
//! `main` has the web page, `auth` issues tokens, `customer`, `flight` and `booking` each have a database of their own.

use std::future::pending;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use serving::ListenArgs;

use crate::database::{Database, DatabaseArgs};
use crate::error::StartError;
use crate::keyring::Keyring;
use crate::peer::Peer;
use crate::service::{Instrumented, Service};
use crate::services::auth::Auth;
use crate::services::booking::{Bookings, Miles};
use crate::services::customer::Customers;
use crate::services::flight::Flights;
use crate::services::front::Front;
use crate::token::{Issuer, SHIPPED_KEY};

mod airports;
mod api_error;
mod breaker;
mod database;
mod domain;
mod error;
mod form;
mod keyring;
mod peer;
mod retry;
mod service;
mod services;
mod signing;
mod token;

/// Acme Air: an airline of five services over a database that speaks the protocol of MongoDB.
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    service: Which,
}

/// The services.
#[derive(Debug, Subcommand)]
enum Which {
    /// The page for people, and the way to the other services.
    Main {
        #[command(flatten)]
        listening: ListenArgs,
        #[command(flatten)]
        behind: Behind,
    },
    /// Logs people in.
    Auth {
        #[command(flatten)]
        listening: ListenArgs,
        #[command(flatten)]
        calls: CallArgs,
        /// The service customer.
        #[arg(long, value_name = "HOST:PORT")]
        customer: String,
        /// RSA key that signs the tokens (PKCS#1, DER); without it one that anybody can read.
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
    },
    /// Profiles, logins and miles.
    Customer {
        #[command(flatten)]
        listening: ListenArgs,
        #[command(flatten)]
        calls: CallArgs,
        #[command(flatten)]
        database: DatabaseArgs,
        /// The service auth.
        #[arg(long, value_name = "HOST:PORT")]
        auth: String,
        /// Number of customers to load at the start; 0 loads none.
        #[arg(long, value_name = "N", default_value_t = 0)]
        load: u32,
    },
    /// Which flights there are.
    Flight {
        #[command(flatten)]
        listening: ListenArgs,
        #[command(flatten)]
        database: DatabaseArgs,
        /// Load all flights at the start.
        #[arg(long)]
        load: bool,
    },
    /// Books and cancels.
    Booking(BookingArgs),
}

/// How other services are called.
#[derive(Debug, Args)]
struct CallArgs {
    /// Milliseconds that a call to another service may take. A change of miles may take ten seconds.
    #[arg(long, value_name = "MS", default_value_t = 500)]
    call_timeout: u64,
}

impl CallArgs {
    fn timeout(&self) -> Duration {
        Duration::from_millis(self.call_timeout)
    }
}

/// What the service booking is told.
#[derive(Debug, Args)]
struct BookingArgs {
    #[command(flatten)]
    listening: ListenArgs,
    #[command(flatten)]
    calls: CallArgs,
    #[command(flatten)]
    database: DatabaseArgs,
    /// The service auth.
    #[arg(long, value_name = "HOST:PORT")]
    auth: String,
    /// The service customer.
    #[arg(long, value_name = "HOST:PORT")]
    customer: String,
    /// The service flight.
    #[arg(long, value_name = "HOST:PORT")]
    flight: String,
    /// Take away all bookings at the start.
    #[arg(long)]
    load: bool,
}

/// Where the other services are.
#[derive(Debug, Args)]
struct Behind {
    /// The service auth.
    #[arg(long, value_name = "HOST:PORT")]
    auth: String,
    /// The service customer.
    #[arg(long, value_name = "HOST:PORT")]
    customer: String,
    /// The service flight.
    #[arg(long, value_name = "HOST:PORT")]
    flight: String,
    /// The service booking.
    #[arg(long, value_name = "HOST:PORT")]
    booking: String,
    /// Milliseconds that a request may take at the service behind; longer than all timeouts of the other services.
    #[arg(long, value_name = "MS", default_value_t = 15_000)]
    call_timeout: u64,
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            serving::say(&format!("acmeair: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<(), StartError> {
    signing::install();
    let (Which::Main { listening, .. }
    | Which::Auth { listening, .. }
    | Which::Customer { listening, .. }
    | Which::Flight { listening, .. }
    | Which::Booking(BookingArgs { listening, .. })) = &cli.service;
    let runtime = listening.runtime()?;
    runtime.block_on(serve(cli.service))
}

async fn serve(service: Which) -> Result<(), StartError> {
    match service {
        Which::Main { listening, behind } => {
            let to = |name, at: &str| Peer::new("main", name, at);
            let peers = [
                to("auth", &behind.auth),
                to("customer", &behind.customer),
                to("flight", &behind.flight),
                to("booking", &behind.booking),
            ];
            let front = Front::new(peers, Duration::from_millis(behind.call_timeout));
            serve_until_signal(front, &listening, pending()).await
        }
        Which::Auth {
            listening,
            calls,
            customer,
            key,
        } => {
            let key = match key {
                Some(path) => std::fs::read(&path)
                    .map_err(|error| StartError::Key(format!("{}: {error}", path.display())))?,
                None => SHIPPED_KEY.to_vec(),
            };
            let customer = Peer::new("auth", "customer", &customer);
            let auth = Auth::new(Issuer::new(&key)?, customer, calls.timeout());
            serve_until_signal(auth, &listening, pending()).await
        }
        Which::Customer {
            listening,
            calls,
            database,
            auth,
            load,
        } => {
            let database = Arc::new(Database::new(&database, Customers::NAME).await?);
            let keyring = keyring(Customers::NAME, &auth, &calls);
            let customers = Customers::new(Arc::clone(&database), keyring);
            let loader = Arc::clone(&customers);
            let loading = (load > 0).then_some(async move { loader.load(load).await });
            serve_until_signal(customers, &listening, beside(database, loading)).await
        }
        Which::Flight {
            listening,
            database,
            load,
        } => {
            let database = Arc::new(Database::new(&database, Flights::NAME).await?);
            let flights = Flights::new(Arc::clone(&database));
            let loader = Arc::clone(&flights);
            let loading = load.then_some(async move { loader.load().await });
            serve_until_signal(flights, &listening, beside(database, loading)).await
        }
        Which::Booking(booking) => serve_booking(booking).await,
    }
}

async fn serve_booking(how: BookingArgs) -> Result<(), StartError> {
    let database = Arc::new(Database::new(&how.database, Bookings::NAME).await?);
    let keyring = keyring(Bookings::NAME, &how.auth, &how.calls);
    let to = |name, at: &str| Peer::new("booking", name, at);
    let (flight, customer) = (to("flight", &how.flight), to("customer", &how.customer));
    let miles = Miles::new(flight, customer, how.calls.timeout());
    tokio::spawn(Arc::clone(&miles).retry_deferred());
    let bookings = Bookings::new(Arc::clone(&database), keyring, miles);
    let loader = Arc::clone(&bookings);
    let loading = how.load.then_some(async move { loader.clear().await });
    serve_until_signal(bookings, &how.listening, beside(database, loading)).await
}

async fn serve_until_signal<S: Service>(
    service: Arc<S>,
    listening: &ListenArgs,
    beside: impl Future<Output = StartError>,
) -> Result<(), StartError> {
    let served = Instrumented::new(service);
    let admin = Arc::clone(&served).admin();
    serving::serve_until_signal(S::NAME, listening, served.router(), admin, beside).await
}

/// The keys of auth, fetched in the background as soon as it is up.
fn keyring(caller: &'static str, auth: &str, calls: &CallArgs) -> Arc<Keyring> {
    let auth = Peer::new(caller, "auth", auth);
    let keyring = Arc::new(Keyring::new(auth, calls.timeout()));
    let learning = Arc::clone(&keyring);
    tokio::spawn(async move { learning.fetch_first().await });
    keyring
}

/// Monitors the database and loads the data, if wanted; returns only if one of them fails.
async fn beside<T>(
    database: Arc<Database>,
    loading: Option<impl Future<Output = Result<T, api_error::ApiError>>>,
) -> StartError {
    let loading = async {
        if let Some(loading) = loading
            && let Err(api_error) = database.load_first(loading).await
        {
            return StartError::Load(api_error.to_string());
        }
        pending().await
    };
    tokio::select! {
        given_up = Arc::clone(&database).monitor() => given_up,
        failed = loading => failed,
    }
}
