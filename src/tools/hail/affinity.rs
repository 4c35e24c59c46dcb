//! `hail --affinity`: affinity keys choose the primary nodes of new instances.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{bail, ensure};

use super::HailOptions;
use crate::affinity::{AffinityOptions, AffinityRule, FleetFigures};
use crate::model::NodeIdx;
use crate::report::pacemaker::affinity::choice_lines;
use crate::search::requests::{Answer, Reply};

/// The rule that chooses primary nodes, if `--affinity` is given.
///
/// # Errors
/// Options that contradict each other.
pub(super) fn rule(options: &HailOptions) -> anyhow::Result<Option<Arc<AffinityRule>>> {
    let choices = &options.affinity;
    if !choices.asked {
        return match choices.first_given() {
            Some(name) => bail!("option {name} needs --affinity"),
            None => Ok(None),
        };
    }
    ensure!(!options.make_room, "options --make-room and --affinity exclude each other");
    let how = choices.over(&AffinityOptions::default()).map_err(anyhow::Error::msg)?;
    let is_load_known = options.load.mond && !options.load.merge.ignore_dynu;
    let figures = FleetFigures { ram_ratio: choices.ram_ratio.unwrap_or(1.0), is_load_known };
    Ok(Some(Arc::new(AffinityRule::new(how, figures))))
}

/// Reasons for and against the nodes for each new instance. Lists the nodes of the instance's group, or those of all
/// groups if it has no place.
pub(super) fn reasons(rule: &AffinityRule, reply: &Reply) -> Vec<String> {
    let mut placed: HashMap<&str, NodeIdx> = HashMap::new();
    match &reply.answer {
        Ok(Answer::Allocated { choice, nodes }) => {
            placed.extend(nodes.first().map(|node| (choice.instance.as_str(), *node)));
        }
        Ok(Answer::MultiAllocated { allocated, .. }) => {
            placed
                .extend(allocated.iter().filter_map(|(name, nodes)| Some((name.as_str(), *nodes.first()?))));
        }
        _ => {}
    }
    let mut lines = Vec::new();
    for record in rule.records() {
        let node = placed.get(record.instance()).copied();
        if node.is_none_or(|node| reply.cluster.node(node).spec.group == record.group) {
            let record = record.settled(node);
            lines.extend(choice_lines(&record.fleet, &record.choice));
        }
    }
    lines
}
