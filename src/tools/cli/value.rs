//! Interprets the arguments of options: numbers, times, lists, choices, paths.

use std::path::PathBuf;
use std::time::Duration;

use super::getopt::Given;
use super::hint;
use super::option::ArgumentKind;
use crate::load::number::{NumberError, parse_float, parse_int, shown};
use crate::load::units::SizeError;

/// An argument that its option cannot use.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("option --{option}: {problem}")]
pub struct ValueError {
    /// The long name of the option.
    pub option: &'static str,
    pub problem: ValueProblem,
}

/// Reason that a value is invalid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ValueProblem {
    /// Not a number.
    #[error(transparent)]
    Number(#[from] NumberError),
    /// A number outside the range.
    #[error("'{value}' is not {expected}")]
    Range {
        value: String,
        /// Description of the valid values.
        expected: &'static str,
    },
    /// A word that is not one of the option's choices.
    #[error("Unknown {option} '{value}', pass one of {}", quoted(.allowed))]
    Choice {
        /// The long name of the option.
        option: &'static str,
        value: String,
        allowed: &'static [&'static str],
    },
    /// An unknown word in a list.
    #[error("there is no {what} '{value}'{meant}")]
    Word {
        /// Kind of word that was expected: `metric`.
        what: &'static str,
        value: String,
        /// ", did you mean ...?", or empty.
        meant: String,
        known: Vec<&'static str>,
    },
    /// Not a size.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// An invalid part of a value that has several.
    #[error("{part}: {problem}")]
    Part {
        part: &'static str,
        /// Problem of this part.
        problem: Box<ValueProblem>,
    },
    /// Bytes that are not valid UTF-8.
    #[error("'{0}' is not valid UTF-8")]
    NotText(String),
}

impl ValueProblem {
    /// The valid words, if an unknown word was given.
    pub fn hint(&self) -> Option<String> {
        match self {
            ValueProblem::Word { known, .. } => Some(format!("the valid words are {}", known.join(", "))),
            ValueProblem::Part { problem, .. } => problem.hint(),
            _ => None,
        }
    }
}

fn quoted(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

impl Given {
    fn error(&self, problem: impl Into<ValueProblem>) -> ValueError {
        ValueError { option: self.option.long, problem: problem.into() }
    }

    /// An error about a number outside the range.
    pub fn out_of_range(&self, expected: &'static str) -> ValueError {
        let value = self.value.as_ref().map(|v| shown(&v.to_string_lossy())).unwrap_or_default();
        self.error(ValueProblem::Range { value, expected })
    }

    /// An error about an item of a list.
    pub fn wrong_item(&self, item: &str, expected: &'static str) -> ValueError {
        self.error(ValueProblem::Range { value: shown(item), expected })
    }

    /// An error about one part of a value that has several.
    pub fn wrong_part(&self, part: &'static str, problem: impl Into<ValueProblem>) -> ValueError {
        self.error(ValueProblem::Part { part, problem: Box::new(problem.into()) })
    }

    /// An error about an unknown word in a list.
    pub fn no_word_of(&self, what: &'static str, word: &str, known: Vec<&'static str>) -> ValueError {
        let meant = hint::did_you_mean(word, known.iter().copied());
        self.error(ValueProblem::Word { what, value: shown(word), meant, known })
    }

    /// The argument as text; empty if there is none.
    pub fn text(&self) -> Result<&str, ValueError> {
        let value = self.value.as_ref().map_or(Some(""), |v| v.to_str());
        value.ok_or_else(|| {
            let lossy = self.value.as_ref().map(|v| v.to_string_lossy()).unwrap_or_default();
            // an address may hold a password
            let hidden = matches!(self.option.kind, ArgumentKind::Host);
            self.error(ValueProblem::NotText(if hidden { "***".to_owned() } else { shown(&lossy) }))
        })
    }

    pub fn string(&self) -> Result<String, ValueError> {
        self.text().map(str::to_owned)
    }

    /// The argument as a path, if there is one. Paths need not be valid UTF-8.
    pub fn path(&self) -> Result<Option<PathBuf>, ValueError> {
        Ok(self.value.clone().map(PathBuf::from))
    }

    /// The argument `yes` or `no` as a truth value; true if there is no argument.
    pub fn yes(&self) -> Result<bool, ValueError> {
        Ok(self.value.is_none() || self.choice()? == "yes")
    }

    /// The argument as a whole number.
    pub fn int(&self) -> Result<i64, ValueError> {
        let text = self.text()?;
        parse_int(text).map_err(|problem| self.no_number(text, problem, "a whole number"))
    }

    /// The error about a text that is not a number of the kind `expected`.
    fn no_number(&self, text: &str, problem: NumberError, expected: &'static str) -> ValueError {
        match problem {
            NumberError::TooLarge(_) => self.error(problem),
            NumberError::Unreadable(_) | NumberError::Leftover { .. } => self.wrong_item(text, expected),
        }
    }

    /// The argument as a real number.
    pub fn float(&self) -> Result<f64, ValueError> {
        self.number(self.text()?)
    }

    /// A part of the argument as a real number.
    pub fn number(&self, text: &str) -> Result<f64, ValueError> {
        parse_float(text).map_err(|problem| self.no_number(text, problem, "a number"))
    }

    /// The argument as a time of at most 3650 days: a whole number with the unit `s`, `m`, `h` or `d`; without a unit,
    /// seconds.
    pub fn time(&self) -> Result<Duration, ValueError> {
        parse_time(self.text()?)
            .ok_or_else(|| self.out_of_range("a time such as 90s, 30m, 6h or 2d, at most 3650d"))
    }

    /// The argument as a list separated by commas.
    pub fn list(&self) -> Result<Vec<String>, ValueError> {
        Ok(split_list(self.text()?))
    }

    /// The argument, which must be one of the words that its option offers.
    pub fn choice(&self) -> Result<&'static str, ValueError> {
        let ArgumentKind::Choices(allowed) = self.option.kind else { return Ok("") };
        let text = self.text()?;
        allowed.iter().find(|word| **word == text).copied().ok_or_else(|| {
            self.error(ValueProblem::Choice { option: self.option.long, value: shown(text), allowed })
        })
    }
}

