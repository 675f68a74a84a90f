//! Reading of what the kernel shows, and a whole examination of this machine.

use super::describe::{cpu_model, describe, fingerprint, hashed_machine_id, os_name};
use super::*;

#[test]
fn the_processor_and_the_system_are_named_as_they_name_themselves() {
    let info = "processor\t: 0\nmodel\t\t: 106\nmodel name\t: Some CPU @ 2.90GHz\nflags\t: fpu\n";
    assert_eq!(cpu_model(info).unwrap(), "Some CPU @ 2.90GHz");
    assert_eq!(cpu_model("processor: 0\n"), None);
    assert_eq!(os_name("NAME=x\nPRETTY_NAME=\"Debian 12\"\n"), "Debian 12");
    assert_eq!(os_name(""), "Linux");
}

#[test]
fn a_fingerprint_changes_with_the_machine_and_not_with_a_few_pages_of_memory() {
    let one = fingerprint("cpu", 4, "6.1.0", 8_000_000_000);
    assert_eq!(one.len(), 12);
    assert_eq!(one, fingerprint("cpu", 4, "6.1.0", 8_000_500_000));
    for other in [
        fingerprint("other", 4, "6.1.0", 8_000_000_000),
        fingerprint("cpu", 2, "6.1.0", 8_000_000_000),
        fingerprint("cpu", 4, "6.1.1", 8_000_000_000),
        fingerprint("cpu", 4, "6.1.0", 16_000_000_000),
    ] {
        assert_ne!(one, other);
    }
}

#[test]
fn the_record_of_a_machine_has_the_digest_of_the_program_that_measures() {
    let own = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
    let digest = tare_record::checksums::sha256_of(own).unwrap();
    let record = describe("local", "loopback", Vec::new());
    assert_eq!(record.tare_sha256, Some(digest));
}

#[test]
fn the_id_of_a_machine_is_a_hash_that_tells_machines_apart_and_not_which_they_are() {
    let id = "3d1219c7c4c5404aaa1f6d2a48adfda4";
    // printf 'tare machine id 1\n3d1219c7c4c5404aaa1f6d2a48adfda4' | sha256sum
    assert_eq!(hashed_machine_id(id).unwrap(), "b7417190650033a4");
    let other = id.replace('3', "4");
    assert_ne!(hashed_machine_id(&other), hashed_machine_id(id));
    for none in [
        "",
        "uninitialized",
        &id[1..],
        "this is no machine ID: not in hex",
    ] {
        assert_eq!(hashed_machine_id(none), None, "{none}");
    }
}

#[test]
fn an_examination_has_every_check_once_and_advice_where_it_is_not_good() {
    let missing = RequiredProgram {
        program: String::from("no-such-program"),
        package: String::from("no-such-package"),
        needed_for: String::from("nothing"),
    };
    let folder = std::env::temp_dir();
    let checks = examine(&folder, &[missing]);
    let mut names: Vec<&str> = checks.iter().map(|check| check.name.as_str()).collect();
    for name in [
        "cores",
        "governor",
        "steal",
        "others",
        "scheduling",
        "timer",
        "loopback",
        "disk",
        "descriptors",
        "timestamps",
        "distance",
    ] {
        assert!(names.contains(&name), "{name}");
    }
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
    for check in &checks {
        assert!(!check.found.is_empty());
        assert_eq!(
            check.advice.is_some(),
            check.grade != Grade::Ok,
            "{check:?}"
        );
    }
    let last = checks.last().unwrap();
    assert_eq!(last.grade, Grade::Warning);
    assert!(
        last.advice
            .as_ref()
            .unwrap()
            .contains("apt-get install no-such-package")
    );
    let own = format!(".tare-disk-{}", std::process::id());
    assert!(!folder.join(own).exists());
}

#[test]
fn a_folder_that_cannot_be_written_prevents_a_measurement() {
    let checks = [disk::speed(Path::new("/proc/self"))];
    assert_eq!(worst(&checks), Grade::Error);
    assert!(checks[0].advice.as_ref().unwrap().contains("--out"));
}
