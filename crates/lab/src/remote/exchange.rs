//! Orders to keepers of pods and their replies, and sockets that are joined with sockets of pods.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde_json::Value;
use tare_net::link::RoundTrips;
use tare_record::load::AddressPolicy;

use super::channels::Channels;
use super::connection::Peer;
use super::message::{FromPod, PodOrder, RunEvent, RunOrder, ToPod, of_pod, pack, unpack};
use crate::LabError;
use crate::keeper::lock;

/// Timeout of a reply, beside what the order takes; connections that are cut meanwhile are made again.
pub(super) const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// Stands for the run keeper where pods are named.
const RUN_KEEPER: &str = "";
/// Interval of looking for what is gone.
pub(super) const LOOK: Duration = Duration::from_millis(200);

/// What the threads of the session and of its users share.
pub(crate) struct Exchange {
    pub(super) peer: Arc<Peer>,
    pub(super) state: Mutex<State>,
    pub(super) changed: Condvar,
    channels: Arc<Channels>,
    silence: Duration,
}

#[derive(Default)]
pub(super) struct State {
    last_id: u64,
    last_channel: u64,
    /// Channel → pod.
    pub channels: BTreeMap<u64, String>,
    /// Replies that are waited for, by request; with the pod that was asked.
    pub replies: BTreeMap<u64, (String, Option<Reply>)>,
    pub joined: BTreeSet<String>,
    pub lost: BTreeMap<String, String>,
}

impl State {
    fn distrust(&mut self, pod: String) {
        let why = String::from("it answered what another pod was asked");
        self.lost.entry(pod).or_insert(why);
    }
}

pub(super) type Reply = (Result<Value, String>, Vec<u8>);

/// Why an order was not carried out.
pub(crate) enum NotDone {
    Refused(String),
    Gone(LabError),
}

impl From<NotDone> for LabError {
    fn from(error: NotDone) -> LabError {
        match error {
            NotDone::Refused(reason) => LabError::Keeper(reason),
            NotDone::Gone(error) => error,
        }
    }
}

impl Exchange {
    pub(super) fn new(peer: Arc<Peer>, silence: Duration) -> Arc<Exchange> {
        let saying = Arc::new(OnceLock::<Weak<Exchange>>::new());
        let heard = Arc::clone(&saying);
        let channels = Channels::new(Arc::new(move |channel, bytes: Option<&[u8]>| {
            let Some(exchange) = saying.get().and_then(Weak::upgrade) else {
                return;
            };
            let pod = lock(&exchange.state).channels.get(&channel).cloned();
            let message = match bytes {
                Some(bytes) => pack(&ToPod::Bytes { channel }, bytes),
                None => pack(&ToPod::Close { channel }, &[]),
            };
            // A session that is over has no channels.
            let _ = pod.map(|pod| exchange.peer.send(of_pod(&pod, &message)));
        }));
        let exchange = Arc::new(Exchange {
            peer,
            state: Mutex::default(),
            changed: Condvar::new(),
            channels,
            silence,
        });
        let _ = heard.set(Arc::downgrade(&exchange));
        exchange
    }

    /// Closes all channels: nothing arrives any more.
    pub(super) fn close(&self) {
        self.channels.close_all();
        self.changed.notify_all();
    }

    /// Sends an order; its number.
    pub(crate) fn order(&self, pod: &str, order: PodOrder, bytes: &[u8]) -> Result<u64, NotDone> {
        self.request(pod, |id| pack(&ToPod::Request { id, order }, bytes))
    }

    /// Sends a message that will be replied to; its number.
    fn request(&self, pod: &str, message: impl FnOnce(u64) -> Vec<u8>) -> Result<u64, NotDone> {
        let mut state = lock(&self.state);
        state.last_id += 1;
        let id = state.last_id;
        state.replies.insert(id, (pod.to_owned(), None));
        drop(state);
        let sent = self.peer.send(of_pod(pod, &message(id)));
        sent.map_err(|why| NotDone::Gone(LabError::RunKeeperGone { why }))?;
        Ok(id)
    }

