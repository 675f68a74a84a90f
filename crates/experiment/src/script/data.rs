//! Data files: CSV with a header line, or JSON Lines (one object per line).

use std::collections::BTreeMap;
use std::path::Path;

use tare_record::files;
use tare_record::load::template::is_name;
use tare_record::load::{DataTable, TABLE_BYTES_MAX};

use super::Scope;
use super::def::DataDef;
use crate::yaml::Node;

/// Columns, and rows with a value for each.
type Rows = (Vec<String>, Vec<Vec<String>>);

/// Reads all data tables of a script.
pub(super) fn read(scope: &mut Scope<'_>, data: &BTreeMap<String, DataDef>, root: &Node) {
    for (name, def) in data {
        let place = root.key_mark_at(&["data", name]);
        if !is_name(name) {
            scope.problem(
                place,
                format!("invalid name \"{name}\": use letters, digits, - and _"),
            );
            continue;
        }
        let read = match (&def.file, def.rows.is_empty()) {
            (Some(file), true) => from_file(scope.folder, file),
            (None, false) => Ok(written(def)),
            _ => Err(String::from("data has a file or rows, one of them")),
        };
        let read = read.and_then(|(columns, rows)| check(columns, rows));
        match read {
            Ok((columns, rows)) => scope.tables.push(DataTable {
                name: name.clone(),
                columns,
                rows,
                order: def.order.unwrap_or_default(),
            }),
            Err(message) => scope.problem(place, message),
        }
    }
}

fn written(def: &DataDef) -> Rows {
    let columns: Vec<String> = match def.rows.first() {
        Some(row) => row.keys().cloned().collect(),
        None => Vec::new(),
    };
    let value = |row: &BTreeMap<String, super::def::Scalar>, column: &String| {
        row.get(column).map(ToString::to_string).unwrap_or_default()
    };
    let row = |row| columns.iter().map(|column| value(row, column)).collect();
    let rows = def.rows.iter().map(row).collect();
    (columns, rows)
}

fn from_file(folder: &Path, name: &str) -> Result<Rows, String> {
    let bytes = files::read_inside(folder, name, TABLE_BYTES_MAX as u64)?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{name} is not valid UTF-8 text"))?;
    let ending = Path::new(name).extension();
    let ending = ending.and_then(|ending| ending.to_str());
    rows(&text, ending.unwrap_or_default()).map_err(|message| format!("{name}: {message}"))
}

/// Parses the text of a data file by the ending of its name.
///
/// # Errors
/// What is wrong with the text, with its line.
pub fn rows(text: &str, ending: &str) -> Result<Rows, String> {
    match ending {
        "jsonl" | "ndjson" => json_lines(text),
        "csv" => csv(text),
        _ => Err("its name ends neither in .csv nor in .jsonl".into()),
    }
}

fn check(columns: Vec<String>, rows: Vec<Vec<String>>) -> Result<Rows, String> {
    if let Some(column) = columns.iter().find(|column| !is_name(column)) {
        return Err(format!(
            "invalid column name \"{column}\": use letters, digits, - and _"
        ));
    }
    if rows.is_empty() {
        return Err("it has no rows".into());
    }
    let bytes: usize = rows.iter().flatten().map(String::len).sum();
    if bytes > TABLE_BYTES_MAX {
        return Err(format!(
            "its values have {bytes} bytes, more than {TABLE_BYTES_MAX}"
        ));
    }
    Ok((columns, rows))
}

fn json_lines(text: &str) -> Result<Rows, String> {
    let mut columns: Vec<String> = Vec::new();
    let mut rows = Vec::new();
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    for (at, line) in lines {
        let number = at + 1;
        let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line)
            .map_err(|error| format!("line {number} is not a JSON object: {error}"))?;
        if columns.is_empty() {
            columns = object.keys().cloned().collect();
        }
        let value = |column: &String| match object.get(column) {
            Some(serde_json::Value::String(text)) => Ok(text.clone()),
            Some(other) => Ok(other.to_string()),
            None => Err(format!(
                "line {number} has no \"{column}\", which the first has"
            )),
        };
        rows.push(columns.iter().map(value).collect::<Result<_, _>>()?);
    }
    Ok((columns, rows))
}

/// Parses CSV (RFC 4180): fields in double quotes may hold commas, line breaks, and doubled quotes.
fn csv(text: &str) -> Result<Rows, String> {
    let mut records: Vec<Vec<String>> = Vec::new();
    let mut record = Vec::new();
    let mut field = String::new();
    let mut quoted = false;
    let mut letters = text
        .strip_prefix('\u{feff}')
        .unwrap_or(text)
        .chars()
        .peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            '"' if quoted || field.is_empty() => quoted = !quoted,
            ',' if !quoted => record.push(std::mem::take(&mut field)),
            '\n' if !quoted => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            '\r' if !quoted && letters.peek() == Some(&'\n') => {}
            other => field.push(other),
        }
    }
    if quoted {
        return Err("a double quote is not closed".into());
    }
    if !field.is_empty() || !record.is_empty() {
        record.push(field);
        records.push(record);
    }
    records.retain(|record| record.iter().any(|field| !field.is_empty()));
    let mut records = records.into_iter();
    let columns: Vec<String> = match records.next() {
        Some(names) => names.iter().map(|name| name.trim().to_owned()).collect(),
        None => return Err("it is empty: write the names of the columns in its first line".into()),
    };
    let rows: Vec<Vec<String>> = records.collect();
    let odd = rows.iter().position(|row| row.len() != columns.len());
    match odd {
        Some(at) => Err(format!(
            "row {} has {} values, and there are {} columns",
            at + 1,
            rows[at].len(),
            columns.len()
        )),
        None => Ok((columns, rows)),
    }
}
