//! Parses numbers as Pacemaker does, from the beginning of a text.

/// The integer at the beginning of a text; one that is too large counts as the largest.
pub(super) fn leading(text: &str) -> Option<i64> {
    let (sign, digits) = leading_digits(text)?;
    Some(parse_digits(digits).map_or(if sign < 0 { i64::MIN } else { i64::MAX }, |number| sign * number))
}

/// The integer at the beginning of a text, unless it is too large.
pub(super) fn integer(text: &str) -> Option<i64> {
    let (sign, digits) = leading_digits(text)?;
    parse_digits(digits).map(|number| sign * number)
}

/// The number at the beginning of a text, unless it is too large. Decimal points, exponents, "inf" and "nan" are
/// accepted.
pub(super) fn real(text: &str) -> Option<f64> {
    let text = text.trim_ascii_start();
    let digits =
        |from: usize| text.as_bytes()[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let signed = |from: usize| from + usize::from(text[from..].starts_with(['-', '+']));
    let first = signed(0);
    let is = |word: &str| text.get(first..first + 3).is_some_and(|begin| begin.eq_ignore_ascii_case(word));
    if is("inf") || is("nan") {
        return text[..first + 3].parse().ok();
    }
    let mut end = first + digits(first);
    if text[end..].starts_with('.') {
        end += 1 + digits(end + 1);
    }
    if text[end..].starts_with(['e', 'E']) {
        let exponent = signed(end + 1);
        end = if digits(exponent) > 0 { exponent + digits(exponent) } else { end };
    }
    text[..end].parse().ok().filter(|number: &f64| number.is_finite())
}

/// Sign and digits of the integer at the beginning of a text.
fn leading_digits(text: &str) -> Option<(i64, &str)> {
    let text = text.trim_start_matches([' ', '\t']);
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    (end > 0).then(|| (sign, &digits[..end]))
}

/// Value of digits, unless it is too large.
fn parse_digits(digits: &str) -> Option<i64> {
    digits.bytes().try_fold(0i64, |sum, digit| sum.checked_mul(10)?.checked_add(i64::from(digit - b'0')))
}

/// Returns true for Pacemaker's words for true.
pub(super) fn is_true(text: &str) -> bool {
    ["true", "on", "yes", "y", "1"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// The truth that one of Pacemaker's words for it stands for.
pub(super) fn truth(text: &str) -> Option<bool> {
    let is_false = ["false", "off", "no", "n", "0"].iter().any(|word| text.eq_ignore_ascii_case(word));
    match is_true(text) {
        true => Some(true),
        false => is_false.then_some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_at_the_beginning() {
        assert_eq!(leading("12"), Some(12));
        assert_eq!(leading(" -4x"), Some(-4));
        assert_eq!(leading("+7"), Some(7));
        assert_eq!(leading("x"), None);
        assert_eq!(leading(""), None);
        assert_eq!(leading("-99999999999999999999"), Some(i64::MIN));
        assert_eq!((integer("-4x"), integer("99999999999999999999")), (Some(-4), None));
    }

    #[test]
    fn numbers_with_points_and_exponents() {
        for (text, number) in [
            ("2.5x", Some(2.5)),
            (" -.5", Some(-0.5)),
            ("2.", Some(2.0)),
            ("1e3", Some(1000.0)),
            ("1e", Some(1.0)),
            ("1e-", Some(1.0)),
            ("INFINITY", Some(f64::INFINITY)),
            ("as2.0", None),
            (".", None),
            ("", None),
            ("1e400", None),
        ] {
            assert_eq!(real(text), number, "{text}");
        }
        assert!(real("nan").is_some_and(f64::is_nan));
    }
}
