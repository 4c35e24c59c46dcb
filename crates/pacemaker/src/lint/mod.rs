//! Finds likely configuration mistakes: a CIB that is legal, but probably not as intended. Each rule is one function;
//! docs/pacemaker.md lists them.

mod capacities;
mod complaint;
mod constraints;
mod options;
mod promotables;
mod roles;
mod tickets;

pub(crate) use complaint::NameSuggestion;

use super::cib::{self, document};
use super::place::PlacingError;
use complaint::{Complaint, LintedCib};
use htools_model::words;

words!(
    /// Severity of a finding.
    pub LintSeverity, "severity" {
        /// Something has no effect: it never runs, or is ignored.
        Error = "error",
        /// It works, with surprises.
        Warning = "warning",
    }
);

/// A likely configuration mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LintFinding {
    /// Name of the rule.
    pub rule: &'static str,
    /// Severity of the mistake.
    pub severity: LintSeverity,
    /// The kind of element.
    pub element: String,
    /// Its id; empty if it has none, or is not there.
    pub id: String,
    /// Description of the problem.
    pub problem: String,
    /// Suggested remedy.
    pub advice: String,
}

/// A rule: its name, the severity of its findings, and its function.
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
const RULES: [LintRule; 22] = [
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
    rule("promoted-max", LintSeverity::Warning, promotables::too_many_promoted),
    rule("role-not-named", LintSeverity::Warning, promotables::role_not_named),
    rule("no-promotion-order", LintSeverity::Warning, promotables::no_promotion_order),
    rule("no-notify", LintSeverity::Warning, promotables::no_notify),
    rule("no-such-role", LintSeverity::Warning, roles::not_promotable),
    rule("ticket-never-granted", LintSeverity::Warning, tickets::never_granted),
];

/// The names of all rules.
pub fn rules() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|rule| rule.name)
}

/// Reason why a cluster cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum LintError {
    /// Its document cannot be read.
    #[error(transparent)]
    Document(#[from] htools_ganeti::input::error::LoadError),
    /// Its colocations cannot be followed.
    #[error(transparent)]
    Placing(#[from] PlacingError),
}

/// Lists all findings about a CIB; errors name `source`. For an unknown name, `suggest` ends the sentence with one that
/// may be meant.
///
/// # Errors
/// Fails if the text is no CIB, or if its colocations cannot be followed.
pub fn lint(text: &str, source: &str, suggest: NameSuggestion<'_>) -> Result<Vec<LintFinding>, LintError> {
    let document = document::parse(text, source)?;
    // Constraints about missing resources are blanked out, as the reader would refuse the whole document.
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
