//! A port of the run keeper, forwarded to this machine by `kubectl port-forward`, started again when it has ended.

use std::io::{self, BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use tare_lab::remote::Dial;

use crate::companion::Companion;
use crate::kubectl::Kubectl;

/// Time for a connection to the forwarded port, which is on this machine.
const CONNECT_WITHIN: Duration = Duration::from_secs(2);

/// How the port of a pod is called.
pub(crate) fn dial(kubectl: Kubectl, namespace: String, pod: String, port: u16) -> Dial {
    let mut open: Option<(Companion, u16)> = None;
    Box::new(move || {
        let known = open.take();
        let running =
            known.and_then(|(mut process, local)| process.is_running().then_some((process, local)));
        let (mut process, local) = match running {
            Some(running) => running,
            None => start(&kubectl, &namespace, &pod, port)?,
        };
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, local));
        let socket = TcpStream::connect_timeout(&at, CONNECT_WITHIN)?;
        // A forwarder that has lost its pod accepts a last connection.
        if process.is_running() {
            open = Some((process, local));
        }
        Ok(socket)
    })
}

fn start(kubectl: &Kubectl, namespace: &str, pod: &str, port: u16) -> io::Result<(Companion, u16)> {
    let ports = format!(":{port}");
    let pod = format!("pod/{pod}");
    let mut process = Companion::start(kubectl.command(&[
        "--namespace",
        namespace,
        "port-forward",
        "--address=127.0.0.1",
        &pod,
        &ports,
    ]))?;
    let output = process.0.stdout.take();
    let mut output = BufReader::new(output.ok_or_else(|| io::Error::other("it has no output"))?);
    let mut line = String::new();
    output.read_line(&mut line)?;
    let local = local_port(&line);
    let local = local.ok_or_else(|| {
        io::Error::other("kubectl port-forward ended: is the run keeper still there?")
    })?;
    // What it says further must not fill the pipe.
    std::thread::Builder::new()
        .name(String::from("port-forward"))
        .spawn(move || {
            let mut buffer = [0; 1024];
            while output.read(&mut buffer).is_ok_and(|length| length > 0) {}
        })?;
    Ok((process, local))
}

/// `Forwarding from 127.0.0.1:40001 -> 7077`.
fn local_port(line: &str) -> Option<u16> {
    let rest = line.strip_prefix("Forwarding from 127.0.0.1:")?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_local_port_is_the_one_that_it_names() {
        assert_eq!(
            local_port("Forwarding from 127.0.0.1:40001 -> 7077\n"),
            Some(40001)
        );
        assert_eq!(local_port("error: lost connection to pod\n"), None);
        assert_eq!(local_port(""), None);
    }
}
