//! Coverage and results of a run of the suite.

use std::collections::BTreeMap;
use std::time::Duration;

use super::cases::Case;
use super::compare::{Verdict, moves};
use super::outcomes::outcomes;
use super::rules::Rule;
use super::run::Output;
use super::tools::Tool;

/// Counts over all cases so far.
#[derive(Debug, Default)]
pub struct Statistics {
    /// Cases that agreed byte for byte.
    pub agreed: usize,
    /// Cases that differ by a listed difference.
    pub listed: BTreeMap<Rule, usize>,
    /// Cases that differ otherwise.
    pub failed: usize,
    /// Programs that ran out of time.
    pub out_of_time: usize,
    cases: usize,
    tools: BTreeMap<Tool, ToolStatistics>,
    outcomes: BTreeMap<String, usize>,
    hbal_with_moves: usize,
    moves: BTreeMap<String, usize>,
    features: BTreeMap<String, usize>,
    statuses: BTreeMap<String, usize>,
    rules: BTreeMap<Rule, usize>,
    crashes: Vec<u64>,
}

/// Counts over the cases of one tool.
#[derive(Debug, Default)]
struct ToolStatistics {
    cases: u32,
    longest: Duration,
    reference_time: Duration,
    our_time: Duration,
}

impl Statistics {
    /// Counts one case.
    pub fn add(&mut self, case: &Case, theirs: &Output, ours: &Output, verdict: &Verdict) {
        match verdict {
            Verdict::Agree => self.agreed += 1,
            Verdict::Listed(rule) => *self.listed.entry(*rule).or_default() += 1,
            Verdict::Differ(_) => self.failed += 1,
        }
        self.out_of_time += [theirs, ours].iter().filter(|output| output.status.is_none()).count();
        self.cases += 1;
        if case.tool == Tool::Hbal {
            let found = moves(case, &theirs.stdout);
            self.hbal_with_moves += usize::from(!found.is_empty());
            for kind in found {
                *self.moves.entry(kind).or_default() += 1;
            }
        }
        for outcome in outcomes(case, theirs) {
            *self.outcomes.entry(outcome).or_default() += 1;
        }
        let facts = [
            (case.facts.monitoring, "monitoring data"),
            (case.facts.utilisation, "utilisation file"),
            (case.facts.mistaken, "mistaken command line"),
            (!case.facts.offline.is_empty(), "-O"),
            (case.facts.group.is_some(), "-G"),
            (case.facts.commands, "-C"),
            (case.facts.save, "-S"),
            (case.facts.print_instances, "--print-instances"),
        ];
        let facts = facts.into_iter().filter(|(holds, _)| *holds).map(|(_, name)| name);
        for feature in case.cluster.features.iter().copied().chain(facts) {
            *self.features.entry(feature.to_owned()).or_default() += 1;
        }
        let status = theirs.status.map_or("out of time".into(), |status| status.to_string());
        *self.statuses.entry(format!("{} {status}", case.tool.name())).or_default() += 1;
        for rule in Rule::ALL.into_iter().filter(|rule| rule.applies(case)) {
            *self.rules.entry(rule).or_default() += 1;
        }
        let breaks_off = [
            Rule::SplitInstanceOutput,
            Rule::DrbdWithoutSecondary,
            Rule::SplitInstanceCheck,
            Rule::GroupState,
            Rule::DrbdOnOneNode,
            Rule::LimitZero,
        ];
        if crashed(&theirs.stderr) && !breaks_off.iter().any(|rule| rule.applies(case)) {
            self.crashes.push(case.number);
        }
        let tool = self.tools.entry(case.tool).or_default();
        tool.cases += 1;
        tool.longest = tool.longest.max(theirs.time);
        tool.reference_time += theirs.time;
        tool.our_time += ours.time;
    }

    /// The result, in a few lines; the last is the headline.
    pub fn summary(&self) -> String {
        let mut lines = vec![format!("{} runs agreed byte for byte", self.agreed)];
        for (rule, count) in &self.listed {
            lines.push(format!("{count} runs differ by the listed difference {}", rule.name()));
        }
        if self.out_of_time > 0 {
            lines.push(format!("{} programs ran out of time", self.out_of_time));
        }
        let passed = self.agreed + self.listed.values().sum::<usize>();
        lines.push(format!("{passed} passed, {} failed", self.failed));
        lines.join("\n")
    }

    /// Statistics of the coverage.
    pub fn coverage(&self) -> String {
        let mut lines = vec![format!("{} cases, {} of hbal with moves", self.cases, self.hbal_with_moves)];
        for (tool, of) in &self.tools {
            lines.push(format!(
                "{}: {} cases; reference {:.1?}, {:.0?} each, {:.1?} at most; ours {:.1?}",
                tool.name(),
                of.cases,
                of.reference_time,
                of.reference_time / of.cases,
                of.longest,
                of.our_time
            ));
        }
        let mut section = |title: &str, counts: Vec<(String, usize)>| {
            lines.push(format!("{title}:"));
            lines.extend(counts.into_iter().map(|(name, count)| format!("  {count:6} {name}")));
        };
        let pairs = |map: &BTreeMap<String, usize>| map.iter().map(|(k, v)| (k.clone(), *v)).collect();
        section("moves", pairs(&self.moves));
        section("exit status of the reference", pairs(&self.statuses));
        section("outcomes", pairs(&self.outcomes));
        section("features", pairs(&self.features));
        section(
            "cases in which a listed difference may show",
            self.rules.iter().map(|(rule, count)| (rule.name().to_owned(), *count)).collect(),
        );
        if !self.crashes.is_empty() {
            lines.push(format!("internal errors of the reference beyond the list: cases {:?}", self.crashes));
        }
        lines.join("\n")
    }
}

/// Tells if the reference ended with an internal error.
pub fn crashed(stderr: &[u8]) -> bool {
    let text = String::from_utf8_lossy(stderr);
    ["CallStack", "IntMap.", "Map.!", "Prelude.", "Irrefutable", "Non-exhaustive"]
        .iter()
        .any(|sign| text.contains(sign))
}
