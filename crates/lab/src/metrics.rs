//! Metrics of external instances, under the counter names of their target: from Jolokia, the page of a Prometheus
//! exporter, or JMX remote.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use tare_experiment::target::JmxDef;
use tare_record::counter::{CounterReading, CounterSource};
use tare_record::external::split;
use tare_record::load::AddressPolicy;
use tare_record::locate::locate;
use tare_record::metrics_source::{MetricsSourceDef, MetricsWay, password};

use crate::LabError;
use crate::connector::first_reachable;
use crate::counters::{BeanQuery, BeanValues, ExporterPage, bean_queries, bulk_request, of_beans};
use crate::http::{self, RequestOptions};
use crate::render::{Counter, Login, PORT};
use crate::subprocess::{self, StdIo};
use crate::targets::Target;
use crate::variables::ProgramKind;

/// Instances that are read concurrently.
const AT_ONCE: usize = 8;
/// Timeout of a reading for a trial: JMX remote starts a Java program for it.
const WITHIN: Duration = Duration::from_secs(20);
/// Maximum size of an answer over JMX remote.
const ANSWER_BYTES_MAX: usize = 32 << 20;
/// Maximum length of an error of the JMX remote program.
const REASON_LETTERS: usize = 400;

/// Reads the metrics of several instances from one kind of source.
#[derive(Debug)]
pub struct MetricsReader {
    way: MetricsWay,
    places: Vec<InstanceAddress>,
    counters: Vec<Counter>,
    bean_queries: Vec<BeanQuery>,
    jmx: JmxDef,
    remote: Vec<String>,
    login: Option<Login>,
    reach: AddressPolicy,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct InstanceAddress {
    /// As given by the user.
    named: String,
    /// `HOST:PORT`.
    authority: String,
    /// Path of its page; empty for JMX remote.
    path: String,
}

/// Metrics of one instance.
#[derive(Debug)]
pub struct MetricsReading {
    /// Its address, as given by the user.
    pub at: String,
    /// Time of its answer.
    pub when: Instant,
    /// All counters that it has; some may be missing.
    pub readings: Result<Vec<CounterReading>, LabError>,
}

impl MetricsReader {
    /// A reader of instances of this target; `login` is used for all of them.
    ///
    /// # Errors
    /// When the target has no counters in JMX beans, or the source names no kind, two kinds, or an invalid address.
    pub fn new(
        target: &Target,
        source: &MetricsSourceDef,
        login: Option<Login>,
        reach: AddressPolicy,
    ) -> Result<MetricsReader, LabError> {
        let Some(jmx) = target.def.jmx.clone() else {
            return Err(LabError::Plan(format!(
                "{} has no counters that are read from beans: its target.yaml needs `jmx`",
                target.def.target
            )));
        };
        let (way, named) = source.way().map_err(LabError::Plan)?;
        let place = |named: &String| place(way, named).map_err(|reason| unread(named, reason));
        let places = named
            .iter()
            .map(place)
            .collect::<Result<Vec<InstanceAddress>, _>>()?;
        if let Some(login) = &login
            && [&login.user, &login.password]
                .iter()
                .any(|text| text.contains(char::is_control))
        {
            return Err(LabError::Plan(String::from(
                "the user or the password for metrics holds a control character: take it out",
            )));
        }
        let counters: Vec<Counter> = of_no_listener(target);
        let sources = counters.iter().filter_map(|counter| match &counter.source {
            CounterSource::Jmx(from) => Some(from),
            _ => None,
        });
        let bean_queries = bean_queries(sources).map_err(LabError::Plan)?;
        let folder = std::path::absolute(&target.folder)
            .map_err(LabError::io(format!("find {}", target.folder.display())))?;
        Ok(MetricsReader {
            way,
            places,
            bean_queries,
            counters,
            remote: in_folder(&jmx.remote, &folder),
            jmx,
            login,
            reach,
        })
    }

    /// The same with the login of the source, whose password is read here.
    ///
    /// # Errors
    /// As [`MetricsReader::new`], and when the password cannot be read.
    pub fn open(
        target: &Target,
        source: &MetricsSourceDef,
        reach: AddressPolicy,
    ) -> Result<MetricsReader, LabError> {
        let login = source.user.as_ref().map(|user| {
            let (env, file) = (&source.password_env, &source.password_file);
            let password = password(user, env.as_deref(), file.as_deref())?;
            let user = user.clone();
            Ok(Login { user, password })
        });
        let login = login.transpose().map_err(LabError::Plan)?;
        MetricsReader::new(target, source, login, reach)
    }

