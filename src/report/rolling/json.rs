//! The document of `hroller --json`: schema `htools.roll/1`.

use serde::Serialize;

use super::text::node_names;
use crate::model::{Cluster, MovedMeanwhile};
use crate::plan::shell::Line;
use crate::report::form::json::{Generator, Nodes, texts};
use crate::search::rolling::colour::Colouring;
use crate::search::rolling::{Conflicts, Part};

pub(crate) const SCHEMA: &str = "htools.roll/1";

#[derive(Debug, Clone, Serialize)]
pub(crate) struct RollingDocument {
    schema: &'static str,
    generator: Generator,
    master: Option<String>,
    colourings: Vec<ColouringView>,
    chosen: &'static str,
    group_count: usize,
    groups: Vec<RebootGroup>,
}

/// Result of a colouring.
#[derive(Debug, Clone, Serialize)]
struct ColouringView {
    algorithm: &'static str,
    colours: usize,
    sizes: Vec<usize>,
}

/// Nodes that can be down together.
#[derive(Debug, Clone, Serialize)]
struct RebootGroup {
    number: usize,
    nodes: Vec<String>,
    moves: Vec<MovedView>,
    commands: Vec<String>,
}

/// An instance that is elsewhere in the meantime.
#[derive(Debug, Clone, Serialize)]
struct MovedView {
    instance: String,
    from: Nodes,
    to: Nodes,
}

/// The document of a plan. `count` is the number of all its groups; `groups` are those shown, with their commands.
pub(crate) fn document(
    cluster: &Cluster,
    conflicts: &Conflicts,
    count: usize,
    groups: &[(&Part, Vec<Line>)],
) -> RollingDocument {
    let master = cluster.nodes.iter().find(|n| n.spec.master).map(|n| n.spec.name.clone());
    let statistics = |c: &Colouring| ColouringView {
        algorithm: c.algorithm.as_str(),
        colours: c.classes.len(),
        sizes: c.classes.iter().map(Vec::len).collect(),
    };
    let moved = |m: &MovedMeanwhile| MovedView {
        instance: cluster.instance(m.instance).name.clone(),
        from: Nodes::of(cluster, m.from),
        to: Nodes::of(cluster, m.to),
    };
    let groups = (1..).zip(groups).map(|(number, (part, lines))| RebootGroup {
        number,
        nodes: node_names(cluster, part).into_iter().map(str::to_owned).collect(),
        moves: part.moves.iter().map(moved).collect(),
        commands: texts(lines),
    });
    RollingDocument {
        schema: SCHEMA,
        generator: Generator::this(),
        master,
        colourings: conflicts.colourings.iter().map(statistics).collect(),
        chosen: conflicts.best().algorithm.as_str(),
        group_count: count,
        groups: groups.collect(),
    }
}
