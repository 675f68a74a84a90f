//! The database client of a service: one connection pool; every operation is limited, timed and counted.

mod counts;
mod explain;
mod keyed_locks;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mongodb::Client;
use mongodb::bson::{Document, doc};
use mongodb::event::EventHandler;
use mongodb::options::{ClientOptions, ServerAddress};
use serde::{Serialize, de::DeserializeOwned};
use tare_record::load::AddressPolicy;
use tokio::sync::watch;

use crate::api_error::ApiError;
use crate::error::StartError;
pub use counts::{Counts, Op};
use explain::{DatabaseFault, explain};
use keyed_locks::KeyedLocks;

/// Pause between pings while it cannot be reached.
const PAUSE_DOWN: Duration = Duration::from_millis(500);
/// Pause between pings while it is up.
const PAUSE_UP: Duration = Duration::from_secs(5);
/// MongoDB's default port.
const PORT: u16 = 27017;
/// Largest pool size accepted: guards against typing errors.
const POOL_MAX: u32 = 10_000;

/// Where the database is, and how it is used.
#[derive(Debug, Clone, clap::Args)]
pub struct DatabaseArgs {
    /// Its MongoDB URI. TLS: `mongodb://host:port/?tls=true&tlsCAFile=/path/ca.pem`; the host's name is checked, and sent as SNI.
    #[arg(long, value_name = "URI")]
    pub database: String,
    /// Refuse a database whose host has an address that is neither loopback nor private.
    #[arg(long)]
    pub private_database: bool,
    /// Name of this service's own database. Default: acmeair_ and the service's name.
    #[arg(long, value_name = "NAME")]
    pub database_name: Option<String>,
    /// Connections at most, when the URI does not say (maxPoolSize).
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=i64::from(POOL_MAX)))]
    pub database_pool: u32,
    /// Connections that are kept open from the start, when the URI does not say (minPoolSize).
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub database_pool_min: u32,
    /// Milliseconds after which an idle connection is closed; 0 keeps them. 1 is as near to no pool as the driver comes.
    #[arg(long, value_name = "MS", default_value_t = 0)]
    pub database_idle: u64,
    /// Milliseconds that one operation may take.
    #[arg(long, value_name = "MS", default_value_t = 2000)]
    pub database_timeout: u64,
    /// Seconds to go on trying when it cannot be reached at the start; 0 gives up never.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub database_within: u64,
}

/// Whether the database is reachable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatabaseState {
    /// Not reached yet.
    Trying(String),
    /// Reachable.
    Up,
    /// Reached before, but not now.
    Down(String),
}

impl DatabaseState {
    /// Its name.
    pub fn word(&self) -> &'static str {
        match self {
            DatabaseState::Trying(_) => "trying",
            DatabaseState::Up => "up",
            DatabaseState::Down(_) => "down",
        }
    }

    /// Why it is not reachable.
    pub fn why(&self) -> Option<&str> {
        match self {
            DatabaseState::Up => None,
            DatabaseState::Trying(why) | DatabaseState::Down(why) => Some(why),
        }
    }
}

