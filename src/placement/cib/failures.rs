//! What operations that did not end as they should mean for a resource and its host.

use roxmltree::Node;

use super::super::index::HostIdx;
use super::super::working_set::RunCondition;
use super::Reader;
use super::document::{child, children};
use super::history::{KeptOperation, Trace};
use super::properties::Properties;

/// What is done about a failed operation, by the words of `on-fail`: the later, the more it outweighs others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum OnFail {
    /// It counts as what was meant to happen.
    Ignore,
    /// The resource is stopped and started.
    Restart,
    /// Nobody touches the resource.
    Block,
    /// The resource is stopped everywhere.
    Stop,
    /// Its host goes to standby.
    Standby,
    /// Its host is fenced.
    Fence,
}

/// What the operations of a resource on a host come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PastOutcome {
    /// Whether it runs there, or may.
    pub(super) active: bool,
    /// Whether it was not known to be started when the document was written.
    pub(super) starting: bool,
    /// What its failures ask for.
    pub(super) on_fail: OnFail,
    /// Whether it may not run on this host any more.
    pub(super) banned: bool,
    /// Whether it may not run anywhere.
    pub(super) banned_everywhere: bool,
    /// Whether nobody may touch it, wherever it is.
    pub(super) untouchable: bool,
    /// Whether a failure is ignored, and with it how often the resource failed.
    pub(super) ignored: bool,
    /// Whether a live migration to or from this host has not come to its end here.
    pub(super) under_way: bool,
    /// Whether it came here by a live migration.
    pub(super) arrived: bool,
    /// Why it is outside, if it is.
    pub(super) beyond: Option<&'static str>,
}

/// What operations are to do when they fail, where a resource says it.
#[derive(Debug, Clone, Default)]
pub(super) struct FailureRules<'a>(Vec<(&'a str, u64, &'a str)>, Option<&'a str>);

impl FailureRules<'_> {
    /// What is done about a failed operation.
    pub(super) fn of(&self, name: &str, interval: u64, fencing: bool) -> OnFail {
        let own = self.0.iter().find(|(other, every, _)| *other == name && *every == interval);
        let word = own.map(|(.., word)| *word).or(self.1);
        let stops = name == "stop";
        let usual = match (stops, fencing) {
            (false, _) => OnFail::Restart,
            (true, true) => OnFail::Fence,
            (true, false) => OnFail::Block,
        };
        match word {
            Some("ignore" | "nothing") => OnFail::Ignore,
            Some("block") => OnFail::Block,
            Some("restart") => OnFail::Restart,
            Some("fence") if fencing => OnFail::Fence,
            Some("fence") => OnFail::Stop,
            Some("stop") if !stops => OnFail::Stop,
            Some("standby") if !stops => OnFail::Standby,
            _ => usual,
        }
    }
}

impl<'a, 'i> Reader<'a, 'i> {
    /// What the operations of a primitive are to do when they fail: its own, then those of its template, then all.
    pub(super) fn failure_rules(
        &mut self,
        node: Node<'a, 'i>,
        template: Option<Node<'a, 'i>>,
    ) -> FailureRules<'a> {
        let mut rules = FailureRules::default();
        let defaults = self.section("op_defaults");
        let defaults = defaults.map(|of| Properties::of(of, "meta_attributes", "", &mut self.set.outside));
        rules.1 = defaults.and_then(|of| of.get("on-fail"));
        let lists = [Some(node), template].into_iter().flatten().filter_map(|of| child(of, "operations"));
        for operation in lists.flat_map(|list| children(list, "op")) {
            let metas = Properties::of(operation, "meta_attributes", "", &mut self.set.outside);
            let word = operation.attribute("on-fail").or_else(|| metas.get("on-fail"));
            let name = operation.attribute("name").unwrap_or_default();
            let every = operation.attribute("interval").and_then(milliseconds).unwrap_or(0);
            rules.0.extend(word.map(|word| (name, every, word)));
        }
        rules
    }
}

/// Where a primitive runs, and what its failures did to it.
#[derive(Debug, Default)]
pub(super) struct RunPlaces {
    /// Where it runs, and how.
    pub(super) active: Vec<(HostIdx, RunCondition)>,
    /// Where it may not run any more.
    pub(super) banned: Vec<HostIdx>,
    /// Whether nobody touches it any more.
    pub(super) blocked: bool,
    /// Whether it does not count how often it failed.
    pub(super) forgiven: bool,
}

/// Why a resource is outside whose live migration has not come to its end.
const UNDER_WAY: &str = "a live migration that has not come to its end";

