//! Checks by doing it whether pods' traffic can be redirected on this machine.

use std::net::Ipv4Addr;
use std::path::Path;

use tare_net::Switch;
use tare_net::capture::{Capture, Direction};
use tare_schema::plan::Addressing;

use crate::keeper::Keeper;

/// Name of the pod used for the check.
const POD: &str = "redirection";

/// Redirects the traffic of an empty pod; `tare` is the program from which the keeper is started.
///
/// # Errors
/// Why traffic cannot be redirected with this addressing, as text.
pub fn can_redirect(tare: &Path, addressing: Addressing) -> Result<(), String> {
    if addressing == Addressing::Loopback {
        return Err("with loopback addresses there is none: use `addressing: namespaces`".into());
    }
    let mut keeper = Keeper::start_in_namespaces(tare, None)
        .map_err(|error| format!("network namespaces are not possible here: {error}"))?;
    let address = Switch::pod_address(0).unwrap_or(Ipv4Addr::LOCALHOST);
    let capture = Capture {
        directions: [Direction::Outbound, Direction::Inbound].into(),
        ..Capture::default()
    };
    let tried = keeper.plug(POD, address);
    // The pod is removed with the keeper.
    let tried = tried.and_then(|()| keeper.capture(POD, &capture));
    tried.map_err(|error| error.to_string())
}
