//! The run keeper: the one address that the keepers of all pods connect to, and the conductor. It passes messages on
//! and measures nothing. When the conductor is gone, it ends all pods.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustls::ServerConfig;
use serde::{Deserialize, Serialize};
use tare_net::link::RoundTrips;

use super::clock;
use super::connection::Peer;
use super::greeting::{Hello, let_in, server_config};
use super::message::{CONDUCTOR, RunEvent, RunOrder, of_pod, pack, unpack};
use super::own_namespace::{self, OwnNamespace};
use crate::LabError;
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
/// Time for the last word to reach the pods.
const FAREWELL: Duration = Duration::from_millis(500);

/// What a run keeper is told.
#[derive(Clone, Serialize, Deserialize)]
pub struct RunKeeperConfig {
    pub port: u16,
    /// Certificate and key of the server, in PEM form.
    pub certificate: String,
    pub key: String,
    /// Known to all peers.
    pub token: String,
    /// A peer without a word for so long is gone.
    pub silence_ms: u64,
    /// Deleted at the end.
    #[serde(default)]
    pub namespace: Option<OwnNamespace>,
}

struct RunKeeper {
    token: String,
    /// Differs with every process.
    instance: u64,
    tls: Arc<ServerConfig>,
    silence: Duration,
    conductor: Arc<Peer>,
    conductor_instance: Mutex<Option<u64>>,
    pods: Mutex<BTreeMap<String, Pod>>,
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
    let keeper = Arc::new(RunKeeper {
        token: config.token.clone(),
        instance: clock::now_ns() ^ u64::from(std::process::id()) << 32,
        tls: server_config(&config.certificate, &config.key).map_err(LabError::Keeper)?,
        silence: Duration::from_millis(config.silence_ms),
        conductor: Peer::new().map_err(LabError::io("make a session"))?,
        conductor_instance: Mutex::new(None),
        pods: Mutex::default(),
    });
    let accepting = Arc::clone(&keeper);
    std::thread::Builder::new()
        .name(String::from("accept"))
        .spawn(move || {
            for socket in listener.incoming().flatten() {
                let keeper = Arc::clone(&accepting);
                // Without a thread the caller tries again.
                let _ = std::thread::Builder::new()
                    .name(String::from("peer"))
                    .spawn(move || keeper.serve(socket));
            }
        })
        .map_err(LabError::io("accept connections"))?;
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
    fn serve(&self, socket: TcpStream) {
        let _ = socket.set_nodelay(true);
        let known = (self.token.as_str(), self.instance);
        // A stranger, or a connection that was cut: who was refused has been told why.
        let Ok((link, peer, hello)) = let_in(socket, &self.tls, known, |hello| self.find(hello))
        else {
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
            self.tell(&RunEvent::Lost { pod, why });
        }
    }

    fn tell(&self, event: &RunEvent) {
        let _ = self.conductor.send(of_pod("", &pack(event, &[])));
    }
}
