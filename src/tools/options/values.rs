//! Values that several options take.

use std::time::Duration;

use crate::load::number::parse_int;
use crate::load::units::parse_size;
use crate::model::metrics::{AFFINITY, named};
use crate::model::{Mib, RoomRequest, WantedRoom, WeightError, Weights};
use crate::report::cluster::nodes::text::{fields, unknown_field};
use crate::tools::cli::{Given, ValueError};

/// The fields of a list of nodes, as typed.
pub(super) fn node_fields(given: &Given) -> Result<String, ValueError> {
    let text = given.text()?;
    match unknown_field(text) {
        None => Ok(text.to_owned()),
        Some(field) => Err(given.no_word_of("field", field, fields().map(|(field, ..)| field).collect())),
    }
}

pub(super) fn ratio_above_zero(given: &Given) -> Result<f64, ValueError> {
    let ratio = given.float()?;
    if ratio <= 0.0 { Err(given.out_of_range("a ratio above 0")) } else { Ok(ratio) }
}

/// A time in seconds, more than none.
pub(crate) fn time_above_zero(given: &Given) -> Result<Duration, ValueError> {
    let seconds = given.float()?;
    if !(seconds > 0.0 && seconds.is_finite()) {
        return Err(given.out_of_range("a time in seconds, above 0"));
    }
    // A time too long for a `Duration` is never reached.
    Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

/// A length of time of at most 3650 days, more than none.
pub(crate) fn length_of_time(given: &Given) -> Result<Duration, ValueError> {
    let time = given.time()?;
    if time.is_zero() { Err(given.out_of_range("a time above 0")) } else { Ok(time) }
}

/// A whole number from 0 on.
pub(crate) fn count(given: &Given) -> Result<u64, ValueError> {
    u64::try_from(given.int()?).map_err(|_| given.out_of_range("a whole number, 0 or more"))
}

/// A number of things, 1 or more.
pub(crate) fn some(given: &Given) -> Result<usize, ValueError> {
    match count(given)? {
        0 => Err(given.out_of_range("a whole number, 1 or more")),
        number => Ok(usize::try_from(number).unwrap_or(usize::MAX)),
    }
}

/// A number of things, not too large for any list.
pub(crate) fn at_least_one(given: &Given) -> Result<usize, ValueError> {
    let expected = "a whole number from 1 to 1000";
    let number = usize::try_from(given.int()?).map_err(|_| given.out_of_range(expected))?;
    if (1..=1000).contains(&number) { Ok(number) } else { Err(given.out_of_range(expected)) }
}

/// A size with its unit.
pub(crate) fn size(given: &Given) -> Result<Mib, ValueError> {
    let size = parse_size(given.text()?).map_err(|error| given.wrong_part("size", error))?;
    if size < Mib::ZERO { Err(given.out_of_range("a size, 0 or more")) } else { Ok(size) }
}

/// Room for further instances: `MEMORY[,DISKd][,VCPUSc][,TEMPLATE][,xN]`, in any order.
pub(crate) fn room(given: &Given) -> Result<RoomRequest, ValueError> {
    const EXPECTED: &str = "a size such as 64g,16c,x2";
    let (mut memory, mut disk, mut vcpus, mut template, mut count) = (None, None, None, None, None);
    let positive = |size: Mib, item: &str| {
        if size > Mib::ZERO { Ok(size) } else { Err(given.wrong_item(item, "a size above 0")) }
    };
    for item in &given.list()? {
        let is_new = if let Ok(word) = item.parse() {
            template.replace(word).is_none()
        } else if let Some(number) = item.strip_prefix('x') {
            let number = parse_int(number).map_err(|error| given.wrong_part("number", error))?;
            if !(1..=WantedRoom::MOST).contains(&number) {
                return Err(given.wrong_item(item, "x1 to x10000"));
            }
            count.replace(number).is_none()
        } else if let Some(number) = item.strip_suffix('c') {
            let number = parse_int(number).map_err(|error| given.wrong_part("vCPUs", error))?;
            if number < 0 {
                return Err(given.wrong_item(item, "0c or more"));
            }
            vcpus.replace(number).is_none()
        } else if let Some(size) = item.strip_suffix('d') {
            let size = parse_size(size).map_err(|error| given.wrong_part("disk", error))?;
            disk.replace(positive(size, item)?).is_none()
        } else {
            let size = parse_size(item).map_err(|error| given.wrong_part("memory", error))?;
            memory.replace(positive(size, item)?).is_none()
        };
        if !is_new {
            return Err(given.wrong_item(item, "each part once"));
        }
    }
    let memory = memory.ok_or_else(|| given.out_of_range(EXPECTED))?;
    Ok(RoomRequest { memory, disk, vcpus, template, count: count.unwrap_or(1) })
}

/// Sets the weights of some metrics; an empty list restores Ganeti's.
pub(super) fn weights(given: &Given, chosen: &mut Weights) -> Result<(), ValueError> {
    let list = given.list()?;
    if list.is_empty() {
        *chosen = Weights::default();
    }
    let unknown = |name: &str| given.no_word_of("metric", name, named().map(|metric| metric.name).collect());
    for item in &list {
        let Some((name, weight)) = item.split_once('=') else {
            return Err(given.wrong_item(item, "NAME=WEIGHT"));
        };
        if name == AFFINITY {
            return Err(unknown(name));
        }
        chosen.set(name, given.number(weight)?).map_err(|error| match error {
            WeightError::UnknownMetric(name) => unknown(&name),
            WeightError::OutOfRange => given.wrong_item(item, "0 or a weight from 1e-6 to 1e6"),
        })?;
    }
    Ok(())
}

/// Sets the weight of affinity keys.
pub(super) fn affinity_weight(given: &Given, chosen: &mut Weights) -> Result<(), ValueError> {
    chosen.set(AFFINITY, given.float()?).map_err(|_| given.out_of_range("0 or a weight from 1e-6 to 1e6"))
}

/// A number from 0 on.
pub(crate) fn not_negative(given: &Given) -> Result<f64, ValueError> {
    let number = given.float()?;
    if number >= 0.0 && number.is_finite() {
        Ok(number)
    } else {
        Err(given.out_of_range("a number, 0 or more"))
    }
}
