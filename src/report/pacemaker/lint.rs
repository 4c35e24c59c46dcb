//! Likely mistakes in a CIB, for people and as `htools.lint/1`.

use serde::Serialize;

use crate::model::shown::shown_name;
use crate::pacemaker::lint::LintFinding;
use crate::report::form::json::Generator;

pub(crate) const SCHEMA: &str = "htools.lint/1";

/// The lines about the findings.
pub(crate) fn lines(findings: &[LintFinding]) -> Vec<String> {
    if findings.is_empty() {
        return vec!["Nothing found".to_owned()];
    }
    let line = |finding: &LintFinding| {
        let id = if finding.id.is_empty() { String::new() } else { format!(" {}", shown_name(&finding.id)) };
        format!(
            "{}: {}{id}: {}; {} [{}]",
            finding.severity, finding.element, finding.problem, finding.advice, finding.rule
        )
    };
    findings.iter().map(line).collect()
}

/// The document about the findings.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct LintDocument<'a> {
    schema: &'static str,
    generator: Generator,
    findings: Vec<LintView<'a>>,
}

#[derive(Debug, Clone, Serialize)]
struct LintView<'a> {
    rule: &'static str,
    severity: &'static str,
    element: &'a str,
    id: &'a str,
    problem: &'a str,
    advice: &'a str,
}

impl<'a> LintDocument<'a> {
    /// The document about some findings.
    pub(crate) fn of(findings: &'a [LintFinding]) -> LintDocument<'a> {
        let view = |finding: &'a LintFinding| LintView {
            rule: finding.rule,
            severity: finding.severity.as_str(),
            element: &finding.element,
            id: &finding.id,
            problem: &finding.problem,
            advice: &finding.advice,
        };
        LintDocument {
            schema: SCHEMA,
            generator: Generator::this(),
            findings: findings.iter().map(view).collect(),
        }
    }
}
