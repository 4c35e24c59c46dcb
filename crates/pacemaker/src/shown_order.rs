//! The order in which hosts are shown.

use std::cmp::Ordering;

use super::index::HostIdx;
use super::working_set::WorkingSet;

/// All hosts in natural order of their names: `node9` before `node10`, ignoring case.
pub fn by_shown_name(set: &WorkingSet) -> Vec<HostIdx> {
    let mut hosts: Vec<HostIdx> = set.host_indices().collect();
    hosts.sort_by(|one, other| compare(&set.host(*one).name, &set.host(*other).name).then(one.cmp(other)));
    hosts
}

/// Compares runs of digits as numbers; of two equal ones, the one with fewer leading zeros is first.
fn compare(one: &str, other: &str) -> Ordering {
    let (mut one, mut other) = (one, other);
    loop {
        let (digits, more) = (digits(one), digits(other));
        let by_number = || {
            let (number, larger) = (digits.trim_start_matches('0'), more.trim_start_matches('0'));
            let by_value = number.len().cmp(&larger.len()).then_with(|| number.cmp(larger));
            by_value.then_with(|| digits.len().cmp(&more.len()))
        };
        let order = match (digits.is_empty(), more.is_empty()) {
            (false, false) => by_number(),
            _ => first(one).cmp(&first(other)),
        };
        if order.is_ne() || one.is_empty() {
            return order;
        }
        let width = |text: &str, digits: &str| match digits.len() {
            0 => text.chars().next().map_or(0, char::len_utf8),
            length => length,
        };
        one = &one[width(one, digits)..];
        other = &other[width(other, more)..];
    }
}

fn first(text: &str) -> Option<char> {
    text.chars().next().map(|c| c.to_ascii_lowercase())
}

fn digits(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_crm_simulate_shows_them() {
        for shown in [
            "Node2 node02 node002 node9 node10",
            "a B c n-1 n-10 n1 n1a n01",
            "web web1-2 web1-10 web01-3",
            "x x1 x1y2 X1Y3 x1y10",
        ] {
            let mut names: Vec<&str> = shown.split(' ').rev().collect();
            names.sort_by(|one, other| compare(one, other));
            assert_eq!(names.join(" "), shown);
        }
    }
}
