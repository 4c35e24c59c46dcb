//! Reports on Pacemaker clusters: the placement of resources, and explanations.

pub(crate) mod affinity;
pub(crate) mod carried;
mod changes;
pub(crate) mod commands;
mod container;
pub mod crm_simulate;
pub(crate) mod fit;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod lint;
pub(crate) mod normalized;
pub(crate) mod optimum;
mod parts;
mod promotion;
pub(crate) mod rolling;
pub(crate) mod simulation;
pub(crate) mod survive;
pub(crate) mod text;
pub mod transition;
pub(crate) mod warnings;
pub(crate) mod why;

/// Maximum number of names that are listed one by one.
const NAMES: usize = 5;

/// The first few of some names.
fn first_few(names: impl Iterator<Item = String>) -> String {
    let mut names: Vec<String> = names.collect();
    if names.len() > NAMES {
        let more = format!("and {} more", names.len() - NAMES);
        names.truncate(NAMES);
        names.push(more);
    }
    names.join(", ")
}