/// Checks that all addresses of a host are loopback or private. A name without an address is refused: it could get any later.
async fn is_private(host: &ServerAddress) -> Result<(), StartError> {
    let ServerAddress::Tcp { host, port } = host else {
        return Ok(());
    };
    let elsewhere = |found: String| StartError::Elsewhere {
        host: host.clone(),
        found,
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let found = tokio::net::lookup_host((bare, port.unwrap_or(PORT)))
        .await
        .map_err(|error| elsewhere(format!("which is not found ({error})")))?;
    for address in found {
        if AddressPolicy::Private.check(address.ip()).is_err() {
            return Err(elsewhere(format!("at {}", address.ip())));
        }
    }
    Ok(())
}

#[derive(Debug)]
pub struct Database {
    service: &'static str,
    database: mongodb::Database,
    /// Host and port, for messages.
    pub hosts: String,
    limit: Duration,
    within: Option<Duration>,
    state: watch::Sender<DatabaseState>,
    counts: Arc<Counts>,
    keyed_locks: KeyedLocks,
    /// Whether the initial load is done, if there is one.
    loaded: AtomicBool,
}

impl Database {
    /// Creates a client. Nothing is connected yet.
    /// Fails if the URI or a certificate file is invalid, or the host's address is not allowed.
    pub async fn new(args: &DatabaseArgs, service: &'static str) -> Result<Database, StartError> {
        let wrong = |error: mongodb::error::Error| StartError::Uri(explain(&error).why);
        let mut options = ClientOptions::parse(&args.database).await.map_err(wrong)?;
        if args.private_database {
            for host in &options.hosts {
                is_private(host).await?;
            }
        }
        let limit = Duration::from_millis(args.database_timeout.max(1));
        options
            .app_name
            .get_or_insert_with(|| format!("acmeair-{service}"));
        // Shorter than our own limit, so that the driver reports why no server was usable, such as a rejected certificate.
        options
            .server_selection_timeout
            .get_or_insert(limit - limit / 10);
        options.connect_timeout.get_or_insert(limit);
        options.max_pool_size.get_or_insert(args.database_pool);
        options.min_pool_size.get_or_insert(args.database_pool_min);
        if args.database_idle > 0 {
            let idle = Duration::from_millis(args.database_idle);
            options.max_idle_time.get_or_insert(idle);
        }
        let counts = Arc::new(Counts::default());
        let seen = Arc::clone(&counts);
        options.cmap_event_handler =
            Some(EventHandler::callback(move |event| seen.connection(&event)));
        let hosts: Vec<String> = options.hosts.iter().map(ToString::to_string).collect();
        let name = args
            .database_name
            .clone()
            .or_else(|| options.default_database.clone());
        let name = name.unwrap_or_else(|| format!("acmeair_{service}"));
        let client = Client::with_options(options).map_err(wrong)?;
        let within = Some(args.database_within).filter(|seconds| *seconds > 0);
        Ok(Database {
            service,
            database: client.database(&name),
            hosts: hosts.join(","),
            limit,
            within: within.map(Duration::from_secs),
            state: watch::Sender::new(DatabaseState::Trying("not yet asked".to_owned())),
            counts,
            keyed_locks: KeyedLocks::default(),
            loaded: AtomicBool::new(true),
        })
    }

    pub fn collection<T: Serialize + DeserializeOwned + Send + Sync>(
        &self,
        name: &str,
    ) -> mongodb::Collection<T> {
        self.database.collection(name)
    }

    /// The current state.
    pub fn state(&self) -> DatabaseState {
        self.state.borrow().clone()
    }

    /// The counters.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Waits until the database is up.
    async fn up(&self) {
        // An error means that the sender is gone, and it is ours.
        let _ = self
            .state
            .subscribe()
            .wait_for(|state| *state == DatabaseState::Up)
            .await;
    }

    /// Runs the initial load once the database is up; not ready before.
    pub async fn load_first<T>(
        &self,
        loading: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        self.loaded.store(false, Ordering::Relaxed);
        self.up().await;
        let loaded = loading.await?;
        self.loaded.store(true, Ordering::Relaxed);
        Ok(loaded)
    }

    /// Whether it is reachable and loaded; if not, what is missing.
    pub fn ready(&self) -> Result<(), String> {
        if let Some(why) = self.state.borrow().why() {
            return Err(format!("the database at {}: {why}", self.hosts));
        }
        match self.loaded.load(Ordering::Relaxed) {
            true => Ok(()),
            false => Err("its data are being loaded".to_owned()),
        }
    }

    /// Runs one operation. Fails at once, without trying, while the database is known to be unreachable.
    /// Fails if the database is unreachable, takes too long, or returns an error.
    pub async fn run<T>(
        &self,
        op: Op,
        doing: impl Future<Output = mongodb::error::Result<T>>,
    ) -> Result<T, ApiError> {
        if let Some(why) = self.state.borrow().why() {
            self.counts.refused.count();
            return Err(self.unavailable(why));
        }
        self.limited(op, doing, self.limit).await
    }

    /// Runs one operation that changes the document of this key, after earlier ones of this process. FerretDB 1 reads a
    /// document and writes it back in two steps: of two concurrent changes, one would be lost, and two deletions could both
    /// succeed.
    /// Errors: as [`Database::run`], and if the lock is not free in time; nothing was done then.
    pub async fn run_locked<T>(
        &self,
        key: &str,
        op: Op,
        doing: impl Future<Output = mongodb::error::Result<T>>,
    ) -> Result<T, ApiError> {
        let turn = tokio::time::timeout(self.limit, self.keyed_locks.lock(key)).await;
        let _turn = turn.map_err(|_| {
            self.counts.late.count();
            ApiError::Unavailable(format!(
                "{key} was being changed by others for longer than {} ms",
                self.limit.as_millis()
            ))
        })?;
        self.run(op, doing).await
    }

    /// Runs an operation on many documents, with a longer timeout.
    /// Errors: as [`Database::run`].
    pub async fn run_long<T>(
        &self,
        op: Op,
        doing: impl Future<Output = mongodb::error::Result<T>>,
    ) -> Result<T, ApiError> {
        self.limited(op, doing, Duration::from_secs(60)).await
    }

    async fn limited<T>(
        &self,
        op: Op,
        doing: impl Future<Output = mongodb::error::Result<T>>,
        limit: Duration,
    ) -> Result<T, ApiError> {
        let begun = Instant::now();
        let done = tokio::time::timeout(limit, doing).await;
        self.counts.op(op).took(begun.elapsed());
        match done {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => {
                self.counts.failed.count();
                let explained = explain(&error);
                match explained.fault {
                    DatabaseFault::Unreachable => {
                        self.turn(Err(explained.why.clone()));
                        Err(self.unavailable(&explained.why))
                    }
                    DatabaseFault::Rejected => Err(ApiError::BadGateway(format!(
                        "the database refused: {}",
                        explained.why
                    ))),
                }
            }
            Err(_) => {
                self.counts.late.count();
                Err(ApiError::Timeout(format!(
                    "the database at {} took longer than {} ms",
                    self.hosts,
                    limit.as_millis()
                )))
            }
        }
    }

    fn unavailable(&self, why: &str) -> ApiError {
        ApiError::Unavailable(format!(
            "the database at {} is not there: {why}",
            self.hosts
        ))
    }

    /// Pings the database, logs changes of its state, and returns only if it was not reached at the start within the limit.
    pub async fn monitor(self: Arc<Self>) -> StartError {
        let begun = Instant::now();
        loop {
            let ping = self.database.run_command(doc! { "ping": 1 });
            let answered = tokio::time::timeout(self.limit, ping).await;
            self.turn(match answered {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(error)) => Err(explain(&error).why),
                Err(_) => Err(format!("no answer in {} ms", self.limit.as_millis())),
            });
            let state = self.state();
            let pause = match &state {
                DatabaseState::Up => PAUSE_UP,
                DatabaseState::Trying(_) | DatabaseState::Down(_) => PAUSE_DOWN,
            };
            if let (DatabaseState::Trying(why), Some(within)) = (state, self.within)
                && begun.elapsed() > within
            {
                return StartError::Database {
                    service: self.service,
                    seconds: within.as_secs(),
                    why,
                };
            }
            // An operation that finds it unreachable wakes this task.
            let mut changes = self.state.subscribe();
            let down = changes.wait_for(|state| matches!(state, DatabaseState::Down(_)));
            if pause == PAUSE_UP {
                // Ping in both cases.
                let _ = tokio::time::timeout(pause, down).await;
            }
            if pause == PAUSE_DOWN || self.state() != DatabaseState::Up {
                tokio::time::sleep(PAUSE_DOWN).await;
            }
        }
    }

    /// Stores the state and logs a change.
    fn turn(&self, found: Result<(), String>) {
        let changed = self.state.send_if_modified(|state| {
            let next = match (found, &*state) {
                (Ok(()), _) => DatabaseState::Up,
                (Err(why), DatabaseState::Trying(_)) => DatabaseState::Trying(why),
                (Err(why), DatabaseState::Up | DatabaseState::Down(_)) => DatabaseState::Down(why),
            };
            let news = next != *state;
            *state = next;
            news
        });
        if changed {
            let (service, hosts) = (self.service, &self.hosts);
            let state = self.state();
            let why = state
                .why()
                .map_or_else(String::new, |why| format!(": {why}"));
            serving::say(&format!(
                "{service}: the database at {hosts} is {}{why}",
                state.word()
            ));
        }
    }

    /// Creates an index.
    /// Errors: as [`Database::run`].
    pub async fn index(&self, collection: &str, keys: Document) -> Result<(), ApiError> {
        let model = mongodb::IndexModel::builder().keys(keys).build();
        let documents = self.database.collection::<Document>(collection);
        let made = async { documents.create_index(model).await };
        self.run_long(Op::CreateIndexes, made).await.map(drop)
    }

    /// Replaces all documents of a collection.
    /// Errors: as [`Database::run`].
    pub async fn replace_all<T>(&self, collection: &str, with: &[T]) -> Result<(), ApiError>
    where
        T: Serialize + DeserializeOwned + Send + Sync,
    {
        let documents = self.collection::<T>(collection);
        let emptied = async { documents.delete_many(doc! {}).await };
        self.run_long(Op::Delete, emptied).await?;
        for some in with.chunks(1000) {
            let inserted = async { documents.insert_many(some).await };
            self.run_long(Op::Insert, inserted).await?;
        }
        Ok(())
    }
}
