//! Sizes with a unit, as given on the command line: `20g`, `512M`, `1 TiB`.

use super::number::{NumberError, read_int_prefix, shown};
use htools_model::Mib;

/// Reason that a text is not a size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// It does not begin with a whole number.
    #[error("Can't parse string '{0}'")]
    Unreadable(String),
    /// The text after the number is not a unit.
    #[error("Unknown unit '{0}'")]
    UnknownUnit(String),
    /// The size does not fit into 64 bits.
    #[error("'{0}' does not fit into 64 bits")]
    TooLarge(String),
}

/// Reads a size: a whole number, optional blanks, and a unit. The result is truncated to whole MiB, so `1M` (a million
/// bytes) is 0 MiB.
///
/// `m`, `g`, `t` and their long forms `mib`, `gib`, `tib` are powers of 1024; `M`, `G`, `T` and `mb`, `gb`, `tb` are
/// powers of 1000. The case of a long form does not matter. Without a unit the number is in MiB.
pub fn parse_size(text: &str) -> Result<Mib, SizeError> {
    let (number, rest) = read_int_prefix(text).map_err(|error| match error {
        NumberError::TooLarge(_) => SizeError::TooLarge(shown(text)),
        _ => SizeError::Unreadable(shown(text)),
    })?;
    let unit = rest.trim_start_matches(' ');
    let (numerator, denominator) = factor(unit).ok_or_else(|| SizeError::UnknownUnit(shown(unit)))?;
    let mib = i128::from(number) * numerator / denominator;
    i64::try_from(mib).map(Mib).map_err(|_| SizeError::TooLarge(shown(text)))
}

/// MiB in one unit, as a fraction.
fn factor(unit: &str) -> Option<(i128, i128)> {
    const MIB: i128 = 1 << 20;
    match unit {
        "" | "m" => return Some((1, 1)),
        "g" => return Some((1 << 10, 1)),
        "t" => return Some((1 << 20, 1)),
        "M" => return Some((1_000_000, MIB)),
        "G" => return Some((1_000_000_000, MIB)),
        "T" => return Some((1_000_000_000_000, MIB)),
        _ => {}
    }
    let long = [
        ("mib", (1, 1)),
        ("gib", (1 << 10, 1)),
        ("tib", (1 << 20, 1)),
        ("mb", (1_000_000, MIB)),
        ("gb", (1_000_000_000, MIB)),
        ("tb", (1_000_000_000_000, MIB)),
    ];
    long.into_iter().find(|(name, _)| unit.eq_ignore_ascii_case(name)).map(|(_, factor)| factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_sizes() {
        for (text, mib) in [
            ("1g", 1024),
            ("1 g", 1024),
            ("1GiB", 1024),
            ("1gib", 1024),
            ("1G", 953),
            ("1gb", 953),
            ("1GB", 953),
            ("1M", 0),
            ("1Mb", 0),
            ("10M", 9),
            ("1000M", 953),
            ("1T", 953_674),
            ("3T", 2_861_022),
            ("999G", 952_720),
            ("0x10", 16),
            ("-5", -5),
            ("(5)", 5),
            ("1 ", 1),
            ("-3M", -2),
            (" 1g", 1024),
            ("9007199254740993M", 8_589_934_592_000_000),
        ] {
            assert_eq!(parse_size(text), Ok(Mib(mib)), "{text:?}");
        }
    }

    #[test]
    fn refused_sizes() {
        for unit in ["g ", "k", "K", "P", "b", "\tg", "\u{a0}g"] {
            assert_eq!(parse_size(&format!("1{unit}")), Err(SizeError::UnknownUnit(unit.into())));
        }
        assert_eq!(parse_size("5 5"), Err(SizeError::UnknownUnit("5".into())));
        for text in ["1e3", "1.5", "", "1.5t", "x", "+1"] {
            assert_eq!(parse_size(text), Err(SizeError::Unreadable(text.into())));
        }
        for text in ["99999999999999999999", "9999999999999999t", "-9223372036854775808g"] {
            assert_eq!(parse_size(text), Err(SizeError::TooLarge(text.into())));
        }
    }
}
