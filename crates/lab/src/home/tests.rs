//! Tests of where targets are found: what is used, what is not, and what is said.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown, symlink};

use super::*;

/// An unused user id.
const STRANGER: u32 = 65_533;

/// A folder of this user with a home folder in it and a folder below.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        for part in PARTS {
            fs::create_dir_all(place.home().join(part)).unwrap();
            allow(&place.home().join(part), 0o755);
        }
        fs::create_dir(place.here()).unwrap();
        allow(&place.home(), 0o755);
        place
    }

    fn top(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap()
    }

    fn home(&self) -> PathBuf {
        self.top().join("library")
    }

    fn here(&self) -> PathBuf {
        self.home().join("below")
    }

    /// What is found with a program that lies elsewhere.
    fn found(&self) -> Result<PathBuf, String> {
        find(None, Path::new("/no/program"), &self.here()).map_err(|error| error.to_string())
    }
}

fn allow(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Gives a file to another user; prints why if this user cannot.
fn given_away(path: &Path) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    match is_root {
        true => chown(path, Some(STRANGER), None).unwrap(),
        false => println!("not root: no file can be given to another user, so this is not tried"),
    }
    is_root
}

#[test]
fn the_named_folder_comes_first_then_the_programs_then_the_current_directorys() {
    let [named, installed, around] = [Place::new(), Place::new(), Place::new()];
    let program = installed.here().join("tare");
    let (here, nowhere) = (around.here(), Path::new("/no/program"));
    let found = |named, program| find(named, program, &here).unwrap();
    let named = named.home();
    assert_eq!(found(Some(&named), &program), named);
    assert_eq!(found(None, &program), installed.home());
    assert_eq!(found(None, nowhere), around.home());
    let said = find(Some(nowhere), &program, &here).unwrap_err();
    assert!(said.to_string().contains("or unset it"), "{said}");
    let said = find(None, nowhere, Path::new("/")).unwrap_err();
    assert!(said.to_string().contains("set TARE_HOME"), "{said}");
}

#[test]
fn a_folder_of_somebody_else_is_no_library() {
    let place = Place::new();
    assert_eq!(place.found(), Ok(place.home()));
    // Whichever of them is his, he can put there what he wants.
    for part in ["library/targets", "library/workloads", "library", ""] {
        let part = place.top().join(part);
        if !given_away(&part) {
            return;
        }
        let said = place.found().unwrap_err();
        let whose = format!(
            "{} belongs to user {STRANGER};",
            part.display().to_string().trim_end_matches('/')
        );
        assert!(said.contains(&whose), "{said}");
        assert!(
            said.ends_with(&format!("set TARE_HOME={}", place.home().display())),
            "{said}"
        );
        assert!(find(Some(&place.home()), Path::new("/x"), &place.here()).is_ok());
        chown(&part, Some(0), None).unwrap();
    }
    assert_eq!(place.found(), Ok(place.home()));
}

#[test]
fn a_folder_that_others_may_write_or_swap_is_no_library() {
    let place = Place::new();
    for part in ["library/targets", "library/workloads", "library", ""] {
        let part = place.top().join(part);
        for mode in [0o777, 0o775] {
            allow(&part, mode);
            let said = place.found().unwrap_err();
            assert!(said.contains(&format!("(mode {mode:o})")), "{said}");
        }
        // As in /tmp: our entries cannot be moved away, but any user can add others.
        allow(&part, 0o1777);
        assert_eq!(
            place.found().is_ok(),
            part == place.top(),
            "{}",
            part.display()
        );
        allow(&part, 0o755);
    }
}

#[test]
fn a_link_in_our_own_folder_does_not_make_a_strangers_folder_ours() {
    let [place, other] = [Place::new(), Place::new()];
    let targets = place.home().join("targets");
    fs::remove_dir(&targets).unwrap();
    symlink(other.home().join("targets"), &targets).unwrap();
    assert_eq!(place.found(), Ok(place.home()));
    allow(&other.home(), 0o777);
    assert!(place.found().is_err());
}

#[test]
fn what_a_stranger_puts_above_the_program_is_not_the_programs() {
    let place = Place::new();
    let program = place.here().join("tare");
    fs::write(&program, "").unwrap();
    let found = || find(None, &program, Path::new("/"));
    assert!(found().is_ok());
    if !given_away(&place.home().join("targets")) {
        return;
    }
    let said = found().unwrap_err().to_string();
    assert!(said.contains("belongs to user"), "{said}");
    // The owner of the program is trusted with its targets.
    chown(&program, Some(STRANGER), None).unwrap();
    assert_eq!(found().unwrap(), place.home());
}

#[test]
fn a_target_in_which_somebody_else_has_a_say_is_not_used() {
    let place = Place::new();
    let collection = place.home().join("targets");
    let folder = collection.join("x");
    fs::create_dir(&folder).unwrap();
    let file = folder.join("target.yaml");
    fs::write(&file, "").unwrap();
    allow(&file, 0o644);
    let examined = || check_target(&collection, &folder).map_err(|error| error.to_string());
    assert_eq!(examined(), Ok(()));
    for path in [&folder, &file] {
        allow(path, 0o777);
        let said = examined().unwrap_err();
        assert!(
            said.contains("others may write") && said.contains("chmod -R go-w"),
            "{said}"
        );
        allow(path, 0o755);
    }
    // A collection that any user may write was named on purpose.
    allow(&collection, 0o777);
    allow(&file, 0o666);
    assert_eq!(examined(), Ok(()));
    allow(&collection, 0o755);
    allow(&file, 0o644);
    for path in [&folder, &file] {
        if !given_away(path) {
            return;
        }
        let said = examined().unwrap_err();
        assert!(
            said.contains(&format!("belongs to user {STRANGER};")),
            "{said}"
        );
        // In a collection of his that was named, his targets are meant.
        chown(&collection, Some(STRANGER), None).unwrap();
        assert_eq!(examined(), Ok(()));
        chown(&collection, Some(0), None).unwrap();
        chown(path, Some(0), None).unwrap();
    }
    let elsewhere = place.top().join("elsewhere");
    fs::write(&elsewhere, "").unwrap();
    symlink(&elsewhere, folder.join("template.j2")).unwrap();
    assert_eq!(examined(), Ok(()));
    chown(&elsewhere, Some(STRANGER), None).unwrap();
    assert!(examined().is_err());
}

#[test]
fn a_file_of_a_stranger_above_a_package_is_found() {
    let place = Place::new();
    let settings = place.top().join(".cargo");
    fs::create_dir(&settings).unwrap();
    let names = [".cargo", "Cargo.toml"];
    assert_eq!(untrusted_file(&place.here(), &names), None);
    if given_away(&settings) {
        assert_eq!(untrusted_file(&place.here(), &names), Some(settings));
    }
}
