//! Strongly connected components of a graph.

/// Strongly connected components of a graph in which `before` has the predecessors of each node. Returns the component
/// of each node, named by one of its nodes.
pub(crate) fn strong_components(before: &[Vec<usize>]) -> Vec<usize> {
    let mut following = vec![Vec::new(); before.len()];
    for (after, earlier) in before.iter().enumerate() {
        earlier.iter().for_each(|one| following[*one].push(after));
    }
    // A node reached both ways from the last remaining end of a walk is in a circle with it (Kosaraju's algorithm).
    let ends = walked(&following);
    let mut component = vec![usize::MAX; before.len()];
    for start in ends.into_iter().rev() {
        let mut left = vec![start];
        while let Some(one) = left.pop() {
            if component[one] == usize::MAX {
                component[one] = start;
                left.extend(&before[one]);
            }
        }
    }
    component
}

/// All nodes in the order in which depth-first walks leave them.
fn walked(following: &[Vec<usize>]) -> Vec<usize> {
    let mut seen = vec![false; following.len()];
    let mut ends = Vec::with_capacity(following.len());
    for start in 0..following.len() {
        let mut way = vec![(start, 0)];
        while let Some((step, next)) = way.pop() {
            if next == 0 && std::mem::replace(&mut seen[step], true) {
                continue;
            }
            match following[step].get(next) {
                Some(after) => way.extend([(step, next + 1), (*after, 0)]),
                None => ends.push(step),
            }
        }
    }
    ends
}
