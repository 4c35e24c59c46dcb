//! JSON documents (`--json`). Each says which schema it follows; the schemas are
//! in `docs/schema/`. Sizes are in MiB; a number that is not finite is null.

pub mod cluster;
pub mod explain;
pub mod info;
pub mod plan;

use serde::Serialize;

use crate::score::{Components, TABLE};

/// A document as it is printed.
pub fn text(document: &impl Serialize) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(document)? + "\n")
}

/// The program that made a document.
#[derive(Debug, Clone, Serialize)]
pub struct Generator {
    name: &'static str,
    version: &'static str,
}

impl Generator {
    /// This program.
    pub fn this() -> Generator {
        Generator { name: "htools", version: env!("CARGO_PKG_VERSION") }
    }
}

/// A score with its metrics.
#[derive(Debug, Clone, Serialize)]
pub struct Score {
    score: f64,
    components: Vec<Component>,
}

#[derive(Debug, Clone, Serialize)]
struct Component {
    name: &'static str,
    value: f64,
    weight: f64,
}

impl Score {
    /// The score that metrics make.
    pub fn of(components: &Components) -> Score {
        let component = |(metric, value): (&crate::score::Metric, &f64)| Component {
            name: metric.name,
            value: *value,
            weight: metric.weight,
        };
        Score {
            score: components.score(),
            components: TABLE.iter().zip(&components.values).map(component).collect(),
        }
    }
}
