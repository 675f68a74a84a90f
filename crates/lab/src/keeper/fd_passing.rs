//! Non-blocking send queue and reader of the keeper's socket, with passed file descriptors (SCM_RIGHTS).

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};

/// Most sockets sent with one message; a reply has one.
const SOCKETS_MAX: usize = 4;

/// Send queue of lines and sockets.
#[derive(Default)]
pub(crate) struct SendQueue {
    bytes: Vec<u8>,
    /// Sent with the next bytes, so that they arrive no later than the line that announces them.
    sockets: VecDeque<OwnedFd>,
}

/// State of the peer after a send.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SendStatus {
    /// All was sent, or as much as the socket takes now.
    Open,
    /// The peer has closed the socket.
    Closed,
}

impl SendQueue {
    pub(crate) fn push(&mut self, line: Vec<u8>) {
        self.bytes.extend(line);
    }

    pub(crate) fn push_socket(&mut self, socket: OwnedFd) {
        self.sockets.push_back(socket);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Sends as much as possible without blocking.
    pub(crate) fn flush(&mut self, stream: &UnixStream) -> SendStatus {
        while !self.bytes.is_empty() {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SOCKETS_MAX))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            let count = self.sockets.len().min(SOCKETS_MAX);
            let going: Vec<_> = self.sockets.iter().take(count).map(AsFd::as_fd).collect();
            if count > 0 && !ancillary.push(SendAncillaryMessage::ScmRights(&going)) {
                return SendStatus::Closed;
            }
            let bytes = [IoSlice::new(&self.bytes)];
            match rustix::net::sendmsg(stream, &bytes, &mut ancillary, SendFlags::NOSIGNAL) {
                Ok(sent) => {
                    self.bytes.drain(..sent);
                    self.sockets.drain(..count);
                }
                Err(Errno::AGAIN) => return SendStatus::Open,
                Err(Errno::INTR) => {}
                Err(_) => return SendStatus::Closed,
            }
        }
        SendStatus::Open
    }
}

/// Reads bytes and collects the sockets that come with them.
pub(crate) struct FdReader<'a> {
    pub(crate) stream: &'a UnixStream,
    pub(crate) sockets: &'a mut VecDeque<OwnedFd>,
}

impl Read for FdReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SOCKETS_MAX))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(buffer)];
        let flags = RecvFlags::CMSG_CLOEXEC;
        let message = rustix::net::recvmsg(self.stream, &mut parts, &mut ancillary, flags)?;
        for part in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(sockets) = part {
                self.sockets.extend(sockets);
            }
        }
        Ok(message.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, Write};

    #[test]
    fn a_socket_arrives_with_or_before_its_line() {
        let (near, far) = UnixStream::pair().unwrap();
        far.set_nonblocking(true).unwrap();
        let mut queue = SendQueue::default();
        queue.push(b"first\n".to_vec());
        let file = rustix::fs::memfd_create("thing", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let mut thing = std::fs::File::from(file.try_clone().unwrap());
        thing.write_all(b"what was sent").unwrap();
        queue.push_socket(file);
        queue.push(b"second\n".to_vec());
        assert_eq!(queue.flush(&far), SendStatus::Open);
        assert_eq!(queue.len(), 0);
        let mut sockets = VecDeque::new();
        let mut reader = FdReader {
            stream: &near,
            sockets: &mut sockets,
        };
        let mut text = [0; 13];
        reader.read_exact(&mut text).unwrap();
        assert_eq!(&text, b"first\nsecond\n");
        let mut arrived = std::fs::File::from(sockets.pop_front().unwrap());
        let mut text = String::new();
        arrived.rewind().unwrap();
        arrived.read_to_string(&mut text).unwrap();
        assert_eq!(text, "what was sent");
        assert!(sockets.is_empty());
    }

    #[test]
    fn a_reader_that_is_gone_is_noticed() {
        let (near, far) = UnixStream::pair().unwrap();
        drop(near);
        let mut queue = SendQueue::default();
        queue.push(b"hello\n".to_vec());
        assert_eq!(queue.flush(&far), SendStatus::Closed);
    }
}
