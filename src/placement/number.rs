//! Integers as Pacemaker reads them: the digits at the beginning of a text.

/// The number at the beginning of a text; one that is too large counts as the largest.
pub(super) fn leading(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    if end == 0 {
        return None;
    }
    let number = digits[..end]
        .bytes()
        .try_fold(0i64, |sum, digit| sum.checked_mul(10)?.checked_add(i64::from(digit - b'0')));
    Some(number.map_or(if sign < 0 { i64::MIN } else { i64::MAX }, |number| sign * number))
}

/// Whether a text is one of Pacemaker's words for true.
pub(super) fn is_true(text: &str) -> bool {
    ["true", "on", "yes", "y", "1"].iter().any(|word| text.eq_ignore_ascii_case(word))
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
    }
}