    /// The instances, as given by the user.
    pub fn instances(&self) -> impl Iterator<Item = &str> {
        self.places.iter().map(|place| place.named.as_str())
    }

    /// Reads the instances that `wanted` selects, several concurrently, each for at most `within`.
    #[must_use]
    pub fn read(&self, wanted: impl Fn(&str) -> bool, within: Duration) -> Vec<MetricsReading> {
        let wanted = self.places.iter().filter(|place| wanted(&place.named));
        let places: Vec<&InstanceAddress> = wanted.collect();
        let mut all = Vec::new();
        for some in places.chunks(AT_ONCE) {
            thread::scope(|scope| {
                let readers: Vec<_> = some
                    .iter()
                    .map(|place| scope.spawn(move || self.read_one(place, within)))
                    .collect();
                for (place, reader) in some.iter().zip(readers) {
                    all.push(reader.join().unwrap_or_else(|_| MetricsReading {
                        at: place.named.clone(),
                        when: Instant::now(),
                        readings: Err(unread(
                            &place.named,
                            "the connection was lost while reading".to_owned(),
                        )),
                    }));
                }
            });
        }
        all
    }

    /// All metrics of the first instance.
    /// Errors: why it could not be read, with the next step.
    pub(crate) fn read_first(&self) -> Result<Vec<CounterReading>, LabError> {
        match self.places.first() {
            Some(place) => self.read_one(place, WITHIN).readings,
            None => Ok(Vec::new()),
        }
    }

    fn read_one(&self, place: &InstanceAddress, within: Duration) -> MetricsReading {
        let answer = self.ask(place, within);
        let when = Instant::now();
        let readings = answer.and_then(|text| self.parse_readings(&text));
        MetricsReading {
            at: place.named.clone(),
            when,
            readings: readings.map_err(|reason| unread(&place.named, reason)),
        }
    }

    /// The answer of an instance as text.
    fn ask(&self, place: &InstanceAddress, within: Duration) -> Result<String, String> {
        let begun = Instant::now();
        let address = self.reachable(place, within)?;
        let left = within.saturating_sub(begun.elapsed());
        match self.way {
            MetricsWay::Jolokia => {
                let query = bulk_request(&self.bean_queries);
                self.page(place, address, Some(&query), left)
            }
            MetricsWay::Prometheus => self.page(place, address, None, left),
            MetricsWay::Jmx => self.beans(address, left),
        }
    }

    /// The first of its addresses that may be called and accepts a connection.
    fn reachable(&self, place: &InstanceAddress, within: Duration) -> Result<SocketAddr, String> {
        let known = place.authority.to_socket_addrs();
        let known =
            known.map_err(|error| format!("its name leads nowhere ({error}): correct it"))?;
        let nothing = "its name has no address: correct it".to_owned();
        let refused = |address, error| {
            format!(
                "no connection to {address} ({error}): is this the right port, and does it listen there?"
            )
        };
        first_reachable(known, (self.reach, within), nothing, refused)
    }

    fn page(
        &self,
        place: &InstanceAddress,
        address: SocketAddr,
        query: Option<&str>,
        within: Duration,
    ) -> Result<String, String> {
        let options = RequestOptions {
            json_body: query,
            login: self.login.as_ref(),
        };
        let page = http::get_or_post_at(address, (&place.authority, &place.path), options, within)
            .map_err(|reason| format!("{reason}; does it speak HTTP without TLS there?"))?;
        match (page.status, &self.login) {
            (200, _) => Ok(page.text),
            (401 | 403, None) => Err(format!(
                "it wants a user and a password (status {}): name the user (--metrics-user, or `user` beside the addresses) and where the password is",
                page.status
            )),
            (401 | 403, Some(login)) => Err(format!(
                "the user {} or the password is not accepted (status {})",
                login.user, page.status
            )),
            (404, _) => Err(format!(
                "nothing is at {} (status 404): give the whole address, http://HOST:PORT/PATH",
                place.path
            )),
            (status, _) => Err(format!("it answers with status {status}, not 200")),
        }
    }

