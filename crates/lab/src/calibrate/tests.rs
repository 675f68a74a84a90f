//! Calibration: everything is measured, and cached for a day of one boot.

use super::*;

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
