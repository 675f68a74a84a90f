//! Tables of a report: one type for every section that is no chart.

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

/// A table. Every output shows the same texts; CSV has the values behind them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// Identifier: `pods`. Tables that differ only in level, arm or layout share it.
    pub id: String,
    /// Heading of its section on the page: `Network and host`.
    pub section: String,
    /// Title; in text outputs it follows the level and a colon, unless it is empty or begins with a space.
    pub title: String,
    /// Level, if each level has a table of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// Layout: 0 is the widest. A terminal shows the first that fits, other outputs the widest.
    #[serde(default)]
    pub layout: u8,
    /// How to read it; on the page only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Outputs that show it.
    pub outputs: Vec<Output>,
    /// Columns.
    pub columns: Vec<TableColumn>,
    /// Rows; each has a cell per column.
    pub rows: Vec<TableRow>,
    /// Sentences below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub footnotes: Vec<String>,
}

/// An output of a report that shows tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Output {
    /// Text for a terminal.
    Terminal,
    /// Markdown.
    Markdown,
    /// The HTML page.
    Page,
}

impl Output {
    /// All outputs.
    pub const ALL: [Output; 3] = [Output::Terminal, Output::Markdown, Output::Page];

    /// The outputs of text.
    pub const TEXT: [Output; 2] = [Output::Terminal, Output::Markdown];
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TableColumn {
    /// Head.
    pub label: String,
    /// Kind of its cells.
    pub kind: ColumnKind,
    /// Step at which a narrow terminal omits it; 0: never.
    #[serde(default)]
    pub omit: u8,
    /// Outputs that show it, if not all that show the table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<Output>,
    /// Name of its values in CSV, with `{}` for the subject of the row; `None`: they are not in CSV.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// Unit of its values in CSV.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

/// Kind of the cells of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ColumnKind {
    /// Name that is shown once for the rows that follow with the same.
    Group,
    /// Name.
    #[default]
    Name,
    /// Figure, aligned to the right.
    Figure,
    /// Text, aligned to the left and wrapped.
    Words,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TableRow {
    /// Arm in CSV.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// What its values are of, in CSV: `pod server`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Unit of its values in CSV, if not that of the column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Cells.
    pub cells: Vec<TableCell>,
}

/// A cell.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TableCell {
    /// Text; `–` where the value is unknown.
    pub text: String,
    /// Value behind the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Less important text: small on the page, in brackets elsewhere.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// Whether the page marks it: a failed assertion, a trial that does not count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub marked: bool,
}

/// A column with the cell that it has for a thing.
pub type ColumnOf<T> = (TableColumn, fn(&T) -> TableCell);

impl Table {
    /// An empty table that all outputs show.
    #[must_use]
    pub fn new(id: &str, section: &str, title: impl Into<String>) -> Table {
        Table {
            id: id.into(),
            section: section.into(),
            title: title.into(),
            outputs: Output::ALL.to_vec(),
            ..Table::default()
        }
    }

    /// The same with these columns.
    #[must_use]
    pub fn columns(mut self, columns: impl IntoIterator<Item = TableColumn>) -> Table {
        self.columns.extend(columns);
        self
    }

    /// The same with these columns and a row for each thing.
    #[must_use]
    pub fn fill<T, const N: usize>(self, things: &[T], columns: [ColumnOf<T>; N]) -> Table {
        let row = |thing: &T| -> Vec<TableCell> {
            let cells = columns.iter().map(|(_, cell)| cell(thing));
            cells.collect()
        };
        let rows: Vec<TableRow> = things.iter().map(|thing| row(thing).into()).collect();
        let table = self.columns(columns.into_iter().map(|(column, _)| column));
        Table { rows, ..table }
    }

    /// The same for these outputs only.
    #[must_use]
    pub fn only(mut self, outputs: &[Output]) -> Table {
        self.outputs = outputs.to_vec();
        self
    }

    /// The same with a note.
    #[must_use]
    pub fn note(mut self, note: &str) -> Table {
        self.note = Some(note.into());
        self
    }

    /// The same without the column of this label.
    #[must_use]
    pub fn without(mut self, label: &str) -> Table {
        if let Some(place) = self.columns.iter().position(|one| one.label == label) {
            self.columns.remove(place);
            let rows = self.rows.iter_mut();
            for row in rows.filter(|row| place < row.cells.len()) {
                row.cells.remove(place);
            }
        }
        self
    }

    /// The text of a column, if it is the same in every row.
    #[must_use]
    pub fn constant(&self, label: &str) -> Option<&str> {
        let place = self.columns.iter().position(|one| one.label == label)?;
        let mut texts = self.rows.iter().map(|row| row.cells.get(place));
        let first = texts.next()??;
        texts
            .all(|cell| cell == Some(first))
            .then_some(first.text.as_str())
    }

    /// Adds a row that is not in CSV.
    pub fn push<const N: usize>(&mut self, cells: [TableCell; N]) {
        self.rows.push(cells.to_vec().into());
    }
}

impl TableColumn {
    fn new(label: impl Into<String>, kind: ColumnKind) -> TableColumn {
        TableColumn {
            label: label.into(),
            kind,
            ..TableColumn::default()
        }
    }

    /// A column of names, each shown once for the rows that follow with the same.
    #[must_use]
    pub fn group(label: impl Into<String>) -> TableColumn {
        TableColumn::new(label, ColumnKind::Group)
    }

    /// A column of names.
    #[must_use]
    pub fn name(label: impl Into<String>) -> TableColumn {
        TableColumn::new(label, ColumnKind::Name)
    }

    /// A column of figures.
    #[must_use]
    pub fn figure(label: impl Into<String>) -> TableColumn {
        TableColumn::new(label, ColumnKind::Figure)
    }

    /// A column of text.
    #[must_use]
    pub fn words(label: impl Into<String>) -> TableColumn {
        TableColumn::new(label, ColumnKind::Words)
    }

    /// The same, omitted by a narrow terminal at this step.
    #[must_use]
    pub fn omit(mut self, step: u8) -> TableColumn {
        self.omit = step;
        self
    }

    /// The same for this output only.
    #[must_use]
    pub fn only(mut self, output: Output) -> TableColumn {
        self.outputs.push(output);
        self
    }

    /// The same with its values in CSV.
    #[must_use]
    pub fn csv(mut self, metric: impl Into<String>, unit: &str) -> TableColumn {
        self.metric = Some(metric.into());
        self.unit = Some(unit.into());
        self
    }
}

impl TableCell {
    /// The same with less important text.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> TableCell {
        self.detail = detail.into();
        self
    }

    /// The same, marked if this holds.
    #[must_use]
    pub fn marked(mut self, marked: bool) -> TableCell {
        self.marked = marked;
        self
    }
}

impl From<String> for TableCell {
    fn from(text: String) -> TableCell {
        TableCell {
            text,
            ..TableCell::default()
        }
    }
}

impl From<&str> for TableCell {
    fn from(text: &str) -> TableCell {
        text.to_owned().into()
    }
}

impl From<Vec<TableCell>> for TableRow {
    fn from(cells: Vec<TableCell>) -> TableRow {
        TableRow {
            cells,
            ..TableRow::default()
        }
    }
}
