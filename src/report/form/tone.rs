//! Tones of lines, which terminals can show as colours.

/// Tone of a line. The text must say the same without colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Neutral.
    Plain,
    /// A heading.
    Heading,
    /// Improved, or in order.
    Good,
    /// Deteriorated, or a problem.
    Bad,
}

impl Tone {
    /// Escape sequences before and after the text on a terminal (ECMA-48, select graphic rendition): bold, green or
    /// red. The user's terminal defines the shades.
    pub fn sequences(self) -> (&'static str, &'static str) {
        match self {
            Tone::Plain => ("", ""),
            Tone::Heading => ("\u{1b}[1m", "\u{1b}[0m"),
            Tone::Good => ("\u{1b}[32m", "\u{1b}[0m"),
            Tone::Bad => ("\u{1b}[31m", "\u{1b}[0m"),
        }
    }
}

/// A line with its tone.
pub(crate) type TonedLine = (Tone, String);

/// Lines without a tone.
pub(crate) fn plain(lines: Vec<String>) -> impl Iterator<Item = TonedLine> {
    lines.into_iter().map(|line| (Tone::Plain, line))
}

/// The tone of a change of a figure that should be small.
pub(crate) fn of_change(before: f64, after: f64) -> Tone {
    match after.partial_cmp(&before) {
        Some(std::cmp::Ordering::Less) => Tone::Good,
        Some(std::cmp::Ordering::Greater) => Tone::Bad,
        _ => Tone::Plain,
    }
}