/// Units of times, in seconds.
const UNITS: [(char, u64); 4] = [('d', DAY), ('h', 3600), ('m', 60), ('s', 1)];

/// Formats a time for [`Given::time`], in the largest unit that gives a whole number.
pub(crate) fn shown_time(time: Duration) -> String {
    let seconds = time.as_secs();
    let fits = UNITS.iter().find(|(_, unit)| seconds > 0 && seconds.is_multiple_of(*unit));
    fits.map_or_else(|| seconds.to_string(), |(letter, unit)| format!("{}{letter}", seconds / unit))
}

fn parse_time(text: &str) -> Option<Duration> {
    let with_unit = UNITS.iter().find_map(|(letter, unit)| Some((text.strip_suffix(*letter)?, *unit)));
    let (number, unit) = with_unit.unwrap_or((text, 1));
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let seconds = number.parse::<u64>().ok()?.checked_mul(unit)?;
    (seconds <= 3650 * DAY).then(|| Duration::from_secs(seconds))
}

const DAY: u64 = 86_400;

/// Splits at commas. The empty text is the empty list; otherwise n commas
/// separate n+1 items, empty ones included.
pub(crate) fn split_list(text: &str) -> Vec<String> {
    if text.is_empty() { Vec::new() } else { text.split(',').map(str::to_owned).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_separate_even_nothing() {
        assert!(split_list("").is_empty());
        assert_eq!(split_list("a,"), ["a", ""]);
        assert_eq!(split_list(",,"), ["", "", ""]);
    }

    #[test]
    fn times_have_units() {
        let seconds = |text: &str| parse_time(text).map(|time| time.as_secs());
        for (text, wanted) in
            [("0", 0), ("90", 90), ("90s", 90), ("30m", 1800), ("6h", 21_600), ("2d", 172_800)]
        {
            assert_eq!(seconds(text), Some(wanted), "{text}");
        }
        assert_eq!(seconds("3650d"), Some(315_360_000));
        for text in
            ["", "h", "-1h", "+1h", "1.5h", "1 h", "6H", "3651d", "99999999999999999999d", "1h30m", "٣h"]
        {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn choices_are_listed_as_prose() {
        assert_eq!(quoted(&["yes", "no"]), "'yes' or 'no'");
        assert_eq!(quoted(&["low", "normal", "high"]), "'low', 'normal' or 'high'");
    }
}
