//! Utilization attributes that stand for measured resources.

use std::str::FromStr;

use htools_ganeti::load::measured::LoadResource;

/// Units by name, with their values.
const UNITS: [(&str, f64); 8] = [
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
];
/// Unit of memory, by the usual meaning of utilization attributes.
const MIB: f64 = 1_048_576.0;
/// Greatest amount that Pacemaker counts.
const MOST: f64 = 2_147_483_647.0;
/// Relative error that divisions of measured values may have.
const ROUNDING: f64 = 1e-12;

/// A utilization attribute, the resource whose load it counts, and its unit. It is read from
/// `ATTRIBUTE=RESOURCE[/UNIT]`. The unit is a decimal number, one of the words kB, MB, GB, TB, KiB, MiB, GiB and TiB, or
/// a number before a word. Without a unit, memory is in MiB, and all else as it is measured.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredAttribute {
    /// Name of the attribute.
    pub name: String,
    /// The resource.
    pub resource: LoadResource,
    /// Load that is one unit of the attribute; above 0.
    pub unit: f64,
}

/// Reason why a text names no measured attribute.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MeasuredAttributeError {
    /// It has another form.
    #[error("it is not ATTRIBUTE=RESOURCE[/UNIT]")]
    Form,
    /// There is no such resource.
    #[error("RESOURCE is not cpu, memory, disk or network")]
    Resource,
    /// There is no such unit.
    #[error("UNIT is not a number above 0, or one of kB, MB, GB, TB, KiB, MiB, GiB and TiB")]
    Unit,
}

impl FromStr for MeasuredAttribute {
    type Err = MeasuredAttributeError;

    fn from_str(text: &str) -> Result<MeasuredAttribute, MeasuredAttributeError> {
        let (name, measured) = text.rsplit_once('=').ok_or(MeasuredAttributeError::Form)?;
        if name.is_empty() {
            return Err(MeasuredAttributeError::Form);
        }
        let (resource, unit) =
            measured.split_once('/').map_or((measured, None), |(resource, unit)| (resource, Some(unit)));
        let resource = resource.parse().map_err(|_| MeasuredAttributeError::Resource)?;
        let unit = match unit {
            Some(unit) => parse_unit(unit).ok_or(MeasuredAttributeError::Unit)?,
            None if resource == LoadResource::Memory => MIB,
            None => 1.0,
        };
        Ok(MeasuredAttribute { name: name.to_owned(), resource, unit })
    }
}

/// The value of a unit.
fn parse_unit(text: &str) -> Option<f64> {
    let is_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    let (number, word) = text.split_at(text.find(|letter| !is_number(letter)).unwrap_or(text.len()));
    let word = match word {
        "" => 1.0,
        word => UNITS.iter().find(|(known, _)| *known == word)?.1,
    };
    let number: f64 = if number.is_empty() && !text.is_empty() { 1.0 } else { number.parse().ok()? };
    Some(number * word).filter(|unit| unit.is_finite() && *unit > 0.0)
}

impl MeasuredAttribute {
    /// The amount for a load from 0 on, in whole units and rounded up. Errors of the division are not rounded up, and
    /// amounts are at most the greatest one that Pacemaker counts.
    pub(super) fn amount(&self, load: f64) -> i64 {
        let exact = load / self.unit;
        let nearest = exact.round();
        let whole = if (exact - nearest).abs() <= ROUNDING * nearest { nearest } else { exact.ceil() };
        #[expect(clippy::cast_possible_truncation, reason = "a whole number of at most 31 bits")]
        let amount = whole.clamp(0.0, MOST) as i64;
        amount
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(text: &str) -> MeasuredAttribute {
        text.parse().unwrap()
    }

    #[test]
    fn attributes_are_read_with_their_units() {
        let found = attribute("hv_memory=memory");
        assert_eq!(
            (found.name.as_str(), found.resource, found.unit),
            ("hv_memory", LoadResource::Memory, MIB)
        );
        let units = [
            ("cpu=cpu", 1.0),
            ("cpu=cpu/0.01", 0.01),
            ("m=memory/GiB", 1_073_741_824.0),
            ("m=memory/1", 1.0),
            ("a=b=disk/1000", 1000.0),
            ("n=network/4KiB", 4096.0),
            ("n=network/.5MB", 5e5),
        ];
        for (text, unit) in units {
            assert_eq!(attribute(text).unit.to_bits(), f64::to_bits(unit), "{text}");
        }
        assert_eq!(attribute("a=b=disk").name, "a=b");
    }

    #[test]
    fn other_texts_are_refused() {
        use MeasuredAttributeError::{Form, Resource, Unit};
        let wrong = [
            ("", Form),
            ("cpu", Form),
            ("=cpu", Form),
            ("cpu=", Resource),
            ("cpu=CPU", Resource),
            ("cpu=ram/MiB", Resource),
            ("cpu=cpu/", Unit),
            ("cpu=cpu/0", Unit),
            ("cpu=cpu/-1", Unit),
            ("cpu=cpu/nan", Unit),
            ("cpu=cpu/1e3", Unit),
            ("cpu=cpu/1.2.3", Unit),
            ("cpu=cpu/mib", Unit),
            ("cpu=cpu/MiB/2", Unit),
            ("cpu=cpu/.", Unit),
        ];
        for (text, error) in wrong {
            assert_eq!(text.parse::<MeasuredAttribute>(), Err(error), "{text}");
        }
        let endless = format!("cpu=cpu/{}", "9".repeat(400));
        assert_eq!(endless.parse::<MeasuredAttribute>(), Err(Unit));
    }

    #[test]
    fn amounts_are_rounded_up() {
        let cpu = attribute("cpu=cpu");
        for (load, amount) in [
            (0.0, 0),
            (1e-12, 1),
            (0.2, 1),
            (2.0, 2),
            (2.000_000_000_000_000_4, 2),
            (2.1, 3),
            (1e300, 2_147_483_647),
        ] {
            assert_eq!(cpu.amount(load), amount, "{load}");
        }
        assert_eq!(attribute("m=memory").amount(4096.0 * MIB + 1.0), 4097);
        assert_eq!(attribute("cpu=cpu/0.01").amount(0.07), 7);
        assert_eq!(attribute("m=memory/0.0000001").amount(f64::MAX), 2_147_483_647);
    }
}
