//! The run keeper: the one address that the keepers of all pods connect to, and the conductor. It passes messages on
//! and measures nothing. When the conductor is gone, it ends all pods.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustls::ServerConfig;
use serde::{Deserialize, Serialize};
use tare_net::link::RoundTrips;
use tare_record::load::AddressPolicy;

use super::clock;
use super::connection::Peer;
use super::greeting::{GREETING_WITHIN, Hello, Within, failed, let_in, server_config};
use super::message::{CONDUCTOR, RunEvent, RunOrder, of_pod, pack, unpack};
use super::own_namespace::{self, OwnNamespace};
use crate::LabError;
use crate::connector::reachable;
use crate::keeper::lock;
use crate::process;

/// Interval of looking for peers that are gone.
const LOOK: Duration = Duration::from_millis(100);
/// Timeout of a round trip.
const ROUND_TRIP_LIMIT: Duration = Duration::from_secs(2);
/// Time for all of them: meanwhile nothing else is passed on.
const ROUND_TRIPS_LIMIT: Duration = Duration::from_secs(5);
/// Pause between two round trips.
const ROUND_TRIP_PAUSE: Duration = Duration::from_millis(1);
/// Connections that may be in their greeting besides those of the pods that are expected.
const STRANGERS_MAX: usize = 8;
/// Time for the last word to reach the pods.
const FAREWELL: Duration = Duration::from_millis(500);

/// What a run keeper is told.
#[derive(Clone, Serialize, Deserialize)]
pub struct RunKeeperConfig {
    pub port: u16,
    /// Certificate and key of the server, in PEM form.
    pub certificate: String,
    pub key: String,
    /// Known to nobody else but the conductor: the token of each peer is made of it and its name.
    pub secret: String,
    /// A peer without a word for so long is gone.
    pub silence_ms: u64,
    /// Deleted at the end.
    #[serde(default)]
    pub namespace: Option<OwnNamespace>,
}

struct RunKeeper {
    secret: String,
    /// Differs with every process.
    instance: u64,
    tls: Arc<ServerConfig>,
    silence: Duration,
    conductor: Arc<Peer>,
    conductor_instance: Mutex<Option<u64>>,
    /// Names of pods that may connect, or have.
    expected: Mutex<BTreeSet<String>>,
    pods: Mutex<BTreeMap<String, Pod>>,
    greeting: Greeting,
}

/// Connections that are not greeted yet, the oldest first.
#[derive(Default)]
struct Greeting(Mutex<(u64, BTreeMap<u64, TcpStream>)>);

impl Greeting {
    /// Takes note of one. Beyond `most` the oldest is cut.
    fn begin(&self, socket: &TcpStream, most: usize) -> std::io::Result<u64> {
        let socket = socket.try_clone()?;
        let mut known = lock(&self.0);
        known.0 += 1;
        let number = known.0;
        known.1.insert(number, socket);
        while known.1.len() > most
            && let Some((_, oldest)) = known.1.pop_first()
        {
            let _ = oldest.shutdown(Shutdown::Both);
        }
        Ok(number)
    }

    fn end(&self, number: u64) {
        lock(&self.0).1.remove(&number);
    }
}

struct Pod {
    peer: Arc<Peer>,
    instance: u64,
}

/// Runs until the conductor ends the run or is gone.
///
/// # Errors
/// When the port cannot be used, or a key.
pub fn run_keeper_main(config: &RunKeeperConfig) -> Result<(), LabError> {
    crate::sys::ignore_interrupts();
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, config.port))
        .map_err(LabError::io(format!("listen on port {}", config.port)))?;
    let keeper = RunKeeper::start(config, listener)?;
    let why = loop {
        process::pause(LOOK);
        if let Some(reason) = keeper.conductor.ended() {
            break reason;
        }
        if keeper.conductor.silent_for() > keeper.silence {
            break format!(
                "nothing was heard of the conductor for {:?}",
                keeper.silence
            );
        }
        keeper.forget_lost_pods();
    };
    keeper.conductor.end(&why);
    for pod in lock(&keeper.pods).values() {
        pod.peer.end(&why);
    }
    process::pause(FAREWELL);
    config.namespace.iter().for_each(own_namespace::delete);
    Ok(())
}

