//! Connections of the server: how many, how long they may be silent, with or without TLS.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

/// Connections at a time, half of the files that may be open at most; further ones wait in the kernel's queue.
const CONNECTIONS_MAX: usize = 1000;
/// Time for the head of a request, and for a TLS handshake.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Largest head of a request.
const HEAD_BYTES_MAX: usize = 32 << 10;
/// Wait after an error of accepting: there are no descriptors left.
const PAUSE: Duration = Duration::from_millis(100);

/// Accepts connections until told to end.
pub async fn accept(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
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
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // Answers and events are small writes.
        let _ = stream.set_nodelay(true);
        let (app, tls, ended) = (app.clone(), tls.clone(), ended.clone());
        tokio::spawn(async move {
            let _permit = permit;
            match tls {
                None => serve(stream, app, ended).await,
                Some(tls) => {
                    let handshake = tokio::time::timeout(HEAD_TIMEOUT, tls.accept(stream));
                    if let Ok(Ok(stream)) = handshake.await {
                        serve(stream, app, ended).await;
                    }
                }
            }
        });
    }
}

async fn serve<S>(stream: S, app: Router, mut ended: watch::Receiver<()>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = TowerToHyperService::new(app);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    // An error is a client that went away.
    tokio::select! {
        _ = connection => {}
        _ = ended.changed() => {}
    }
}

/// The acceptor of a certificate with its key.
pub fn acceptor(certificate: &Path, key: &Path) -> anyhow::Result<TlsAcceptor> {
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .with_context(|| format!("{} is no certificate in PEM", certificate.display()))?;
    let key_der = PrivateKeyDer::from_pem_file(key)
        .with_context(|| format!("{} is no private key in PEM", key.display()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(chain, key_der)
        .context("the certificate and the key do not belong together")?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
