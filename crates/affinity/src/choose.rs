//! On which node a machine is started.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};

use rayon::prelude::*;

use super::fleet::{AffinityOptions, Fleet};
use super::keys::{AffinityKey, CompiledKeys, copies};
use super::occupancy::{DetachedMachine, KeyTerm, NodeRefusal, Occupancy, started_with};
use htools_model::TagId;
use htools_model::random::Random;

/// The choice of a node for a machine, and how it came about.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineChoice {
    /// The machine, by position.
    pub machine: usize,
    /// What its keys come to.
    pub keys: CompiledKeys,
    /// By node, what speaks for it and against it.
    pub verdicts: Vec<NodeVerdict>,
    /// The round in which nodes passed, from 1.
    pub round: Option<u32>,
    /// The node that was chosen, by position.
    pub node: Option<usize>,
    /// Keys that the machine takes along from that node.
    pub sticky: Vec<AffinityKey>,
}

/// What speaks for a node and against it.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeVerdict {
    /// Why the machine cannot be started there, if it cannot.
    pub refusal: Option<NodeRefusal>,
    /// What the operator's keys say, in the order of their names.
    pub system: f64,
    /// Whether that is more than the threshold of the round.
    pub passed: bool,
    /// What the customer's keys say.
    pub customer: f64,
    /// What the two are made of; empty unless that was asked.
    pub terms: [Vec<KeyTerm>; 2],
}

/// The order in which machines get their nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MachineOrder {
    /// As they are told.
    #[default]
    Document,
    /// Those with more memory first.
    Ram,
}

/// What is to be said of each choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChoiceDetail {
    /// Scores.
    Scores,
    /// Scores and what they are made of.
    Terms,
}

/// Chooses a node for every machine that has none, one after the other: each sees those before.
pub fn place_all(fleet: &Fleet, order: MachineOrder, detail: ChoiceDetail) -> Vec<MachineChoice> {
    let mut occupancy = Occupancy::of(fleet);
    let mut waiting: Vec<usize> =
        (0..fleet.machines.len()).filter(|at| fleet.machines[*at].node.is_none()).collect();
    if order == MachineOrder::Ram {
        waiting.sort_by_key(|at| std::cmp::Reverse(fleet.machines[*at].ram));
    }
    let choose_one = |at: usize| {
        let mut choice = choose(fleet, &occupancy, at, None, detail);
        if let Some(node) = choice.node {
            let machine = &fleet.machines[at];
            let keys = choice.keys.customer.iter().map(|key| (key.name.clone(), key.value));
            occupancy.start(node, machine, &keys.collect::<Vec<_>>());
            choice.sticky = copies(&fleet.nodes[node].keys);
        }
        choice
    };
    partners_first(fleet, waiting).into_iter().map(choose_one).collect()
}

/// The same machines in the same order, but for those that others have to be with: they come before these.
fn partners_first(fleet: &Fleet, waiting: Vec<usize>) -> Vec<usize> {
    let mut bearers: HashMap<TagId, Vec<usize>> = HashMap::new();
    for at in &waiting {
        fleet.machines[*at].marks.iter().for_each(|mark| bearers.entry(mark).or_default().push(*at));
    }
    if bearers.is_empty() {
        return waiting;
    }
    let partners = |at: usize| {
        let marks = fleet.machines[at].beside.iter().filter_map(|mark| bearers.get(&mark));
        marks.flatten().copied().collect::<Vec<usize>>()
    };
    let (mut order, mut seen) = (Vec::new(), HashSet::new());
    for first in waiting {
        // whom to go on with when its partners have come; a chain may be as long as the fleet is large
        let mut open = vec![(first, false)];
        while let Some((at, is_done)) = open.pop() {
            if is_done {
                order.push(at);
            } else if seen.insert(at) {
                open.push((at, true));
                open.extend(partners(at).into_iter().rev().map(|partner| (partner, false)));
            }
        }
    }
    order
}

