//! The committed descriptors, against the .proto files they describe.

use std::path::Path;

const FILES: [&str; 4] = [
    "origin.proto",
    "grpc/health/v1/health.proto",
    "grpc/reflection/v1/reflection.proto",
    "grpc/reflection/v1alpha/reflection.proto",
];

#[test]
fn the_committed_descriptors_are_those_of_the_proto_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("proto");
    let mut compiler = protox::Compiler::new([&folder]).unwrap();
    compiler.open_files(FILES).unwrap();
    let now = compiler.encode_file_descriptor_set();
    let path = folder.join("descriptors.binpb");
    if std::env::var_os("TARE_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    assert!(
        std::fs::read(&path).unwrap() == now,
        "run this test with TARE_UPDATE_GOLDEN=1 and commit proto/descriptors.binpb"
    );
}
