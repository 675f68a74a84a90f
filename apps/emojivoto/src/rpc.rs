//! Unary gRPC, server and client.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::uri::PathAndQuery;
use prost::Message;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_prost::ProstCodec;
use tower::service_fn;

use crate::error::StartError;
use crate::metrics::Family;

/// Largest message: a hundred emojis take six kilobytes.
const MESSAGE_BYTES_MAX: usize = 64 * 1024;
/// Concurrent calls to one service; further ones wait.
const CALLS_MAX: usize = 1024;
/// Timeout of a connection attempt.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// Timeout of a health check.
const HEALTH_WITHIN: Duration = Duration::from_secs(1);

/// Decodes the request message, runs the handler, and encodes its answer or status.
pub async fn answer<Q, A, F, W>(request: Request, mut work: F) -> Response
where
    Q: Message + Default + 'static,
    A: Message + Default + 'static,
    F: FnMut(Q) -> W + Send,
    W: Future<Output = Result<A, Status>> + Send,
{
    let service = service_fn(|request: tonic::Request<Q>| {
        let answered = work(request.into_inner());
        async move { answered.await.map(tonic::Response::new) }
    });
    tonic::server::Grpc::new(ProstCodec::<A, Q>::default())
        .max_decoding_message_size(MESSAGE_BYTES_MAX)
        .unary(service, request.map(tonic::body::Body::new))
        .await
        .map(Body::new)
}

pub fn unknown(method: &str) -> Response {
    let status = Status::unimplemented(format!("there is no method {method}"));
    status.into_http::<tonic::body::Body>().map(Body::new)
}

/// A method of another service, by name.
#[derive(Debug, Clone)]
pub struct Method {
    name: String,
    path: PathAndQuery,
}

impl Method {
    /// The method `name` of `service` (`emojivoto.v1.EmojiService`).
    /// Fails if the two do not form a path.
    pub fn new(service: &str, name: &str) -> Result<Method, StartError> {
        let path = format!("/{service}/{name}");
        Ok(Method {
            name: name.to_owned(),
            path: path.parse().map_err(|_| StartError::Method(path))?,
        })
    }
}

/// A client of another service: one connection, opened with the first call and shared by all calls.
#[derive(Debug)]
pub struct Backend {
    service: &'static str,
    channel: Channel,
    within: Duration,
    /// Calls made, by method.
    pub calls: Family,
}

impl Backend {
    /// The service at `address` (`host:port`); calls fail after `within`.
    /// Fails if the address is invalid.
    pub fn new(
        service: &'static str,
        address: &str,
        within: Duration,
        calls: Family,
    ) -> Result<Backend, StartError> {
        let endpoint = Endpoint::from_shared(format!("http://{address}"))
            .map_err(|_| StartError::Address(address.to_owned()))?
            .connect_timeout(CONNECT_WITHIN)
            .concurrency_limit(CALLS_MAX)
            .tcp_nodelay(true);
        Ok(Backend {
            service,
            channel: endpoint.connect_lazy(),
            within,
            calls,
        })
    }

    /// Calls a method.
    /// Errors: the gRPC status; `DeadlineExceeded` after the timeout.
    pub async fn call<Q, A>(&self, method: &Method, message: Q) -> Result<A, Status>
    where
        Q: Message + Default + 'static,
        A: Message + Default + 'static,
    {
        let mut grpc = tonic::client::Grpc::new(self.channel.clone())
            .max_decoding_message_size(MESSAGE_BYTES_MAX);
        let mut request = tonic::Request::new(message);
        request.set_timeout(self.within);
        self.calls.count(&method.name);
        let call = async {
            grpc.ready()
                .await
                .map_err(|error| Status::unavailable(error.to_string()))?;
            let codec = ProstCodec::<Q, A>::default();
            grpc.unary(request, method.path.clone(), codec).await
        };
        match tokio::time::timeout(self.within, call).await {
            Ok(answered) => answered.map(tonic::Response::into_inner),
            Err(_) => Err(Status::deadline_exceeded(format!(
                "{} took longer than {:?}",
                method.name, self.within
            ))),
        }
    }

    /// Health check over the same connection.
    pub async fn check_health(&self) -> Result<(), Status> {
        let mut client = HealthClient::new(self.channel.clone());
        let ask = client.check(HealthCheckRequest {
            service: self.service.to_owned(),
        });
        let answered = tokio::time::timeout(HEALTH_WITHIN, ask)
            .await
            .map_err(|_| Status::new(Code::DeadlineExceeded, "no answer about its health"))??;
        match answered.into_inner().status() {
            ServingStatus::Serving => Ok(()),
            other => Err(Status::unavailable(other.as_str_name().to_owned())),
        }
    }
}
