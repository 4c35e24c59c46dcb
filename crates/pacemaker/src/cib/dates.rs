//! Dates in rules, and the reference time for them and for time-outs of failures.

use std::cell::OnceCell;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone};
use jiff::{Span, Timestamp, ZonedDateTime};
use roxmltree::Node;

use super::document::child;

const NO_DATE: &str = "a date that is written in an unknown way";

/// Reference time of a cluster: the execution date of its document, if there is one, otherwise now.
pub(super) struct ClusterTime {
    written: Option<Timestamp>,
    now: OnceCell<ZonedDateTime>,
}

impl ClusterTime {
    /// Reads the time from the root of a document.
    pub(super) fn of(root: Node<'_, '_>) -> ClusterTime {
        let seconds = root.attribute("execution-date").and_then(|text| text.parse().ok());
        let written = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
        ClusterTime { written, now: OnceCell::new() }
    }

    /// The time in the zone of this machine. It does not advance.
    fn now(&self) -> &ZonedDateTime {
        let now = || self.written.unwrap_or_else(Timestamp::now).to_zoned_datetime(TimeZone::system());
        self.now.get_or_init(now)
    }

    /// The time in seconds since 1970.
    pub(super) fn seconds(&self) -> i64 {
        self.now().timestamp().as_second()
    }
}

/// A condition on the time.
enum DateCondition {
    /// From the first to the last, both included.
    Within(Option<Timestamp>, Option<Timestamp>),
    /// Later than this.
    After(Timestamp),
    /// Earlier than this.
    Before(Timestamp),
    /// Parts of the date have values between these.
    Parts(Vec<(DatePart, ValueRange)>),
}

/// Reads one part of a date.
type DatePart = fn(&ZonedDateTime) -> i64;

/// Range of a value; `None` means no limit.
#[derive(Clone, Copy)]
struct ValueRange {
    least: Option<i64>,
    most: Option<i64>,
}

/// Parts of dates that conditions are about.
const PARTS: [(&str, DatePart); 7] = [
    ("hours", |at| i64::from(at.hour())),
    ("monthdays", |at| i64::from(at.day())),
    ("weekdays", |at| i64::from(at.weekday().to_monday_one_offset())),
    ("months", |at| i64::from(at.month())),
    ("weeks", |at| i64::from(at.date().iso_week_date().week())),
    ("years", |at| i64::from(at.year())),
    ("weekyears", |at| i64::from(at.date().iso_week_date().year())),
];

/// Reason why a date condition is not supported, if any.
pub(super) fn unsupported_reason(expression: Node<'_, '_>) -> Option<&'static str> {
    condition(expression).err()
}

/// Returns true if a date condition holds.
pub(super) fn holds(expression: Node<'_, '_>, clock: &ClusterTime) -> bool {
    let Ok(condition) = condition(expression) else { return false };
    let now = clock.now();
    let instant = now.timestamp();
    match condition {
        DateCondition::Within(first, last) => {
            first.is_none_or(|first| first <= instant) && last.is_none_or(|last| instant <= last)
        }
        DateCondition::After(start) => instant > start,
        DateCondition::Before(end) => instant < end,
        DateCondition::Parts(parts) => parts.into_iter().all(|(part, ValueRange { least, most })| {
            let value = part(now);
            least.is_none_or(|least| least <= value) && most.is_none_or(|most| value <= most)
        }),
    }
}

fn condition(expression: Node<'_, '_>) -> Result<DateCondition, &'static str> {
    let date = |name| expression.attribute(name).map(|text| instant(text).ok_or(NO_DATE)).transpose();
    let (start, end) = (date("start")?, date("end")?);
    match (expression.attribute("operation").unwrap_or("in_range"), start, end) {
        ("gt", Some((start, _)), _) => Ok(DateCondition::After(start)),
        ("lt", _, Some((end, _))) => Ok(DateCondition::Before(end)),
        ("in_range", None, None) => Err("a range of dates without ends"),
        ("in_range", start, end) => {
            let last = match (&start, end, child(expression, "duration")) {
                (_, Some((end, _)), _) => Some(end),
                (Some((_, start)), None, Some(lasting)) => Some(end_of(start, lasting)?),
                (_, None, _) => None,
            };
            Ok(DateCondition::Within(start.map(|(start, _)| start), last))
        }
        ("date_spec", ..) => {
            let spec = child(expression, "date_spec").ok_or("a rule about parts of dates without them")?;
            parts(spec).map(DateCondition::Parts)
        }
        _ => Err("an unknown operation on dates"),
    }
}

