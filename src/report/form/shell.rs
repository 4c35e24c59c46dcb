//! Results as assignments for a shell (`--machine-readable`).

use crate::plan::shell::in_apostrophes;

/// Lines `PREFIX_KEY=VALUE`, in order.
#[derive(Debug, Clone)]
pub(crate) struct Assignments {
    prefix: &'static str,
    lines: Vec<String>,
}

impl Assignments {
    /// An empty list; all keys begin with `prefix` and an underscore.
    pub(crate) fn new(prefix: &'static str) -> Assignments {
        Assignments { prefix, lines: Vec::new() }
    }

    /// Adds an assignment. Keys are in upper case. A value is quoted by apostrophes unless it consists of letters,
    /// digits and points.
    pub(crate) fn push(&mut self, key: &str, value: impl ToString) {
        let value = value.to_string();
        let bare = value.chars().all(|c| c.is_alphanumeric() || c == '.');
        let value = if bare { value } else { in_apostrophes(&value) };
        self.lines.push(format!("{}_{}={value}", self.prefix, key.to_uppercase()));
    }

    pub(crate) fn lines(self) -> Vec<String> {
        self.lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_where_a_shell_might_stumble() {
        let mut lines = Assignments::new("X");
        lines.push("plain", "0.5");
        lines.push("Minus", -1);
        lines.push("exponent", "1.0e-2");
        lines.push("list", "1,2=3 4,5=6");
        lines.push("none", "");
        lines.push("uuid", "u'; touch x; '");
        let wanted = [
            "X_PLAIN=0.5",
            "X_MINUS='-1'",
            "X_EXPONENT='1.0e-2'",
            "X_LIST='1,2=3 4,5=6'",
            "X_NONE=",
            r"X_UUID='u'\''; touch x; '\'''",
        ];
        assert_eq!(lines.lines(), wanted);
    }
}
