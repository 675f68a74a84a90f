//! Says in a sentence what the driver says in many words.

use mongodb::error::{Error, ErrorKind};

/// Longest message that is handed on.
const SAID_MAX: usize = 300;

/// Where the fault lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The database cannot be reached.
    Away,
    /// It answers, with an error.
    Answer,
}

/// An error in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Where the fault lies.
    pub fault: Fault,
    /// What it is and what to do.
    pub why: String,
}

/// Explains an error of the driver.
pub fn explain(error: &Error) -> Told {
    let fault = match &*error.kind {
        ErrorKind::Io(_)
        | ErrorKind::ServerSelection { .. }
        | ErrorKind::ConnectionPoolCleared { .. }
        | ErrorKind::DnsResolve { .. }
        | ErrorKind::Authentication { .. }
        | ErrorKind::InvalidTlsConfig { .. } => Fault::Away,
        _ => Fault::Answer,
    };
    Told {
        fault,
        why: sentence(&error.kind.to_string()),
    }
}

/// What somebody can do something about, by what the driver's text holds.
const KNOWN: [(&str, &str); 10] = [
    // Of another authority with the same name.
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

fn sentence(said: &str) -> String {
    let known = KNOWN.iter().find(|(holds, _)| said.contains(holds));
    match known {
        Some((_, sentence)) => (*sentence).to_owned(),
        None => said.chars().take(SAID_MAX).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_driver_says_becomes_a_sentence_with_a_way_out() {
        let said = "Server selection timeout: No available servers. Topology: { Type: Single, Servers: [ { Address: db:1, Type: Unknown, Error: Kind: I/O error: invalid peer certificate: UnknownIssuer, labels: {} } ] }";
        assert!(sentence(said).contains("tlsCAFile"));
        let said = "I/O error: Connection refused (os error 111)";
        assert!(sentence(said).starts_with("nothing listens there"));
    }

    #[test]
    fn what_is_not_known_is_handed_on_but_not_without_end() {
        assert_eq!(sentence("no such luck"), "no such luck");
        assert_eq!(sentence(&"é".repeat(1000)).chars().count(), SAID_MAX);
    }

    #[test]
    fn an_error_of_the_connection_is_told_apart_from_an_answer() {
        let gone = Error::from(std::io::Error::from(std::io::ErrorKind::ConnectionReset));
        assert_eq!(explain(&gone).fault, Fault::Away);
        assert_eq!(explain(&Error::custom("x")).fault, Fault::Answer);
    }
}
