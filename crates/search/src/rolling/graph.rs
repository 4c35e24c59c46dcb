//! Nodes that cannot be down at the same time.

use htools_model::{Cluster, NodeIdx};

use super::RollingOptions;

/// Graph of conflicts between the selected nodes. Two nodes are neighbours in two cases: if one has the
/// secondaries of the other's instances, or if a third node has those of both and cannot take over all of them.
/// Neighbours have multiplicities, and a vertex may be its own neighbour; both count for degrees.
#[derive(Debug, Clone)]
pub struct ConflictGraph {
    nodes: Vec<NodeIdx>,
    /// Neighbours of each vertex in the order of entry, oldest first.
    lists: Vec<Vec<usize>>,
    /// Neighbours of each vertex other than itself, once each, with the number of times they are in its list.
    distinct: Vec<Vec<(usize, usize)>>,
}

impl ConflictGraph {
    /// The conflicts among some nodes, which are in ascending order.
    pub(crate) fn of(cluster: &Cluster, selected: &[NodeIdx], options: &RollingOptions) -> ConflictGraph {
        let mut vertex_of = vec![None; cluster.nodes.len()];
        for (vertex, node) in selected.iter().enumerate() {
            vertex_of[node.get()] = Some(vertex);
        }
        let mut lists = vec![Vec::new(); selected.len()];
        for instance in &cluster.instances {
            let Some(mirror) = instance.mirror() else { continue };
            if options.offline_maintenance && options.is_stopped_and_ignored(instance) {
                continue;
            }
            if let (Some(a), Some(b)) = (vertex_of[instance.primary.get()], vertex_of[mirror.get()]) {
                lists[a].push(b);
                lists[b].push(a);
            }
        }
        if !options.offline_maintenance {
            join_primaries(&takeovers(cluster, &vertex_of, options), &mut lists);
        }
        ConflictGraph { nodes: selected.to_vec(), distinct: counted(&lists), lists }
    }

    /// A graph with these lists of neighbours, for tests.
    #[cfg(test)]
    pub(crate) fn of_lists(lists: Vec<Vec<usize>>) -> ConflictGraph {
        let nodes = (0..lists.len()).map(NodeIdx::new).collect();
        ConflictGraph { nodes, distinct: counted(&lists), lists }
    }

    /// Number of vertices.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns true if there are no vertices.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The node of a vertex.
    pub fn node(&self, vertex: usize) -> NodeIdx {
        self.nodes[vertex]
    }

    /// Neighbours of a vertex with repetitions, newest first; includes the vertex itself if it is its own
    /// neighbour.
    pub fn neighbours(&self, vertex: usize) -> impl Iterator<Item = usize> + '_ {
        self.lists[vertex].iter().rev().copied()
    }

    /// Length of the list of neighbours.
    pub(crate) fn degree(&self, vertex: usize) -> usize {
        self.lists[vertex].len()
    }

    /// The other vertices next to this one, with their multiplicities.
    pub fn distinct(&self, vertex: usize) -> &[(usize, usize)] {
        &self.distinct[vertex]
    }
}

/// For each node of the cluster, the vertices whose instances it would run if they were down. Each vertex is
/// listed once; that of the newest secondary comes first.
fn takeovers(cluster: &Cluster, vertex_of: &[Option<usize>], options: &RollingOptions) -> Vec<Vec<usize>> {
    let mut last_seen = vec![usize::MAX; vertex_of.len()];
    let of_node = |node: &htools_model::Node| {
        let here = node.spec.idx.get();
        let mut vertices = Vec::new();
        for idx in node.state.secondaries.iter().rev() {
            let instance = cluster.instance(*idx);
            let Some(vertex) = vertex_of[instance.primary.get()] else { continue };
            // A node cannot take over its own instances, even if the source says so.
            let helps = instance.primary.get() != here && !options.is_stopped_and_ignored(instance);
            if last_seen[vertex] != here && helps {
                last_seen[vertex] = here;
                vertices.push(vertex);
            }
        }
        vertices
    };
    cluster.nodes.iter().map(of_node).collect()
}

/// Makes the vertices in each list neighbours of each other and of themselves, unless they already are. It
/// proceeds vertex by vertex, so that one mark per vertex is enough.
fn join_primaries(together: &[Vec<usize>], lists: &mut [Vec<usize>]) {
    let mut member_of = vec![Vec::new(); lists.len()];
    for (number, vertices) in together.iter().enumerate() {
        vertices.iter().for_each(|v| member_of[*v].push(number));
    }
    let mut known_to = vec![usize::MAX; lists.len()];
    for (vertex, list) in lists.iter_mut().enumerate() {
        list.iter().for_each(|other| known_to[*other] = vertex);
        for other in member_of[vertex].iter().flat_map(|number| &together[*number]) {
            if known_to[*other] != vertex {
                known_to[*other] = vertex;
                list.push(*other);
            }
        }
    }
}

fn counted(lists: &[Vec<usize>]) -> Vec<Vec<(usize, usize)>> {
    let mut count = vec![0_usize; lists.len()];
    let of_vertex = |(vertex, list): (usize, &Vec<usize>)| {
        let mut order = Vec::new();
        for other in list.iter().filter(|other| **other != vertex) {
            if count[*other] == 0 {
                order.push(*other);
            }
            count[*other] += 1;
        }
        order.into_iter().map(|other| (other, std::mem::take(&mut count[other]))).collect()
    };
    lists.iter().enumerate().map(of_vertex).collect()
}
