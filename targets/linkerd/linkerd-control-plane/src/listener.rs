//! Serves gRPC over TLS to a limited number of connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::serve::Listener;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use linkerd2_proxy_api::destination::destination_server::DestinationServer;
use linkerd2_proxy_api::identity::identity_server::IdentityServer;
use linkerd2_proxy_api::inbound::inbound_server_policies_server::InboundServerPoliciesServer;
use linkerd2_proxy_api::outbound::outbound_policies_server::OutboundPoliciesServer;
use rustls::ServerConfig;
use serving::{LimitedListener, ServingError};
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tonic::Code;
use tonic::service::Routes;
use tonic::transport::server::TcpConnectInfo;

use crate::error::StartError;
use crate::plane::Plane;

/// Connections at once; a proxy has three.
const CONNECTIONS_MAX: usize = 1024;
/// Requests and watches at once on a connection.
const STREAMS_MAX: u32 = 2048;
/// Bytes of a request; signing requests are the largest, with less than 1 KiB.
const REQUEST_BYTES_MAX: usize = 64 << 10;
const HEADER_BYTES_MAX: u32 = 16 << 10;
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// A connection without traffic is probed, so that those of vanished peers end.
const PROBE_INTERVAL: Duration = Duration::from_secs(30);

/// The four services.
fn routes(plane: &Arc<Plane>) -> Router {
    let identity = IdentityServer::from_arc(Arc::clone(plane));
    let destination = DestinationServer::from_arc(Arc::clone(plane));
    let inbound = InboundServerPoliciesServer::from_arc(Arc::clone(plane));
    let outbound = OutboundPoliciesServer::from_arc(Arc::clone(plane));
    Routes::new(identity.max_decoding_message_size(REQUEST_BYTES_MAX))
        .add_service(destination.max_decoding_message_size(REQUEST_BYTES_MAX))
        .add_service(inbound.max_decoding_message_size(REQUEST_BYTES_MAX))
        .add_service(outbound.max_decoding_message_size(REQUEST_BYTES_MAX))
        .into_axum_router()
}

/// Binds the address for proxies.
pub async fn bind(at: SocketAddr) -> Result<TcpListener, StartError> {
    let failed = |error| ServingError::Listen { at, error };
    let listener = TcpListener::bind(at).await.map_err(failed)?;
    let there = listener.local_addr().map_err(failed)?;
    serving::say(&format!("linkerd-control-plane listens on {there}"));
    Ok(listener)
}

/// Serves connections for ever.
pub async fn serve(listener: TcpListener, tls: Arc<ServerConfig>, plane: Arc<Plane>) -> StartError {
    let mut listener = LimitedListener::new(listener, CONNECTIONS_MAX);
    let tls = TlsAcceptor::from(tls);
    let routes = routes(&plane);
    loop {
        let (stream, from) = listener.accept().await;
        let (tls, plane, routes) = (tls.clone(), Arc::clone(&plane), routes.clone());
        tokio::spawn(async move {
            let handshake = timeout(HANDSHAKE_TIMEOUT, tls.accept(stream)).await;
            let problem = match handshake {
                Ok(Ok(stream)) => return connection(TokioIo::new(stream), from, routes).await,
                Ok(Err(error)) => error.to_string(),
                Err(_) => format!("it took over {} s", HANDSHAKE_TIMEOUT.as_secs()),
            };
            let message = format!(
                "TLS handshake failed: {problem}; look at the proxy's trust anchors and at LINKERD2_PROXY_*_SVC_NAME"
            );
            // There is nobody to send the status to.
            let refusal = ("tls-handshake", Code::Unavailable);
            let _ = plane.events.refuse(refusal, Some(from), &message);
        });
    }
}

async fn connection<S>(stream: TokioIo<S>, from: SocketAddr, routes: Router)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let peer = TcpConnectInfo {
        local_addr: None,
        remote_addr: Some(from),
    };
    let service = TowerToHyperService::new(routes.layer(axum::Extension(peer)));
    let mut server = auto::Builder::new(TokioExecutor::new()).http2_only();
    server
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HEADER_BYTES_MAX)
        .keep_alive_interval(PROBE_INTERVAL)
        .keep_alive_timeout(PROBE_INTERVAL);
    // Proxies end connections in any way.
    let _ = server.serve_connection(stream, service).await;
}
