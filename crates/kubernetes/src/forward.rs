//! A port of the run keeper, forwarded to this machine by `kubectl port-forward`, started again when it has ended.

use std::io::{self, BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::ChildStdout;
use std::sync::mpsc::channel;
use std::time::Duration;

use tare_lab::remote::Dial;

use crate::companion::Companion;
use crate::kubectl::Kubectl;

/// Time for a connection to the forwarded port, which is on this machine.
const CONNECT_WITHIN: Duration = Duration::from_secs(2);

/// Time for it to be forwarded.
const FORWARD_WITHIN: Duration = Duration::from_secs(30);
/// Longest first line of `kubectl port-forward`.
const LINE_BYTES_MAX: u64 = 1024;

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
    let output = output.ok_or_else(|| io::Error::other("it has no output"))?;
    let line = first_line(output, FORWARD_WITHIN)?;
    let local = local_port(&line);
    let local = local.ok_or_else(|| {
        io::Error::other("kubectl port-forward ended: is the run keeper still there?")
    })?;
    Ok((process, local))
}

/// The first line, within a limit. What follows is read and dropped, so that it does not fill the pipe.
fn first_line(mut output: ChildStdout, within: Duration) -> io::Result<String> {
    let (line, found) = channel();
    std::thread::Builder::new()
        .name(String::from("port-forward"))
        .spawn(move || {
            let mut first = String::new();
            let read = BufReader::new((&mut output).take(LINE_BYTES_MAX)).read_line(&mut first);
            let _ = line.send(read.map(|_| first));
            let _ = io::copy(&mut output, &mut io::sink());
        })?;
    let late = |_| io::Error::from(io::ErrorKind::TimedOut);
    found.recv_timeout(within).map_err(late)?
}

/// `Forwarding from 127.0.0.1:40001 -> 7077`.
fn local_port(line: &str) -> Option<u16> {
    let rest = line.strip_prefix("Forwarding from 127.0.0.1:")?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_forwarder_that_says_nothing_is_not_waited_for() {
        let start = |words: &[&str]| {
            let mut command = Command::new(words[0]);
            let mut process = command
                .args(&words[1..])
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let line = first_line(process.stdout.take().unwrap(), Duration::from_millis(300));
            let _ = process.kill();
            process.wait().unwrap();
            line
        };
        assert_eq!(
            start(&["sleep", "60"]).unwrap_err().kind(),
            io::ErrorKind::TimedOut
        );
        assert_eq!(start(&["echo", "one"]).unwrap(), "one\n");
        let long = start(&["head", "-c", "100000", "/dev/zero"]).unwrap();
        assert_eq!(long.len() as u64, LINE_BYTES_MAX);
    }

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
