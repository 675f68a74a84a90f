//! All other tests once more, over Tare's database in memory in place of the real one: both must give the same answers.

use std::process::Command;

use tare_origin::{
    Clients, Identity, OriginOptions, Speaks, StopHandle, Tickets, TlsOptions, TlsVersions,
};

#[test]
fn over_a_database_in_memory_all_is_the_same() {
    if std::env::var_os("ACMEAIR_TEST_DATABASE").is_some() {
        // This is the inner run, or somebody asks for a database of their own.
        return;
    }
    let keys = tempfile::tempdir().unwrap();
    let ca = keys.path().join("ca.pem");
    let options = OriginOptions {
        speaks: Speaks::Mongodb,
        tls: Some(TlsOptions {
            identity: Identity::Made {
                ca_out: Some(ca.clone()),
            },
            clients: Clients::default(),
            tickets: Tickets::default(),
            versions: TlsVersions::default(),
        }),
        ..OriginOptions::default()
    };
    let stop = StopHandle::new().unwrap();
    let origin = tare_origin::bind(options).unwrap();
    let port = origin.local_addr().port();
    let serving = std::thread::spawn({
        let stop = stop.clone();
        move || origin.run(stop).unwrap()
    });
    let uri = format!(
        "mongodb://localhost:{port}/?tls=true&tlsCAFile={}&directConnection=true",
        ca.display()
    );
    let output = Command::new(std::env::current_exe().unwrap())
        .arg("--test-threads=3")
        .env("ACMEAIR_TEST_DATABASE", uri)
        .output()
        .unwrap();
    stop.stop();
    serving.join().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("test result: ok. 19 passed; 0 failed"),
        "{said}"
    );
}