/// The parts of a date that a rule restricts, with their ranges.
fn parts(node: Node<'_, '_>) -> Result<Vec<(DatePart, ValueRange)>, &'static str> {
    let mut wanted = Vec::new();
    // The schema allows `yearsdays`, but Pacemaker ignores it.
    for attribute in node.attributes().filter(|attribute| !matches!(attribute.name(), "id" | "yearsdays")) {
        let part = PARTS.iter().find(|(name, _)| *name == attribute.name());
        let (_, part) = part.ok_or("a part of dates that is not known")?;
        let values = range(attribute.value()).ok_or("a range that is written in an unknown way")?;
        wanted.push((*part, values));
    }
    Ok(wanted)
}

/// Parses `5`, `5-8`, `5-` or `-8`.
fn range(text: &str) -> Option<ValueRange> {
    let end = |text: &str| if text.is_empty() { Some(None) } else { digits(text).map(Some) };
    match text.split_once('-') {
        None => digits(text).map(|value| ValueRange { least: Some(value), most: Some(value) }),
        Some((least, most)) => Some(ValueRange { least: end(least)?, most: end(most)? }),
    }
}

/// Parses a number of at most five digits.
fn digits(text: &str) -> Option<i64> {
    let is_number = text.len() < 6 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// End of a duration. As in Pacemaker, a month later is at most the last day of that month, and a year after February
/// 29 is March 1. Parts that the schema allows but Pacemaker ignores count as nothing.
fn end_of(start: &ZonedDateTime, lasting: Node<'_, '_>) -> Result<Timestamp, &'static str> {
    const UNKNOWN: &str = "a duration that is written in an unknown way";
    let (mut years, mut months, mut weeks, mut hours) = (0, 0, 0, 0);
    for attribute in lasting.attributes() {
        let number = match attribute.name() {
            "years" => &mut years,
            "months" => &mut months,
            "weeks" => &mut weeks,
            "hours" => &mut hours,
            "id" | "monthdays" | "weekdays" | "yearsdays" | "weekyears" | "moon" => continue,
            _ => return Err(UNKNOWN),
        };
        *number = digits(attribute.value()).ok_or(UNKNOWN)?;
    }
    let later = |at: ZonedDateTime, span: Result<Span, _>| {
        span.and_then(|span: Span| at.checked_add(span)).map_err(|_| UNKNOWN)
    };
    let day = start.day();
    let mut at = later(start.clone(), Span::new().try_years(years))?;
    if at.day() < day {
        at = later(at, Span::new().try_days(1))?;
    }
    let at = later(at, Span::new().try_months(months))?;
    let at = later(at, Span::new().try_weeks(weeks))?;
    Ok(later(at, Span::new().try_hours(hours))?.timestamp())
}

/// Parses a date of a rule, with or without a time and an offset: `2024-03-13 10:30:00 +01:00`.
pub fn parse_date(text: &str) -> Option<Timestamp> {
    instant(text).map(|(at, _)| at)
}

/// Parses a date with or without a time, `2024-03-13 10:30:00 Z`. Returns the instant, and the local time at its
/// offset; without an offset, at that of this machine.
fn instant(text: &str) -> Option<(Timestamp, ZonedDateTime)> {
    let (date, rest) = match text.find(['T', ' ']) {
        Some(at) => (&text[..at], text[at + 1..].trim()),
        None => (text, ""),
    };
    let date = match date.len() {
        10 if date.contains("-W") => Date::strptime("%G-W%V-%u", date),
        10 => Date::strptime("%Y-%m-%d", date),
        8 if date.contains('-') => Date::strptime("%Y-%j", date),
        8 => Date::strptime("%Y%m%d", date),
        _ => return None,
    };
    let (time, zone) = match rest.find(['Z', '+', '-']) {
        Some(at) => (rest[..at].trim(), offset(&rest[at..])?),
        None => (rest, TimeZone::system()),
    };
    let time = match time.len() {
        0 if rest.is_empty() => Time::midnight(),
        5 => Time::strptime("%H:%M", time).ok()?,
        8 => Time::strptime("%H:%M:%S", time).ok()?,
        _ => return None,
    };
    let at = DateTime::from_parts(date.ok()?, time).to_zoned_datetime(zone).ok()?;
    Some((at.timestamp(), at))
}

/// Parses `Z` or `+01:00`.
fn offset(text: &str) -> Option<TimeZone> {
    if text == "Z" {
        return Some(TimeZone::UTC);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = text[1..].split_once(':')?;
    let number = |text: &str| text.parse::<u8>().ok().filter(|_| text.len() == 2).map(i32::from);
    let seconds = (number(hours)? * 60 + number(minutes)?) * 60;
    Offset::from_seconds(sign * seconds).ok().map(TimeZone::fixed)
}
