//! The run keeper's last act on a cluster: it deletes its own namespace, and with that everything of the run.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use rustls::ClientConnection;
use rustls::pki_types::ServerName;
use serde::{Deserialize, Serialize};

use super::greeting::client_config;
use crate::http;

/// Credentials of a pod's service account.
const FOLDER: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// Name in the certificate of every API server.
const API_SERVER: &str = "kubernetes.default.svc";
/// Time for a request.
const WITHIN: Duration = Duration::from_secs(10);
/// How long an API server that does not answer is asked again.
const AWAY_MAX: Duration = Duration::from_secs(3600);
/// Interval of asking it again.
const RETRY: Duration = Duration::from_secs(5);

/// A namespace that belongs to a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnNamespace {
    pub name: String,
    /// Address of the API server, as pods reach it.
    pub api_server: SocketAddr,
}

/// Deletes it; tries for an hour.
pub(crate) fn delete(namespace: &OwnNamespace) {
    let began = Instant::now();
    while let Err(_reason) = request(namespace)
        && began.elapsed() < AWAY_MAX
    {
        std::thread::sleep(RETRY);
    }
}

fn request(namespace: &OwnNamespace) -> Result<(), String> {
    let read = |name: &str| {
        let path = Path::new(FOLDER).join(name);
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let (token, authority) = (read("token")?, read("ca.crt")?);
    let socket = TcpStream::connect_timeout(&namespace.api_server, WITHIN);
    let socket = socket.map_err(|error| error.to_string())?;
    let name = ServerName::try_from(API_SERVER).map_err(|error| error.to_string())?;
    let connection = ClientConnection::new(client_config(&authority)?, name);
    let connection = connection.map_err(|error| error.to_string())?;
    let mut stream = tare_tls::over(connection, &socket);
    let login = format!("Bearer {}", token.trim());
    let path = format!("/api/v1/namespaces/{}", namespace.name);
    let message = http::message(
        ["DELETE", &path, API_SERVER],
        &[(String::from("Authorization"), login)],
        &[],
    )?;
    let deadline = Instant::now() + WITHIN;
    let answer = http::exchange(&mut stream, &socket, &message, deadline, WITHIN)?;
    match answer.status {
        // 404, 409: somebody else has deleted it.
        200 | 202 | 404 | 409 => Ok(()),
        status => Err(format!("status {status}: {}", answer.text)),
    }
}
