//! A view for a terminal: tables that fit its width, the verdict last, directly above the prompt.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, TableStyle};
use tare_record::escape::escape_line;
use tare_record::view::{ColumnKind, Output, Sentence, SentenceKind, Table, View, ViewState};
use textwrap::core::display_width;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

use crate::{assertion, quantity, tables};

/// Least and largest width of tables and lines.
const WIDTH: (u16, u16) = (60, 200);

/// Whether text is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// With escape sequences: a terminal, and `NO_COLOR` is not set.
    On,
    /// Plain text.
    Off,
}

impl Colour {
    /// Bold, for what is important.
    #[must_use]
    pub fn strong(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// Dim, for explanations.
    #[must_use]
    pub fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// Red, for failures.
    #[must_use]
    pub fn bad(self, text: &str) -> String {
        self.paint("31", text)
    }

    /// Green, for success.
    #[must_use]
    pub fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// Cyan, for bars.
    #[must_use]
    pub fn drawn(self, text: &str) -> String {
        self.paint("36", text)
    }

    /// Text between ANSI codes, or unchanged.
    fn paint(self, code: &str, text: &str) -> String {
        match self {
            Colour::On if !text.is_empty() => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            Colour::On | Colour::Off => text.to_owned(),
        }
    }
}

/// The terminal that the text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// Columns.
    pub width: u16,
    /// Whether text is coloured.
    pub colour: Colour,
}

/// The view as text that ends with a line break.
#[must_use]
pub fn terminal(view: &View, screen: Screen) -> String {
    let screen = Screen {
        width: screen.width.clamp(WIDTH.0, WIDTH.1),
        ..screen
    };
    let mut page = Page {
        screen,
        text: String::new(),
    };
    page.head(view);
    // What answers the question stands last, directly above the prompt.
    let all = tables::ordered(view, Output::Terminal).into_iter();
    let (last, first): (Vec<_>, Vec<_>) = all.partition(|one| one.section == assertion::SECTION);
    for tables in [first, last] {
        let is_same =
            |a: &&Table, b: &&Table| a.layout <= b.layout && (&a.id, &a.level) == (&b.id, &b.level);
        for layouts in tables.chunk_by(is_same) {
            page.layouts(layouts);
        }
    }
    page.verdict(view);
    page.text
}

/// A table as text: with as few columns omitted as fit the width; if it does not fit at all, with its cells wrapped.
#[must_use]
pub(crate) fn table(table: &Table, screen: Screen) -> String {
    let lines = fitting(table, screen);
    join(lines.unwrap_or_else(|| {
        let narrowest = omissions(table);
        draw(table, narrowest, screen, ContentArrangement::Dynamic)
    }))
}

/// The table with as few columns omitted as fit the width.
fn fitting(table: &Table, screen: Screen) -> Option<Vec<String>> {
    let width = usize::from(screen.width);
    let forms =
        (0..=omissions(table)).map(|step| draw(table, step, screen, ContentArrangement::Disabled));
    let mut fitting = forms.filter(|lines| {
        lines
            .iter()
            .all(|line| display_width(line.trim_end()) <= width)
    });
    fitting.next()
}

/// Number of steps in which columns can be omitted.
fn omissions(table: &Table) -> u8 {
    let steps = table.columns.iter().map(|column| column.omit);
    steps.max().unwrap_or(0)
}