    /// Waits for a reply; a connection that is cut is no reason to give up before the other side counts as gone.
    pub(crate) fn reply(&self, id: u64, limit: Duration) -> Result<(Value, Vec<u8>), NotDone> {
        let deadline = Instant::now() + limit + self.silence;
        let mut state = lock(&self.state);
        loop {
            let Some((pod, reply)) = state.replies.get_mut(&id) else {
                return Err(NotDone::Refused(String::from("there is no such request")));
            };
            if let Some((result, bytes)) = reply.take() {
                state.replies.remove(&id);
                return result.map(|value| (value, bytes)).map_err(NotDone::Refused);
            }
            let pod = pod.clone();
            if let Some(why) = self.peer.ended() {
                return Err(NotDone::Gone(LabError::RunKeeperGone { why }));
            }
            if let Some(why) = state.lost.get(&pod).cloned() {
                return Err(NotDone::Gone(LabError::PodLost { pod, why }));
            }
            if Instant::now() >= deadline {
                let why = String::from("it did not answer in time");
                return Err(NotDone::Gone(LabError::PodLost { pod, why }));
            }
            let waited = self.changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(super) fn ask<T: DeserializeOwned>(
        &self,
        pod: &str,
        order: PodOrder,
        bytes: &[u8],
        limit: Duration,
    ) -> Result<(T, Vec<u8>), NotDone> {
        let id = self.order(pod, order, bytes)?;
        let (value, bytes) = self.reply(id, limit)?;
        let value = serde_json::from_value(value)
            .map_err(|error| NotDone::Refused(format!("{pod} replied nonsense: {error}")))?;
        Ok((value, bytes))
    }

    fn ask_run_keeper<T: DeserializeOwned>(
        &self,
        order: impl FnOnce(u64) -> RunOrder,
    ) -> Result<T, LabError> {
        let id = self.request(RUN_KEEPER, |id| pack(&order(id), &[]))?;
        let (reply, _) = self.reply(id, ANSWER_LIMIT)?;
        serde_json::from_value(reply)
            .map_err(|error| LabError::Keeper(format!("the run keeper replied nonsense: {error}")))
    }

    /// Has the run keeper measure round trips to an address on which somebody listens.
    pub(super) fn round_trips(&self, to: SocketAddr, count: u32) -> Result<RoundTrips, LabError> {
        self.ask_run_keeper(|id| RunOrder::RoundTrips { id, to, count })
    }

    /// Has the run keeper find an address of what is external; or why there is none.
    pub(super) fn find_external(
        &self,
        at: &str,
        reach: AddressPolicy,
    ) -> Result<Result<SocketAddr, String>, LabError> {
        let at = at.to_owned();
        self.ask_run_keeper(|id| RunOrder::FindExternal { id, at, reach })
    }

    /// Has the run keeper let these pods in; returns when it does.
    pub(super) fn expect(&self, pods: Vec<String>) -> Result<(), LabError> {
        self.ask_run_keeper(|id| RunOrder::Expect { id, pods })
    }

    /// Has nobody let in under the names of these pods any more.
    pub(super) fn forget(&self, pods: &[String]) {
        let pods = pods.to_vec();
        let order = pack(&RunOrder::Forget { pods }, &[]);
        // A run keeper that is gone lets nobody in.
        let _ = self.peer.send(of_pod(RUN_KEEPER, &order));
    }

    /// A socket whose other end is joined with a channel to a pod.
    pub(super) fn channel(&self, pod: &str) -> Result<(u64, UnixStream), LabError> {
        let (near, far) = UnixStream::pair().map_err(LabError::io("make a socket pair"))?;
        let mut state = lock(&self.state);
        state.last_channel += 1;
        let channel = state.last_channel;
        state.channels.insert(channel, pod.to_owned());
        drop(state);
        let far = TcpStream::from(OwnedFd::from(far));
        self.channels.join(channel, far)?;
        Ok((channel, near))
    }

    pub(super) fn dial(&self, pod: &str, to: &str, within: Duration) -> io::Result<TcpStream> {
        let (channel, near) = self.channel(pod).map_err(io::Error::other)?;
        let order = PodOrder::Connect {
            to: to.to_owned(),
            within_ms: millis(within),
            channel,
        };
        let connected = self.ask::<()>(pod, order, &[], within + ANSWER_LIMIT);
        match connected {
            // Timeouts, reads and writes are the same for every stream socket.
            Ok(_) => Ok(TcpStream::from(OwnedFd::from(near))),
            Err(error) => {
                self.channels.close(channel);
                Err(match error {
                    NotDone::Refused(reason) => io::Error::other(reason),
                    NotDone::Gone(error) => io::Error::other(error),
                })
            }
        }
    }

    /// A message of the run keeper.
    pub(super) fn take(&self, message: &[u8]) {
        if let Err(reason) = self.take_from_pod(message) {
            self.peer.end(&reason);
        }
        self.changed.notify_all();
    }

    fn take_from_pod(&self, message: &[u8]) -> Result<(), String> {
        let (pod, inner): (String, _) = unpack(message)?;
        if pod.is_empty() {
            let mut state = lock(&self.state);
            match unpack(inner)?.0 {
                RunEvent::Joined { pod } => drop(state.joined.insert(pod)),
                RunEvent::Reply { id, result } => {
                    if let Some((_, reply)) = state.replies.get_mut(&id) {
                        *reply = Some((Ok(result), Vec::new()));
                    }
                }
                RunEvent::Lost { pod, why } => {
                    let is_of_it = |(number, of): (&u64, &String)| (*of == pod).then_some(*number);
                    let dead: Vec<u64> = state.channels.iter().filter_map(is_of_it).collect();
                    state.lost.insert(pod, why);
                    drop(state);
                    dead.into_iter().for_each(|one| self.channels.close(one));
                }
            }
            return Ok(());
        }
        let mut state = lock(&self.state);
        // What nobody waits for any more is dropped. What another pod was asked ends the pod that answers.
        let is_of_another = |asked: Option<&String>| asked.is_some_and(|asked| *asked != pod);
        match unpack(inner)? {
            (FromPod::Reply { id, result }, bytes) => match state.replies.get_mut(&id) {
                Some((asked, _)) if is_of_another(Some(asked)) => state.distrust(pod),
                Some((_, reply)) => *reply = Some((result, bytes.to_vec())),
                None => {}
            },
            (FromPod::Bytes { channel } | FromPod::Close { channel }, _)
                if is_of_another(state.channels.get(&channel)) =>
            {
                state.distrust(pod);
            }
            (FromPod::Bytes { channel }, bytes) => {
                drop(state);
                self.channels.write(channel, bytes.to_vec());
            }
            (FromPod::Close { channel }, _) => {
                state.channels.remove(&channel);
                drop(state);
                self.channels.close(channel);
            }
        }
        Ok(())
    }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn a_reply_and_bytes_are_taken_from_the_pod_that_was_asked_alone() {
        let exchange = Exchange::new(Peer::new().unwrap(), Duration::ZERO);
        let (honest, forger) = ("b1-arm/server", "b2-arm/server");
        let Ok(id) = exchange.order(honest, PodOrder::Cores, &[]) else {
            panic!("it was not sent")
        };
        let (channel, mut near) = exchange.channel(honest).unwrap();
        let say = |pod: &str, words: &str| {
            let result = Ok(Value::from(words));
            exchange.take(&of_pod(pod, &pack(&FromPod::Reply { id, result }, &[])));
            let bytes = pack(&FromPod::Bytes { channel }, words.as_bytes());
            exchange.take(&of_pod(pod, &bytes));
        };
        say(forger, "forged");
        let close = pack(&FromPod::Close { channel }, &[]);
        exchange.take(&of_pod(forger, &close));
        let lost: Vec<String> = lock(&exchange.state).lost.keys().cloned().collect();
        assert_eq!(lost, [forger]);
        say(honest, "honest");
        exchange.take(&of_pod(honest, &close));
        let Ok((reply, _)) = exchange.reply(id, ANSWER_LIMIT) else {
            panic!("there is no reply")
        };
        assert_eq!(reply, "honest");
        let mut all = String::new();
        near.read_to_string(&mut all).unwrap();
        assert_eq!(all, "honest");
        assert_eq!(exchange.peer.ended(), None);
    }
}