/// Chooses a node for a machine among the nodes as they are, without the one that is looked at as if it did not run.
pub fn choose(
    fleet: &Fleet,
    occupancy: &Occupancy,
    at: usize,
    detached: Option<DetachedMachine<'_>>,
    detail: ChoiceDetail,
) -> MachineChoice {
    let machine = &fleet.machines[at];
    let keys = fleet.compiled(machine);
    let scores = occupancy.system_scores(fleet, &keys, detached);
    let wishes = occupancy.customer_scores(&keys, detached);
    let of_node = |(node, (system, customer)): (usize, (f64, f64))| NodeVerdict {
        refusal: occupancy.refusal(fleet, node, machine, detached),
        system,
        passed: false,
        customer,
        terms: match detail {
            ChoiceDetail::Scores => [Vec::new(), Vec::new()],
            ChoiceDetail::Terms => occupancy.terms(fleet, &keys, node, detached),
        },
    };
    let verdicts: Vec<NodeVerdict> = scores.into_iter().zip(wishes).enumerate().map(of_node).collect();
    let is_candidate = |verdict: &NodeVerdict| verdict.refusal.is_none();
    let local = machine.disk_node.filter(|node| verdicts.get(*node).is_some_and(is_candidate));
    let round = match machine.disk_node {
        Some(_) => None,
        None => first_round(&fleet.options, verdicts.iter().filter(|verdict| is_candidate(verdict))),
    };
    let mut choice = MachineChoice { machine: at, keys, verdicts, round, node: None, sticky: Vec::new() };
    choice.mark_passed(&fleet.options);
    choice.node = local.or_else(|| best(fleet, at, &choice.verdicts));
    choice
}

impl MachineChoice {
    /// Marks the nodes that pass in the round.
    pub(super) fn mark_passed(&mut self, options: &AffinityOptions) {
        let threshold = self.round.map(|round| options.threshold(round));
        for verdict in &mut self.verdicts {
            let is_above = threshold.is_some_and(|threshold| is_greater(verdict.system, threshold));
            verdict.passed = verdict.refusal.is_none() && is_above;
        }
    }
}

/// The nodes that can be taken, best first: whichever of them are left out, the first of the others is the one that would be
/// chosen without those. A node of an earlier round is better, then what the customer's keys say, then what tells equal ones apart.
pub(super) fn ranking(fleet: &Fleet, choice: &MachineChoice) -> Vec<usize> {
    let round = |node: usize| {
        let verdict = &choice.verdicts[node];
        verdict.refusal.is_none().then(|| first_round_of(&fleet.options, verdict.system)).flatten()
    };
    let mut nodes: Vec<usize> = (0..fleet.nodes.len()).filter(|node| round(*node).is_some()).collect();
    nodes.sort_by(|one, other| fleet.nodes[*one].name.cmp(&fleet.nodes[*other].name));
    if let Some(seed) = fleet.options.tie_seed {
        Random::stream(seed, choice.machine as u64).shuffle(&mut nodes);
    }
    let mut rounds: BTreeMap<Option<u32>, Vec<usize>> = BTreeMap::new();
    nodes.into_iter().for_each(|node| rounds.entry(round(node)).or_default().push(node));
    let customer = |node: &usize| choice.verdicts[*node].customer;
    rounds.into_values().flat_map(|equal| by_wish(equal, customer)).collect()
}

/// Nodes by a customer's score, the highest first. Of those that tie with the best that is left, the first of `nodes` comes next.
fn by_wish(nodes: Vec<usize>, customer: impl Fn(&usize) -> f64) -> Vec<usize> {
    let mut falling: Vec<(usize, usize)> = nodes.into_iter().enumerate().collect();
    falling.sort_by(|(_, one), (_, other)| (customer(other) + 0.0).total_cmp(&(customer(one) + 0.0)));
    let (mut ranked, mut taken) = (Vec::with_capacity(falling.len()), HashSet::new());
    // those that tie with the best, by their order
    let (mut ties, mut rest) = (BTreeMap::new(), falling.iter().peekable());
    for (_, best) in &falling {
        while !taken.contains(best) {
            while let Some((order, node)) = rest.next_if(|(_, node)| is_tie(customer(node), customer(best))) {
                ties.insert(*order, *node);
            }
            let Some((_, next)) = ties.pop_first() else { break };
            taken.insert(next);
            ranked.push(next);
        }
    }
    ranked
}

/// The first round in which the score of a candidate is greater than the threshold.
fn first_round<'v>(
    options: &AffinityOptions,
    candidates: impl Iterator<Item = &'v NodeVerdict>,
) -> Option<u32> {
    first_round_of(options, candidates.map(|verdict| verdict.system).max_by(f64::total_cmp)?)
}

/// The first round in which a score is greater than the threshold.
pub(super) fn first_round_of(options: &AffinityOptions, best: f64) -> Option<u32> {
    // thresholds only fall: the first that is low enough is looked for by halves
    let rounds: u32 = options.msav_steps.max(1);
    let (mut low, mut high) = (1, rounds + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_greater(best, options.threshold(middle)) { high = middle } else { low = middle + 1 }
    }
    (low <= rounds).then_some(low)
}

