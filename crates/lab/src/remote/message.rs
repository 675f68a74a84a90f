//! Messages between the conductor and the keepers of pods: a JSON object each, and bytes.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tare_net::redirect::RedirectRules;
use tare_record::load::AddressPolicy;

use crate::keeper::Spawn;
use crate::observe::ObservedInstance;

/// Name of the conductor among the peers of a run keeper.
pub(crate) const CONDUCTOR: &str = "conductor";

/// To the keeper of a pod. Orders are carried out one after the other.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "to-pod", rename_all = "kebab-case")]
pub(crate) enum ToPod {
    Request {
        id: u64,
        order: PodOrder,
    },
    /// The bytes of the message, for the socket of this channel.
    Bytes {
        channel: u64,
    },
    /// No more bytes follow.
    Close {
        channel: u64,
    },
}

/// From the keeper of a pod.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "from-pod", rename_all = "kebab-case")]
pub(crate) enum FromPod {
    Reply {
        id: u64,
        result: Result<Value, String>,
    },
    Bytes {
        channel: u64,
    },
    Close {
        channel: u64,
    },
}

/// An order to the keeper of a pod.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "kebab-case")]
pub(crate) enum PodOrder {
    /// Start a process; its id.
    Spawn {
        spawn: Box<Spawn>,
    },
    Signal {
        name: String,
        signal: i32,
    },
    Stop {
        name: String,
        signal: i32,
        grace_ms: u64,
    },
    /// The last lines of a process's output.
    Tail {
        name: String,
    },
    /// How a process exited, if it did.
    Exit {
        name: String,
    },
    Pin {
        cpus: Vec<u32>,
    },
    /// How many cores the pod may use.
    Cores,
    /// Append the bytes of the message to the pod's `/etc/hosts`.
    NameHosts,
    /// Redirect the pod's traffic.
    Redirect {
        rules: RedirectRules,
    },
    /// Create a folder with this mode.
    Folder {
        path: PathBuf,
        mode: u32,
    },
    /// Write the bytes of the message to a file with this mode.
    Write {
        path: PathBuf,
        mode: u32,
    },
    /// Make a user the owner of files and folders with all they contain.
    Give {
        paths: Vec<PathBuf>,
        user: u32,
    },
    /// A part of a file, and its length; nothing if there is none.
    Read {
        path: PathBuf,
        from: u64,
        bytes_max: u64,
    },
    /// Files of a folder whose names have this end.
    List {
        folder: PathBuf,
        end: String,
    },
    /// Connect to an address, or to the socket of a path, and join it with a channel.
    Connect {
        to: String,
        within_ms: u64,
        channel: u64,
    },
    /// Listen on the socket of a path for one connection of a process, and join it with a channel.
    Listen {
        path: PathBuf,
        process: String,
        channel: u64,
    },
    /// Begin to observe the resource usage of instances.
    Observe {
        instances: Vec<ObservedInstance>,
        pod: String,
    },
    /// Take the last reading after this time.
    ObserveFor {
        time_ms: u64,
    },
    /// The usage since then, until now or that reading.
    Observed,
    /// How far the run keeper's clock is ahead.
    Clock,
    /// End everything.
    End,
}

/// An order to the run keeper itself.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "run-order", rename_all = "kebab-case")]
pub(crate) enum RunOrder {
    /// Measure round trips to an address on which somebody listens, as long as connections take to be made.
    RoundTrips { id: u64, to: SocketAddr, count: u32 },
    /// Find the first address of `HOST:PORT` that may be called and accepts a connection, as names resolve there.
    FindExternal {
        id: u64,
        at: String,
        reach: AddressPolicy,
    },
    /// Let these pods in, each once.
    Expect { id: u64, pods: Vec<String> },
    /// They are removed: nobody is let in under their names.
    Forget { pods: Vec<String> },
}

/// From the run keeper to the conductor.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "run-event", rename_all = "kebab-case")]
pub(crate) enum RunEvent {
    /// The keeper of a pod has connected for the first time.
    Joined { pod: String },
    /// It is gone.
    Lost { pod: String, why: String },
    /// The reply to an order to itself.
    Reply { id: u64, result: Value },
}

/// A message of an object and bytes.
pub(crate) fn pack(object: &impl Serialize, bytes: &[u8]) -> Vec<u8> {
    // Plain data: serialisation cannot fail.
    let text = serde_json::to_vec(object).unwrap_or_default();
    let mut message = Vec::with_capacity(4 + text.len() + bytes.len());
    message.extend((text.len() as u32).to_be_bytes());
    message.extend(text);
    message.extend(bytes);
    message
}

/// The object and the bytes of a message.
pub(crate) fn unpack<T: DeserializeOwned>(message: &[u8]) -> Result<(T, &[u8]), String> {
    let (length, rest) = message
        .split_first_chunk()
        .ok_or_else(|| String::from("a message without a length"))?;
    let length = u32::from_be_bytes(*length) as usize;
    let (text, bytes) = rest
        .split_at_checked(length)
        .ok_or_else(|| String::from("a message shorter than its object"))?;
    let object = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    Ok((object, bytes))
}

/// A message between conductor and run keeper, with the pod that it goes to or comes from.
pub(crate) fn of_pod(pod: &str, message: &[u8]) -> Vec<u8> {
    pack(&pod, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_its_object_and_its_bytes() {
        let order = ToPod::Bytes { channel: 7 };
        let outer = of_pod("server", &pack(&order, b"\x00\xff"));
        let (pod, inner): (String, _) = unpack(&outer).unwrap();
        assert_eq!(pod, "server");
        let (found, bytes): (ToPod, _) = unpack(inner).unwrap();
        assert_eq!((found, bytes), (order, &b"\x00\xff"[..]));
    }

    #[test]
    fn a_cut_message_is_refused() {
        let whole = pack(&"server", b"");
        for length in 0..whole.len() {
            assert!(unpack::<String>(&whole[..length]).is_err(), "{length}");
        }
    }
}
