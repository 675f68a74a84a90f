//! Short explanations of driver errors.

use mongodb::error::{Error, ErrorKind};

/// Longest message that is passed on.
const MESSAGE_MAX: usize = 300;

/// Whether the database is unreachable or returned an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseFault {
    /// The database cannot be reached.
    Unreachable,
    /// It returned an error.
    Rejected,
}

/// An explained error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The kind of failure.
    pub fault: DatabaseFault,
    /// What happened, and what to do.
    pub why: String,
}

/// Explains an error of the driver.
pub fn explain(error: &Error) -> Explanation {
    let fault = match &*error.kind {
        ErrorKind::Io(_)
        | ErrorKind::ServerSelection { .. }
        | ErrorKind::ConnectionPoolCleared { .. }
        | ErrorKind::DnsResolve { .. }
        | ErrorKind::Authentication { .. }
        | ErrorKind::InvalidTlsConfig { .. } => DatabaseFault::Unreachable,
        _ => DatabaseFault::Rejected,
    };
    Explanation {
        fault,
        why: sentence(&error.kind.to_string()),
    }
}

/// Explanations by a substring of the driver's message.
const KNOWN: [(&str, &str); 10] = [
    // Another authority with the same name.
    (
        "BadSignature",
        "its certificate was refused: another authority signed it; is tlsCAFile the one that did?",
    ),
    (
        "UnknownIssuer",
        "its certificate was refused: another authority signed it; is tlsCAFile the one that did?",
    ),
    (
        "NotValidForName",
        "its certificate was refused: it is for another name than the URI's host",
    ),
    ("Expired", "its certificate was refused: it has expired"),
    ("invalid peer certificate", "its certificate was refused"),
    (
        "Connection refused",
        "nothing listens there; is it started, and is the port right?",
    ),
    (
        "lookup address",
        "its name cannot be resolved; is the URI's host right?",
    ),
    (
        "handshake eof",
        "the connection was closed in the TLS handshake: does it speak TLS, and does every proxy before it know its name?",
    ),
    (
        "InvalidContentType",
        "it does not speak TLS; leave out tls=true, or ask another port",
    ),
    (
        "Authentication failed",
        "it refused the user or the password of the URI",
    ),
];

fn sentence(message: &str) -> String {
    let known = KNOWN.iter().find(|(pattern, _)| message.contains(pattern));
    match known {
        Some((_, sentence)) => (*sentence).to_owned(),
        None => message.chars().take(MESSAGE_MAX).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_driver_says_becomes_a_sentence_with_a_way_out() {
        let message = "Server selection timeout: No available servers. Topology: { Type: Single, Servers: [ { Address: db:1, Type: Unknown, Error: Kind: I/O error: invalid peer certificate: UnknownIssuer, labels: {} } ] }";
        assert!(sentence(message).contains("tlsCAFile"));
        let message = "I/O error: Connection refused (os error 111)";
        assert!(sentence(message).starts_with("nothing listens there"));
    }

    #[test]
    fn what_is_not_known_is_handed_on_but_not_without_end() {
        assert_eq!(sentence("no such luck"), "no such luck");
        assert_eq!(sentence(&"é".repeat(1000)).chars().count(), MESSAGE_MAX);
    }

    #[test]
    fn an_error_of_the_connection_is_told_apart_from_an_answer() {
        let gone = Error::from(std::io::Error::from(std::io::ErrorKind::ConnectionReset));
        assert_eq!(explain(&gone).fault, DatabaseFault::Unreachable);
        assert_eq!(explain(&Error::custom("x")).fault, DatabaseFault::Rejected);
    }
}
