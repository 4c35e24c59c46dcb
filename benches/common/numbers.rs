//! Format of numbers in tables.

/// A time, in a unit that suits it.
pub fn seconds(time: f64) -> String {
    match time {
        _ if time < 0.1 => format!("{:.1} ms", time * 1000.0),
        _ if time < 10.0 => format!("{time:.2} s"),
        _ if time < 600.0 => format!("{time:.0} s"),
        _ if time < 7200.0 => format!("{:.0} min", time / 60.0),
        _ => format!("{:.1} h", time / 3600.0),
    }
}

/// Memory in MiB, if known.
pub fn memory(mib: Option<f64>) -> String {
    mib.map_or_else(|| "not known".to_owned(), |mib| format!("{} MiB", short(mib)))
}

/// A number, with a decimal only if it is small.
pub fn short(number: f64) -> String {
    if number < 100.0 { format!("{number:.1}") } else { thousands(number.round() as usize) }
}

/// A whole number with commas between thousands.
pub fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join(",")
}
