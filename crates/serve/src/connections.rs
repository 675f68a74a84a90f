//! Connections of the server: how many, how long they may be silent or not read, with or without TLS.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore, watch};
use tower::ServiceExt;

use crate::certificate::Certificate;
use crate::unread::{TimedWrites, WRITE_TIMEOUT};

/// Connections at a time, half of the files that may be open at most; further ones wait in the kernel's queue.
const CONNECTIONS_MAX: usize = 1000;
/// Time for the head of a request, and for a TLS handshake.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Largest head of a request.
const HEAD_BYTES_MAX: usize = 32 << 10;
/// Wait after an error of accepting: there are no descriptors left.
const PAUSE: Duration = Duration::from_millis(100);

/// The other end of a connection; each of its requests has it.
#[derive(Clone)]
pub struct ConnectionPeer {
    pub address: IpAddr,
    close: Arc<Notify>,
}

impl ConnectionPeer {
    /// What closes the connection.
    pub fn close(&self) -> Arc<Notify> {
        Arc::clone(&self.close)
    }

    /// The addresses that one person has: a network of IPv6 is given to each.
    pub fn network(&self) -> IpAddr {
        match self.address.to_canonical() {
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
            }
            v4 => v4,
        }
    }
}

/// Accepts connections until told to end.
pub async fn accept(
    listener: TcpListener,
    tls: Option<Arc<Certificate>>,
    app: Router,
    mut ended: watch::Receiver<()>,
) {
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let files = files.and_then(|files| usize::try_from(files).ok());
    let connections = files.map_or(CONNECTIONS_MAX, |files| CONNECTIONS_MAX.min(files / 2));
    let permits = Arc::new(Semaphore::new(connections));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
            return;
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = ended.changed() => return,
        };
        let Ok((stream, from)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // Answers and events are small writes.
        let _ = stream.set_nodelay(true);
        let (app, tls, ended) = (app.clone(), tls.clone(), ended.clone());
        let peer = ConnectionPeer {
            address: from.ip().to_canonical(),
            close: Arc::default(),
        };
        tokio::spawn(async move {
            let _permit = permit;
            // Below TLS: what counts is what the peer takes.
            let stream = TimedWrites::new(stream, WRITE_TIMEOUT);
            match tls {
                None => serve(stream, app, peer, ended).await,
                Some(tls) => {
                    let handshake = tls.acceptor().accept(stream);
                    if let Ok(Ok(stream)) = tokio::time::timeout(HEAD_TIMEOUT, handshake).await {
                        serve(stream, app, peer, ended).await;
                    }
                }
            }
        });
    }
}

async fn serve<S>(stream: S, app: Router, peer: ConnectionPeer, mut ended: watch::Receiver<()>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let close = peer.close();
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(peer.clone());
        app.clone().oneshot(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    // An error is a client that went away.
    tokio::select! {
        _ = connection => {}
        () = close.notified() => {}
        _ = ended.changed() => {}
    }
}
