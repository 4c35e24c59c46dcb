//! Keys of configuration files other than clusters and weights. Each key is the long name of an option.
//!
//! No key executes a plan, answers a question, loosens a rule, or names a file that is run or written. Only the
//! command line can do that.

use crate::tools::cli::{OptionRow, Program};
use crate::tools::options::affinity::AFFINITY;
use crate::tools::options::catalogue::{
    COLOUR, EFFORT, EXCLUDE_TAG, EXCLUSION_TAGS, IGNORE_DYNU, KEEP_RESERVE, KEEP_ROOM, MAX_CPU, MAX_LENGTH,
    MIN_DISK, MIN_GAIN, MIN_GAIN_LIMIT, MIN_SCORE, NO_DISK_MOVES, NO_INSTANCE_MOVES, NO_TARGET, PRIORITY,
    REASON, STATIC_KVM_NODE_MEMORY, SUMMARY, TIME_LIMIT,
};
use crate::tools::options::measured::{
    FORECAST, LOAD_CACERT, LOAD_CREDENTIALS, LOAD_FROM, LOAD_LABEL, LOAD_MISSING, LOAD_PATTERN, LOAD_PRESET,
    LOAD_QUANTILE, LOAD_QUERY, LOAD_WINDOW,
};
use crate::tools::options::pace::{
    BANDWIDTH, MAX_DURATION, MAX_IN_PER_NODE, MAX_OUT_PER_NODE, MAX_PARALLEL, MAX_PER_GROUP, MAX_SYNCS,
    ON_FAILURE, STREAM, SYNC_RATE, UNTIL,
};
use htools_model::words;

words!(
    /// Section of a key that is not limited to one tool.
    pub ConfigSection, "section" {
        Limits = "limits",
        Defaults = "defaults",
    }
);

/// Options that must, or must not, be on the command line before a key has an effect. It concerns only tools that
/// have these options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyNeeds {
    Nothing,
    /// At least one of these options must be given.
    OneOf(&'static [&'static str]),
    /// None of these options may be given.
    NoneOf(&'static [&'static str]),
    /// In a tool with the option `by`, that must be given. In other tools, none of `others` may be given.
    ChosenBy {
        by: &'static str,
        others: &'static [&'static str],
    },
}

pub(super) struct ConfigKey {
    /// Section of the key; none if its meaning differs from tool to tool. Such a key stands only in the sections of
    /// tools.
    pub section: Option<ConfigSection>,
    /// The option that the key sets. The key has its name and its purpose.
    pub option: &'static dyn OptionRow,
    /// Condition for an effect.
    pub needs: KeyNeeds,
}

/// Something is executed.
const RUN: KeyNeeds = KeyNeeds::OneOf(&["exec", "resume"]);
/// There is a stream, or a timetable of one.
const STREAMED: KeyNeeds = KeyNeeds::OneOf(&["stream", "print-plan"]);

const fn limit(option: &'static dyn OptionRow, needs: KeyNeeds) -> ConfigKey {
    ConfigKey { section: Some(ConfigSection::Limits), option, needs }
}

const fn default(option: &'static dyn OptionRow) -> ConfigKey {
    ConfigKey { section: Some(ConfigSection::Defaults), option, needs: KeyNeeds::Nothing }
}

const fn of_tools(option: &'static dyn OptionRow) -> ConfigKey {
    ConfigKey { section: None, ..default(option) }
}

/// A key of measured load. The command line can name another source of load, and hplace uses measured load only if
/// asked.
const fn load(option: &'static dyn OptionRow) -> ConfigKey {
    let needs = KeyNeeds::ChosenBy {
        by: "measured",
        others: &["dynu-file", "mond", "ignore-dynu", "xml-file", "live"],
    };
    ConfigKey { needs, ..default(option) }
}

