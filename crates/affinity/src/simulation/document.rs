//! Arrivals and departures of machines as JSON documents (docs/schema/htools.arrivals-1.json).

use serde::Deserialize;

use super::timeline::{Rental, Timeline};
use crate::document::{ClusterPart, FleetDocument, LevelsPart, MachinePart, NodePart, OptionsPart, fleet};
use crate::{AffinityOptions, Fleet};
use htools_ganeti::input::error::{LoadError, Result};
use htools_model::shown::shown_source;

/// Default number of days.
pub const DAYS: u32 = 365;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ArrivalsDocument {
    #[serde(default)]
    days: Option<u32>,
    #[serde(default)]
    cluster: ClusterPart,
    nodes: Vec<NodePart>,
    vms: Vec<RentalPart>,
    #[serde(default)]
    options: OptionsPart,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RentalPart {
    name: String,
    arrives: f64,
    #[serde(default)]
    leaves: Option<f64>,
    ram: u32,
    vcpus: u32,
    #[serde(default)]
    keys: LevelsPart,
}

/// A parsed document.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrivals {
    /// The nodes, and the kinds of machines.
    pub fleet: Fleet,
    /// Arrivals and departures.
    pub rentals: Vec<Rental>,
    /// Number of days to simulate.
    pub days: u32,
    /// Oddities, one line each.
    pub warnings: Vec<String>,
}

/// Reads a document. Errors name `source`.
///
/// # Errors
/// If it is not such a document, or contradicts itself.
pub fn parse(text: &str, source: &str) -> Result<Arrivals> {
    let source = &shown_source(source);
    let document: ArrivalsDocument =
        serde_json::from_str(text).map_err(|e| LoadError::one_line(source, &e.to_string()))?;
    let time = |(machine, part): (usize, &RentalPart)| Rental {
        machine,
        arrives: part.arrives,
        leaves: part.leaves,
    };
    let rentals = document.vms.iter().enumerate().map(time).collect();
    let machine = |part: RentalPart| MachinePart {
        name: part.name,
        ram: part.ram,
        vcpus: part.vcpus,
        node: None,
        last_node: None,
        disk_node: None,
        keys: part.keys,
        started_with: None,
    };
    let vms = document.vms.into_iter().map(machine).collect();
    let start =
        FleetDocument { cluster: document.cluster, nodes: document.nodes, vms, options: document.options };
    let (fleet, warnings) = fleet(start, source)?;
    Ok(Arrivals { fleet, rentals, days: document.days.unwrap_or(DAYS), warnings })
}

impl Arrivals {
    /// The events of `days` days, with machines placed by keys according to `options`.
    ///
    /// # Errors
    /// If times are invalid, or there are too many; the error names `source`.
    pub fn timeline(self, options: AffinityOptions, days: u32, source: &str) -> Result<Timeline> {
        let fleet = Fleet { options, ..self.fleet };
        let made = Timeline::new(fleet, self.rentals, days);
        made.map_err(|problem| LoadError::one_line(&shown_source(source), &problem.to_string()))
    }
}
