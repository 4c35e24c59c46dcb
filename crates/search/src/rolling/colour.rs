//! Graph colouring: neighbours get different colours, with few colours found quickly.

use htools_model::words;
use std::collections::BTreeSet;

use super::graph::ConflictGraph;

words!(
    /// Order in which vertices are coloured. Each vertex gets the first colour that none of its neighbours has.
    /// Among equal vertices, the last one is next.
    pub Algorithm, "algorithm" {
        /// Most neighbours first.
        LargestFirst = "LF",
        /// Most colours among the neighbours first, then as `LargestFirst`.
        Saturation = "Dsatur",
        /// Most coloured neighbours first, then as `LargestFirst`.
        ColouredDegree = "Dcolor",
    }
);

impl Algorithm {
    pub(crate) fn colour(self, graph: &ConflictGraph) -> Colouring {
        let mut painter = Painter::new(graph);
        match self {
            Algorithm::LargestFirst => {
                let mut order: Vec<usize> = (0..graph.len()).collect();
                order.sort_by_key(|v| std::cmp::Reverse((graph.degree(*v), *v)));
                order.into_iter().for_each(|vertex| drop(painter.paint(vertex)));
            }
            Algorithm::Saturation => painter.paint_by_urgency(|known, _| usize::from(!known)),
            Algorithm::ColouredDegree => painter.paint_by_urgency(|_, times| times),
        }
        painter.colouring(self)
    }
}

/// The vertices by colour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Colouring {
    /// The algorithm that found it.
    pub algorithm: Algorithm,
    /// The vertices of each colour, in ascending order.
    pub classes: Vec<Vec<usize>>,
}

/// A set of small numbers.
#[derive(Debug, Clone, Default)]
struct Colours(Vec<u64>);

impl Colours {
    /// Adds a colour. Returns true if it was there already.
    fn insert(&mut self, colour: usize) -> bool {
        let (word, bit) = (colour / 64, 1 << (colour % 64));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let known = self.0[word] & bit != 0;
        self.0[word] |= bit;
        known
    }

    /// The smallest number that is not in the set.
    fn first_missing(&self) -> usize {
        let free = self.0.iter().position(|word| *word != u64::MAX);
        free.map_or(self.0.len() * 64, |at| at * 64 + self.0[at].trailing_ones() as usize)
    }
}

/// A graph in which some vertices have colours.
struct Painter<'a> {
    graph: &'a ConflictGraph,
    colour: Vec<Option<usize>>,
    /// The colours next to each vertex.
    nearby: Vec<Colours>,
}

impl<'a> Painter<'a> {
    fn new(graph: &'a ConflictGraph) -> Painter<'a> {
        Painter { graph, colour: vec![None; graph.len()], nearby: vec![Colours::default(); graph.len()] }
    }

    /// Colours a vertex. Returns its uncoloured neighbours. For each, the result has true if one of its
    /// neighbours had that colour already, and its multiplicity as a neighbour.
    fn paint(&mut self, vertex: usize) -> Vec<(usize, bool, usize)> {
        let colour = self.nearby[vertex].first_missing();
        self.colour[vertex] = Some(colour);
        let (nearby, colours) = (&mut self.nearby, &self.colour);
        let open = self.graph.distinct(vertex).iter().filter(|(other, _)| colours[*other].is_none());
        open.map(|(other, times)| (*other, nearby[*other].insert(colour), *times)).collect()
    }

    /// Colours all vertices, the most urgent first. `gain` is the increase in urgency of a neighbour.
    fn paint_by_urgency(&mut self, gain: impl Fn(bool, usize) -> usize) {
        let graph = self.graph;
        let mut urgency = vec![0_usize; graph.len()];
        let mut queue: BTreeSet<(usize, usize, usize)> =
            (0..graph.len()).map(|v| (0, graph.degree(v), v)).collect();
        while let Some((_, _, vertex)) = queue.pop_last() {
            for (other, known, times) in self.paint(vertex) {
                let more = gain(known, times);
                if more > 0 {
                    queue.remove(&(urgency[other], graph.degree(other), other));
                    urgency[other] += more;
                    queue.insert((urgency[other], graph.degree(other), other));
                }
            }
        }
    }

    fn colouring(self, algorithm: Algorithm) -> Colouring {
        let mut classes: Vec<Vec<usize>> = Vec::new();
        for (vertex, colour) in self.colour.into_iter().enumerate() {
            let colour = colour.expect("every vertex was painted");
            if classes.len() <= colour {
                classes.resize(colour + 1, Vec::new());
            }
            classes[colour].push(vertex);
        }
        Colouring { algorithm, classes }
    }
}
