//! A view for a terminal: tables that fit its width, the verdict last, directly above the prompt.

use comfy_table::{
    Attribute, Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle,
};
use tare_schema::plan::Compare;
use tare_schema::shown::shown;
use tare_schema::view::{
    Family, FaultView, LevelView, SentenceKind, View, ViewState, WaterfallView,
};

use crate::grid::{self, Cost, Grid};
use crate::quantity;

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
    page.link_rtts(view);
    match view.compare {
        Compare::Arms => view.levels.iter().for_each(|level| page.level(view, level)),
        Compare::Levels => page.levels(view),
    }
    let failed = grid::failures::failures(view);
    if !failed.rows.is_empty() {
        page.title("what failed");
        page.grid(&[failed]);
    }
    page.requests(view);
    for faults in &view.faults {
        page.faults(faults);
    }
    for waterfall in &view.waterfalls {
        page.waterfall(waterfall);
    }
    let columns = grid::published::columns(view);
    let published = grid::published::figures(view);
    if !columns.rows.is_empty() {
        page.title("published and measured: overheads, and the values of the baseline");
        page.grid(&[columns]);
    } else if !published.rows.is_empty() {
        page.title("published and measured");
        // Where levels are compared, the rows are levels already.
        let published = match view.compare {
            Compare::Arms => published,
            Compare::Levels => published.without(&["level"]),
        };
        let narrow = published.without(&["against"]);
        page.grid(&[published, narrow]);
    }
    if let Some(rule) = grid::published::as_published_rule(view) {
        page.title("as the published study prints it");
        page.wrapped(&rule);
        page.grid(&[grid::published::study_summary(view)]);
    }
    let excluded_trials = grid::excluded_trials(view);
    if !excluded_trials.rows.is_empty() {
        page.title("excluded trials");
        page.grid(&[excluded_trials]);
    }
    let assertions = grid::assertions(view);
    if !assertions.rows.is_empty() {
        page.title("assertions");
        page.grid(&[assertions]);
    }
    page.verdict(view);
    page.text
}

/// A grid as a table: the first form that fits the width, else the last one with its cells wrapped.
#[must_use]
pub(crate) fn table(forms: &[Grid], screen: Screen) -> String {
    for form in forms {
        let lines: Vec<String> = draw(form, screen, ContentArrangement::Disabled);
        if lines
            .iter()
            .all(|line| visible(line) <= usize::from(screen.width))
        {
            return join(lines);
        }
    }
    forms.last().map_or_else(String::new, |form| {
        join(draw(form, screen, ContentArrangement::Dynamic))
    })
}