/// Whether a score is greater than a threshold, both to nine places.
fn is_greater(score: f64, threshold: f64) -> bool {
    let rounded = |number: f64| (number * 1e9).round();
    rounded(score) > rounded(threshold)
}

/// Of the nodes that passed, the one that the customer's keys want most; of those that tie, that with the smallest name, or any.
fn best(fleet: &Fleet, at: usize, verdicts: &[NodeVerdict]) -> Option<usize> {
    let passed = || verdicts.iter().enumerate().filter(|(_, verdict)| verdict.passed);
    let most = passed().map(|(_, verdict)| verdict.customer).max_by(f64::total_cmp)?;
    let mut equal: Vec<usize> =
        passed().filter(|(_, verdict)| is_tie(verdict.customer, most)).map(|(node, _)| node).collect();
    equal.sort_by(|one, other| fleet.nodes[*one].name.cmp(&fleet.nodes[*other].name));
    match fleet.options.tie_seed {
        Some(seed) => Some(*Random::stream(seed, at as u64).pick(&equal)),
        None => equal.first().copied(),
    }
}

/// Whether a customer's score is as good as the best one: sums that differ by so little may differ by rounding only. A fleet that no
/// document told can have keys whose sum is no number: that is like itself.
fn is_tie(score: f64, best: f64) -> bool {
    (best - score).abs() < 1e-9 || score == best || score.total_cmp(&best).is_eq()
}

/// A machine that would be started elsewhere today.
#[derive(Debug, Clone, PartialEq)]
pub struct Misplaced {
    /// The machine, by position.
    pub machine: usize,
    /// Where it runs, by position of the node.
    pub at: usize,
    /// The node that would be chosen.
    pub node: Option<usize>,
    /// By how much that node is better for the operator's keys and for the customer's; none if there is no such node.
    pub gain: Option<(f64, f64)>,
}

impl MachineChoice {
    /// Whether a node is as good as the one that was chosen: for a name, nobody moves.
    fn is_best(&self, node: usize) -> bool {
        let here = &self.verdicts[node];
        let ties = |best: usize| here.passed && is_tie(here.customer, self.verdicts[best].customer);
        self.node == Some(node) || self.node.is_some_and(ties)
    }
}

/// The machines that run and would be started elsewhere, or nowhere, if each of them were started anew. One whose node ties with the
/// one that would be chosen stays.
pub fn misplaced(fleet: &Fleet) -> Vec<Misplaced> {
    misplaced_among(fleet, &Occupancy::of(fleet))
}

/// The same on nodes as they are now.
pub(super) fn misplaced_among(fleet: &Fleet, occupancy: &Occupancy) -> Vec<Misplaced> {
    let machines = (0..fleet.machines.len()).into_par_iter();
    machines.filter_map(|machine| misplacement(fleet, occupancy, machine)).collect()
}

/// Where a machine would be started now, if the node on which it runs is not as good.
pub(super) fn misplacement(fleet: &Fleet, occupancy: &Occupancy, machine: usize) -> Option<Misplaced> {
    let details = &fleet.machines[machine];
    let at = details.node.filter(|_| !details.fixed)?;
    let keys = started_with(fleet, details);
    let choice = choose(fleet, occupancy, machine, DetachedMachine::of(details, &keys), ChoiceDetail::Scores);
    let gain = choice.node.map(|other| {
        let (now, then) = (&choice.verdicts[at], &choice.verdicts[other]);
        (then.system - now.system, then.customer - now.customer)
    });
    (!choice.is_best(at)).then_some(Misplaced { machine, at, node: choice.node, gain })
}

/// Nodes by what they are worth to a machine, best first: passed, then by the customer's keys, then by the operator's, then by name.
pub fn by_worth(fleet: &Fleet, choice: &MachineChoice) -> Vec<usize> {
    let mut nodes: Vec<usize> = (0..fleet.nodes.len()).collect();
    let key = |node: usize| &choice.verdicts[node];
    nodes.sort_by(|one, other| {
        let (a, b) = (key(*one), key(*other));
        let chosen = |node: usize| choice.node == Some(node);
        chosen(*other)
            .cmp(&chosen(*one))
            .then(b.passed.cmp(&a.passed))
            .then(a.refusal.is_some().cmp(&b.refusal.is_some()))
            .then(if a.passed { b.customer.total_cmp(&a.customer) } else { Ordering::Equal })
            .then(b.system.total_cmp(&a.system))
            .then(fleet.nodes[*one].name.cmp(&fleet.nodes[*other].name))
    });
    nodes
}
