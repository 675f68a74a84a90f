//! Handle of a fault in progress in a test bed, with its result.

use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::LabError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultResult {
    /// When it ended.
    pub at: Instant,
    /// What happened, or why it failed.
    pub how: Result<String, String>,
}

/// A fault in progress. The work has a timeout of its own: after a drop its thread still ends by itself.
#[derive(Debug)]
pub struct FaultHandle {
    receiver: Receiver<FaultResult>,
    worker: Option<JoinHandle<()>>,
    ended: Option<FaultResult>,
}

impl FaultHandle {
    /// A fault that has ended already.
    #[must_use]
    pub fn done(how: Result<String, String>) -> FaultHandle {
        FaultHandle {
            receiver: mpsc::channel().1,
            worker: None,
            ended: Some(FaultResult {
                at: Instant::now(),
                how,
            }),
        }
    }

    /// Runs the work of a fault in a thread of its own.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn spawn(
        name: &str,
        work: impl FnOnce() -> Result<String, String> + Send + 'static,
    ) -> Result<FaultHandle, LabError> {
        let (sender, receiver) = mpsc::channel();
        let worker = std::thread::Builder::new().name(name.to_owned());
        let worker = worker.spawn(move || {
            let how = work();
            let at = Instant::now();
            // The handle may have been dropped.
            let _ = sender.send(FaultResult { at, how });
        });
        Ok(FaultHandle {
            receiver,
            worker: Some(worker.map_err(LabError::io("start a thread"))?),
            ended: None,
        })
    }

    /// The result, if it has ended.
    pub fn poll(&mut self) -> Option<&FaultResult> {
        if self.ended.is_none() {
            let ended = match self.receiver.try_recv() {
                Ok(ended) => ended,
                Err(TryRecvError::Empty) => return None,
                Err(TryRecvError::Disconnected) => lost(),
            };
            self.keep(ended);
        }
        self.ended.as_ref()
    }

    /// The result, if it ends within this time.
    pub fn wait(&mut self, within: Duration) -> Option<&FaultResult> {
        if self.ended.is_none() {
            let ended = match self.receiver.recv_timeout(within) {
                Ok(ended) => ended,
                Err(mpsc::RecvTimeoutError::Timeout) => return None,
                Err(mpsc::RecvTimeoutError::Disconnected) => lost(),
            };
            self.keep(ended);
        }
        self.ended.as_ref()
    }

    fn keep(&mut self, ended: FaultResult) {
        self.ended = Some(ended);
        if let Some(worker) = self.worker.take() {
            // The result was the thread's last message.
            let _ = worker.join();
        }
    }
}

fn lost() -> FaultResult {
    FaultResult {
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
        let mut fault = FaultHandle::spawn("test", move || {
            wait.recv().map_err(|error| error.to_string())?;
            Ok("it is done".to_owned())
        })
        .unwrap();
        assert!(fault.poll().is_none());
        assert!(fault.wait(Duration::from_millis(1)).is_none());
        go.send(()).unwrap();
        let ended = fault.wait(Duration::from_secs(60)).unwrap().clone();
        assert_eq!(ended.how, Ok("it is done".to_owned()));
        assert_eq!(fault.poll(), Some(&ended), "it keeps its word");
    }

    #[test]
    fn a_deed_whose_thread_breaks_has_failed() {
        let mut fault = FaultHandle::spawn("test", || panic!("broken on purpose")).unwrap();
        let ended = fault.wait(Duration::from_secs(60)).unwrap();
        assert!(ended.how.is_err());
    }
}
