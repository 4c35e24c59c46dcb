//! Scores split into their parts, for people and for programs.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::model::shown::shown_name;
use crate::pacemaker::working_set::{Colocation, NODE_HEALTH};
use crate::pacemaker::{
    AdditionLog, AllocationScore, HostScore, ResourceIdx, ScoreAddition, ScorePart, ScoreSource, WorkingSet,
};

use super::changes::ticket;
use super::json::ScoreView;

/// Maximum length of a line without wrapping, in characters.
const WIDTH: usize = 78;
/// A blank at which lines are not wrapped.
const FIRM: &str = "\u{a0}";

/// The text with all blanks made non-breaking.
pub(super) fn unbroken(text: &str) -> String {
    text.replace(' ', FIRM)
}

/// The text with ordinary blanks again.
pub(super) fn plain(text: &str) -> String {
    text.replace(FIRM, " ")
}

/// A text wrapped for a terminal, each line indented by two blanks.
pub(super) fn broken(text: &str) -> Vec<String> {
    let options = textwrap::Options::new(WIDTH)
        .initial_indent("  ")
        .subsequent_indent("      ")
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::wrap(text, options).iter().map(|line| plain(line)).collect()
}

/// A score as the sum of its parts, which can be wrapped between the parts.
pub(super) fn sum(set: &WorkingSet, resource: ResourceIdx, parts: &[ScorePart]) -> String {
    let words = PartWords { set, resource };
    let texts = words.joined(parts);
    let signed = texts.iter().enumerate().map(|(at, PartText { score, text })| match at {
        0 => format!("={FIRM}{score}{FIRM}{text}"),
        _ if *score < AllocationScore::ZERO => format!("-{FIRM}{}{FIRM}{text}", score.negated()),
        _ => format!("+{FIRM}{score}{FIRM}{text}"),
    });
    signed.collect::<Vec<_>>().join(" ")
}

/// The parts that forbid a host, except for one that was named already.
pub(super) fn forbidding(
    set: &WorkingSet,
    resource: ResourceIdx,
    parts: &[ScorePart],
    is_said: impl Fn(&ScorePart) -> bool,
) -> String {
    let words = PartWords { set, resource };
    let more = parts.iter().filter(|part| part.score == AllocationScore::MINUS_INFINITY && !is_said(part));
    let mut texts: Vec<String> = more.map(|part| words.label(part)).collect();
    texts.dedup();
    texts.join(", ")
}

/// A part of a score in words.
struct PartText {
    score: AllocationScore,
    text: String,
}

struct PartWords<'a> {
    set: &'a WorkingSet,
    resource: ResourceIdx,
}

