//! Parameters of resources, and the check sums by which Pacemaker records them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use md5::{Digest, Md5};

/// Names that Pacemaker leaves out of check sums, and the prefix of those that it adds by itself.
const LEFT_OUT: [&str; 6] =
    ["id", "crm_feature_set", "op-digest", "on_node", "on_node_uuid", "pcmk_external_ip"];
const ADDED: &str = "CRM_meta_";

/// Name under which the check sum of a repeated operation includes its timeout.
const TIME_LIMIT: &str = "CRM_meta_timeout";

/// Names and values of parameters, in byte-wise order of the names.
#[derive(Debug, Clone, Default)]
pub(super) struct Parameters<'a>(BTreeMap<&'a str, Cow<'a, str>>);

impl<'a> Parameters<'a> {
    /// Adds a parameter, unless one of this name exists, or the name is left out of check sums.
    pub(super) fn add(&mut self, name: &'a str, value: &'a str) {
        if !LEFT_OUT.contains(&name) && !name.starts_with(ADDED) {
            self.0.entry(name).or_insert(Cow::Borrowed(value));
        }
    }

    /// Makes them the parameters of a repeated operation with a timeout in milliseconds.
    pub(super) fn repeated_within(&mut self, milliseconds: u64) {
        self.0.insert(TIME_LIMIT, Cow::Owned(milliseconds.to_string()));
    }

    /// Check sum of the parameters whose names are wanted.
    pub(super) fn check_sum(&self, wanted: impl Fn(&str) -> bool) -> CheckSum {
        let mut text = String::from(" <parameters");
        for (name, value) in self.0.iter().filter(|(name, _)| wanted(name)) {
            text.extend([" ", name, "=\""]);
            value.chars().for_each(|letter| push_escaped(&mut text, letter));
            text.push('"');
        }
        text.push_str("/>\n");
        CheckSum(Md5::digest(text.as_bytes()).into())
    }
}

/// An MD5 check sum.
pub(super) struct CheckSum([u8; 16]);

impl CheckSum {
    /// Returns true if it equals a recorded one, in hexadecimal.
    pub(super) fn is(&self, noted: &str) -> bool {
        let digit = |value: u8| b"0123456789abcdef"[usize::from(value)];
        self.0.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(digit).eq(noted.bytes())
    }
}

/// Appends a letter of a value in Pacemaker's own escaping, which is not that of XML.
fn push_escaped(text: &mut String, letter: char) {
    match letter {
        '&' => text.push_str("&amp;"),
        '<' => text.push_str("&lt;"),
        '>' => text.push_str("&gt;"),
        '"' => text.push_str("&quot;"),
        '\'' => text.push_str("&apos;"),
        '\n' => text.push_str("\\n"),
        '\r' => text.push_str("\\r"),
        '\t' => text.push_str("    "),
        '\x7f' => text.push_str("\\177"),
        letter => text.push(letter),
    }
}

/// Returns true for parameters of a fence device that the cluster reads and the device's agent never gets.
pub(super) fn is_read_by_cluster_only(name: &str) -> bool {
    const NAMES: [&str; 9] = [
        "provides",
        "stonith-timeout",
        "pcmk_host_map",
        "pcmk_host_list",
        "pcmk_host_check",
        "pcmk_host_argument",
        "pcmk_delay_max",
        "pcmk_delay_base",
        "pcmk_action_limit",
    ];
    let of_action = name.strip_prefix("pcmk_").and_then(|rest| rest.split_once('_'));
    NAMES.contains(&name)
        || of_action.is_some_and(|(_, what)| matches!(what, "action" | "timeout" | "retries"))
}

/// Returns true if a name is in a list in which names have blanks around them.
pub(super) fn lists(list: &str, name: &str) -> bool {
    list.match_indices(name)
        .any(|(at, _)| list[..at].ends_with(' ') && list[at + name.len()..].starts_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_sum(pairs: &[(&str, &str)]) -> CheckSum {
        let mut parameters = Parameters::default();
        pairs.iter().for_each(|(name, value)| parameters.add(name, value));
        parameters.check_sum(|_| true)
    }

    /// The expected values are from crm_simulate 2.1.5.
    #[test]
    fn check_sums_are_pacemakers() {
        let none = "f2317cad3d54cec5d7d7aa7d0bf35cf8";
        assert!(check_sum(&[]).is(none) && !check_sum(&[]).is("") && !check_sum(&[]).is(&none[..31]));
        assert!(check_sum(&[("fake", "1")]).is("2b1b5ccbabbdb96f3f7edb41b0775563"));
        let three = [("zeta", "1"), ("alpha", "2"), ("Beta", "3")];
        assert!(check_sum(&three).is("4b58ab4214d838ede33edc9e576005ff"));
        for (letter, sum) in [
            ("&", "62ae206a4a1164c0ee40e466ec5cabe1"),
            ("<", "5a0914f9f9dd6138c2a538169a045ca3"),
            (">", "87b46536af3505c563b4c7ebec9b6a37"),
            ("\"", "759719386720512a9156960cd5c176e8"),
            ("'", "e39acad2a8c2befb5b5e1bc7d6b81e22"),
            ("\t", "a6fa7dcc4c64cc7f09de013f46d28bac"),
            ("\n", "f73613ba67b99f7b07f67a7e9276c8f5"),
            ("\r", "7a71755bd3920a68cb8b68824ddd9f2a"),
            ("é", "65477af99e177ff3ed451050a51b5751"),
            ("\\", "09b35956262ac42fb972b68a9b619dc8"),
            ("😀", "ffafcb4faa61f60d08d504492496bcd8"),
        ] {
            assert!(check_sum(&[("k", &format!("a{letter}b"))]).is(sum), "{letter:?}");
        }
        assert!(check_sum(&[("on_node", "1"), ("CRM_meta_timeout", "1"), ("id", "1")]).is(none));
    }

    #[test]
    fn fence_devices_have_parameters_for_the_cluster() {
        for name in ["pcmk_host_map", "provides", "pcmk_reboot_action", "pcmk_list-status_retries"] {
            assert!(is_read_by_cluster_only(name), "{name}");
        }
        for name in ["port", "pcmk_action", "pcmk_validate_all_timeout", "PCMK_on_action", "pcmk_hosts"] {
            assert!(!is_read_by_cluster_only(name), "{name}");
        }
    }

    #[test]
    fn names_in_lists_have_blanks_around_them() {
        assert!(lists(" k ", "k") && lists(" z  k y ", "k") && lists(" kk k ", "k"));
        assert!(!lists("k", "k") && !lists(" k", "k") && !lists(" kk ", "k") && !lists("", "k"));
    }
}
