//! Reference vectors of the BSON specification, limits, and properties.

use proptest::prelude::*;

use super::{BsonError, DEPTH_MAX, Doc, Value, append_key, document, kind};

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(pair).collect()
}

/// From bsonspec.org and the corpus of the driver specifications (specifications/source/bson-corpus).
#[test]
fn documents_of_the_specification_are_read_and_written_to_the_byte() {
    let hello = "16000000 02 68656c6c6f00 06000000 776f726c6400 00";
    let bson = "31000000 04 4253 4f4e00 26000000 02 3000 08000000 617765736f6d6500 01 3100 333333333333 1440
        10 3200 c2070000 00 00";
    let mut written = Vec::new();
    document(&mut written, |w| {
        w.str("hello", "world");
    });
    assert_eq!(written, bytes(hello));
    written.clear();
    document(&mut written, |w| {
        w.array("BSON", |items| {
            items
                .value(Value::String("awesome"))
                .value(Value::Double(5.05))
                .value(Value::Int32(1986));
        });
    });
    assert_eq!(written, bytes(bson));
    let doc = Doc::check(&written).unwrap();
    let array = doc.get("BSON").and_then(|value| value.as_array()).unwrap();
    let values: Vec<Value> = array.values().collect();
    assert_eq!(
        values,
        [
            Value::String("awesome"),
            Value::Double(5.05),
            Value::Int32(1986)
        ]
    );
}

#[test]
fn every_type_survives_reading_and_writing() {
    // One element each: dbpointer, code, symbol, code with scope, regex, timestamp, decimal, min and max key and the rest.
    let all = [
        "1a000000 0c 6100 02000000 6200 56e1fc72e0c917e9c4714161 00",
        "0e000000 0d 6100 02000000 6200 00",
        "0e000000 0e 6100 02000000 6200 00",
        "21000000 0f 6100 19000000 05000000 61626364 00 0c000000 10 7800 01000000 00 00",
        "0f000000 0b 6100 616263 00 696d 00 00",
        "10000000 11 6100 2a00000015cd5b07 00",
        "18000000 13 6400 0000000000000000000000000000 4030 00",
        "08000000 ff 6100 00",
        "08000000 7f 6100 00",
        "08000000 06 6100 00",
        "08000000 0a 6100 00",
        "09000000 08 6200 01 00",
        "10000000 09 6100 c4d8d6cc3b010000 00",
        "14000000 07 6100 56e1fc72e0c917e9c4714161 00",
        "0f000000 05 7800 02000000 00 ffff 00",
        "10000000 12 6100 ffffffffffffff7f 00",
    ];
    for hex in all {
        let given = bytes(hex);
        let doc = Doc::check(&given).unwrap_or_else(|error| panic!("{hex}: {error}"));
        let (key, value) = doc.first().unwrap();
        let mut written = Vec::new();
        document(&mut written, |w| {
            w.value(key, value);
        });
        assert_eq!(written, given, "{hex}");
    }
}

#[test]
fn what_is_no_document_is_refused_by_its_fault() {
    let cases = [
        ("", BsonError::Truncated),
        ("04000000", BsonError::Length(4)),
        ("ffffffff 00", BsonError::Length(-1)),
        ("06000000 00", BsonError::Truncated),
        ("05000000 01", BsonError::Terminator),
        ("05000000 00 00", BsonError::Length(1)),
        ("08000000 14 6100 00", BsonError::Kind(0x14)),
        ("09000000 08 6100 02 00", BsonError::Bool(2)),
        ("0e000000 02 6100 02000000 6262 00", BsonError::Terminator),
        ("0e000000 02 6100 02000000 ff00 00", BsonError::Utf8),
        ("0e000000 02 6100 00000000 6200 00", BsonError::Length(0)),
        ("0b000000 10 6100 01000002", BsonError::Terminator),
        ("08000000 10 6100 00", BsonError::Truncated),
        ("08000000 0a 6161 61", BsonError::Terminator),
    ];
    for (hex, fault) in cases {
        assert_eq!(Doc::check(&bytes(hex)), Err(fault), "{hex}");
    }
}

fn nested(levels: usize) -> Vec<u8> {
    let mut out = Vec::new();
    document(&mut out, |_| {});
    for _ in 1..levels {
        let inner = std::mem::take(&mut out);
        document(&mut out, |w| {
            w.value("a", Value::Document(Doc::trusted(&inner)));
        });
    }
    out
}

#[test]
fn documents_within_documents_have_a_limit() {
    assert!(Doc::check(&nested(DEPTH_MAX)).is_ok());
    assert_eq!(Doc::check(&nested(DEPTH_MAX + 1)), Err(BsonError::Deep));
}