fn join(lines: Vec<String>) -> String {
    lines
        .into_iter()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

fn draw(
    table: &Table,
    omitted: u8,
    screen: Screen,
    arrangement: ContentArrangement,
) -> Vec<String> {
    let (columns, rows) = tables::texts(table, Output::Terminal, omitted);
    let heads = columns.iter();
    let heads: Vec<(&str, ColumnKind)> = heads.map(|one| (one.label.as_str(), one.kind)).collect();
    draw_cells(&heads, &rows, screen, arrangement)
}

/// Columns with their heads, as lines that fit the screen.
#[must_use]
pub fn columns(heads: &[(&str, ColumnKind)], rows: &[Vec<String>], screen: Screen) -> String {
    let screen = Screen {
        width: screen.width.clamp(WIDTH.0, WIDTH.1),
        ..screen
    };
    join(draw_cells(heads, rows, screen, ContentArrangement::Dynamic))
}

fn draw_cells(
    heads: &[(&str, ColumnKind)],
    rows: &[Vec<String>],
    screen: Screen,
    arrangement: ContentArrangement,
) -> Vec<String> {
    let mut drawn = comfy_table::Table::new();
    drawn
        .load_style(TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─')))
        .set_width(screen.width)
        .set_content_arrangement(arrangement);
    drawn.set_header(heads.iter().map(|(label, _)| escape_line(label)));
    for row in rows {
        drawn.add_row(row.iter().map(|cell| escape_line(cell)));
    }
    for (place, column) in drawn.column_iter_mut().enumerate() {
        column.set_padding((u16::from(place > 0), 1));
        if heads[place].1 == ColumnKind::Figure {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut lines: Vec<String> = drawn.lines().collect();
    let is_separator = |line: &String| line.chars().all(|one| one == '─');
    let header = lines.iter().position(is_separator).unwrap_or(0);
    for line in &mut lines[..header] {
        *line = screen.colour.paint("1", line);
    }
    lines
}

/// Breaks text into lines between words, a number and its unit staying together; `indent` blanks stand before every line but the first.
#[must_use]
pub fn wrap(text: &str, width: usize, indent: usize) -> String {
    const JOINED: &str = "\u{a0}";
    let words = text.trim_start_matches(' ');
    let lead = &text[..text.len() - words.len()];
    let mut kept = String::with_capacity(text.len());
    for (place, word) in words.split(' ').enumerate() {
        match (place, is_unit(word)) {
            (0, _) => {}
            (_, true) => kept.push_str(JOINED),
            (_, false) => kept.push(' '),
        }
        kept.push_str(word);
    }
    let indent = " ".repeat(indent);
    let options = Options::new(width)
        .initial_indent(lead)
        .subsequent_indent(&indent)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::fill(&kept, options).replace(JOINED, " ")
}

/// Whether a word is the unit of the number before it.
fn is_unit(word: &str) -> bool {
    let word = word.trim_end_matches([',', ';', ':', '.', ')']);
    ["%", "ns", "µs", "ms", "s", "B", "kB", "MB", "GB"].contains(&word)
}

struct Page {
    screen: Screen,
    text: String,
}

impl Page {
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn styled(&mut self, text: &str, code: &str) {
        let text = self.screen.colour.paint(code, text);
        self.line(&text);
    }

    fn title(&mut self, text: &str) {
        self.line("");
        let text = wrap(&escape_line(text), usize::from(self.screen.width), 0);
        self.styled(&text, "1");
    }

    fn wrapped(&mut self, text: &str) {
        // A question may have several lines.
        let text = text.trim_end().replace('\n', " ");
        let text = wrap(&escape_line(&text), usize::from(self.screen.width), 0);
        self.line(&text);
    }

    /// The first of the layouts of a table that fits, with its headings and sentences; else the last.
    fn layouts(&mut self, tables: &[&Table]) {
        let mut layouts = tables.chunk_by(|a, b| a.layout == b.layout).peekable();
        while let Some(layout) = layouts.next() {
            let fits = |table: &&Table| fitting(table, self.screen).is_some();
            if layouts.peek().is_none() || layout.iter().all(fits) {
                return layout.iter().for_each(|one| self.table(one));
            }
        }
    }

    fn table(&mut self, one: &Table) {
        self.title(&tables::heading(one));
        if !one.rows.is_empty() {
            let text = table(one, self.screen);
            self.text.push_str(&text);
        }
        for sentence in &one.footnotes {
            self.wrapped(sentence);
        }
    }

    fn head(&mut self, view: &View) {
        let run = &view.run;
        self.styled(&escape_line(&run.experiment), "1");
        self.wrapped(&run.question);
        let blocks = u64::from(run.blocks_complete);
        self.wrapped(&format!(
            "{} of {} blocks, started {}, took {}, {} of the time is measured",
            blocks,
            run.blocks_planned,
            run.started,
            quantity::span(run.took_ns),
            quantity::percent(run.measuring_share),
        ));
        let state = match run.state {
            ViewState::Complete => return,
            ViewState::Partial => "PARTIAL: intervals from the blocks so far; more are planned",
            ViewState::Provisional => {
                "PROVISIONAL: fewer than 3 blocks, so no intervals and no verdict"
            }
        };
        self.styled(state, "33");
    }

    fn verdict(&mut self, view: &View) {
        self.title("verdict");
        self.text.push_str(&sentences(&view.verdict, self.screen));
    }
}

/// The sentences of a verdict, each marked by its kind.
pub(crate) fn sentences(verdict: &[Sentence], screen: Screen) -> String {
    let line = |sentence: &Sentence| {
        let (mark, code) = match sentence.kind {
            SentenceKind::Finding => ("", "0"),
            SentenceKind::Warning => ("! ", "33"),
            SentenceKind::Note => ("· ", "2"),
        };
        let text = format!("{mark}{}", escape_line(&sentence.text));
        let text = wrap(&text, usize::from(screen.width), mark.chars().count());
        screen.colour.paint(code, &text) + "\n"
    };
    verdict.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_broken_between_words_and_stays_indented() {
        assert_eq!(wrap("aa bb cc", 5, 2), "aa bb\n  cc");
        assert_eq!(wrap("aa bb cc", 80, 2), "aa bb cc");
        assert_eq!(wrap("  aa bb cc", 7, 2), "  aa bb\n  cc");
        assert_eq!(wrap("unbreakable", 5, 2), "unbreakable");
        assert_eq!(wrap("it is 3 ms, or", 9, 0), "it is\n3 ms, or");
        assert_eq!(
            wrap("x-y \u{1b}[31maa\u{1b}[0m bb", 6, 0),
            "x-y \u{1b}[31maa\u{1b}[0m\nbb"
        );
    }

    #[test]
    fn text_without_colour_is_text() {
        assert_eq!(Colour::Off.bad("x"), "x");
        assert_eq!(Colour::On.bad("x"), "\x1b[31mx\x1b[0m");
    }
}
