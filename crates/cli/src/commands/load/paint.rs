//! Colours of `tare load`'s output, where the stream supports them.

use tare_report::terminal::Colour;

/// Adds ANSI colour codes, or leaves text unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paint(pub Colour);

impl Paint {
    /// Bold, for what is important.
    pub fn strong(self, text: &str) -> String {
        self.code("1", text)
    }

    /// Dim, for explanations.
    pub fn faint(self, text: &str) -> String {
        self.code("2", text)
    }

    /// Red, for failures.
    pub fn bad(self, text: &str) -> String {
        self.code("31", text)
    }

    /// Green, for success.
    pub fn good(self, text: &str) -> String {
        self.code("32", text)
    }

    /// Cyan, for bars.
    pub fn drawn(self, text: &str) -> String {
        self.code("36", text)
    }

    fn code(self, code: &str, text: &str) -> String {
        match self.0 {
            Colour::On if !text.is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            Colour::On | Colour::Off => text.to_owned(),
        }
    }
}

/// Wraps a sentence at `width` columns; the second and later lines begin with `indent` blanks.
pub fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let mut lines = String::new();
    let mut column = 0;
    let mut words = text.split(' ').enumerate().peekable();
    while let Some((place, word)) = words.next() {
        let unit = words.peek().filter(|(_, next)| is_unit(next));
        // A number stays with its unit.
        let length = console::measure_text_width(word)
            + unit.map_or(0, |(_, unit)| 1 + console::measure_text_width(unit));
        let is_placed = is_unit(word);
        if place > 0 && !is_placed && column + 1 + length > width && !lines.trim_end().is_empty() {
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            column = indent;
        } else if place > 0 {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += console::measure_text_width(word);
    }
    lines
}

/// Whether a word is the unit of the number before it.
fn is_unit(word: &str) -> bool {
    let word = word.trim_end_matches([',', ';', ':', '.', ')']);
    ["%", "ns", "µs", "ms", "s", "B", "kB", "MB", "GB"].contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_broken_between_words_and_stays_indented() {
        assert_eq!(wrapped("aa bb cc", 5, 2), "aa bb\n  cc");
        assert_eq!(wrapped("aa bb cc", 80, 2), "aa bb cc");
        assert_eq!(wrapped("unbreakable", 5, 2), "unbreakable");
        assert_eq!(wrapped("it is 3 ms, or", 9, 0), "it is\n3 ms, or");
    }

    #[test]
    fn text_without_colour_is_text() {
        assert_eq!(Paint(Colour::Off).bad("x"), "x");
        assert_eq!(Paint(Colour::On).bad("x"), "\x1b[31mx\x1b[0m");
    }
}
