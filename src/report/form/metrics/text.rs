//! The text exposition format of Prometheus, version 0.0.4, which scrapers and the textfile collector read.

use std::borrow::Cow;
use std::fmt::Write;

use super::{Family, FamilyRow, Sample, Sheet};

/// All values of some sheets, family by family, each with its help and type once.
pub fn exposition(sheets: &[&Sheet]) -> String {
    let mut samples: Vec<&Sample> = sheets.iter().flat_map(|sheet| &sheet.samples).collect();
    // The sort is stable: the order within a family stays.
    samples.sort_by_key(|sample| sample.family);
    let mut text = String::new();
    for family in samples.chunk_by(|one, other| one.family == other.family) {
        begin(&mut text, family[0].family);
        family.iter().for_each(|sample| line(&mut text, sample));
    }
    text
}

// Writing to a string cannot fail.

fn begin(text: &mut String, family: Family) {
    let FamilyRow { name, kind, help, .. } = family.row();
    let _ = writeln!(text, "# HELP {name} {}\n# TYPE {name} {}", escaped_help(help), kind.as_str());
}

fn line(text: &mut String, Sample { family, labels, value }: &Sample) {
    let FamilyRow { name, labels: names, .. } = family.row();
    text.push_str(name);
    for (at, (name, value)) in names.iter().zip(labels).enumerate() {
        let open = if at == 0 { '{' } else { ',' };
        let _ = write!(text, "{open}{name}=\"{}\"", escaped_label(value));
    }
    if !names.is_empty() {
        text.push('}');
    }
    let _ = writeln!(text, " {}", number(*value));
}

/// The value of a label, escaped for its quotes.
fn escaped_label(value: &str) -> Cow<'_, str> {
    match value.contains(['\\', '"', '\n']) {
        false => Cow::Borrowed(value),
        true => Cow::Owned(value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")),
    }
}

fn escaped_help(help: &str) -> String {
    help.replace('\\', r"\\").replace('\n', r"\n")
}

/// A value that Go's `ParseFloat` reads back to the last bit.
fn number(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        // Minus zero is written as zero.
        0.0 => "0".to_owned(),
        _ if (1e-5..1e16).contains(&value.abs()) => value.to_string(),
        _ => format!("{value:e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_back() {
        for (value, wanted) in [
            (0.0, "0"),
            (-0.0, "0"),
            (3.0, "3"),
            (-1.5, "-1.5"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e15, "1000000000000000"),
            (1e300, "1e300"),
            (1.5e-9, "1.5e-9"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
        ] {
            assert_eq!(number(value), wanted);
            assert_eq!(wanted.parse::<f64>(), Ok(value));
        }
        assert_eq!(number(f64::NAN), "NaN");
    }

    #[test]
    fn families_come_once_whatever_the_order_of_the_values() {
        let mut one = Sheet::of("one\n\"1\"");
        one.put(Family::CheckHealthy, &[], 1.0);
        one.put(Family::GroupScore, &["g\\"], 0.5);
        let mut two = Sheet::of("two");
        two.put(Family::GroupScore, &["g"], f64::NAN);
        let wanted = r#"# HELP htools_group_score Score of the node group by itself; less is better.
# TYPE htools_group_score gauge
htools_group_score{cluster="one\n\"1\"",group="g\\"} 0.5
htools_group_score{cluster="two",group="g"} NaN
# HELP htools_check_healthy 1 if nothing is wrong now, 0 if anything is, even if balancing would mend it.
# TYPE htools_check_healthy gauge
htools_check_healthy{cluster="one\n\"1\""} 1
"#;
        assert_eq!(exposition(&[&one, &two]), wanted);
        assert_eq!(exposition(&[]), "");
    }
}
