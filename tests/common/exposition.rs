//! A strict reader of Prometheus's text exposition format, after its specification. Doubtful input is refused.

use std::collections::{BTreeMap, BTreeSet};

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    pub name: String,
    /// In the order of the text.
    pub labels: Vec<(String, String)>,
    pub value: f64,
}

impl Series {
    /// The value of a label.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

/// All values of a text.
///
/// # Errors
/// The first faulty line, with the reason.
pub fn parse(text: &str) -> Result<Vec<Series>, String> {
    if !text.is_empty() && !text.ends_with('\n') {
        return Err("the last line has no end".to_owned());
    }
    let mut families: BTreeMap<String, String> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let (mut helped, mut current) = (None, None);
    let mut found = Vec::new();
    for line in text.split_terminator('\n') {
        let wrong = |why: &str| Err(format!("{why}: {line}"));
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let Some((name, help)) = rest.split_once(' ') else { return wrong("no help") };
            if !is_name(name) || help.trim().is_empty() || families.contains_key(name) {
                return wrong("odd help");
            }
            helped = Some(name.to_owned());
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let Some((name, kind)) = rest.split_once(' ') else { return wrong("no type") };
            if helped.take().as_deref() != Some(name) {
                return wrong("a type without the help of the same family before it");
            }
            let totals = name.ends_with("_total");
            if !matches!((kind, totals), ("counter", true) | ("gauge", false)) {
                return wrong("odd type");
            }
            families.insert(name.to_owned(), kind.to_owned());
            current = Some(name.to_owned());
        } else {
            let series = sample(line)?;
            if current.as_ref() != Some(&series.name) {
                return wrong("a value outside its family");
            }
            let mut labels = series.labels.clone();
            labels.sort();
            if !seen.insert((series.name.clone(), labels)) {
                return wrong("a series that was there before");
            }
            found.push(series);
        }
    }
    match helped {
        None => Ok(found),
        Some(name) => Err(format!("a help without a type: {name}")),
    }
}

fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_lowercase())
        && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

fn sample(line: &str) -> Result<Series, String> {
    let wrong = || format!("no value: {line}");
    let name_end = line.find(['{', ' ']).ok_or_else(wrong)?;
    let (name, mut rest) = line.split_at(name_end);
    let mut labels: Vec<(String, String)> = Vec::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        loop {
            let (label, behind) = rest.split_once("=\"").ok_or_else(wrong)?;
            let (value, behind) = quoted(behind).ok_or_else(wrong)?;
            if !is_name(label) || labels.iter().any(|(other, _)| other == label) {
                return Err(wrong());
            }
            labels.push((label.to_owned(), value));
            if let Some(behind) = behind.strip_prefix('}') {
                rest = behind;
                break;
            }
            rest = behind.strip_prefix(',').ok_or_else(wrong)?;
        }
    }
    let number = rest.strip_prefix(' ').ok_or_else(wrong)?;
    let plain = number.bytes().all(|b| b.is_ascii_digit() || b"+-.e".contains(&b));
    let value = match number {
        "NaN" => f64::NAN,
        "+Inf" => f64::INFINITY,
        "-Inf" => f64::NEG_INFINITY,
        number if plain => number.parse().map_err(|_| wrong())?,
        _ => return Err(wrong()),
    };
    match is_name(name) {
        true => Ok(Series { name: name.to_owned(), labels, value }),
        false => Err(wrong()),
    }
}

/// The value of a label up to its closing quote, and the text after it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                c @ ('\\' | '"') => value.push(c),
                _ => return None,
            },
            c => value.push(c),
        }
    }
    None
}