impl Reader<'_, '_> {
    /// Whether a live migration of a resource, of which its source knows, came to its end on its target: what does not know of it
    /// there may run in part.
    fn has_arrived(&self, name: &str, operations: &[KeptOperation], rules: &FailureRules<'_>) -> bool {
        let mut targets = operations.iter().filter(|of| of.name == "migrate_to").map(|of| of.target.as_str());
        let traces = self.traces.get(name);
        targets.all(|target| {
            traces.into_iter().flatten().any(|(host, trace)| {
                let is_there = |kept: &[KeptOperation]| outcome(kept, rules, self.set.fencing, true).arrived;
                self.set.host(*host).name == target
                    && matches!(trace, Trace::Troubled(kept) if is_there(kept))
            })
        })
    }

    /// Where a primitive runs, by what the status calls it. On a host that is offline, only if it was lost. Hosts on which it
    /// failed so that they have to be fenced, or to be in standby, are so from now on.
    pub(super) fn whereabouts(
        &mut self,
        name: &str,
        rules: &FailureRules<'_>,
        managed: bool,
        reasons: &mut Vec<&'static str>,
    ) -> RunPlaces {
        let mut places = RunPlaces::default();
        let fencing = self.set.fencing;
        let traces = self.traces.get(name).cloned().unwrap_or_default();
        for (host, trace) in &traces {
            if let Trace::Troubled(operations) = trace
                && (!self.has_arrived(name, operations, rules)
                    || outcome(operations, rules, fencing, managed).under_way)
                && !reasons.contains(&UNDER_WAY)
            {
                reasons.push(UNDER_WAY);
            }
            let state = &mut self.set.hosts[host.get()].state;
            let is_known = state.online || state.unclean;
            match trace {
                Trace::Inactive => {}
                Trace::Active if is_known => places.active.push((*host, RunCondition::Sound)),
                Trace::Active => {}
                Trace::Troubled(operations) if is_known || fencing => {
                    let mut past = outcome(operations, rules, fencing, managed && !state.maintenance);
                    // what was on a lost host is gone with it
                    if !state.online && past.on_fail == OnFail::Block && !past.untouchable {
                        past.on_fail = OnFail::Restart;
                    }
                    state.unclean |= fencing && (past.on_fail == OnFail::Fence || !is_known && past.failed());
                    state.standby |= past.on_fail == OnFail::Standby;
                    if past.active && (is_known || state.unclean) {
                        places.active.push((*host, past.condition()));
                    }
                    places.blocked |= past.untouchable || (past.active && past.on_fail == OnFail::Block);
                    places.forgiven |= past.ignored;
                    if past.banned_everywhere {
                        places.banned.extend((0..self.set.hosts.len()).map(HostIdx::new));
                    } else if past.banned {
                        places.banned.push(*host);
                    }
                    if let Some(reason) = past.beyond
                        && !reasons.contains(&reason)
                    {
                        reasons.push(reason);
                    }
                }
                Trace::Troubled(_) => {}
            }
        }
        places.active.dedup_by_key(|(host, _)| *host);
        places
    }
}

/// A span of time in milliseconds; without a unit, it is in seconds.
pub(super) fn milliseconds(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..end].parse().ok()?;
    let factor = match text[end..].trim() {
        "" | "s" | "sec" => 1000,
        "ms" | "msec" => 1,
        "us" | "usec" => return Some(number / 1000),
        "m" | "min" => 60_000,
        "h" | "hr" => 3_600_000,
        _ => return None,
    };
    number.checked_mul(factor)
}

/// What operations come to, in the order of their calls.
pub(super) fn outcome(
    operations: &[KeptOperation],
    rules: &FailureRules<'_>,
    fencing: bool,
    managed: bool,
) -> PastOutcome {
    let mut now = PastOutcome {
        active: false,
        starting: false,
        on_fail: OnFail::Ignore,
        banned: false,
        banned_everywhere: false,
        untouchable: false,
        ignored: false,
        under_way: false,
        arrived: false,
        beyond: None,
    };
    let mut failed = None;
    for of in operations {
        // what is not managed was stopped by somebody
        if !managed && of.code == 7 && matches!(of.status, 0 | 4) {
            (now.active, now.starting, now.on_fail) = (false, false, OnFail::Ignore);
        } else {
            now.follow(of, rules, fencing, &mut failed);
        }
    }
    now
}

