//! How a line is meant, for terminals that can show it by a colour.

/// What a line is. Never the only sign of it: who sees no colours misses nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Nothing particular.
    Plain,
    /// The heading of what follows.
    Heading,
    /// Better than before, or as it should be.
    Good,
    /// Worse than before, or wrong.
    Bad,
}

impl Tone {
    /// What begins and ends it on a terminal (ECMA-48, select graphic rendition): bold, green, red, of which the
    /// terminal's owner chose the shades.
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

/// The tone of a figure of which less is better.
pub(crate) fn of_change(before: f64, after: f64) -> Tone {
    match after.partial_cmp(&before) {
        Some(std::cmp::Ordering::Less) => Tone::Good,
        Some(std::cmp::Ordering::Greater) => Tone::Bad,
        _ => Tone::Plain,
    }
}
