//! SHA-256 of files and texts, hexadecimal.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

/// SHA-256 of a file.
pub(super) fn sha256(file: &Path) -> io::Result<String> {
    let mut file = File::open(file)?;
    let mut digest = Sha256::new();
    let mut chunk = vec![0_u8; 1 << 16];
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            break;
        }
        digest.update(&chunk[..read]);
    }
    Ok(hexadecimal(&digest.finalize()))
}

/// SHA-256 of several texts, each with its length.
pub(super) fn sha256_of(texts: &[String]) -> String {
    let mut digest = Sha256::new();
    for text in texts {
        digest.update(text.len().to_be_bytes());
        digest.update(text);
    }
    hexadecimal(&digest.finalize())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
