//! Time spans as Pacemaker reads them, for intervals and for timeouts of failures.

/// The longest span, in milliseconds; longer ones are cut to it.
const LONGEST: u64 = u32::MAX as u64;
/// Seconds in a day.
const DAY: u128 = 86_400;

/// Parses a time span, in milliseconds: an ISO 8601 duration if it begins with `P`, otherwise a number with a unit.
/// Without a unit, it is in seconds. Unreadable text is 0.
pub(super) fn milliseconds(text: &str) -> u64 {
    span(text).unwrap_or(0)
}

/// Like [`milliseconds`], but `None` if the text is unreadable.
pub(super) fn span(text: &str) -> Option<u64> {
    let span = match text.strip_prefix('P') {
        Some(duration) => iso_seconds(duration).map(|seconds| seconds.saturating_mul(1000)),
        None => milliseconds_with_unit(text),
    };
    span.map(|span| span.min(LONGEST))
}

/// Parses a number with a unit, in milliseconds. Fractions are ignored, and the beginning of a unit is enough.
pub(super) fn milliseconds_with_unit(text: &str) -> Option<u64> {
    let text = text.trim_ascii_start();
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let whole = text[..end].split('.').next().filter(|digits| !digits.is_empty())?;
    let number: u64 = whole.parse().unwrap_or(u64::MAX);
    let unit = text[end..].trim_ascii_start().to_ascii_lowercase();
    let factor = match unit.as_bytes() {
        [] | [b's', ..] => 1000,
        [b'm', b's', ..] => 1,
        [b'u', b's', ..] => return Some(number / 1000),
        [b'm', ..] => 60_000,
        [b'h', ..] => 3_600_000,
        _ => return None,
    };
    Some(number.saturating_mul(factor))
}

/// Parses an ISO 8601 duration after its `P`, in seconds. Parts may come in any order and repeatedly, and end at a
/// blank or slash. Pacemaker quirks: hours and seconds need no `T` before them, and the first day and the first year do
/// not count, as in dates.
fn iso_seconds(text: &str) -> Option<u64> {
    let (mut years, mut months, mut days, mut seconds) = (0u128, 0u128, 0u128, 0u128);
    let (mut rest, mut within_day) = (text, false);
    while let Some(first) = rest.chars().next().filter(|first| !first.is_whitespace() && *first != '/') {
        if first == 'T' {
            (rest, within_day) = (&rest[1..], true);
            continue;
        }
        let digits = rest.strip_prefix('+').unwrap_or(rest);
        let end = digits.find(|letter: char| !letter.is_ascii_digit())?;
        let number = u128::from(digits[..end].parse::<u32>().ok().filter(|number| *number < 1 << 31)?);
        let mut behind = digits[end..].chars();
        match behind.next()? {
            'Y' => years += number,
            'M' if !within_day => months += number,
            'W' => days += 7 * number,
            'D' => days += number,
            'H' => seconds += 3600 * number,
            'M' => seconds += 60 * number,
            'S' => seconds += number,
            _ => return None,
        }
        rest = behind.as_str();
    }
    let whole_days = 365 * years.saturating_sub(1) + 30 * months + days.saturating_sub(1);
    Some(u64::try_from(whole_days * DAY + seconds).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values are the intervals by which crm_simulate 2.1.5 names recurring monitors.
    #[test]
    fn spans_are_read_as_pacemaker_does() {
        let spans = [
            ("10", 10_000),
            (" 10 S", 10_000),
            ("10seconds", 10_000),
            ("250Msec", 250),
            ("5000us", 5),
            ("2min", 120_000),
            ("1.5m", 60_000),
            ("1h30m", 3_600_000),
            ("99999999999s", LONGEST),
            ("18446744073709551616h", LONGEST),
            ("PT10S", 10_000),
            ("P10S", 10_000),
            ("PT1M30S", 90_000),
            ("P1M", 2_592_000_000),
            ("PT1S1M", 61_000),
            ("P1W", 518_400_000),
            ("P1W1D", 604_800_000),
            ("P1Y10S", 10_000),
            ("P1DT1D", 86_400_000),
            ("P10ST", 10_000),
            ("PT+1S", 1000),
            ("P10S/P20S", 10_000),
            ("PT10S X", 10_000),
            ("P2Y", LONGEST),
            ("PT4294967S", 4_294_967_000),
        ];
        for (text, span) in spans {
            assert_eq!(milliseconds(text), span, "{text}");
        }
        let nothing =
            ["", "x", "10_s", "1d", "5 days", "+10", "-10s", ".5m", "10é", "P1D", "P1Y", "PT0.5S", "PT10"];
        let nothing = nothing.into_iter().chain([
            "pt10s",
            " PT10S",
            "PT10s",
            "PT-10S",
            "PT 10S",
            "PT1é",
            "PT99999999999S",
        ]);
        for text in nothing {
            assert_eq!(milliseconds(text), 0, "{text}");
        }
    }
}
