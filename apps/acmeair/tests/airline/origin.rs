//! All other tests once more, over Tare's database in memory in place of the real one: both must give the same answers.

use std::fs::File;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tare_origin::{
    Identity, OriginOptions, ServerProtocol, SessionTickets, StopHandle, TlsOptions, TlsVersions,
};

/// All of it; 30 s on a machine with two busy cores.
const INNER_LIMIT: Duration = Duration::from_secs(900);

#[test]
fn over_a_database_in_memory_all_is_the_same() {
    if std::env::var_os("ACMEAIR_TEST_DATABASE").is_some() {
        // This is the inner run, or somebody asks for a database of their own.
        return;
    }
    let keys = tempfile::tempdir().unwrap();
    let ca = keys.path().join("ca.pem");
    let options = OriginOptions {
        protocol: ServerProtocol::Mongodb,
        tls: Some(TlsOptions {
            identity: Identity::SelfSigned {
                ca_out: Some(ca.clone()),
            },
            client_ca: None,
            tickets: SessionTickets::default(),
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
    // To a file: a service that were left over would keep a pipe open, and us waiting.
    let told = keys.path().join("told");
    let mut inner = Command::new(std::env::current_exe().unwrap())
        .arg("--test-threads=3")
        .env("ACMEAIR_TEST_DATABASE", uri)
        .stdout(File::create(&told).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    let ended = loop {
        match inner.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if began.elapsed() > INNER_LIMIT => {
                inner.kill().unwrap();
                inner.wait().unwrap();
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    stop.stop();
    serving.join().unwrap();
    let said = std::fs::read_to_string(&told).unwrap();
    assert!(ended.is_some_and(|status| status.success()), "{said}");
    // All of them, this one too, which has nothing to do in there.
    let passed = said.matches(" ... ok\n").count();
    assert!(
        passed > 10 && said.contains(&format!("test result: ok. {passed} passed; 0 failed")),
        "{said}"
    );
}
