//! What is legal in a CIB and yet, very likely, not what was meant: one rule, one function. docs/pacemaker.md lists them.

mod capacities;
mod complaint;
mod constraints;
mod options;

pub(crate) use complaint::NameSuggestion;

use super::cib::{self, document};
use super::place::PlacingError;
use complaint::{Complaint, LintedCib};
use htools_model::words;

words!(
    /// How bad a finding is.
    pub LintSeverity, "severity" {
        /// Something does not do what it says: it never runs, or is ignored.
        Error = "error",
        /// It works, with surprises.
        Warning = "warning",
    }
);

/// Something that is very likely not meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LintFinding {
    /// The rule.
    pub rule: &'static str,
    /// How bad it is.
    pub severity: LintSeverity,
    /// The kind of element.
    pub element: String,
    /// Its id; empty if it has none, or is not there.
    pub id: String,
    /// What happens.
    pub problem: String,
    /// What to do.
    pub advice: String,
}

/// A rule: its name, how bad what it finds is, and what finds it.
struct LintRule {
    name: &'static str,
    severity: LintSeverity,
    find: for<'a, 'd> fn(&LintedCib<'a, 'd>) -> Result<Vec<Complaint>, PlacingError>,
}

const fn rule(
    name: &'static str,
    severity: LintSeverity,
    find: for<'a, 'd> fn(&LintedCib<'a, 'd>) -> Result<Vec<Complaint>, PlacingError>,
) -> LintRule {
    LintRule { name, severity, find }
}

/// All rules, in the order in which findings are shown.
const RULES: [LintRule; 16] = [
    rule("no-fencing", LintSeverity::Error, options::no_fencing),
    rule("unknown-strategy", LintSeverity::Error, options::unknown_strategy),
    rule("utilization-ignored", LintSeverity::Warning, options::utilization_ignored),
    rule("needless-moves", LintSeverity::Warning, options::needless_moves),
    rule("no-priorities", LintSeverity::Warning, options::no_priorities),
    rule("unknown-capacity", LintSeverity::Error, capacities::unknown),
    rule("unused-capacity", LintSeverity::Warning, capacities::unused),
    rule("not-a-number", LintSeverity::Error, capacities::not_a_number),
    rule("absent", LintSeverity::Error, constraints::absent),
    rule("tag-ignored", LintSeverity::Error, constraints::tags),
    rule("exclusive-nowhere", LintSeverity::Error, constraints::exclusive_nowhere),
    rule("exclusive-ignored", LintSeverity::Error, constraints::exclusive_ignored),
    rule("circle", LintSeverity::Warning, constraints::circles),
    rule("order-circle", LintSeverity::Error, constraints::order_circles),
    rule("leftover", LintSeverity::Warning, constraints::leftovers),
    rule("contradiction", LintSeverity::Error, constraints::contradictions),
];

/// The names of all rules.
pub fn rules() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|rule| rule.name)
}

/// Why a cluster cannot be looked through.
#[derive(Debug, thiserror::Error)]
pub enum LintError {
    /// Its document cannot be read.
    #[error(transparent)]
    Document(#[from] htools_ganeti::input::error::LoadError),
    /// Its colocations cannot be followed.
    #[error(transparent)]
    Placing(#[from] PlacingError),
}

/// All that is found in the CIB that `text` is; errors name `source`. `suggest` ends a sentence about a name that is not
/// there by one that may be meant.
///
/// # Errors
/// The text is no CIB, or its colocations cannot be followed.
pub fn lint(text: &str, source: &str, suggest: NameSuggestion<'_>) -> Result<Vec<LintFinding>, LintError> {
    let document = document::parse(text, source)?;
    // the rest can be read without constraints about what is not there, for which it is refused
    let mut rest = text.to_owned();
    for range in constraints::about_nothing(&document) {
        let lines = text[range.clone()].matches('\n').count();
        rest.replace_range(
            range.clone(),
            &format!("{}{}", "\n".repeat(lines), " ".repeat(range.len() - lines)),
        );
    }
    let set = cib::parse(&rest, source)?;
    let linted = LintedCib { set: &set, document: &document, suggest };
    let mut findings = Vec::new();
    for rule in &RULES {
        findings.extend((rule.find)(&linted)?.into_iter().map(|complaint| LintFinding {
            rule: rule.name,
            severity: rule.severity,
            element: complaint.element,
            id: complaint.id,
            problem: complaint.problem,
            advice: complaint.advice,
        }));
    }
    Ok(findings)
}
