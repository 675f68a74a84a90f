//! The database of a service: one client with its pool, every operation limited, timed and counted.

mod counts;
mod explain;
mod turns;

use std::sync::Arc;
use std::time::{Duration, Instant};

use mongodb::Client;
use mongodb::bson::{Document, doc};
use mongodb::event::EventHandler;
use mongodb::options::{ClientOptions, ServerAddress};
use serde::{Serialize, de::DeserializeOwned};
use tare_schema::load::Reach;
use tokio::sync::watch;

use crate::error::StartError;
use crate::refusal::Refusal;
pub use counts::{Counts, Op};
use explain::{Fault, explain};
use turns::Turns;

/// Between two tries while it cannot be reached.
const PAUSE_DOWN: Duration = Duration::from_millis(500);
/// Between two looks while nothing else speaks with it.
const PAUSE_UP: Duration = Duration::from_secs(5);
/// Port of MongoDB where a URI says none.
const PORT: u16 = 27017;
/// Longest pool; a mistake in a number is no reason to open a million connections.
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

/// Whether the database answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It was not yet reached.
    Trying(String),
    /// It answers.
    Up,
    /// It answered before and does not now.
    Down(String),
}

impl State {
    /// Its word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            State::Trying(_) => "trying",
            State::Up => "up",
            State::Down(_) => "down",
        }
    }

    /// Why it is not up.
    #[must_use]
    pub fn why(&self) -> Option<&str> {
        match self {
            State::Up => None,
            State::Trying(why) | State::Down(why) => Some(why),
        }
    }
}

/// Whether all addresses of a host are loopback or private ones: a name that has none yet could become anybody's.
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
        if Reach::Private.check(address.ip()).is_err() {
            return Err(elsewhere(format!("at {}", address.ip())));
        }
    }
    Ok(())
}

/// The database.
#[derive(Debug)]
pub struct Database {
    service: &'static str,
    database: mongodb::Database,
    /// Host and port, for people.
    pub hosts: String,
    limit: Duration,
    within: Option<Duration>,
    state: watch::Sender<State>,
    counts: Arc<Counts>,
    turns: Turns,
}