    /// Queries JMX remote through a Java program of the target, which connects to this address and no other.
    fn beans(&self, address: SocketAddr, within: Duration) -> Result<String, String> {
        let java = self.remote.first().map_or("java", String::as_str);
        let Some(program) = locate(java) else {
            return Err(format!(
                "there is no {java} here, which JMX remote needs: install default-jdk-headless (Java 17 or newer), or read metrics by jolokia or prometheus"
            ));
        };
        let program = program.display().to_string();
        let words: Vec<String> = std::iter::once(program)
            .chain(self.remote.iter().skip(1).cloned())
            .collect();
        let (user, password) = match &self.login {
            Some(login) => (login.user.as_str(), login.password.as_str()),
            None => ("", ""),
        };
        let mut input = format!("{}\n{}\n{user}\n{password}\n", address.ip(), address.port());
        for query in &self.bean_queries {
            input += &format!("{}\t{}\n", query.bean, query.attributes.join("\t"));
        }
        let stdio = StdIo {
            input: &input,
            output_bytes_max: ANSWER_BYTES_MAX,
        };
        let begun = Instant::now();
        let output = subprocess::run_with(&words, ProgramKind::Plain, stdio, within).map_err(|reason| {
            match begun.elapsed() >= within {
                true => format!(
                    "no whole answer within {:.0} s: is this a port of JMX remote (RMI without TLS)?",
                    within.as_secs_f64()
                ),
                false => reason,
            }
        })?;
        match output.success {
            true if output.stdout.len() >= ANSWER_BYTES_MAX => Err(format!(
                "the answer has more than {ANSWER_BYTES_MAX} bytes: read metrics by jolokia or prometheus"
            )),
            true => Ok(output.stdout),
            false => Err(output.last_line().chars().take(REASON_LETTERS).collect()),
        }
    }

    fn parse_readings(&self, text: &str) -> Result<Vec<CounterReading>, String> {
        let (readings, refusal) = match self.way {
            MetricsWay::Prometheus => {
                let page = ExporterPage::parse(text)?;
                let rules = &self.jmx.exported;
                let found = of_beans(&self.counters, |from| page.find(from, rules))?;
                (found, None)
            }
            MetricsWay::Jolokia | MetricsWay::Jmx => {
                let answers = BeanValues::parse(text, &self.bean_queries)?;
                let found = of_beans(&self.counters, |from| answers.find(from))?;
                (found, answers.refusal)
            }
        };
        match readings.iter().any(|reading| reading.name == self.jmx.sign) {
            true => Ok(readings),
            false => Err(refusal.unwrap_or_else(|| {
                format!(
                    "it answers, but not with what such a process counts (there is no {}): is this the right process, and do its rules export it?",
                    self.jmx.sign.trim_start_matches("x-")
                )
            })),
        }
    }
}

/// Counters of a target that are read from beans and belong to the whole instance: the listener names of an external
/// instance are not known.
fn of_no_listener(target: &Target) -> Vec<Counter> {
    let counters = target.def.counters.iter();
    let own = counters.filter(|counter| match &counter.from {
        CounterSource::Jmx(from) => !from.bean.contains(PORT),
        _ => false,
    });
    own.map(Counter::of).collect()
}

fn in_folder(words: &[String], folder: &Path) -> Vec<String> {
    let folder = folder.display().to_string();
    let word = |word: &String| word.replace("{{ folder }}", &folder);
    words.iter().map(word).collect()
}

fn unread(at: &str, reason: String) -> LabError {
    LabError::Metrics {
        at: at.to_owned(),
        reason,
    }
}

/// Parses the address of a page or of JMX remote.
fn place(way: MetricsWay, named: &str) -> Result<InstanceAddress, String> {
    let usual = match way {
        MetricsWay::Jolokia => "/jolokia/",
        MetricsWay::Prometheus => "/metrics",
        MetricsWay::Jmx => "",
    };
    let form = match way {
        MetricsWay::Jmx => "write HOST:PORT",
        _ => "write http://HOST:PORT/PATH or HOST:PORT",
    };
    let wrong = |what: &str| format!("{what}: {form}");
    if named.starts_with("https://") {
        return Err(wrong("metrics are not read over TLS"));
    }
    let url = match way {
        MetricsWay::Jmx if named.contains('/') => return Err(wrong("this is not an address")),
        _ if named.contains("://") => named.to_owned(),
        _ => format!("http://{named}"),
    };
    let (authority, path) = http::split(&url).map_err(|reason| wrong(&reason))?;
    if authority.contains('@') {
        return Err(wrong("a password in an address is seen by everybody"));
    }
    let port = authority
        .rsplit_once(':')
        .map(|(_, port)| port.parse::<u16>());
    let Some(Ok(1..)) = port else {
        return Err(wrong("this address has no port"));
    };
    if split(authority).is_none() {
        return Err(wrong("this is not an address"));
    }
    Ok(InstanceAddress {
        named: named.to_owned(),
        authority: authority.to_owned(),
        path: match path {
            "/" => usual.to_owned(),
            path => path.to_owned(),
        },
    })
}

#[cfg(test)]
mod tests;
