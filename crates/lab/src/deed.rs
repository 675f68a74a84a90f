//! Something that is being done to a test bed: it takes its time, and says how it ended.

use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::LabError;

/// How a deed ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// When.
    pub at: Instant,
    /// What came of it in words, or why it could not be done.
    pub how: Result<String, String>,
}

/// A deed under way. It has a limit of its own: whoever drops it leaves a thread that ends by itself.
#[derive(Debug)]
pub struct Deed {
    words: Receiver<Ended>,
    worker: Option<JoinHandle<()>>,
    ended: Option<Ended>,
}

impl Deed {
    /// One that was done at once.
    #[must_use]
    pub fn done(how: Result<String, String>) -> Deed {
        Deed {
            words: mpsc::channel().1,
            worker: None,
            ended: Some(Ended {
                at: Instant::now(),
                how,
            }),
        }
    }

    /// One that a thread of its own carries out.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub fn by(
        name: &str,
        work: impl FnOnce() -> Result<String, String> + Send + 'static,
    ) -> Result<Deed, LabError> {
        let (tell, words) = mpsc::channel();
        let worker = std::thread::Builder::new().name(name.to_owned());
        let worker = worker.spawn(move || {
            let how = work();
            let at = Instant::now();
            // Nobody may want to know any more.
            let _ = tell.send(Ended { at, how });
        });
        Ok(Deed {
            words,
            worker: Some(worker.map_err(LabError::io("start a thread"))?),
            ended: None,
        })
    }

    /// How it ended, if it has.
    pub fn poll(&mut self) -> Option<&Ended> {
        if self.ended.is_none() {
            let ended = match self.words.try_recv() {
                Ok(ended) => ended,
                Err(TryRecvError::Empty) => return None,
                Err(TryRecvError::Disconnected) => lost(),
            };
            self.keep(ended);
        }
        self.ended.as_ref()
    }

    /// How it ended, if it does in this time.
    pub fn wait(&mut self, within: Duration) -> Option<&Ended> {
        if self.ended.is_none() {
            let ended = match self.words.recv_timeout(within) {
                Ok(ended) => ended,
                Err(mpsc::RecvTimeoutError::Timeout) => return None,
                Err(mpsc::RecvTimeoutError::Disconnected) => lost(),
            };
            self.keep(ended);
        }
        self.ended.as_ref()
    }

    fn keep(&mut self, ended: Ended) {
        self.ended = Some(ended);
        if let Some(worker) = self.worker.take() {
            // It has said its last word.
            let _ = worker.join();
        }
    }
}

fn lost() -> Ended {
    Ended {
        at: Instant::now(),
        how: Err(String::from("it ended without a word")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says where by panicking")]

    use super::*;

    #[test]
    fn a_deed_is_under_way_until_its_thread_says_how_it_ended() {
        let (go, wait) = mpsc::channel();
        let mut deed = Deed::by("test", move || {
            wait.recv().map_err(|error| error.to_string())?;
            Ok("it is done".to_owned())
        })
        .unwrap();
        assert!(deed.poll().is_none());
        assert!(deed.wait(Duration::from_millis(1)).is_none());
        go.send(()).unwrap();
        let ended = deed.wait(Duration::from_secs(60)).unwrap().clone();
        assert_eq!(ended.how, Ok("it is done".to_owned()));
        assert_eq!(deed.poll(), Some(&ended), "it keeps its word");
    }

    #[test]
    fn a_deed_whose_thread_breaks_has_failed() {
        let mut deed = Deed::by("test", || panic!("broken on purpose")).unwrap();
        let ended = deed.wait(Duration::from_secs(60)).unwrap();
        assert!(ended.how.is_err());
    }
}