fn join(lines: Vec<String>) -> String {
    lines
        .into_iter()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

fn draw(grid: &Grid, screen: Screen, arrangement: ContentArrangement) -> Vec<String> {
    let mut table = Table::new();
    table
        .load_style(TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─')))
        .force_no_tty()
        .set_width(screen.width)
        .set_content_arrangement(arrangement);
    if screen.colour == Colour::On {
        table.enforce_styling();
    }
    table.set_header(
        grid.header
            .iter()
            .map(|head| Cell::new(shown(head)).add_attribute(Attribute::Bold)),
    );
    for row in &grid.rows {
        table.add_row(row.iter().map(|cell| shown(cell)));
    }
    for (place, column) in table.column_iter_mut().enumerate() {
        column.set_padding((u16::from(place > 0), 1));
        if place >= grid.names && is_figures(grid, place) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().collect()
}

/// Whether a column holds figures (aligned to the right) and not text.
fn is_figures(grid: &Grid, place: usize) -> bool {
    ![
        "outcome",
        "source",
        "reason",
        "bar",
        "done",
        "failed",
        "there",
        "no verdict on",
    ]
    .contains(&grid.header[place].as_str())
}

/// Width of a line without escape sequences; every character used here is one column wide.
fn visible(line: &str) -> usize {
    let mut count = 0;
    let mut escaped = false;
    for c in line.trim_end().chars() {
        match (escaped, c) {
            (false, '\u{1b}') => escaped = true,
            (false, _) => count += 1,
            (true, 'm') => escaped = false,
            (true, _) => {}
        }
    }
    count
}

/// Breaks text into lines; `indent` stands before every line but the first.
pub(crate) fn wrap(text: &str, width: usize, indent: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.len() - 1;
        let taken = lines[line].chars().count();
        if taken > 0 && taken + 1 + word.chars().count() > width && lines[line].trim() != "" {
            lines.push(format!("{indent}{word}"));
        } else if taken > 0 {
            lines[line].push(' ');
            lines[line].push_str(word);
        } else {
            lines[line].push_str(word);
        }
    }
    lines.join("\n")
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
        match self.screen.colour {
            Colour::On => self.line(&format!("\u{1b}[{code}m{text}\u{1b}[0m")),
            Colour::Off => self.line(text),
        }
    }

    fn title(&mut self, text: &str) {
        self.line("");
        let text = wrap(&shown(text), usize::from(self.screen.width), "");
        self.styled(&text, "1");
    }

    fn wrapped(&mut self, text: &str) {
        // A question may have several lines.
        let text = text.trim_end().replace('\n', " ");
        let text = wrap(&shown(&text), usize::from(self.screen.width), "");
        self.line(&text);
    }

    fn grid(&mut self, forms: &[Grid]) {
        let text = table(forms, self.screen);
        self.text.push_str(&text);
    }

    fn head(&mut self, view: &View) {
        let run = &view.run;
        self.styled(&shown(&run.experiment), "1");
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

    fn link_rtts(&mut self, view: &View) {
        let link_rtts = grid::network::link_rtts(view);
        if !link_rtts.rows.is_empty() {
            self.title("round trips between sites, before the first block");
            self.grid(&[link_rtts]);
        }
    }

    fn level(&mut self, view: &View, level: &LevelView) {
        let beyond = level.beyond_knee.as_ref();
        let beyond = beyond
            .map(|reason| format!("  BEYOND THE KNEE: {reason}"))
            .unwrap_or_default();
        let provisional = if view.run.state == ViewState::Provisional {
            " (provisional)"
        } else {
            ""
        };
        let title = format!("{}{provisional}{beyond}", level.name);
        self.title(&title);
        let figures = grid::figures(view, level);
        let narrow = figures.without(&["memory"]);
        self.grid(&[
            figures,
            narrow.clone(),
            narrow.without(&["p90"]),
            narrow.without(&["p90", "p99.9"]),
        ]);
        for missing in &level.missing {
            self.wrapped(missing);
        }
        self.generator(level);
        if level.cells.iter().any(|cell| !cell.parts.is_empty()) {
            self.costs(view, level);
        }
        let pods = grid::network::pods(level);
        if !pods.rows.is_empty() {
            self.title(&format!("{}: pod network traffic", level.name));
            let short = pods.without(&["bytes in /exchange", "bytes out /exchange"]);
            self.grid(&[pods, short]);
        }
        let directions = grid::network::directions(level);
        if !directions.rows.is_empty() {
            self.title(&format!("{}: link traffic", level.name));
            let short = directions.without(&["bytes /exchange", "late"]);
            self.grid(&[directions, short]);
        }
        self.overheads(
            &grid::overheads(view, level, Family::Primary),
            &level.name,
            "overhead",
        );
        let steps = grid::overheads(view, level, Family::Step);
        self.overheads(&steps, &level.name, "incremental overhead");
    }

    fn generator(&mut self, level: &LevelView) {
        let generator = grid::generator(level);
        if !generator.rows.is_empty() {
            self.title(&format!("{}: {}", level.name, grid::INSTRUMENT));
            let narrow = generator.without(&["service p50", "service p99"]);
            self.grid(&[generator, narrow.clone(), narrow.without(&["response p50"])]);
        }
    }

    /// Levels compared: a row for each.
    fn levels(&mut self, view: &View) {
        self.title("levels");
        let figures = grid::levels::figures(view);
        let narrow = figures.without(&["p99.9", "max"]);
        let narrower = narrow.without(&["p90", "memory"]);
        self.grid(&[figures, narrow, narrower]);
        for missing in view.levels.iter().flat_map(|level| &level.missing) {
            self.wrapped(missing);
        }
        for (title, grid) in [
            (
                "what each part used: CPU and peak memory",
                grid::levels::used(view),
            ),
            (
                "what each part moved: bytes written to disk, packets in and out",
                grid::levels::moved(view),
            ),
        ] {
            if !grid.rows.is_empty() {
                self.title(title);
                self.grid(&[grid]);
            }
        }
        view.levels.iter().for_each(|level| self.generator(level));
        self.overheads(&grid::levels::compared(view), "levels", "compared");
    }

    fn overheads(&mut self, overheads: &Grid, level: &str, title: &str) {
        if overheads.rows.is_empty() {
            return;
        }
        // A common baseline is named once, in the title.
        let (grid, against) = match overheads.constant("against") {
            Some(against) => (
                overheads.without(&["against"]),
                format!(" against {against}"),
            ),
            None => (overheads.clone(), String::new()),
        };
        self.title(&format!("{level}: {title}{against}"));
        let narrow = grid.without(&["relative"]);
        self.grid(&[grid, narrow.clone(), narrow.without(&["difference"])]);
    }

    /// Throughput by level, and the table of requests.
    fn requests(&mut self, view: &View) {
        let throughput = grid::requests::throughput(view);
        if !throughput.rows.is_empty() {
            self.title("throughput by level");
            self.grid(&[throughput]);
        }
        let Some(level) = grid::requests::shown(view) else {
            return;
        };
        let requests = grid::requests::requests(level);
        if !requests.rows.is_empty() {
            self.title(&format!("{}: each request by itself", level.name));
            let narrow = requests.without(&["p95"]);
            self.grid(&[requests, narrow.clone(), narrow.without(&["p90", "mean"])]);
        }
    }

    fn costs(&mut self, view: &View, level: &LevelView) {
        let what = grid::exchanges(view);
        // The conductor is idle during trials: its column is the first to be omitted in a narrow table.
        let spare = ["conductor"];
        let both = grid::costs_wide(level, Cost::Both);
        for form in [both.clone(), both.without(&spare)] {
            if self.fits(&form) {
                self.title(&format!(
                    "{}: CPU-seconds per 1000 {what}, peak memory; all: what is under test",
                    level.name
                ));
                return self.grid(&[form]);
            }
        }
        let cpu = grid::costs_wide(level, Cost::Cpu).without(&spare);
        let memory = grid::costs_wide(level, Cost::Memory).without(&spare);
        if self.fits(&cpu) && self.fits(&memory) {
            self.title(&format!(
                "{}: CPU-seconds per 1000 {what}; all: what is under test",
                level.name
            ));
            self.grid(&[cpu]);
            self.title(&format!(
                "{}: peak memory; all: what is under test",
                level.name
            ));
            return self.grid(&[memory]);
        }
        self.title(&format!(
            "{}: CPU-seconds per 1000 {what} and peak memory of each part",
            level.name
        ));
        self.grid(&[grid::costs_long(level)]);
    }

    /// The faults of a cell, by trial and by second.
    fn faults(&mut self, view: &FaultView) {
        self.title(&format!("{}, {}: faults", view.arm, view.level));
        let trials = grid::faults::trials(view);
        let narrow = trials.without(&["acknowledged"]);
        self.grid(&[trials, narrow]);
        self.title(&format!(
            "{}, {}: answers by the second in which they came, medians over the trials",
            view.arm, view.level
        ));
        self.grid(&[grid::faults::seconds(view)]);
    }

    /// The waterfall of every order, and the steps in all orders.
    fn waterfall(&mut self, view: &WaterfallView) {
        for sequence in &view.sequences {
            let blocks = quantity::counted(u64::from(sequence.blocks), "block", "blocks");
            self.title(&format!(
                "{}: what adds up to the {}, order {} ({blocks})",
                view.level, view.label, sequence.name
            ));
            if let Some(missing) = &sequence.missing {
                self.wrapped(missing);
                continue;
            }
            let steps = grid::waterfall::steps(view, sequence);
            let narrow = steps.without(&["then"]);
            self.grid(&[steps, narrow.clone(), narrow.without(&["bar"])]);
        }
        let parts = grid::waterfall::parts(view);
        if !parts.rows.is_empty() {
            self.title(&format!(
                "{}: parts of the {} by order",
                view.level, view.label
            ));
            self.grid(&[parts]);
        }
        for check in &view.checks {
            self.wrapped(check);
        }
    }

    fn fits(&self, form: &Grid) -> bool {
        let width = usize::from(self.screen.width);
        draw(form, self.screen, ContentArrangement::Disabled)
            .iter()
            .all(|line| visible(line) <= width)
    }

    fn verdict(&mut self, view: &View) {
        self.title("verdict");
        let width = usize::from(self.screen.width);
        for sentence in &view.verdict {
            let (mark, code) = match sentence.kind {
                SentenceKind::Finding => ("", "0"),
                SentenceKind::Warning => ("! ", "33"),
                SentenceKind::Note => ("· ", "2"),
            };
            let indent = " ".repeat(mark.chars().count());
            let text = wrap(&format!("{mark}{}", shown(&sentence.text)), width, &indent);
            self.styled(&text, code);
        }
    }
}
