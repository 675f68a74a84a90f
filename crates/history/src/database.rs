//! The tables of the index, and what is written to them. Their format is nobody's business: an index of another format is made again.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use serde::de::DeserializeOwned;
use tare_record::FORMAT_VERSION;
use tare_record::text::word_of;

use crate::values::{FolderContent, RunValues};

/// Marks the file as Tare's: `Tare`.
const APPLICATION_ID: i64 = 0x5461_7265;
/// Format of the tables. Runs that this Tare could not read may be readable by the next: its format version is part of it.
const TABLES_VERSION: i64 = 1000 * FORMAT_VERSION as i64 + 1;

const TABLES: &str = "
    CREATE TABLE settings (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
    CREATE TABLE machines (machine TEXT PRIMARY KEY, about TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, stamp TEXT NOT NULL, problem TEXT,
        experiment TEXT, form TEXT, machine TEXT, started INTEGER, setting INTEGER
    );
    CREATE INDEX runs_of_experiment ON runs (experiment, form, started, name);
    CREATE TABLE series (
        id INTEGER PRIMARY KEY, experiment TEXT NOT NULL, form TEXT NOT NULL, arm TEXT NOT NULL, level TEXT NOT NULL,
        metric TEXT NOT NULL, machine TEXT NOT NULL, UNIQUE (experiment, form, arm, level, metric, machine)
    );
    CREATE TABLE points (
        series INTEGER NOT NULL, run INTEGER NOT NULL, value REAL NOT NULL, low REAL, high REAL,
        is_lower_bound INTEGER NOT NULL, PRIMARY KEY (series, run)
    ) WITHOUT ROWID;
    CREATE INDEX points_of_run ON points (run);
";

/// Opens the file, or a new database in memory.
pub fn open(file: Option<&Path>) -> rusqlite::Result<Connection> {
    let connection = match file {
        Some(file) => Connection::open(file)?,
        None => Connection::open_in_memory()?,
    };
    connection.busy_timeout(crate::index::BUSY_TIMEOUT)?;
    Ok(connection)
}

/// Whether there are tables of this Tare; `false`: of none, in a new file.
///
/// # Errors
/// With the reason why the file is none of this Tare.
pub fn has_tables(connection: &Connection) -> rusqlite::Result<Result<bool, String>> {
    let pragma =
        |name| connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
    Ok(match (pragma("application_id")?, pragma("user_version")?) {
        (APPLICATION_ID, TABLES_VERSION) => Ok(true),
        (APPLICATION_ID, _) => Err("it is of another version of Tare".to_owned()),
        (0, 0) if pragma("schema_version")? == 0 => Ok(false),
        _ => Err("it is a database of another program".to_owned()),
    })
}

/// Makes the tables of a new database; another process may have done it meanwhile.
pub fn make_tables(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    if let Ok(false) = has_tables(&transaction)? {
        transaction.execute_batch(TABLES)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", TABLES_VERSION)?;
    }
    transaction.commit()
}

/// Copies the index of a directory that cannot be written, so that only newer runs must be read.
pub fn copy(connection: &Connection, file: &Path) -> rusqlite::Result<()> {
    let uri = format!("file:{}?mode=ro&immutable=1", encoded(file));
    connection.execute("ATTACH ? AS old", [uri])?;
    let is_ours = connection.query_row("SELECT * FROM pragma_user_version('old')", [], |row| {
        row.get(0)
    });
    if is_ours == Ok(TABLES_VERSION) {
        for table in ["settings", "machines", "runs", "series", "points"] {
            connection.execute_batch(&format!(
                "INSERT INTO main.{table} SELECT * FROM old.{table}"
            ))?;
        }
    }
    connection.execute_batch("DETACH old")
}

/// A path in a URI of SQLite.
fn encoded(file: &Path) -> String {
    let bytes = std::os::unix::ffi::OsStrExt::as_bytes(file.as_os_str());
    let encode = |byte: &u8| match byte {
        b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
            (*byte as char).to_string()
        }
        other => format!("%{other:02X}"),
    };
    bytes.iter().map(encode).collect()
}

