//! The examples of RFC 7541 appendix C, limits, and properties.

use proptest::prelude::*;

use super::{Decoder, Encoder, HeaderListLimits, HpackError};

const LIMITS: HeaderListLimits = HeaderListLimits {
    bytes_max: 16 * 1024,
    fields_max: 256,
};

type Fields = Vec<(Vec<u8>, Vec<u8>)>;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(pair).collect()
}

fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<Fields, HpackError> {
    let mut fields = Vec::new();
    decoder.decode(block, |name, value| {
        fields.push((name.to_vec(), value.to_vec()))
    })?;
    Ok(fields)
}

fn fresh(block: &[u8]) -> Result<Fields, HpackError> {
    decode(&mut Decoder::new(4096, LIMITS), block)
}

#[track_caller]
fn check(decoder: &mut Decoder, hex: &str, expected: &[(&str, &str)], table_bytes: usize) {
    let fields = decode(decoder, &bytes(hex)).unwrap();
    let shown: Vec<(&str, &str)> = fields
        .iter()
        .map(|(n, v)| {
            (
                std::str::from_utf8(n).unwrap(),
                std::str::from_utf8(v).unwrap(),
            )
        })
        .collect();
    assert_eq!(shown, expected);
    assert_eq!(decoder.table_bytes(), table_bytes);
}

#[test]
fn single_fields_decode_as_in_appendix_c_2() {
    let mut decoder = Decoder::new(4096, LIMITS);
    let literal = "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572";
    check(
        &mut decoder,
        literal,
        &[("custom-key", "custom-header")],
        55,
    );
    let mut decoder = Decoder::new(4096, LIMITS);
    check(
        &mut decoder,
        "040c 2f73 616d 706c 652f 7061 7468",
        &[(":path", "/sample/path")],
        0,
    );
    check(
        &mut decoder,
        "1008 7061 7373 776f 7264 0673 6563 7265 74",
        &[("password", "secret")],
        0,
    );
    check(&mut decoder, "82", &[(":method", "GET")], 0);
}

const REQUEST: [(&str, &str); 4] = [
    (":method", "GET"),
    (":scheme", "http"),
    (":path", "/"),
    (":authority", "www.example.com"),
];

#[test]
fn requests_decode_as_in_appendices_c_3_and_c_4() {
    let plain = [
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ];
    let huffman = [
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ];
    for [first, second, third] in [plain, huffman] {
        let mut decoder = Decoder::new(4096, LIMITS);
        check(&mut decoder, first, &REQUEST, 57);
        let mut with_cache = REQUEST.to_vec();
        with_cache.push(("cache-control", "no-cache"));
        check(&mut decoder, second, &with_cache, 110);
        let custom = [
            (":method", "GET"),
            (":scheme", "https"),
            (":path", "/index.html"),
            (":authority", "www.example.com"),
            ("custom-key", "custom-value"),
        ];
        check(&mut decoder, third, &custom, 164);
    }
}

#[test]
fn responses_with_evictions_decode_as_in_appendices_c_5_and_c_6() {
    let plain = [
        "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d
         546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "4803 3330 37c1 c0bf",
        "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f
         6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b
         2076 6572 7369 6f6e 3d31",
    ];
    let huffman = [
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7
         8f0b 97c8 e9ae 82ae 43d3",
        "4883 640e ffc1 c0bf",
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335
         dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
    ];
    let (date, later) = (
        "Mon, 21 Oct 2013 20:13:21 GMT",
        "Mon, 21 Oct 2013 20:13:22 GMT",
    );
    let place = ("location", "https://www.example.com");
    let cookie = "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";
    for [first, second, third] in [plain, huffman] {
        // 256 bytes of table: the third answer evicts what the first left.
        let mut decoder = Decoder::new(256, LIMITS);
        let private = ("cache-control", "private");
        check(
            &mut decoder,
            first,
            &[(":status", "302"), private, ("date", date), place],
            222,
        );
        check(
            &mut decoder,
            second,
            &[(":status", "307"), private, ("date", date), place],
            222,
        );
        let last = [
            (":status", "200"),
            private,
            ("date", later),
            place,
            ("content-encoding", "gzip"),
            ("set-cookie", cookie),
        ];
        check(&mut decoder, third, &last, 215);
    }
}

#[test]
fn integers_are_as_in_appendix_c_1_and_never_overflow() {
    // 1337 with a five-bit prefix, as the size of the table.
    let update = |hex: &str| fresh(&bytes(hex));
    assert_eq!(update("3f9a0a"), Ok(vec![]));
    let too_large = HpackError::TableTooLarge {
        size_bytes: 4097,
        max_bytes: 4096,
    };
    assert_eq!(update("3fe21f"), Err(too_large));
    assert_eq!(update("3fffffffff0f"), Err(HpackError::IntegerOverflow));
    assert_eq!(update("3f8080808000"), Err(HpackError::IntegerOverflow));
    assert_eq!(update("3f80"), Err(HpackError::Truncated));
    assert_eq!(
        fresh(&bytes("ffffffffffff7f")),
        Err(HpackError::IntegerOverflow)
    );
}