impl Database {
    /// A client for it. Nothing is connected yet.
    ///
    /// # Errors
    /// When the URI is none, its certificates cannot be read, or its host is elsewhere than it may be.
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
        // Before our own limit: the driver then says why no server would do, a refused certificate for one.
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
            state: watch::Sender::new(State::Trying("not yet asked".to_owned())),
            counts,
            turns: Turns::default(),
        })
    }

    /// A collection of it.
    #[must_use]
    pub fn collection<T: Serialize + DeserializeOwned + Send + Sync>(
        &self,
        name: &str,
    ) -> mongodb::Collection<T> {
        self.database.collection(name)
    }

    /// Whether it answers.
    #[must_use]
    pub fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// What was done with it.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Waits until it answers.
    ///
    /// # Errors
    /// Never while this database is there.
    pub async fn up(&self) {
        // An error says that the sender is gone, and it is ours.
        let _ = self
            .state
            .subscribe()
            .wait_for(|state| *state == State::Up)
            .await;
    }

    /// Does one operation. While the database is known to be away it is not even tried: whoever asks is told at once.
    ///
    /// # Errors
    /// It is away, takes too long, or says that something is wrong.
    pub async fn run<T>(
        &self,
        op: Op,
        doing: impl Future<Output = mongodb::error::Result<T>>,
    ) -> Result<T, Refusal> {
        if let Some(why) = self.state.borrow().why() {
            self.counts.refused.count();
            return Err(self.away(why));
        }
        self.limited(op, doing, self.limit).await
    }

    /// Does one operation that changes the document of this key, after all others of this process that do. FerretDB 1 reads a document
    /// and writes it back as two steps: of two changes at once the first would be lost, and two could take away the same.
    ///
    /// # Errors
    /// As [`Database::run`], and when the turn does not come in time; then nothing was done.
    pub async fn run_in_turn<T>(
        &self,
        key: &str,
        op: Op,
        doing: impl Future<Output = mongodb::error::Result<T>>,
    ) -> Result<T, Refusal> {
        let turn = tokio::time::timeout(self.limit, self.turns.of(key)).await;
        let _turn = turn.map_err(|_| {
            self.counts.late.count();
            Refusal::Unavailable(format!(
                "{key} was being changed by others for longer than {} ms",
                self.limit.as_millis()
            ))
        })?;
        self.run(op, doing).await
    }

    /// Does an operation on many documents, which may take longer.
    ///
    /// # Errors
    /// As [`Database::run`].
    pub async fn run_long<T>(
        &self,
        op: Op,
        doing: impl Future<Output = mongodb::error::Result<T>>,
    ) -> Result<T, Refusal> {
        self.limited(op, doing, Duration::from_secs(60)).await
    }

    async fn limited<T>(
        &self,
        op: Op,
        doing: impl Future<Output = mongodb::error::Result<T>>,
        limit: Duration,
    ) -> Result<T, Refusal> {
        let begun = Instant::now();
        let done = tokio::time::timeout(limit, doing).await;
        self.counts.op(op).took(begun.elapsed());
        match done {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => {
                self.counts.failed.count();
                let told = explain(&error);
                match told.fault {
                    Fault::Away => {
                        self.turn(Err(told.why.clone()));
                        Err(self.away(&told.why))
                    }
                    Fault::Answer => Err(Refusal::Behind(format!(
                        "the database refused: {}",
                        told.why
                    ))),
                }
            }
            Err(_) => {
                self.counts.late.count();
                Err(Refusal::Late(format!(
                    "the database at {} took longer than {} ms",
                    self.hosts,
                    limit.as_millis()
                )))
            }
        }
    }

    fn away(&self, why: &str) -> Refusal {
        Refusal::Unavailable(format!(
            "the database at {} is not there: {why}",
            self.hosts
        ))
    }

    /// Looks again and again whether it answers, says so when that changes, and returns only when it was given up at the start.
    pub async fn watched(self: Arc<Self>) -> StartError {
        let begun = Instant::now();
        loop {
            let asked = self.database.run_command(doc! { "ping": 1 });
            let answered = tokio::time::timeout(self.limit, asked).await;
            self.turn(match answered {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(error)) => Err(explain(&error).why),
                Err(_) => Err(format!("no answer in {} ms", self.limit.as_millis())),
            });
            let state = self.state();
            let pause = match &state {
                State::Up => PAUSE_UP,
                State::Trying(_) | State::Down(_) => PAUSE_DOWN,
            };
            if let (State::Trying(why), Some(within)) = (state, self.within)
                && begun.elapsed() > within
            {
                return StartError::Database {
                    service: self.service,
                    seconds: within.as_secs(),
                    why,
                };
            }
            // An operation that finds it away wakes us, to see when it is back.
            let mut changes = self.state.subscribe();
            let down = changes.wait_for(|state| matches!(state, State::Down(_)));
            if pause == PAUSE_UP {
                // Either way it is time to look.
                let _ = tokio::time::timeout(pause, down).await;
            }
            if pause == PAUSE_DOWN || self.state() != State::Up {
                tokio::time::sleep(PAUSE_DOWN).await;
            }
        }
    }

    /// Keeps what was found and says so when it is news.
    fn turn(&self, found: Result<(), String>) {
        let changed = self.state.send_if_modified(|state| {
            let next = match (found, &*state) {
                (Ok(()), _) => State::Up,
                (Err(why), State::Trying(_)) => State::Trying(why),
                (Err(why), State::Up | State::Down(_)) => State::Down(why),
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

    /// Makes an index.
    ///
    /// # Errors
    /// As [`Database::run`].
    pub async fn index(&self, collection: &str, keys: Document) -> Result<(), Refusal> {
        let model = mongodb::IndexModel::builder().keys(keys).build();
        let documents = self.database.collection::<Document>(collection);
        let made = async { documents.create_index(model).await };
        self.run_long(Op::CreateIndexes, made).await.map(drop)
    }

    /// Puts these documents in place of all that a collection holds.
    ///
    /// # Errors
    /// As [`Database::run`].
    pub async fn replace_all<T>(&self, collection: &str, with: &[T]) -> Result<(), Refusal>
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
