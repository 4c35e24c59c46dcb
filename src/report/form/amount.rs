//! Amounts in the units that people use.

use crate::model::Mib;
use crate::model::number::fixed;

/// Units from MiB on, each 1024 times the previous one.
const UNITS: [&str; 4] = ["MiB", "GiB", "TiB", "PiB"];

/// An amount with the largest unit of which it is at least one: `0`, `512 MiB`, `14.9 TiB`.
pub(in crate::report) fn amount(mib: Mib) -> String {
    if mib == Mib::ZERO {
        return "0".to_owned();
    }
    let mut value = mib.as_f64();
    let mut unit = 0;
    // 1023.95 would be shown as 1024.0.
    while value.abs() >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    // A tenth of a large unit is much.
    let decimals = if unit > 1 && value.abs() < 10.0 { 2 } else { 1 };
    let text = fixed(value, decimals);
    format!("{} {}", text.trim_end_matches('0').trim_end_matches('.'), UNITS[unit])
}

/// The same of an amount that need not be whole.
pub(in crate::report) fn amount_of(mib: f64) -> String {
    if mib.is_finite() { amount(Mib(mib.round() as i64)) } else { fixed(mib, 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_fit_the_amount() {
        let of = |mib| amount(Mib(mib));
        assert_eq!([of(0), of(512), of(1023)], ["0", "512 MiB", "1023 MiB"]);
        assert_eq!([of(1024), of(1536), of(6 * 1024)], ["1 GiB", "1.5 GiB", "6 GiB"]);
        assert_eq!([of(15270 * 1024), of(1024 * 1024), of(1_086_874)], ["14.9 TiB", "1 TiB", "1.04 TiB"]);
        assert_eq!([of(100), of(100 * 1024), of(200 * 1024 * 1024)], ["100 MiB", "100 GiB", "200 TiB"]);
        assert_eq!([of(1024 * 1024 - 1), of(-2048)], ["1 TiB", "-2 GiB"]);
        assert_eq!([of(i64::MAX), amount_of(f64::NAN)], ["8589934592 PiB", "NaN"]);
    }
}
