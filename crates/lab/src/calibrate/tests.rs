//! Calibration: everything is measured, and cached for a day of one boot.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use super::*;

/// A socket of which a signal interrupts two calls of three.
struct Interrupted {
    socket: TcpStream,
    calls: usize,
}

impl Interrupted {
    fn call<T>(&mut self, call: impl FnOnce(&mut TcpStream) -> io::Result<T>) -> io::Result<T> {
        self.calls += 1;
        match self.calls.is_multiple_of(3) {
            true => call(&mut self.socket),
            false => Err(io::ErrorKind::Interrupted.into()),
        }
    }
}

impl Read for Interrupted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.call(|socket| socket.read(into))
    }
}

impl Write for Interrupted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.call(|socket| socket.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.call(Write::flush)
    }
}

#[test]
fn interrupted_calls_do_not_end_an_exchange_over_tls() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let near = TcpStream::connect(address).unwrap();
    let (far, _) = listener.accept().unwrap();
    let interrupted = |socket| Interrupted { socket, calls: 0 };
    let ends = tls::TlsEnds::new(address.ip()).unwrap();
    let ends = ends.wrap(interrupted(near), interrupted(far)).unwrap();
    let trips_ns = stream::round_trips(ends, 10, Duration::from_secs(3600));
    assert_eq!(trips_ns.unwrap().len(), 10);
}

#[test]
fn every_way_and_the_disk_are_measured() {
    let out = tempfile::tempdir().unwrap();
    let measured = measure(out.path()).unwrap();
    let pods = Namespace::new().is_ok();
    assert_eq!(measured.paths.len(), 1 + usize::from(pods));
    for way in &measured.paths {
        for stream in [way.plain, way.tls] {
            let (p50, p99) = (stream.round_trip_p50_ns.unwrap(), stream.round_trip_p99_ns);
            assert!(p50 > 0 && p99.is_none_or(|p99| p99 >= p50), "{way:?}");
            assert!(stream.bits_per_s > 0.0, "{way:?}");
        }
    }
    let disk = measured.disk.unwrap();
    assert!(disk.write_bytes_per_s > 0.0 && disk.read_bytes_per_s > 0.0);
    // Nothing is left in the folder.
    assert_eq!(std::fs::read_dir(out.path()).unwrap().count(), 0);
}

#[test]
fn it_is_remembered_for_a_day_of_the_same_boot_and_file_system() {
    let (cache, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let other = tempfile::tempdir_in("/dev/shm").unwrap();
    let beside = tempfile::tempdir().unwrap();
    let known = HostBaseline {
        measured_unix_s: now_unix_s() - 3600,
        boot_id: boot_id(),
        paths: Vec::new(),
        disk: None,
    };
    let store = |known: &HostBaseline| super::store(cache.path(), out.path(), known);
    assert_eq!(from_cache(cache.path(), out.path()), None);
    store(&known);
    assert_eq!(from_cache(cache.path(), out.path()), Some(known.clone()));
    assert_eq!(from_cache(cache.path(), beside.path()), Some(known.clone()));
    assert_eq!(from_cache(cache.path(), other.path()), None);
    // It is taken as it is: nothing is measured.
    let taken = cached_or_measured(cache.path(), out.path()).unwrap();
    assert_eq!(taken, known);
    store(&HostBaseline {
        measured_unix_s: now_unix_s() - 25 * 3600,
        ..known.clone()
    });
    assert_eq!(from_cache(cache.path(), out.path()), None, "a day is over");
    store(&HostBaseline {
        measured_unix_s: now_unix_s() + 3600,
        ..known.clone()
    });
    assert_eq!(
        from_cache(cache.path(), out.path()),
        None,
        "the clock went back"
    );
    store(&HostBaseline {
        boot_id: String::from("another"),
        ..known
    });
    assert_eq!(from_cache(cache.path(), out.path()), None, "another boot");
}
