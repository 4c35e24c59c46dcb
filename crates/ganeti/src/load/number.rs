//! Numbers as Ganeti's tools write and accept them, in files and on the command line. Allowed are parentheses, a space
//! after the minus sign, hexadecimal and octal digits. A plus sign and a bare decimal point are not allowed.

/// Reason that a text is not a number of the wanted type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// The text does not begin with a number.
    #[error("cannot parse string '{0}'")]
    Unreadable(String),
    /// The text continues after the number.
    #[error("leftover characters when parsing '{text}': '{rest}'")]
    Leftover {
        /// The whole text.
        text: String,
        /// The text after the number.
        rest: String,
    },
    /// A whole number that does not fit into 64 bits.
    #[error("'{0}' does not fit into 64 bits")]
    TooLarge(String),
}

/// Maximum length of a text in an error, in characters; the rest is replaced by dots.
const SHOWN: usize = 80;

/// The text for an error message, cut to a length that fits on a line.
pub fn shown(text: &str) -> String {
    if text.chars().count() <= SHOWN {
        return text.to_owned();
    }
    text.chars().take(SHOWN).chain("...".chars()).collect()
}

/// Reads a whole number. Fractions and exponents are refused.
pub fn parse_int(text: &str) -> Result<i64, NumberError> {
    let (value, rest) = read_int_prefix(text)?;
    expect_end(text, rest)?;
    Ok(value)
}

/// Reads a whole number at the start of `text`, and returns it with the rest.
pub(crate) fn read_int_prefix(text: &str) -> Result<(i64, &str), NumberError> {
    let (token, rest) = read_signed(text, 0).ok_or_else(|| NumberError::Unreadable(shown(text)))?;
    let value = match token {
        Signed { negative, lexeme: Lexeme::Whole { digits, radix } } => {
            let magnitude =
                i128::from_str_radix(digits, radix).map_err(|_| NumberError::TooLarge(shown(text)))?;
            let value = if negative { -magnitude } else { magnitude };
            i64::try_from(value).map_err(|_| NumberError::TooLarge(shown(text)))?
        }
        _ => return Err(NumberError::Unreadable(shown(text))),
    };
    Ok((value, rest))
}

/// Reads a real number. Also accepts `NaN` and `Infinity`; numbers that are too large become infinite.
pub fn parse_float(text: &str) -> Result<f64, NumberError> {
    let (token, rest) = read_signed(text, 0).ok_or_else(|| NumberError::Unreadable(shown(text)))?;
    expect_end(text, rest)?;
    let magnitude = match token.lexeme {
        Lexeme::Whole { digits, radix: 10 } | Lexeme::Real(digits) => {
            digits.parse().map_err(|_| NumberError::Unreadable(shown(text)))?
        }
        Lexeme::Whole { digits, radix } => {
            i128::from_str_radix(digits, radix).map_err(|_| NumberError::TooLarge(shown(text)))? as f64
        }
        Lexeme::Word("NaN") => f64::NAN,
        Lexeme::Word("Infinity") => f64::INFINITY,
        Lexeme::Word(_) => return Err(NumberError::Unreadable(shown(text))),
    };
    Ok(if token.negative { -magnitude } else { magnitude })
}

fn expect_end(text: &str, rest: &str) -> Result<(), NumberError> {
    if rest.is_empty() {
        return Ok(());
    }
    Err(NumberError::Leftover { text: shown(text), rest: shown(rest) })
}

struct Signed<'a> {
    negative: bool,
    lexeme: Lexeme<'a>,
}

