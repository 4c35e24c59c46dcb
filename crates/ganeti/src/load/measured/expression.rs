//! Expressions for the load of instances.

use super::LoadQuestion;

/// An expression with one series for each instance. Its rates have a range of so many seconds.
pub(super) fn sums(question: &LoadQuestion, expression: &str, range: u64) -> String {
    let expression = expression.replace("{range}", &format!("{range}s"));
    format!("sum by ({}) ({expression})", question.label)
}

/// The same with the means of plain metrics in that range: a single sample says little about an hour.
pub(super) fn means(question: &LoadQuestion, expression: &str, range: u64) -> String {
    if is_selector(expression) {
        return format!("sum by ({}) (avg_over_time({expression}[{range}s]))", question.label);
    }
    sums(question, expression, range)
}

/// Tells if an expression is the name of a metric, with or without matchers.
pub(super) fn is_selector(expression: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let rest = expression.trim_start_matches(is_name);
    let matchers = rest.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    rest.len() < expression.len()
        && (rest.is_empty() || matchers.is_some_and(|inside| !inside.contains(['{', '}'])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_names_with_or_without_matchers() {
        for plain in ["m", "a:b_c", "m{a=\"1\",b!~\"2\"}"] {
            assert!(is_selector(plain), "{plain}");
        }
        for other in ["rate(m[5m])", "m{a=\"1\"} + n{b=\"2\"}", "m[5m]", "{a=\"1\"}", "-m", ""] {
            assert!(!is_selector(other), "{other}");
        }
    }
}
