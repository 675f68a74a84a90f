//! Administration pages that can change or end a real proxy: who comes in.

use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::PathBuf;

use tare_lab::certificates::Authority;
use tare_record::topology::Security;

use crate::place::{software, targets};
use crate::rig::{App, Stand, send, start_with};

#[test]
fn envoy_takes_orders_from_its_own_user_alone() {
    let targets = targets();
    let target = targets.get("envoy").unwrap();
    let app = App::start();
    let stand = Stand {
        name: "server-sidecar",
        shown: "server-sidecar",
        address: IpAddr::V4(Ipv4Addr::new(127, 64, 0, 1)),
        listen: Security::Plaintext,
        to: app.address,
        upstream: Security::Plaintext,
    };
    let authority = Authority::new("run").unwrap();
    let (mut port, mut socket) = (None, PathBuf::new());
    let software = software(target);
    let mut proxy = start_with(target, &software, "http1", &stand, &authority, |context| {
        port = Some(context.admin);
        socket.clone_from(&context.admin_socket);
    });
    let found = std::fs::metadata(&socket).unwrap();
    assert!(found.file_type().is_socket());
    assert_eq!(found.permissions().mode() & 0o777, 0o600);
    assert!(TcpStream::connect(port.unwrap()).is_err());
    assert_eq!(send(proxy.entry, 3), [200; 3]);
    let readings = proxy.reader.read().unwrap().readings;
    let requests = readings.iter().find(|one| one.name == "requests");
    assert_eq!(requests.unwrap().value, 3.0, "counters are read there");
}
