//! Reactions to failed operations: the values of `on-fail`.

use roxmltree::Node;

use super::Reader;
use super::document::{child, children};
use super::history::{KeptOperation, OperationKey};
use super::properties::Properties;
use super::roles::is_promoted;
use super::spans::milliseconds;
use super::value_rules::{AgentKind, ValueRule};

/// Reaction to a failed operation, by the values of `on-fail`. Later ones outweigh earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum OnFail {
    /// The result counts as intended.
    #[default]
    Ignore,
    /// The resource is demoted.
    Demote,
    /// The resource is restarted.
    Restart,
    /// The resource is restarted, and before it the one in which it runs.
    RestartContainer,
    /// The resource is left alone.
    Block,
    /// The resource is stopped everywhere.
    Stop,
    /// Its host goes to standby.
    Standby,
    /// Its host is fenced.
    Fence,
}

/// Configured reactions to failures of a resource's operations.
#[derive(Debug, Clone, Default)]
pub(super) struct FailureRules<'a> {
    /// By operation, its value, if there is one. Of two entries for an operation, the first wins.
    of_operations: Vec<(OperationKey<'a>, Option<&'a str>)>,
    /// Recurring monitors of promoted instances.
    of_promoted: Vec<OperationKey<'a>>,
    /// Values for all other operations. The first whose rule holds counts.
    defaults: Vec<(ValueRule<'a>, &'a str)>,
    /// True for the connection to a remote node. A failed stop only restarts it, as the node itself is fenced.
    pub(super) is_connection: bool,
    /// True for such a connection if it is not managed. Then only the reactions to a failed start or probe count.
    pub(super) is_unmanaged_connection: bool,
    /// True for a resource that runs in another one, which restarts after a failure.
    pub(super) in_container: bool,
    /// Time after which a failure is forgotten, in seconds.
    pub(super) timeout: Option<i64>,
}

impl FailureRules<'_> {
    /// Rules for the connection to a guest node. A failed stop only restarts it, as recovery is up to its VM.
    pub(super) fn of_connection() -> FailureRules<'static> {
        FailureRules {
            of_operations: vec![(OperationKey { name: "stop", interval: 0 }, Some("restart"))],
            ..FailureRules::default()
        }
    }

    /// Returns true if the configured reaction to a failed operation counts.
    fn counts(&self, key: OperationKey<'_>) -> bool {
        !self.is_unmanaged_connection || is_first_contact(key)
    }

    /// The reaction that the operation itself names.
    fn own_word(&self, key: OperationKey<'_>) -> Option<&str> {
        if !self.counts(key) {
            return None;
        }
        let own = self.of_operations.iter().find(|(other, _)| *other == key);
        own.and_then(|(_, word)| *word)
    }

    /// The reaction by the defaults of all operations.
    fn default_word(&self, key: OperationKey<'_>) -> Option<&str> {
        if !self.counts(key) {
            return None;
        }
        self.defaults.iter().find(|(rule, _)| rule.holds(Some(key))).map(|(_, word)| *word)
    }

    /// The reaction that is configured for a failed operation, if one is.
    fn word(&self, key: OperationKey<'_>) -> Option<&str> {
        self.own_word(key).or_else(|| self.default_word(key))
    }

    /// Returns true if a failed operation of a remote connection leaves the state of the remote node unknown, so that the
    /// node is fenced. Configured reactions concern the connection only. A start or a probe tells nothing of the node.
    pub(super) fn loses_remote_node(&self, key: OperationKey<'_>) -> bool {
        const KNOWN: [&str; 5] = ["ignore", "nothing", "block", "restart", "fence"];
        let is_known =
            |word: &str| KNOWN.contains(&word) || key.name != "stop" && ["stop", "standby"].contains(&word);
        !is_first_contact(key) && !self.word(key).is_some_and(is_known)
    }

    /// Returns true for a recurring monitor of promoted instances.
    fn is_of_promoted(&self, key: OperationKey<'_>) -> bool {
        key.interval > 0 && self.of_promoted.contains(&key)
    }

    /// The reaction to a failed demotion without a value of its own: that to a failed monitor of promoted instances.
    fn of_demotion(&self, key: OperationKey<'_>) -> Option<&str> {
        let mut promoted = self.of_promoted.iter().filter(|_| key.name == "demote");
        let word = |monitor: &OperationKey<'_>| {
            let own = self.of_operations.iter().find(|(other, _)| other == monitor);
            own.and_then(|(_, word)| *word)
        };
        promoted.find_map(word).filter(|word| *word != "demote")
    }

    /// The reaction to a failed operation. The one that its key names has the value.
    pub(super) fn of(&self, operation: &KeptOperation, fencing: bool) -> OnFail {
        self.by_keys(operation.key(), operation.configured(), fencing)
    }

    fn by_keys(&self, key: OperationKey<'_>, configured: Option<OperationKey<'_>>, fencing: bool) -> OnFail {
        let own = configured.and_then(|configured| self.own_word(configured));
        let word = own.or_else(|| self.of_demotion(key)).or_else(|| self.default_word(key));
        let stops = key.name == "stop";
        let usual = match (stops && !self.is_connection, fencing) {
            _ if self.in_container => OnFail::RestartContainer,
            (false, _) => OnFail::Restart,
            (true, true) => OnFail::Fence,
            (true, false) => OnFail::Block,
        };
        match word {
            Some("ignore" | "nothing") => OnFail::Ignore,
            Some("block") => OnFail::Block,
            Some("restart") => OnFail::Restart,
            Some("demote") if key.name == "promote" || self.is_of_promoted(key) => OnFail::Demote,
            Some("fence") if fencing => OnFail::Fence,
            Some("fence") => OnFail::Stop,
            Some("stop") if !stops => OnFail::Stop,
            Some("standby") if !stops => OnFail::Standby,
            _ => usual,
        }
    }
}