impl PartWords<'_> {
    /// The parts in words. The stickiness of several resources is combined into one part.
    fn joined(&self, parts: &[ScorePart]) -> Vec<PartText> {
        let is_stay = |part: &ScorePart| part.source == ScoreSource::Stickiness && !part.score.is_infinite();
        let staying: Vec<&ScorePart> = parts.iter().filter(|part| is_stay(part)).collect();
        let mut texts = Vec::new();
        for part in parts {
            let (score, text) = match is_stay(part) && staying.len() > 1 {
                true if !std::ptr::eq(staying[0], part) => continue,
                true => {
                    let sum = staying.iter().map(|part| i64::from(part.score.get())).sum();
                    let names: Vec<String> = staying.iter().map(|part| self.name(part.resource)).collect();
                    // A long list is wrapped between names.
                    (AllocationScore::of(sum), unbroken("stickiness of ") + &names.join(", "))
                }
                false => (part.score, unbroken(&self.label(part))),
            };
            texts.push(PartText { score, text });
        }
        texts
    }

    fn name(&self, resource: ResourceIdx) -> String {
        shown_name(&self.set.resource(resource).id)
    }

    /// The source of a part, in words.
    fn label(&self, part: &ScorePart) -> String {
        let label = match part.source {
            ScoreSource::Host => "node score".to_owned(),
            ScoreSource::Location(at) => format!("location {}", shown_name(&self.set.locations[at].id)),
            ScoreSource::Health => format!("node health ({NODE_HEALTH})"),
            ScoreSource::Stickiness => "stickiness".to_owned(),
            ScoreSource::Promotion => "the agent's wish to be promoted".to_owned(),
            ScoreSource::Unmanaged => "not managed".to_owned(),
            ScoreSource::Failures => "failures".to_owned(),
            ScoreSource::RunsTwice => "runs on several nodes".to_owned(),
            ScoreSource::Orphaned => "no longer configured".to_owned(),
            ScoreSource::Exclusive => {
                let rule = self.set.exclusive_rule(part.resource).map(shown_name).unwrap_or_default();
                format!("resource-discovery=exclusive {rule}")
            }
            ScoreSource::Guest => "guest or remote node".to_owned(),
            ScoreSource::Ticket(at) => ticket(self.set, &self.set.tickets.rules[at]),
            ScoreSource::Stopped => "target-role".to_owned(),
            ScoreSource::With(at) => {
                let colocation = &self.set.colocations[at];
                format!("{} with {}", self.constraint(colocation), self.name(colocation.primary))
            }
            ScoreSource::Of(at) => {
                let colocation = &self.set.colocations[at];
                return format!("{} of {}", self.constraint(colocation), self.name(part.resource));
            }
            ScoreSource::Instance => "another instance is there".to_owned(),
            ScoreSource::Clone => "its clone is not wanted there".to_owned(),
            ScoreSource::Exclusion => "keeps apart".to_owned(),
            ScoreSource::Optimum => "best placement".to_owned(),
        };
        match part.resource == self.resource {
            true => label,
            false => format!("{label} of {}", self.name(part.resource)),
        }
    }

    /// A colocation, or the group that implies it.
    fn constraint(&self, colocation: &Colocation) -> String {
        let group = self.set.resource(colocation.dependent).group;
        let is_of_group = group.is_some_and(|group| self.set.resource(group).id == colocation.id);
        format!("{} {}", if is_of_group { "group" } else { "colocation" }, shown_name(&colocation.id))
    }
}

/// Amounts that were added to the scores of a resource for one reason.
#[derive(Debug, Clone, Serialize)]
pub(super) struct PartView {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    with: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<String>,
    scores: BTreeMap<String, ScoreView>,
}

/// The parts of the scores of a resource, in the order in which they were added.
pub(super) fn views(set: &WorkingSet, log: &AdditionLog, resource: ResourceIdx) -> Vec<PartView> {
    log.additions(resource).iter().map(|addition| view(set, resource, addition)).collect()
}

fn view(set: &WorkingSet, resource: ResourceIdx, addition: &ScoreAddition) -> PartView {
    let name = |resource: ResourceIdx| set.resource(resource).id.clone();
    let colocation = match addition.source {
        ScoreSource::With(at) | ScoreSource::Of(at) => Some(&set.colocations[at]),
        _ => None,
    };
    let scored = |one: &HostScore| (set.host(one.host).name.clone(), one.score.into());
    PartView {
        kind: kind(addition.source),
        id: match addition.source {
            ScoreSource::Location(at) => Some(set.locations[at].id.clone()),
            ScoreSource::Ticket(at) => Some(set.tickets.rules[at].id.clone()),
            ScoreSource::Exclusive => set.exclusive_rule(addition.resource).map(str::to_owned),
            _ => colocation.map(|colocation| colocation.id.clone()),
        },
        with: match addition.source {
            ScoreSource::With(_) => colocation.map(|colocation| name(colocation.primary)),
            _ => None,
        },
        of: (addition.resource != resource).then(|| name(addition.resource)),
        scores: addition.scores.iter().map(scored).collect(),
    }
}

fn kind(source: ScoreSource) -> &'static str {
    match source {
        ScoreSource::Host => "node",
        ScoreSource::Location(_) => "location",
        ScoreSource::Health => "health",
        ScoreSource::Stickiness => "stickiness",
        ScoreSource::Promotion => "promotion",
        ScoreSource::Unmanaged => "unmanaged",
        ScoreSource::Failures => "failures",
        ScoreSource::RunsTwice => "runs-twice",
        ScoreSource::Orphaned => "orphaned",
        ScoreSource::Exclusive => "exclusive",
        ScoreSource::Guest => "guest",
        ScoreSource::Ticket(_) => "ticket",
        ScoreSource::Stopped => "stopped",
        ScoreSource::With(_) | ScoreSource::Of(_) => "colocation",
        ScoreSource::Instance => "instance",
        ScoreSource::Clone => "clone",
        ScoreSource::Exclusion => "apart",
        ScoreSource::Optimum => "optimum",
    }
}