#[test]
fn what_a_block_must_not_contain_is_named() {
    assert_eq!(fresh(&[0x80]), Err(HpackError::BadIndex { index: 0 }));
    assert_eq!(fresh(&[0xbe]), Err(HpackError::BadIndex { index: 62 }));
    assert_eq!(
        fresh(&bytes("7e0161")),
        Err(HpackError::BadIndex { index: 62 })
    );
    assert_eq!(fresh(&bytes("400a6375")), Err(HpackError::Truncated));
    assert_eq!(fresh(&bytes("8220")), Err(HpackError::LateSizeUpdate));
    assert_eq!(fresh(&bytes("2082")).map(|fields| fields.len()), Ok(1));
}

#[test]
fn a_bomb_of_references_to_one_large_entry_is_stopped_by_the_list_limit() {
    let mut decoder = Decoder::new(4096, LIMITS);
    let length = 4000usize;
    let mut block = vec![
        0x40,
        1,
        b'a',
        0x7f,
        (length - 127) as u8 & 0x7f | 0x80,
        ((length - 127) >> 7) as u8,
    ];
    block.extend(std::iter::repeat_n(b'x', length));
    assert_eq!(decode(&mut decoder, &block).unwrap().len(), 1);
    let told = decode(&mut decoder, &[0xbe; 16 * 1024]);
    assert_eq!(
        told,
        Err(HpackError::ListTooLarge {
            max_bytes: LIMITS.bytes_max
        })
    );
    let many = fresh(&[0x82; 300]);
    assert_eq!(many, Err(HpackError::TooManyFields { max: 256 }));
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![&b":status"[..], b"date", b"x-a", b"x-b", b"server"]);
    prop_oneof![
        known.prop_map(<[u8]>::to_vec),
        prop::collection::vec(any::<u8>(), 1..80)
    ]
}

fn fields() -> impl Strategy<Value = Fields> {
    prop::collection::vec((name(), prop::collection::vec(any::<u8>(), 0..200)), 0..12)
}

proptest! {
    #[test]
    fn built_blocks_decode_to_their_fields(fields in fields()) {
        let mut encoder = Encoder::default();
        for (name, value) in &fields {
            encoder.field(name, value);
        }
        prop_assert_eq!(fresh(&encoder.finish()), Ok(fields));
    }

    /// A model of the table with plain vectors must agree with ours over many blocks of inserts, sizes and references.
    #[test]
    fn the_table_agrees_with_a_plain_model(
        steps in prop::collection::vec((0u8..4, name(), prop::collection::vec(any::<u8>(), 0..120), 0usize..20), 1..120),
    ) {
        let max_bytes = 300;
        let mut decoder = Decoder::new(max_bytes, LIMITS);
        let mut model: Fields = Vec::new();
        let mut limit = max_bytes;
        let size = |model: &Fields| model.iter().map(|(n, v)| n.len() + v.len() + 32).sum::<usize>();
        for (what, name, value, pick) in steps {
            let mut block = Vec::new();
            let mut expected: Fields = Vec::new();
            match what {
                0 => {
                    limit = (pick * 15).min(max_bytes);
                    if limit < 31 {
                        block.push(0x20 | limit as u8);
                    } else {
                        let rest = limit - 31;
                        block.extend([0x3f, rest as u8 & 0x7f | 0x80, (rest >> 7) as u8]);
                    }
                }
                1 if !model.is_empty() => {
                    let at = pick % model.len();
                    block.push(0x80 | (62 + at) as u8);
                    expected.push(model[at].clone());
                }
                2 if !model.is_empty() => {
                    let at = pick % model.len();
                    block.extend([0x7f_u8.min(0x40 | (62 + at).min(63) as u8)]);
                    if 62 + at >= 63 {
                        block.push((62 + at - 63) as u8);
                    }
                    block.push(value.len() as u8);
                    block.extend(&value);
                    expected.push((model[at].0.clone(), value));
                    model.insert(0, expected[0].clone());
                }
                _ => {
                    block.extend([0x40, name.len() as u8]);
                    block.extend(&name);
                    block.push(value.len() as u8);
                    block.extend(&value);
                    expected.push((name, value));
                    model.insert(0, expected[0].clone());
                }
            }
            while size(&model) > limit {
                model.pop();
            }
            prop_assert_eq!(decode(&mut decoder, &block), Ok(expected));
            prop_assert_eq!(decoder.table_bytes(), size(&model));
        }
    }

    #[test]
    fn malformed_input_never_panics_and_tells_no_more_than_the_limits(block in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut decoder = Decoder::new(4096, LIMITS);
        let mut told = 0;
        let _ = decoder.decode(&block, |_, _| told += 1);
        prop_assert!(told <= LIMITS.fields_max + 1);
        prop_assert!(decoder.table_bytes() <= 4096);
    }
}
