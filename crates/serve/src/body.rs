//! Bodies of requests: bounded in size and in time.

use std::io::{self, BufWriter};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{StatusCode, header};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::archive;
use crate::audit::AuditSubject;
use crate::error::{Refusal, Reply};
use crate::routes::RouteContent;
use crate::shapes;

/// Largest body of a request but an archive.
const BODY_BYTES_MAX: usize = 1 << 20;
/// Time in which a body must have come.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// The body of a request, which has a largest size and a longest time.
pub async fn body(request: Request) -> Reply<Bytes> {
    let read = axum::body::to_bytes(request.into_body(), BODY_BYTES_MAX);
    match tokio::time::timeout(BODY_TIMEOUT, read).await {
        Err(_) => Err(Refusal::new(
            StatusCode::REQUEST_TIMEOUT,
            "the body did not come in time",
        )),
        Ok(Err(_)) => Err(Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the body has more than {BODY_BYTES_MAX} bytes, or ended early"),
        )),
        Ok(Ok(bytes)) => Ok(bytes),
    }
}

/// The same as JSON, of the shape that the route takes.
pub async fn json<T: DeserializeOwned>(request: Request) -> Reply<T> {
    let (wanted, fits) = typed(request).await?;
    fits.map(|()| wanted)
}

/// A body by its type, and whether it has the shape of the route, which says more.
async fn typed<T: DeserializeOwned>(request: Request) -> Reply<(T, Reply<()>)> {
    let kind = request
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    // A form of another site cannot send this type.
    if !kind.is_some_and(|kind| kind.starts_with("application/json")) {
        return Err(Refusal::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "send JSON (content-type: application/json)",
        ));
    }
    let takes = request.extensions().get::<RouteContent>().copied();
    parsed(&body(request).await?, takes)
}

fn parsed<T: DeserializeOwned>(bytes: &[u8], takes: Option<RouteContent>) -> Reply<(T, Reply<()>)> {
    let wrong = |error: serde_json::Error| {
        Refusal::bad(format!("the body is not what this takes: {error}"))
    };
    let mut value: Value = serde_json::from_slice(bytes).map_err(wrong)?;
    let read = match serde_json::from_slice(bytes) {
        Ok(read) => read,
        Err(error) => {
            shapes::with_integers(&mut value);
            // Its own error has no place in the text.
            T::deserialize(&value).map_err(|_| wrong(error))?
        }
    };
    let fits = match takes {
        Some(RouteContent::Json(shape)) => shapes::check(shape, &value),
        _ => Ok(()),
    };
    Ok((read, fits.map_err(Refusal::invalid)))
}

/// The same of a request that changes something, and what it is about.
pub async fn json_about<T: DeserializeOwned>(
    request: Request,
    about: impl FnOnce(&T) -> String,
) -> Reply<T> {
    let subject = AuditSubject::of(&request);
    let (wanted, fits) = typed(request).await?;
    subject.set(about(&wanted));
    fits.map(|()| wanted)
}

/// Writes a body to a file.
pub async fn received(body: Body, mut file: std::fs::File) -> Reply<()> {
    use futures_util::StreamExt as _;
    let mut bytes = 0;
    let mut parts = body.into_data_stream();
    while let Some(part) = parts.next().await {
        let part =
            part.map_err(|error| Refusal::bad(format!("the archive ended early: {error}")))?;
        bytes += part.len() as u64;
        if bytes > archive::RECEIVED_BYTES_MAX {
            return Err(Refusal::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                format!(
                    "the archive has more than {} bytes",
                    archive::RECEIVED_BYTES_MAX
                ),
            ));
        }
        file = tokio::task::spawn_blocking(move || {
            std::io::Write::write_all(&mut file, &part)?;
            Ok::<_, std::io::Error>(file)
        })
        .await
        .map_err(|error| Refusal::failed(error.to_string()))??;
    }
    Ok(())
}

/// A body that a thread writes, in parts: a large file takes no more memory than these.
pub fn in_parts(write: impl FnOnce(BufWriter<Parts>) -> io::Result<()> + Send + 'static) -> Body {
    let (sender, mut parts) = mpsc::channel(8);
    tokio::task::spawn_blocking(move || {
        let parts = Parts(sender.clone());
        if let Err(error) = write(BufWriter::with_capacity(64 << 10, parts)) {
            // The answer ends early, unless the reader is gone.
            let _ = sender.blocking_send(Err(error));
        }
    });
    Body::from_stream(futures_util::stream::poll_fn(move |context| {
        parts.poll_recv(context)
    }))
}

/// Sends what is written to a stream.
pub struct Parts(mpsc::Sender<io::Result<Bytes>>);

impl io::Write for Parts {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let part = Bytes::copy_from_slice(bytes);
        self.0.blocking_send(Ok(part)).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tare_kafka_admin::api::{ElectRequest, GrowRequest};
    use tare_record::api::LoadRequest;

    use super::*;

    #[test]
    fn a_body_is_taken_if_and_only_if_it_has_its_shape() {
        let shape = |name| Some(RouteContent::Json(name));
        let (grow, fits) =
            parsed::<GrowRequest>(br#"{"partitions": 3.0}"#, shape("GrowRequest")).unwrap();
        assert_eq!((grow.partitions, fits.is_ok()), (3, true));
        // serde takes a list as a struct: this one would have elected leaders of all topics.
        let said = |refused: Refusal| (refused.status.as_u16(), refused.error.message);
        let (_, fits) = parsed::<ElectRequest>(b"[]", shape("ElectRequest")).unwrap();
        let (status, message) = said(fits.unwrap_err());
        assert_eq!(status, 422);
        assert!(
            message.contains("is not of the type \"object\""),
            "{message}"
        );
        let half = br#"{"partitions": 3.5}"#;
        let (status, message) =
            said(parsed::<GrowRequest>(half, shape("GrowRequest")).unwrap_err());
        assert_eq!(status, 400);
        assert!(message.contains("floating point `3.5`"), "{message}");
        let (_, message) = said(parsed::<LoadRequest>(b"{", None).unwrap_err());
        assert!(message.contains("EOF"), "{message}");
    }
}