proptest! {
    #[test]
    fn malformed_input_is_refused_or_walked_to_its_end(data: Vec<u8>) {
        if let Ok((doc, rest)) = Doc::check_first(&data) {
            prop_assert_eq!(doc.bytes().len() + rest.len(), data.len());
            let mut written = Vec::new();
            document(&mut written, |w| {
                for (key, value) in doc {
                    w.value(key, value);
                }
            });
            prop_assert_eq!(&written[..], doc.bytes());
        }
    }

    #[test]
    fn a_damaged_document_never_panics(at in 0_usize..60, to: u8) {
        let mut out = Vec::new();
        document(&mut out, |w| {
            w.str("name", "value").i32("n", 7).doc("in", |w| {
                w.array("list", |items| {
                    items.value(Value::Null).value(Value::Bool(true));
                });
            });
        });
        let at = at % out.len();
        out[at] = to;
        let walked = Doc::trusted(&out).iter().count();
        prop_assert!(walked <= 3 + out.len());
        if let Ok(doc) = Doc::check(&out) {
            prop_assert!(doc.iter().count() >= 1);
        }
    }

    #[test]
    fn whole_numbers_are_the_same_in_every_type(value: i32) {
        let wide = i64::from(value);
        prop_assert_eq!(Value::Int32(value).as_i64(), Some(wide));
        prop_assert_eq!(Value::Int64(wide).as_i64(), Some(wide));
        prop_assert_eq!(Value::Double(f64::from(value)).as_i64(), Some(wide));
    }
}

#[test]
fn a_double_beyond_64_bits_is_no_whole_number() {
    assert_eq!(Value::Double(9.3e18).as_i64(), None);
    assert_eq!(Value::Double(f64::NAN).as_i64(), None);
    assert_eq!(Value::Double(0.5).as_i64(), None);
    assert_eq!(Value::String("1").as_i64(), None);
    assert_eq!(Value::Null.kind(), kind::NULL);
}

fn key(value: Value<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    append_key(&mut out, value);
    out
}

#[test]
fn keys_of_different_values_are_different() {
    let mut inner = Vec::new();
    document(&mut inner, |w| {
        w.i32("a", 1);
    });
    let mut longer = Vec::new();
    document(&mut longer, |w| {
        w.i32("a", 1).i32("b", 0);
    });
    let big = 1_i64 << 53;
    let different = [
        Value::Null,
        Value::Double(f64::NAN),
        Value::Double(f64::NEG_INFINITY),
        Value::Int64(i64::MIN),
        Value::Int32(-1),
        Value::Double(-0.5),
        Value::Int32(0),
        Value::Double(0.5),
        Value::Int64(big),
        Value::Int64(big + 1),
        Value::Double(big as f64 + 2.0),
        Value::Int64(i64::MAX),
        Value::Double(9_223_372_036_854_775_808.0),
        Value::String(""),
        Value::String("a"),
        Value::String("a\0"),
        Value::String("a\0b"),
        Value::String("ab"),
        Value::Document(Doc::EMPTY),
        Value::Document(Doc::trusted(&inner)),
        Value::Document(Doc::trusted(&longer)),
        Value::Array(Doc::EMPTY),
        Value::Array(Doc::trusted(&inner)),
        Value::Array(Doc::trusted(&longer)),
        Value::Binary {
            subtype: 9,
            bytes: &[1],
        },
        Value::Binary {
            subtype: 0,
            bytes: &[1],
        },
        Value::ObjectId([0; 12]),
        Value::ObjectId([1; 12]),
        Value::Bool(false),
        Value::Bool(true),
        Value::Date(-5),
        Value::Date(5),
        Value::Other {
            kind: kind::MAX_KEY,
            bytes: &[],
        },
    ];
    for (at, one) in different.iter().enumerate() {
        for (to, other) in different.iter().enumerate() {
            assert_eq!(
                key(*one).starts_with(&key(*other)),
                at == to,
                "{one:?} and {other:?}"
            );
        }
    }
}

#[test]
fn keys_of_equal_numbers_are_equal_in_every_type() {
    for number in [-1_i32, 0, 7] {
        let of_int = key(Value::Int32(number));
        assert_eq!(key(Value::Int64(i64::from(number))), of_int);
        assert_eq!(key(Value::Double(f64::from(number))), of_int);
    }
    assert_eq!(key(Value::Double(-0.0)), key(Value::Int32(0)));
    assert_eq!(key(Value::Double(-f64::NAN)), key(Value::Double(f64::NAN)));
}

fn any_value() -> impl Strategy<Value = Value<'static>> {
    prop_oneof![
        Just(Value::Null),
        (-3_i32..3).prop_map(Value::Int32),
        any::<i64>().prop_map(Value::Int64),
        any::<f64>().prop_map(Value::Double),
        prop::sample::select(vec!["", "a", "a\0", "a\0\u{1}", "b", "\u{ff}"])
            .prop_map(Value::String),
        any::<[u8; 12]>().prop_map(Value::ObjectId),
        (-3_i64..3).prop_map(Value::Date),
    ]
}

proptest! {
    /// Also where one list is the beginning of the other.
    #[test]
    fn concatenated_keys_are_equal_only_if_all_values_are(
        left in prop::collection::vec(any_value(), 1..4),
        right in prop::collection::vec(any_value(), 1..4),
    ) {
        let keys = |values: &[Value<'static>]| -> Vec<Vec<u8>> {
            values.iter().map(|value| key(*value)).collect()
        };
        let (left, right) = (keys(&left), keys(&right));
        prop_assert_eq!(left.concat() == right.concat(), left == right);
        prop_assert_eq!(left.concat().starts_with(&right.concat()), left.starts_with(&right));
    }
}