/// Connects again and again: each connection takes a round trip.
fn round_trips(to: SocketAddr, count: u32) -> RoundTrips {
    let (mut sent, mut answered) = (0, Vec::new());
    let deadline = Instant::now() + ROUND_TRIPS_LIMIT;
    while sent < u64::from(count) && Instant::now() < deadline {
        sent += 1;
        let began = Instant::now();
        if TcpStream::connect_timeout(&to, ROUND_TRIP_LIMIT).is_ok() {
            answered.push(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
        }
        process::pause(ROUND_TRIP_PAUSE);
    }
    RoundTrips::from_durations(sent, answered)
}

impl RunKeeper {
    /// Lets peers in.
    fn start(config: &RunKeeperConfig, listener: TcpListener) -> Result<Arc<RunKeeper>, LabError> {
        let keeper = Arc::new(RunKeeper {
            secret: config.secret.clone(),
            instance: clock::now_ns() ^ u64::from(std::process::id()) << 32,
            tls: server_config(&config.certificate, &config.key).map_err(LabError::Keeper)?,
            silence: Duration::from_millis(config.silence_ms),
            conductor: Peer::new().map_err(LabError::io("make a session"))?,
            conductor_instance: Mutex::new(None),
            expected: Mutex::default(),
            pods: Mutex::default(),
            greeting: Greeting::default(),
        });
        let accepting = Arc::clone(&keeper);
        std::thread::Builder::new()
            .name(String::from("accept"))
            .spawn(move || {
                listener
                    .incoming()
                    .flatten()
                    .for_each(|socket| accepting.accept(socket))
            })
            .map_err(LabError::io("accept connections"))?;
        Ok(keeper)
    }

    fn accept(self: &Arc<RunKeeper>, socket: TcpStream) {
        let most = lock(&self.expected).len() + STRANGERS_MAX;
        let Ok(number) = self.greeting.begin(&socket, most) else {
            return;
        };
        let keeper = Arc::clone(self);
        let started = std::thread::Builder::new()
            .name(String::from("peer"))
            .spawn(move || keeper.serve(socket, number));
        // Without a thread the caller tries again.
        if started.is_err() {
            self.greeting.end(number);
        }
    }

    fn serve(&self, socket: TcpStream, number: u64) {
        let _ = socket.set_nodelay(true);
        let known = (self.secret.as_str(), self.instance);
        let greeted = Within::new(socket, GREETING_WITHIN)
            .map_err(failed)
            .and_then(|socket| let_in(socket, &self.tls, known, |hello| self.find(hello)));
        self.greeting.end(number);
        // A stranger, or a connection that was cut: who was refused has been told why.
        let Ok((link, peer, hello)) = greeted else {
            return;
        };
        if hello.name == CONDUCTOR {
            peer.serve(link, &mut |message| self.pass_to_pod(&message));
        } else {
            peer.serve(link, &mut |message| {
                // What the conductor cannot be told must not get lost unnoticed: that ends everything.
                if let Err(why) = self.conductor.send(of_pod(&hello.name, &message)) {
                    self.conductor.end(&why);
                }
            });
        }
    }

    /// The session of a peer.
    fn find(&self, hello: &Hello) -> Result<Arc<Peer>, String> {
        if hello.name == CONDUCTOR {
            let mut known = lock(&self.conductor_instance);
            return match *known.get_or_insert(hello.instance) == hello.instance {
                true => Ok(Arc::clone(&self.conductor)),
                false => Err(String::from("this run has another conductor")),
            };
        }
        if !lock(&self.expected).contains(&hello.name) {
            return Err(format!("no pod {} is expected", hello.name));
        }
        let mut pods = lock(&self.pods);
        if let Some(pod) = pods.get(&hello.name) {
            return match pod.instance == hello.instance {
                true => Ok(Arc::clone(&pod.peer)),
                false => Err(format!("there is another pod {}", hello.name)),
            };
        }
        let peer = Peer::new().map_err(|error| error.to_string())?;
        let pod = Pod {
            peer: Arc::clone(&peer),
            instance: hello.instance,
        };
        pods.insert(hello.name.clone(), pod);
        drop(pods);
        let pod = hello.name.clone();
        self.tell(&RunEvent::Joined { pod });
        Ok(peer)
    }

    fn pass_to_pod(&self, message: &[u8]) {
        let unreadable = || self.conductor.end("it sent a message that nobody can read");
        let Ok((name, inner)) = unpack::<String>(message) else {
            return unreadable();
        };
        if name.is_empty() {
            match unpack(inner) {
                Ok((RunOrder::RoundTrips { id, to, count }, _)) => {
                    let result = serde_json::to_value(round_trips(to, count));
                    let result = result.unwrap_or_default();
                    self.tell(&RunEvent::Reply { id, result });
                }
                Ok((RunOrder::FindExternal { id, at, reach }, _)) => {
                    self.find_external(id, at, reach);
                }
                Ok((RunOrder::Expect { id, pods }, _)) => {
                    // These two names are not of pods.
                    let pods = pods.into_iter();
                    let pods = pods.filter(|name| !name.is_empty() && name != CONDUCTOR);
                    lock(&self.expected).extend(pods);
                    let result = serde_json::Value::Null;
                    self.tell(&RunEvent::Reply { id, result });
                }
                Ok((RunOrder::Forget { pods }, _)) => {
                    lock(&self.expected).retain(|name| !pods.contains(name));
                    for name in &pods {
                        let pod = lock(&self.pods).remove(name);
                        pod.iter().for_each(|pod| pod.peer.end("it is removed"));
                    }
                }
                Err(_) => unreadable(),
            }
            return;
        }
        let peer = lock(&self.pods).get(&name).map(|pod| Arc::clone(&pod.peer));
        let sent = match peer {
            Some(peer) => peer.send(inner.to_vec()),
            None => Err(String::from("it is not connected")),
        };
        if let Err(why) = sent {
            self.tell(&RunEvent::Lost { pod: name, why });
        }
    }

    /// Names may take long to resolve: other messages do not wait for that.
    fn find_external(&self, id: u64, at: String, reach: AddressPolicy) {
        let conductor = Arc::clone(&self.conductor);
        let reply = move |found: Result<SocketAddr, String>| {
            let result = serde_json::to_value(found).unwrap_or_default();
            let event = pack(&RunEvent::Reply { id, result }, &[]);
            let _ = conductor.send(of_pod("", &event));
        };
        let refuse = reply.clone();
        let started = std::thread::Builder::new()
            .name(String::from("find"))
            .spawn(move || reply(reachable(&at, reach)));
        if let Err(error) = started {
            refuse(Err(error.to_string()));
        }
    }

    fn forget_lost_pods(&self) {
        let mut lost = Vec::new();
        lock(&self.pods).retain(|name, pod| {
            if pod.peer.silent_for() > self.silence {
                let why = format!("nothing was heard of it for {:?}", self.silence);
                pod.peer.end(&why);
            }
            let ended = pod.peer.ended();
            let is_there = ended.is_none();
            lost.extend(ended.map(|why| (name.clone(), why)));
            is_there
        });
        for (pod, why) in lost {
            // Whoever comes now in its name is another.
            lock(&self.expected).remove(&pod);
            self.tell(&RunEvent::Lost { pod, why });
        }
    }

    fn tell(&self, event: &RunEvent) {
        let _ = self.conductor.send(of_pod("", &pack(event, &[])));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::super::connection::Caller;
    use super::super::greeting::{SERVER_NAME, client_config, token_of};
    use super::*;
    use crate::certificates::Authority;

    const SECRET: &str = "of-this-run";
    const LIMIT: Duration = Duration::from_secs(20);

    struct Rig {
        keeper: Arc<RunKeeper>,
        address: SocketAddr,
        authority: Authority,
    }

    impl Rig {
        fn new() -> Rig {
            let authority = Authority::new("control").unwrap();
            let (certificate, key) = authority.sign(SERVER_NAME, &[], &[]).unwrap();
            let config = RunKeeperConfig {
                port: 0,
                certificate,
                key,
                secret: String::from(SECRET),
                silence_ms: 60_000,
                namespace: None,
            };
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let keeper = RunKeeper::start(&config, listener).unwrap();
            Rig {
                keeper,
                address,
                authority,
            }
        }

        /// A peer that calls until it is refused.
        fn call(&self, name: &str, token: String) -> Arc<Peer> {
            let (peer, address) = (Peer::new().unwrap(), self.address);
            let caller = Caller {
                dial: Box::new(move || TcpStream::connect(address)),
                config: client_config(&self.authority.root_pem()).unwrap(),
                token,
                name: name.to_owned(),
                silence: LIMIT,
            };
            let calling = Arc::clone(&peer);
            std::thread::spawn(move || caller.run(&calling, |_| ()));
            peer
        }

        /// Why a peer is not let in.
        fn refusal(&self, name: &str, of: &str) -> String {
            let peer = self.call(name, token_of(SECRET, of));
            until(|| peer.ended().is_some());
            peer.ended().unwrap()
        }

        fn order(&self, order: &RunOrder) {
            self.keeper.pass_to_pod(&of_pod("", &pack(order, &[])));
        }

        fn joined(&self) -> Vec<String> {
            lock(&self.keeper.pods).keys().cloned().collect()
        }
    }

    fn until(mut holds: impl FnMut() -> bool) {
        let deadline = Instant::now() + LIMIT;
        while !holds() {
            assert!(Instant::now() < deadline, "it never came");
            process::pause(Duration::from_millis(2));
        }
    }

    #[test]
    fn a_pod_is_let_in_under_its_own_name_while_it_is_expected() {
        let rig = Rig::new();
        let (own, other) = ("b1-arm/server", "b1-arm/client");
        let pods = ["", CONDUCTOR, own].map(String::from).to_vec();
        assert!(rig.refusal(own, own).contains("expected"));
        rig.order(&RunOrder::Expect { id: 1, pods });
        // Another pod's, and that of an arm to come.
        assert!(rig.refusal(own, other).contains("token"));
        assert!(rig.refusal(CONDUCTOR, other).contains("token"));
        assert!(rig.refusal(other, other).contains("expected"));
        assert!(rig.refusal("", "").contains("expected"));
        assert_eq!(rig.joined(), Vec::<String>::new());
        let peer = rig.call(own, token_of(SECRET, own));
        until(|| rig.joined() == [own]);
        assert!(rig.refusal(own, own).contains("another pod"));
        rig.order(&RunOrder::Forget {
            pods: vec![own.to_owned()],
        });
        until(|| peer.ended().is_some());
        assert!(rig.refusal(own, own).contains("expected"));
    }

    #[test]
    fn a_name_that_was_lost_is_nobodys() {
        let rig = Rig::new();
        let own = "b1-arm/server";
        rig.order(&RunOrder::Expect {
            id: 1,
            pods: vec![own.to_owned()],
        });
        let _peer = rig.call(own, token_of(SECRET, own));
        until(|| rig.joined() == [own]);
        lock(&rig.keeper.pods)[own]
            .peer
            .end("its process has ended");
        rig.keeper.forget_lost_pods();
        assert!(rig.refusal(own, own).contains("expected"));
    }

    #[test]
    fn connections_without_a_greeting_have_a_limit_and_keep_nobody_out() {
        let rig = Rig::new();
        let mut silent: Vec<TcpStream> = Vec::new();
        for _ in 0..5 * STRANGERS_MAX {
            silent.push(TcpStream::connect(rig.address).unwrap());
        }
        let is_cut = |mut socket: &TcpStream| {
            socket
                .set_read_timeout(Some(Duration::from_millis(1)))
                .unwrap();
            matches!(socket.read(&mut [0]), Ok(0))
        };
        until(|| silent.iter().filter(|one| is_cut(one)).count() == 4 * STRANGERS_MAX);
        assert_eq!(lock(&rig.keeper.greeting.0).1.len(), STRANGERS_MAX);
        let _conductor = rig.call(CONDUCTOR, token_of(SECRET, CONDUCTOR));
        until(|| lock(&rig.keeper.conductor_instance).is_some());
    }
}
