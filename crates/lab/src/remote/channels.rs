//! Sockets at one end of a session that are joined with those at the other end.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use crate::LabError;
use crate::keeper::lock;

/// Largest message of a channel.
const CHUNK_BYTES: usize = 64 << 10;

/// What is said of a channel to the other end: bytes, or that no more follow.
pub(crate) type Say = Arc<dyn Fn(u64, Option<&[u8]>) + Send + Sync>;

/// The open channels of one end.
pub(crate) struct Channels {
    writers: Mutex<BTreeMap<u64, Sender<Vec<u8>>>>,
    say: Say,
}

impl Channels {
    pub(crate) fn new(say: Say) -> Arc<Channels> {
        Arc::new(Channels {
            writers: Mutex::default(),
            say,
        })
    }

    /// Joins a stream socket with a channel. (Reads and writes are the same for every stream socket.)
    ///
    /// # Errors
    /// When threads or descriptors are not to be had.
    pub(crate) fn join(&self, channel_number: u64, socket: TcpStream) -> Result<(), LabError> {
        let failed = || LabError::io("join a socket with its channel");
        let mut writing = socket.try_clone().map_err(failed())?;
        let mut reading = socket;
        let (bytes, queue) = channel::<Vec<u8>>();
        lock(&self.writers).insert(channel_number, bytes);
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let write = move || {
            for bytes in queue {
                if writing.write_all(&bytes).is_err() {
                    break;
                }
            }
            let _ = writing.shutdown(Shutdown::Write);
        };
        thread("channel-out").spawn(write).map_err(failed())?;
        let say = Arc::clone(&self.say);
        let read = move || {
            let mut chunk = vec![0; CHUNK_BYTES];
            loop {
                match reading.read(&mut chunk) {
                    Ok(0) => break,
                    Ok(count) => say(channel_number, Some(&chunk[..count])),
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
            say(channel_number, None);
        };
        thread("channel-in").spawn(read).map_err(failed())?;
        Ok(())
    }

    /// Bytes from the other end; those of a closed channel are dropped.
    pub(crate) fn write(&self, channel_number: u64, bytes: Vec<u8>) {
        if let Some(writer) = lock(&self.writers).get(&channel_number) {
            let _ = writer.send(bytes);
        }
    }

    /// The other end sends no more.
    pub(crate) fn close(&self, channel_number: u64) {
        lock(&self.writers).remove(&channel_number);
    }

    /// Closes all channels: nothing arrives any more.
    pub(crate) fn close_all(&self) {
        lock(&self.writers).clear();
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::OnceLock;

    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (near, listener.accept().unwrap().0)
    }

    /// Two ends whose words reach each other at once.
    fn ends() -> [Arc<Channels>; 2] {
        let others: Arc<[OnceLock<Arc<Channels>>; 2]> = Arc::default();
        let end = |index: usize| {
            let others = Arc::clone(&others);
            Channels::new(Arc::new(move |number, bytes| {
                let other = others[index].get().unwrap();
                match bytes {
                    Some(bytes) => other.write(number, bytes.to_vec()),
                    None => other.close(number),
                }
            }))
        };
        let ends = [end(1), end(0)];
        for (place, end) in others.iter().zip(&ends) {
            assert!(place.set(Arc::clone(end)).is_ok());
        }
        ends
    }

    #[test]
    fn bytes_cross_both_ways_and_an_end_of_file_follows_them() {
        let [near, far] = ends();
        let ((mut caller, caller_end), (mut called, called_end)) = (pair(), pair());
        far.join(1, called_end).unwrap();
        near.join(1, caller_end).unwrap();
        caller.write_all(b"request").unwrap();
        caller.shutdown(Shutdown::Write).unwrap();
        let mut text = String::new();
        called.read_to_string(&mut text).unwrap();
        assert_eq!(text, "request");
        called.write_all(&[b'x'; 300_000]).unwrap();
        drop(called);
        let mut answer = Vec::new();
        caller.read_to_end(&mut answer).unwrap();
        assert_eq!(answer.len(), 300_000);
    }
}
