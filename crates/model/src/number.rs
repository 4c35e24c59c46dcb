//! Numbers as Ganeti's tools print them.
//!
//! Fixed decimals round the *shortest* decimal text that reads back as the same
//! double, half to even on its digits; C rounds the exact binary value instead,
//! so the last digit can differ.

/// Decimal digits of a number and the place of its point: 0.DIGITS * 10^point.
struct Digits {
    digits: Vec<u8>,
    point: i32,
}

/// The shortest digits that read back as `x`; `x` is finite and not negative.
fn shortest(x: f64) -> Digits {
    let text = format!("{x:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).map(|b| b - b'0').collect();
    if digits.iter().all(|d| *d == 0) {
        return Digits { digits: vec![0], point: 1 };
    }
    Digits { digits, point: exponent.parse::<i32>().unwrap_or(0) + 1 }
}

impl Digits {
    /// Keeps `keep` digits, rounding half to even. A carry out of the first
    /// digit moves the point.
    fn round(mut self, keep: usize) -> Digits {
        if keep >= self.digits.len() {
            self.digits.resize(keep, 0);
            return self;
        }
        let rest = self.digits.split_off(keep);
        let half = rest[0] == 5 && rest[1..].iter().all(|d| *d == 0);
        let odd = self.digits.last().is_some_and(|d| d % 2 == 1);
        let up = if half { odd } else { rest[0] >= 5 };
        if up {
            let mut at = keep;
            while at > 0 && self.digits[at - 1] == 9 {
                self.digits[at - 1] = 0;
                at -= 1;
            }
            if at > 0 {
                self.digits[at - 1] += 1;
            } else {
                self.digits.insert(0, 1);
                self.point += 1;
            }
        }
        self
    }

    fn text(digits: &[u8]) -> String {
        digits.iter().map(|d| char::from(b'0' + d)).collect()
    }
}

/// Text of a number that has no digits.
fn word(x: f64) -> Option<&'static str> {
    match x {
        _ if x.is_nan() => Some("NaN"),
        f64::INFINITY => Some("Infinity"),
        f64::NEG_INFINITY => Some("-Infinity"),
        _ => None,
    }
}

fn with_sign(x: f64, text: String) -> String {
    if x.is_sign_negative() { format!("-{text}") } else { text }
}

/// A number of things in words: `1 move`, `2 moves`.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// `%.Nf`: a fixed number of decimals.
pub fn fixed(x: f64, decimals: usize) -> String {
    if let Some(word) = word(x) {
        return word.to_owned();
    }
    with_sign(x, fixed_digits(shortest(x.abs()), decimals))
}

fn fixed_digits(mut number: Digits, decimals: usize) -> String {
    // Add zeros in front, so that at least one digit precedes the point.
    if number.point < 1 {
        let zeros = usize::try_from(1 - number.point).unwrap_or(0).min(decimals + 400);
        number.digits.splice(0..0, std::iter::repeat_n(0, zeros));
        number.point = 1;
    }
    let before = usize::try_from(number.point).unwrap_or(1);
    if number.digits.len() < before {
        number.digits.resize(before, 0);
    }
    let number = number.round(before + decimals);
    let point = usize::try_from(number.point).unwrap_or(1);
    let whole = Digits::text(&number.digits[..point]);
    if decimals == 0 {
        whole
    } else {
        format!("{whole}.{}", Digits::text(&number.digits[point..point + decimals]))
    }
}

/// Tells if a magnitude is written without an exponent.
fn is_plain(x: f64) -> bool {
    x == 0.0 || (0.1..1e7).contains(&x.abs())
}

/// `%.6g`: 6 decimals, with an exponent outside 0.1 to 10^7.
pub fn general(x: f64) -> String {
    if is_plain(x) || word(x).is_some() {
        return fixed(x, 6);
    }
    let number = shortest(x.abs()).round(7);
    let (first, rest) = number.digits.split_at(1);
    with_sign(x, format!("{}.{}e{}", Digits::text(first), Digits::text(&rest[..6]), number.point - 1))
}

/// The shortest text that reads back as the same number, with at least one
/// decimal and an exponent outside 0.1 to 10^7: policy ratios, spindles.
pub fn plain(x: f64) -> String {
    if let Some(word) = word(x) {
        return word.to_owned();
    }
    if is_plain(x) {
        return positional(x);
    }
    let Digits { digits, point } = shortest(x.abs());
    let (first, rest) = digits.split_at(1);
    let rest = if rest.is_empty() { "0".to_owned() } else { Digits::text(rest) };
    with_sign(x, format!("{}.{rest}e{}", Digits::text(first), point - 1))
}

/// The shortest text that reads back as the same number, never with an
/// exponent: CPU speeds.
pub fn positional(x: f64) -> String {
    if let Some(word) = word(x) {
        return word.to_owned();
    }
    let number = shortest(x.abs());
    let decimals = number.digits.len() as i64 - i64::from(number.point);
    with_sign(x, fixed_digits(number, usize::try_from(decimals.max(1)).unwrap_or(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_rounds_the_shortest_digits_half_to_even() {
        for (x, decimals, text) in [
            (0.0005, 3, "0.000"),
            (2.6645, 3, "2.664"),
            (2.6655, 3, "2.666"),
            (1.0015, 3, "1.002"),
            (0.12345, 4, "0.1234"),
            (0.33335, 4, "0.3334"),
            (0.00025, 4, "0.0002"),
            (0.165, 2, "0.16"),
            (0.175, 2, "0.18"),
            (1.005, 2, "1.00"),
            (2.675, 2, "2.68"),
            (0.5, 0, "0"),
            (2.5, 0, "2"),
            (3.5, 0, "4"),
            (1000.5, 0, "1000"),
            (9.999999999, 8, "10.00000000"),
            (99999.0, 0, "99999"),
            (0.0, 8, "0.00000000"),
            (-1.5, 0, "-2"),
            (1e22, 1, "10000000000000000000000.0"),
            (1e-300, 8, "0.00000000"),
        ] {
            assert_eq!(fixed(x, decimals), text, "{x} with {decimals}");
        }
        assert_eq!(fixed(f64::NAN, 8), "NaN");
        assert_eq!(fixed(f64::NEG_INFINITY, 8), "-Infinity");
    }

    #[test]
    fn general_has_an_exponent_outside_the_usual_range() {
        for (x, text) in [
            (46.9453925, "46.945392"),
            (0.0, "0.000000"),
            (0.03125, "3.125000e-2"),
            (1e-9, "1.000000e-9"),
            (0.015625, "1.562500e-2"),
            (1000.0, "1000.000000"),
            (1e7, "1.000000e7"),
            (9.99999999e-3, "1.000000e-2"),
        ] {
            assert_eq!(general(x), text, "{x}");
        }
    }

    #[test]
    fn plain_and_positional_are_shortest() {
        for (x, text) in [
            (4.0, "4.0"),
            (0.1, "0.1"),
            (1234567.0, "1234567.0"),
            (0.01, "1.0e-2"),
            (1e7, "1.0e7"),
            (12345678.9, "1.23456789e7"),
            (0.0, "0.0"),
            (-0.5, "-0.5"),
            (0.010416666666666666, "1.0416666666666666e-2"),
        ] {
            assert_eq!(plain(x), text, "{x}");
        }
        for (x, text) in [
            (1.0, "1.0"),
            (0.8, "0.8"),
            (0.0000001, "0.0000001"),
            (12345678.0, "12345678.0"),
            (0.1234567890123, "0.1234567890123"),
        ] {
            assert_eq!(positional(x), text, "{x}");
        }
    }
}