impl PastOutcome {
    fn follow<'o>(
        &mut self,
        of: &'o KeptOperation,
        rules: &FailureRules<'_>,
        fencing: bool,
        last_failed: &mut Option<(&'o str, u64)>,
    ) {
        let key = (of.name.as_str(), of.interval);
        if matches!(key.0, "notify" | "meta-data" | "reload" | "reload-agent" | "cancel" | "delete") {
            return;
        }
        let probes = key == ("monitor", 0);
        if matches!(key.0, "migrate_to" | "migrate_from") {
            let done = key.0 == "migrate_from" && of.code == 0 && matches!(of.status, 0 | 4);
            (self.active, self.starting) = (self.active || done, false);
            (self.under_way, self.arrived) = (!done, done);
            return;
        }
        match of.status {
            // cancelled, and what tells nothing about where it runs
            1 => return,
            -1 if key.0 == "start" => {
                (self.active, self.starting) = (true, true);
                self.forgive();
                return;
            }
            -1 => return,
            _ => {}
        }
        let judged = matches!(of.status, 0 | 4);
        if matches!(of.code, 8 | 9 | 190 | 191) && judged || matches!(key.0, "promote" | "demote") {
            self.beyond = Some("a resource that is promoted, or degraded");
        }
        let absent = probes && (of.status == 7 || judged && matches!(of.code, 2 | 5));
        if absent {
            (self.active, self.starting, self.banned) = (false, false, true);
            return;
        }
        if judged && of.code == 7 && (probes || (of.expected == Some(7) && of.status == 0)) {
            (self.active, self.starting) = (false, false);
            self.on_fail = OnFail::Ignore;
            return;
        }
        if judged && of.code == 0 {
            match key.0 {
                "start" => {
                    (self.active, self.starting) = (true, false);
                    self.forgive();
                }
                "stop" => {
                    (self.active, self.starting) = (false, false);
                    (self.under_way, self.arrived) = (false, false);
                    self.forgive();
                }
                "monitor" => {
                    (self.active, self.starting) = (true, false);
                    if *last_failed == Some(key) {
                        self.forgive();
                    }
                }
                _ => self.beyond = Some("an operation that is not known"),
            }
            return;
        }
        *last_failed = Some(key);
        self.fail(of, rules.of(key.0, key.1, fencing), fencing);
    }

    /// What an operation left that failed.
    fn fail(&mut self, of: &KeptOperation, on_fail: OnFail, fencing: bool) {
        let (stops, probes) = (of.name == "stop", of.name == "monitor" && of.interval == 0);
        let judged = matches!(of.status, 0 | 4);
        let starts = probes || of.name == "start";
        let hard = matches!(of.status, 5 | 7)
            || judged && (matches!(of.code, 2 | 4 | 5) || of.code == 3 && (starts || stops));
        let fatal = of.status == 6 || judged && of.code == 6;
        if !matches!(of.name.as_str(), "start" | "stop" | "monitor") {
            self.beyond = Some("a failed operation that is not known");
        }
        self.untouchable |= stops && hard && !fencing;
        if on_fail == OnFail::Ignore {
            self.ignored = true;
            self.starting = false;
            self.active = !(stops || probes);
            return;
        }
        (self.active, self.starting) = (true, false);
        self.banned |= hard || stops;
        self.banned_everywhere |= fatal || on_fail == OnFail::Stop;
        self.on_fail = self.on_fail.max(on_fail);
    }

    /// A start or stop that went well makes up for failures that no more than the resource suffered from.
    fn forgive(&mut self) {
        if self.on_fail <= OnFail::Block {
            self.on_fail = OnFail::Ignore;
        }
    }

    fn failed(&self) -> bool {
        self.active && self.on_fail > OnFail::Ignore
    }

    fn condition(&self) -> RunCondition {
        match (self.failed(), self.starting) {
            _ if self.untouchable || (self.active && self.on_fail == OnFail::Block) => RunCondition::Blocked,
            (true, _) => RunCondition::Failed,
            (false, true) => RunCondition::Starting,
            (false, false) => RunCondition::Sound,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_time_have_units() {
        let spans =
            [("10", Some(10_000)), ("10s", Some(10_000)), ("250ms", Some(250)), ("2min", Some(120_000))];
        for (text, span) in spans.into_iter().chain([("1h", Some(3_600_000)), ("x", None), ("5 days", None)])
        {
            assert_eq!(milliseconds(text), span, "{text}");
        }
        assert_eq!(milliseconds("18446744073709551615h"), None);
    }

    #[test]
    fn a_failed_stop_asks_for_more_than_other_failures() {
        let rules = FailureRules(vec![("monitor", 10_000, "standby"), ("stop", 0, "standby")], None);
        assert_eq!(rules.of("monitor", 10_000, false), OnFail::Standby);
        assert_eq!(rules.of("monitor", 0, false), OnFail::Restart);
        assert_eq!((rules.of("stop", 0, false), rules.of("stop", 0, true)), (OnFail::Block, OnFail::Fence));
    }
}
