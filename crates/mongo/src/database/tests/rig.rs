//! A database to talk to in the notation of the shell.

use crate::bson::{Doc, Value, Writer, document};
use crate::database::filter::Filter;
use crate::database::{Context, Database, Limits};
use crate::message::{Header, MESSAGE_BYTES_MAX, Message, write_msg};

/// A document of text such as `{a: 1, b: [2.5, 'x'], c: {d: null}, e: 5L}`.
pub fn doc(text: &str) -> Vec<u8> {
    let mut rest = text.trim();
    let mut out = Vec::new();
    document(&mut out, |w| fields(&mut rest, w));
    assert_eq!(rest, "", "behind the document in {text}");
    out
}

fn eat(rest: &mut &str, token: &str) -> bool {
    let trimmed = rest.trim_start();
    let found = trimmed.strip_prefix(token);
    *rest = found.unwrap_or(trimmed);
    found.is_some()
}

fn fields(rest: &mut &str, w: &mut Writer<'_>) {
    assert!(eat(rest, "{"), "a document should begin: {rest}");
    while !eat(rest, "}") {
        let key = if eat(rest, "'") {
            quoted(rest)
        } else {
            let end = rest.find(':').unwrap();
            let (key, behind) = rest.split_at(end);
            *rest = behind;
            key.trim().to_owned()
        };
        assert!(eat(rest, ":"), "behind {key}: {rest}");
        value(rest, &key, w);
        eat(rest, ",");
    }
}

fn quoted(rest: &mut &str) -> String {
    let (text, behind) = rest.split_once('\'').unwrap();
    *rest = behind;
    text.to_owned()
}

fn value(rest: &mut &str, key: &str, w: &mut Writer<'_>) {
    *rest = rest.trim_start();
    if rest.starts_with('{') {
        w.doc(key, |w| fields(rest, w));
    } else if eat(rest, "[") {
        let mut items = Vec::new();
        document(&mut items, |w| {
            while !eat(rest, "]") {
                value(rest, "", w);
                eat(rest, ",");
            }
        });
        w.array(key, |list| {
            for item in Doc::trusted(&items).values() {
                list.value(item);
            }
        });
    } else if eat(rest, "'") {
        let text = quoted(rest);
        w.str(key, &text);
    } else {
        let end = rest.find([',', '}', ']']).unwrap();
        let (word, behind) = rest.split_at(end);
        *rest = behind;
        match word.trim() {
            "true" => w.bool(key, true),
            "false" => w.bool(key, false),
            "null" => w.value(key, Value::Null),
            "NaN" => w.f64(key, f64::NAN),
            word if word.ends_with('L') => w.i64(key, word.trim_end_matches('L').parse().unwrap()),
            word if word.contains('.') => w.f64(key, word.parse().unwrap()),
            word => w.i32(key, word.parse().unwrap()),
        };
    }
}

/// A database, and its clock.
pub struct Rig {
    pub database: Database,
}

impl Rig {
    pub fn new() -> Self {
        Self::limited(Limits::default())
    }

    pub fn limited(limits: Limits) -> Self {
        Self {
            database: Database::new(limits),
        }
    }

    /// With these documents in collection `c`.
    pub fn with(documents: &[&str]) -> Self {
        let mut rig = Self::new();
        let list = documents.join(", ");
        rig.says(
            &format!("{{insert: 'c', documents: [{list}]}}"),
            &format!("{{ n: {}, ok: 1.0 }}", documents.len()),
        );
        rig
    }

    /// Runs a command in database `d` and gives its answer.
    pub fn run(&mut self, command: &str) -> Vec<u8> {
        let command = doc(command);
        let mut sent = Vec::new();
        write_msg(&mut sent, 5, 0, |w| {
            w.append_all(Doc::trusted(&command)).str("$db", "d");
        });
        let header = Header::read(&sent, MESSAGE_BYTES_MAX).unwrap().unwrap();
        let message = Message::read(&header, &sent).unwrap();
        let context = Context {
            connection: 3,
            now_ms: 1_700_000_000_000,
        };
        let mut out = Vec::new();
        self.database.serve(&header, &message, context, &mut out);
        let header = Header::read(&out, MESSAGE_BYTES_MAX).unwrap().unwrap();
        assert_eq!((header.length, header.response_to), (out.len(), 5));
        let Message::Msg(answer) = Message::read(&header, &out).unwrap() else {
            panic!("no OP_MSG")
        };
        answer.body.bytes().to_vec()
    }

    pub fn shown(&mut self, command: &str) -> String {
        Doc::trusted(&self.run(command)).to_string()
    }

    /// Checks a whole answer.
    #[track_caller]
    pub fn says(&mut self, command: &str, answer: &str) {
        let shown = self.shown(command);
        assert_eq!(shown, answer, "to {command}");
    }

    /// Checks that a command fails with this code, and gives the message.
    #[track_caller]
    pub fn fails(&mut self, command: &str, code: i64) -> String {
        let answer = self.run(command);
        let answer = Doc::trusted(&answer);
        let ok = answer.get("ok");
        assert_eq!(ok, Some(Value::Double(0.0)), "{command}: {answer}");
        let given = answer.get("code").and_then(|code| code.as_i64());
        assert_eq!(given, Some(code), "{command}: {answer}");
        answer.get("errmsg").unwrap().as_str().unwrap().to_owned()
    }

    /// The batch of a command that answers with a cursor.
    #[track_caller]
    pub fn batch(&mut self, command: &str) -> Vec<String> {
        let answer = self.run(command);
        let answer = Doc::trusted(&answer);
        let cursor = answer.get("cursor").and_then(|value| value.as_doc());
        let batch = cursor.and_then(|cursor| cursor.get("firstBatch").or(cursor.get("nextBatch")));
        let batch = batch.unwrap_or_else(|| panic!("{command}: {answer}"));
        let batch = batch.as_array().unwrap();
        batch.values().map(|value| value.to_string()).collect()
    }

    /// The `_id`s of the documents of `c` that match.
    #[track_caller]
    pub fn ids(&mut self, filter: &str) -> Vec<i64> {
        let command = format!("{{find: 'c', batchSize: 10000, filter: {filter}}}");
        let id = |row: String| -> i64 {
            let digits = row.trim_start_matches("{ _id: ").split([',', ' ']).next();
            digits.unwrap().parse().unwrap_or_else(|_| panic!("{row}"))
        };
        self.batch(&command).into_iter().map(id).collect()
    }

    /// How many documents of `c` are looked at for this filter.
    pub fn candidates(&self, filter: &str) -> usize {
        let filter = doc(filter);
        let filter = Filter::read(Doc::trusted(&filter)).unwrap();
        let collection = self.database.collection("d", "c").unwrap();
        collection.candidates(&filter).count()
    }
}