enum Lexeme<'a> {
    /// Digits without a fraction, and their radix.
    Whole {
        digits: &'a str,
        radix: u32,
    },
    /// Decimal digits with a fraction or an exponent.
    Real(&'a str),
    Word(&'a str),
}

/// Maximum depth of parentheses. Nobody writes more, and each level uses stack.
const DEEPEST: usize = 64;

fn read_signed(text: &str, depth: usize) -> Option<(Signed<'_>, &str)> {
    let text = text.trim_start_matches(is_space);
    if let Some(inner) = text.strip_prefix('(') {
        if depth >= DEEPEST {
            return None;
        }
        let (value, rest) = read_signed(inner, depth + 1)?;
        return Some((value, rest.trim_start_matches(is_space).strip_prefix(')')?));
    }
    let (negative, text) = match text.strip_prefix('-') {
        // "--5" and "-.5" begin with other symbols than a minus sign.
        Some(rest) if !rest.starts_with(is_symbol) => (true, rest.trim_start_matches(is_space)),
        Some(_) => return None,
        None => (false, text),
    };
    let (lexeme, rest) = read_lexeme(text)?;
    Some((Signed { negative, lexeme }, rest))
}

/// Space as the reference defines it: without the separators of lines and paragraphs, which Unicode counts as white
/// space.
fn is_space(c: char) -> bool {
    c.is_whitespace() && !matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_symbol(c: char) -> bool {
    "!@#$%&*+./<=>?\\^|:-~".contains(c)
}

fn read_lexeme(text: &str) -> Option<(Lexeme<'_>, &str)> {
    let first = text.chars().next()?;
    if first.is_ascii_digit() {
        return Some(read_number(text));
    }
    if first.is_alphabetic() {
        let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\'')).unwrap_or(text.len());
        return Some((Lexeme::Word(&text[..end]), &text[end..]));
    }
    None
}

fn digits_end(text: &str, from: usize, radix: u32) -> usize {
    text[from..].find(|c: char| !c.is_digit(radix)).map_or(text.len(), |n| from + n)
}

fn read_number(text: &str) -> (Lexeme<'_>, &str) {
    for (prefixes, radix) in [(["0x", "0X"], 16), (["0o", "0O"], 8)] {
        if prefixes.iter().any(|p| text.starts_with(p)) {
            let end = digits_end(text, 2, radix);
            if end > 2 {
                return (Lexeme::Whole { digits: &text[2..end], radix }, &text[end..]);
            }
        }
    }
    let whole_end = digits_end(text, 0, 10);
    let mut end = whole_end;
    if text[end..].starts_with('.') {
        let fraction_end = digits_end(text, end + 1, 10);
        if fraction_end > end + 1 {
            end = fraction_end;
        }
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        let exponent_end = digits_end(text, end + 1 + sign, 10);
        if exponent_end > end + 1 + sign {
            end = exponent_end;
        }
    }
    let lexeme = if end == whole_end {
        Lexeme::Whole { digits: &text[..end], radix: 10 }
    } else {
        Lexeme::Real(&text[..end])
    };
    (lexeme, &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_whole_numbers() {
        for (text, value) in [
            ("5", 5),
            (" \t5", 5),
            ("\u{a0}\u{3000}5", 5),
            ("((5))", 5),
            ("( 5 )", 5),
            ("(-5)", -5),
            ("- 5", -5),
            ("0x10", 16),
            ("0o17", 15),
            ("-9223372036854775808", i64::MIN),
        ] {
            assert_eq!(parse_int(text), Ok(value), "{text:?}");
        }
    }

    #[test]
    fn refused_whole_numbers() {
        for text in [
            "",
            "x",
            "+5",
            "1e3",
            "1.5",
            "--5",
            "-(5)",
            "(5",
            "٣",
            "NaN",
            "5 ",
            "1_000",
            "0b11",
            "\u{85}5",
            "\u{2028}5",
        ] {
            assert!(parse_int(text).is_err(), "{text:?}");
        }
        assert_eq!(
            parse_int("99999999999999999999"),
            Err(NumberError::TooLarge("99999999999999999999".into()))
        );
    }

    #[test]
    fn accepted_reals() {
        for (text, value) in [
            ("5", 5.0),
            ("1.5e-2", 0.015),
            ("1e3", 1000.0),
            ("(-2.5)", -2.5),
            ("0x10", 16.0),
            ("1e400", f64::INFINITY),
            ("-Infinity", f64::NEG_INFINITY),
        ] {
            assert_eq!(parse_float(text), Ok(value), "{text:?}");
        }
        assert!(parse_float("NaN").is_ok_and(f64::is_nan));
    }

    #[test]
    fn refused_reals() {
        for text in ["", ".5", "1.", "+1", "nan", "1e", "5 ", "-.5", "1,5"] {
            assert!(parse_float(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn errors_quote_no_more_than_a_line() {
        let long = "x".repeat(1_000_000);
        assert!(parse_int(&long).unwrap_err().to_string().len() < 200);
    }

    #[test]
    fn deep_parentheses_are_refused_without_overflow() {
        assert!(parse_int(&"(".repeat(1_000_000)).is_err());
    }
}
