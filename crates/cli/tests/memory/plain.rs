//! Servers of other protocols that never read, or announce more than there should be.

use std::io::{Read, Write};

use super::{refused, repeat, says, server, survives, wait_for_bytes};

#[test]
fn a_stream_of_bytes_that_is_never_read_takes_no_memory() {
    let letters = b"abcdefghijklmnopqrstuvwxyz";
    let address = server(move |stream| repeat(&stream, letters));
    let url = format!("tcp://{address}");
    let echo = [
        "--send",
        "1MiB",
        "--clients",
        "8",
        "--count",
        "100",
        "--timeout",
        "1s",
    ];
    survives(&url, &echo);
    let both = [
        "--throughput",
        "both",
        "--connections",
        "8",
        "--duration",
        "1s",
    ];
    survives(&url, &[&both[..], &["--timeout", "1s"]].concat());
}

/// The head of an OP_MSG.
fn mongodb(length: i32) -> Vec<u8> {
    let words = [length, 1, 1, 2013];
    words.into_iter().flat_map(i32::to_le_bytes).collect()
}

#[test]
fn messages_of_mongodb_are_held_no_longer_than_a_right_answer_is() {
    let how = ["--clients", "20", "--count", "40"];
    // As long as a message may be, and nearly as much of it.
    let address = server(|mut stream| {
        wait_for_bytes(&stream)?;
        stream.write_all(&mongodb(47_999_999))?;
        stream.write_all(&vec![0; 47_999_000])?;
        // What we send meanwhile is never read.
        std::thread::park_timeout(std::time::Duration::from_secs(5));
        Ok(())
    });
    let outcomes = survives(&format!("mongodb://{address}"), &how);
    assert!(
        says(&outcomes, "a message of 47999999 bytes"),
        "{outcomes:?}"
    );
    let endless = server(|stream| repeat(&stream, &mongodb(16)));
    refused(&format!("mongodb://{endless}"), &how);
}

#[test]
fn a_frame_of_kafka_is_put_together_up_to_what_a_cluster_has_to_tell() {
    let address = server(|mut stream| {
        let mut request = [0; 12];
        stream.read_exact(&mut request)?;
        let length: u32 = 127 << 20;
        stream.write_all(&length.to_be_bytes())?;
        stream.write_all(&request[8..12])?;
        repeat(&stream, &[0; 1024])
    });
    for more in [&[][..], &["--consume"]] {
        let said = refused(&format!("kafka://{address}/t"), more);
        assert!(said.contains("a frame of 133169152 bytes"), "{said}");
    }
}