/// The folders in the index with their stamps.
pub fn stamps(connection: &Connection) -> rusqlite::Result<BTreeMap<String, String>> {
    let mut query = connection.prepare("SELECT name, stamp FROM runs")?;
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

/// Removes runs.
pub fn remove(transaction: &Transaction<'_>, names: &[String]) -> rusqlite::Result<()> {
    for name in names {
        transaction.execute(
            "DELETE FROM points WHERE run = (SELECT id FROM runs WHERE name = ?)",
            [name],
        )?;
        transaction.execute("DELETE FROM runs WHERE name = ?", [name])?;
    }
    Ok(())
}

/// Removes the series that have no run any more.
pub fn remove_empty_series(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "DELETE FROM series WHERE NOT EXISTS (SELECT 1 FROM points WHERE points.series = series.id)",
    )
}

/// Writes what a folder is, in the place of what was known of it.
pub fn insert(
    transaction: &Transaction<'_>,
    (name, stamp): (&str, &str),
    content: &FolderContent,
) -> rusqlite::Result<()> {
    transaction.execute(
        "DELETE FROM points WHERE run = (SELECT id FROM runs WHERE name = ?)",
        [name],
    )?;
    let problem = match content {
        FolderContent::Unreadable(problem) => Some(problem.as_str()),
        FolderContent::Complete(_) | FolderContent::Incomplete => None,
    };
    transaction.execute(
        "INSERT OR REPLACE INTO runs (id, name, stamp, problem) VALUES ((SELECT id FROM runs WHERE name = ?1), ?1, ?2, ?3)",
        params![name, stamp, problem],
    )?;
    match content {
        FolderContent::Complete(values) => insert_values(transaction, name, values),
        FolderContent::Incomplete | FolderContent::Unreadable(_) => Ok(()),
    }
}

fn insert_values(
    transaction: &Transaction<'_>,
    name: &str,
    run: &RunValues,
) -> rusqlite::Result<()> {
    let setting = serde_json::to_string(&run.setting)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    transaction.execute(
        "INSERT OR IGNORE INTO settings (text) VALUES (?)",
        [&setting],
    )?;
    transaction.execute(
        "INSERT OR REPLACE INTO machines VALUES (?, ?)",
        [&run.machine, &run.machine_about],
    )?;
    let form = word_of(&run.form);
    transaction.execute(
        "UPDATE runs SET experiment = ?, form = ?, machine = ?, started = ?, setting = (SELECT id FROM settings WHERE text = ?)
         WHERE name = ?",
        params![run.experiment, form, run.machine, run.started_unix_us.cast_signed(), setting, name],
    )?;
    let id: i64 = transaction.query_row("SELECT id FROM runs WHERE name = ?", [name], |row| {
        row.get(0)
    })?;
    let mut find = transaction.prepare(
        "SELECT id FROM series WHERE experiment = ? AND form = ? AND arm = ? AND level = ? AND metric = ? AND machine = ?",
    )?;
    let mut add = transaction.prepare(
        "INSERT INTO series (experiment, form, arm, level, metric, machine) VALUES (?, ?, ?, ?, ?, ?)",
    )?;
    let mut point =
        transaction.prepare("INSERT OR REPLACE INTO points VALUES (?, ?, ?, ?, ?, ?)")?;
    for one in &run.values {
        let metric = one.metric.name();
        let key = [
            &run.experiment,
            &form,
            &one.arm,
            &one.level,
            &metric,
            &run.machine,
        ];
        let known = find.query_row(key, |row| row.get::<_, i64>(0)).optional()?;
        let series = match known {
            Some(series) => series,
            None => add.insert(key)?,
        };
        point.execute(params![
            series,
            id,
            one.value,
            one.low,
            one.high,
            one.is_lower_bound
        ])?;
    }
    Ok(())
}

/// A number that is never negative.
pub fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::cast_unsigned)
}

/// A column with JSON.
pub fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
    })
}

/// A column with the word of an enum.
pub fn word<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_value(serde_json::Value::String(text)).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
    })
}
