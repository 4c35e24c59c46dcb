//! Knots: things of which each is behind all others of its knot.

/// By what each of some is behind: for each one, the number of those with which it is in circles; its own if there
/// are none.
pub(crate) fn knots(before: &[Vec<usize>]) -> Vec<usize> {
    let mut following = vec![Vec::new(); before.len()];
    for (after, earlier) in before.iter().enumerate() {
        earlier.iter().for_each(|one| following[*one].push(after));
    }
    // who is reached both ways from the last one of a walk that is left is in circles with it
    let ends = walked(&following);
    let mut knot = vec![usize::MAX; before.len()];
    for start in ends.into_iter().rev() {
        let mut left = vec![start];
        while let Some(one) = left.pop() {
            if knot[one] == usize::MAX {
                knot[one] = start;
                left.extend(&before[one]);
            }
        }
    }
    knot
}

/// All steps in the order in which walks along what follows end with them.
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
