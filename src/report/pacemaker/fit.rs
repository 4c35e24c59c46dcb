//! Number of further resources that fit, for people and as `htools.fit/1`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::json::amounts;
use super::text::trimmed;
use crate::model::shown::shown_name;
use crate::pacemaker::fit::{FitQuestion, MOST, MoreFitting};
use crate::pacemaker::{Strategy, WorkingSet, by_shown_name};
use crate::report::form::json::Generator;
use crate::report::form::table::{Align, Table};

pub(crate) const SCHEMA: &str = "htools.fit/1";

/// Number of resources that still fit into a settled cluster.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FitResult<'a> {
    /// The settled cluster.
    pub settled: &'a WorkingSet,
    /// Strategy of its placement.
    pub strategy: Strategy,
    /// The question.
    pub question: &'a FitQuestion,
    /// The answer.
    pub more: &'a MoreFitting,
}

impl FitResult<'_> {
    /// The lines for people.
    pub(crate) fn lines(&self) -> Vec<String> {
        let (set, more) = (self.settled, self.more);
        let kind = |kind: crate::pacemaker::AttributeIdx| shown_name(&set.attributes[kind.get()]);
        let size: Vec<String> =
            self.question.size.iter().map(|(of, amount)| format!("{}={amount}", kind(of))).collect();
        let least = if more.count == MOST { "at least " } else { "" };
        let lost = match self.question.survive {
            1 => "node".to_owned(),
            count => format!("{count} nodes"),
        };
        let survival = match (self.question.survive, more.survives) {
            (0, _) => String::new(),
            (_, true) => format!(", and after the loss of any {lost} all still run"),
            (_, false) => {
                format!(": even now the loss of a {lost} leaves something down (hplace survive tells which)")
            }
        };
        let mut lines = vec![format!(
            "Strategy {}: {least}{} more with {} fit{survival}",
            self.strategy,
            more.count,
            size.join(", ")
        )];
        lines.push(String::new());
        let kinds: Vec<_> = self.question.size.iter().map(|(kind, _)| kind).collect();
        let first = [("Node".to_owned(), Align::Left), ("More".to_owned(), Align::Right)];
        let titles = kinds.iter().map(|of| (kind(*of), Align::Right));
        let mut table = Table::new(first.into_iter().chain(titles));
        for host in by_shown_name(set) {
            let of = set.host(host);
            let cell = |kind: &_| {
                format!("{} of {} free", more.remaining[host.get()].get(*kind), of.capacity.get(*kind))
            };
            let row = [shown_name(&of.name), more.by_host[host.get()].to_string()];
            table.push(row.into_iter().chain(kinds.iter().map(cell)).collect());
        }
        lines.extend(trimmed(&table));
        if let Some((host, missing)) = &more.first_full {
            let missing: Vec<String> = missing.iter().map(|of| kind(*of)).collect();
            lines.push(String::new());
            lines.push(format!(
                "{} is full first: {}",
                shown_name(&set.host(*host).name),
                missing.join(", ")
            ));
        }
        lines
    }

    pub(crate) fn document(&self) -> FitDocument {
        let (set, more) = (self.settled, self.more);
        let node = |host: crate::pacemaker::HostIdx| FitNode {
            name: set.host(host).name.clone(),
            more: more.by_host[host.get()],
            free: amounts(set, &more.remaining[host.get()]),
        };
        let full = more.first_full.as_ref().map(|(host, missing)| FullNode {
            name: set.host(*host).name.clone(),
            lacks: missing.iter().map(|kind| set.attributes[kind.get()].clone()).collect(),
        });
        FitDocument {
            schema: SCHEMA,
            generator: Generator::this(),
            strategy: self.strategy.as_str(),
            size: amounts(set, &self.question.size),
            survive: self.question.survive,
            count: more.count,
            survives_now: more.survives,
            nodes: set.host_indices().map(node).collect(),
            first_full: full,
        }
    }
}

/// Number and place of the resources that still fit.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct FitDocument {
    schema: &'static str,
    generator: Generator,
    strategy: &'static str,
    size: BTreeMap<String, i64>,
    survive: usize,
    count: usize,
    survives_now: bool,
    nodes: Vec<FitNode>,
    first_full: Option<FullNode>,
}

#[derive(Debug, Clone, Serialize)]
struct FitNode {
    name: String,
    more: usize,
    free: BTreeMap<String, i64>,
}

#[derive(Debug, Clone, Serialize)]
struct FullNode {
    name: String,
    lacks: Vec<String>,
}
