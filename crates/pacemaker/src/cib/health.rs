//! Health of nodes, as scores for all resources.

use super::super::number::leading;
use super::super::score::AllocationScore;
use super::super::working_set::{Host, NODE_HEALTH};
use super::properties::Properties;

/// Scores for the health attributes of a node, whose names begin with `#health`. The scores of all attributes are added
/// up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HealthScores {
    /// Score of a node without such attributes.
    base: AllocationScore,
    red: AllocationScore,
    yellow: AllocationScore,
    green: AllocationScore,
}

impl HealthScores {
    /// Reads the scores from the options of a cluster; `None` if health does not count.
    pub(super) fn of(options: &Properties<'_>) -> Option<HealthScores> {
        let (never, zero) = (AllocationScore::MINUS_INFINITY, AllocationScore::ZERO);
        let of_colors =
            |yellow| Some(HealthScores { base: zero, red: never, yellow, green: AllocationScore::ZERO });
        let own = |base| {
            Some(HealthScores {
                base,
                red: score(options, "node-health-red", never),
                yellow: score(options, "node-health-yellow", zero),
                green: score(options, "node-health-green", zero),
            })
        };
        match options.get(NODE_HEALTH)?.to_ascii_lowercase().as_str() {
            "migrate-on-red" => of_colors(zero),
            "only-green" => of_colors(never),
            "progressive" => own(score(options, "node-health-base", zero)),
            "custom" => own(zero),
            _ => None,
        }
    }

    /// Health score of a host.
    pub(super) fn worth(&self, host: &Host) -> AllocationScore {
        // Of two attributes with one name, the later one counts.
        let holds = |(at, (name, _)): &(usize, &(String, String))| {
            name.starts_with("#health") && host.attributes[at + 1..].iter().all(|(other, _)| other != name)
        };
        let findings = host.attributes.iter().enumerate().filter(holds);
        findings.fold(self.base, |sum, (_, (_, value))| sum.plus(self.finding(value)))
    }

    fn finding(&self, value: &str) -> AllocationScore {
        match value.to_ascii_lowercase().as_str() {
            "red" => self.red,
            "yellow" => self.yellow,
            "green" => self.green,
            _ => AllocationScore::parse(value).unwrap_or_default(),
        }
    }
}

/// Score that the value of a node attribute stands for. Colours have scores only with a health strategy.
pub(super) fn score_of(value: &str, health: Option<HealthScores>) -> AllocationScore {
    health.map_or_else(|| AllocationScore::parse(value).unwrap_or_default(), |health| health.finding(value))
}

/// The score of an option; the default if it is no number.
fn score(options: &Properties<'_>, name: &str, default: AllocationScore) -> AllocationScore {
    let is_number = |text: &&str| leading(text).is_some() || text.to_ascii_lowercase().ends_with("infinity");
    options.get(name).filter(is_number).and_then(AllocationScore::parse).unwrap_or(default)
}
