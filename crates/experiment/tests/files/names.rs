//! Experiments by path, by study and stem, by stem alone.

use std::fs;

use tare_experiment::find::{FindError, Library};

fn library() -> (tempfile::TempDir, Library) {
    let directory = tempfile::tempdir().unwrap();
    for file in ["mesh/sidecar.yaml", "mesh/rates.yaml", "kafka/rates.yaml"] {
        let path = directory.path().join("experiments").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "question: whatever\n").unwrap();
    }
    let library = Library::in_directory(directory.path(), tare_load::protocols::infos());
    (directory, library)
}

#[test]
fn a_stem_that_only_one_has_is_enough() {
    let (_directory, library) = library();
    assert_eq!(library.find("sidecar").unwrap().experiment, "mesh/sidecar");
    assert_eq!(
        library.find("kafka/rates").unwrap().experiment,
        "kafka/rates"
    );
}

#[test]
fn a_stem_that_two_have_lists_both() {
    let (_directory, library) = library();
    let said = library.find("rates").unwrap_err().to_string();
    assert_eq!(
        said,
        "\"rates\" could be kafka/rates and mesh/rates: name the study as well"
    );
}

#[test]
fn an_unknown_name_gets_the_nearest() {
    let (_directory, library) = library();
    let said = library.find("sidecra").unwrap_err().to_string();
    assert!(said.ends_with("did you mean \"sidecar\"?"), "{said}");
}

#[test]
fn a_path_is_taken_as_it_is() {
    let (directory, library) = library();
    let path = directory.path().join("experiments/mesh/rates.yaml");
    assert_eq!(
        library.find(path.to_str().unwrap()).unwrap().experiment,
        "mesh/rates"
    );
    let alone = directory.path().join("mine.yaml");
    fs::write(&alone, "question: mine\n").unwrap();
    assert_eq!(
        library.find(alone.to_str().unwrap()).unwrap().experiment,
        "mine"
    );
    assert!(matches!(
        library.find("nowhere/mine.yaml"),
        Err(FindError::NoFile(_))
    ));
}