/// Returns true for a start or a probe.
pub(super) fn is_first_contact(key: OperationKey<'_>) -> bool {
    key.name == "start" || key.name == "monitor" && key.interval == 0
}

impl<'a, 'i> Reader<'a, 'i> {
    /// Reactions to failures of operations for which none is configured.
    pub(super) fn failure_defaults(&mut self, kind: AgentKind<'_>) -> FailureRules<'a> {
        let mut rules = FailureRules::default();
        let section = self.section("op_defaults");
        let sets = section.map(|section| self.reported_sets(&[section], "meta_attributes"));
        for set in sets.unwrap_or_default() {
            let Some(rule) = self.value_rule(set, Some(kind)) else { continue };
            let mut values = Properties::default();
            self.values(set, &mut values);
            rules.defaults.extend(values.get("on-fail").map(|word| (rule, word)));
        }
        rules
    }

    /// Reactions to failures of a primitive's operations: its own, then those of its template, then the defaults.
    pub(super) fn failure_rules(
        &mut self,
        node: Node<'a, 'i>,
        template: Option<Node<'a, 'i>>,
    ) -> FailureRules<'a> {
        let kind = AgentKind::of(node, template);
        let mut rules = self.failure_defaults(kind);
        let lists =
            [Some(node), template].into_iter().flatten().filter_map(|element| child(element, "operations"));
        let lists: Vec<Node<'a, 'i>> = lists.filter_map(|list| self.meant(list)).collect();
        for operation in lists.into_iter().flat_map(|list| children(list, "op")) {
            let name = operation.attribute("name").unwrap_or_default();
            let interval = operation.attribute("interval").map_or(0, milliseconds);
            let key = OperationKey { name, interval };
            let metas = self.operation_metas(operation, kind, key);
            let word = operation.attribute("on-fail").or_else(|| metas.get("on-fail"));
            let role = operation.attribute("role").or_else(|| metas.get("role"));
            if name == "monitor" && role.is_some_and(is_promoted) {
                rules.of_promoted.push(key);
            }
            rules.of_operations.push((key, word));
        }
        rules
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_stop_asks_for_more_than_other_failures() {
        let rules = FailureRules {
            of_operations: vec![
                (OperationKey { name: "monitor", interval: 10_000 }, Some("standby")),
                (OperationKey { name: "stop", interval: 0 }, Some("standby")),
            ],
            ..FailureRules::default()
        };
        let of = |name, interval, fencing| {
            let key = OperationKey { name, interval };
            rules.by_keys(key, Some(key), fencing)
        };
        assert_eq!(of("monitor", 10_000, false), OnFail::Standby);
        assert_eq!(of("monitor", 0, false), OnFail::Restart);
        assert_eq!((of("stop", 0, false), of("stop", 0, true)), (OnFail::Block, OnFail::Fence));
    }
}