/// All keys, in the order of the sample file.
pub(super) static KEYS: [ConfigKey; 44] = [
    limit(&STREAM, RUN),
    limit(&MAX_PARALLEL, STREAMED),
    limit(&MAX_OUT_PER_NODE, STREAMED),
    limit(&MAX_IN_PER_NODE, STREAMED),
    limit(&MAX_SYNCS, STREAMED),
    limit(&MAX_PER_GROUP, STREAMED),
    limit(&ON_FAILURE, KeyNeeds::OneOf(&["stream"])),
    limit(&MAX_DURATION, RUN),
    limit(&UNTIL, RUN),
    limit(&PRIORITY, RUN),
    default(&BANDWIDTH),
    default(&SYNC_RATE),
    default(&TIME_LIMIT),
    default(&MIN_GAIN_LIMIT),
    default(&MAX_CPU),
    default(&MIN_DISK),
    ConfigKey { needs: KeyNeeds::NoneOf(&["ignore-soft-errors"]), ..default(&KEEP_RESERVE) },
    ConfigKey { needs: KeyNeeds::NoneOf(&["ignore-soft-errors"]), ..default(&KEEP_ROOM) },
    ConfigKey { needs: KeyNeeds::NoneOf(&["make-room"]), ..default(&AFFINITY) },
    default(&NO_DISK_MOVES),
    default(&NO_INSTANCE_MOVES),
    default(&EXCLUSION_TAGS),
    default(&NO_TARGET),
    default(&EXCLUDE_TAG),
    default(&IGNORE_DYNU),
    default(&STATIC_KVM_NODE_MEMORY),
    load(&LOAD_FROM),
    load(&LOAD_PRESET),
    load(&LOAD_QUERY),
    load(&LOAD_LABEL),
    load(&LOAD_PATTERN),
    load(&LOAD_WINDOW),
    load(&LOAD_QUANTILE),
    load(&LOAD_MISSING),
    load(&LOAD_CREDENTIALS),
    load(&LOAD_CACERT),
    load(&FORECAST),
    ConfigKey { needs: KeyNeeds::OneOf(&["deep"]), ..default(&EFFORT) },
    ConfigKey { needs: RUN, ..default(&REASON) },
    default(&SUMMARY),
    default(&COLOUR),
    of_tools(&MAX_LENGTH),
    of_tools(&MIN_GAIN),
    of_tools(&MIN_SCORE),
];

/// Keys of a named cluster, with their purposes.
pub(super) const CLUSTER_KEYS: [(&str, &str); 5] = [
    ("address", "the host name or URL of its remote API (RAPI), as for -m; without a password"),
    ("credentials", "the file with user and password for it, as for --rapi-credentials"),
    ("certificate", "the file with its certificate or authority, as for --rapi-cacert"),
    ("socket", "the socket of its master daemon, as for -L"),
    ("file", "a text file, as for -t"),
];

impl ConfigKey {
    /// Returns the tool's variant of the option, if it has one.
    pub(super) fn of(&self, spec: &dyn Program) -> Option<&'static dyn OptionRow> {
        spec.find(self.option.long)
    }
}

pub(super) fn find(name: &str) -> Option<&'static ConfigKey> {
    KEYS.iter().find(|key| key.option.long == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::TOOLS;

    #[test]
    fn every_key_is_an_option_of_some_tool_and_none_carries_anything_out() {
        for key in &KEYS {
            let long = key.option.long;
            assert!(TOOLS.iter().any(|tool| key.of(tool.spec).is_some()), "{long}");
            assert_eq!(KEYS.iter().filter(|other| other.option.long == long).count(), 1, "{long}");
        }
        for never in [
            "exec",
            "yes",
            "force",
            "power-command",
            "resume",
            "replan",
            "ignore-soft-errors",
            "no-capacity-checks",
            "insecure-http",
            "allow-interruptions",
            "print-commands",
            "save",
            "journal",
            "json",
        ] {
            assert!(find(never).is_none(), "{never}");
        }
    }
}
