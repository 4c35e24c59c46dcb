//! Choice of the node on which a machine is started.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};

use rayon::prelude::*;

use super::fleet::{AffinityOptions, Fleet};
use super::keys::{AffinityKey, CompiledKeys, copies};
use super::occupancy::{DetachedMachine, KeyTerm, NodeRefusal, Occupancy, started_with};
use htools_model::TagId;
use htools_model::random::Random;

/// The choice of a node for a machine, with its reasons.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineChoice {
    /// Position of the machine.
    pub machine: usize,
    /// The keys that apply to it.
    pub keys: CompiledKeys,
    /// For each node, the reasons for and against it.
    pub verdicts: Vec<NodeVerdict>,
    /// The round in which nodes passed, from 1; `None` if none passed.
    pub round: Option<u32>,
    /// Position of the chosen node.
    pub node: Option<usize>,
    /// Copies of the node's sticky keys that the machine takes along.
    pub sticky: Vec<AffinityKey>,
}

/// Reasons for and against a node.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeVerdict {
    /// Reason that the machine cannot be started there, if it cannot.
    pub refusal: Option<NodeRefusal>,
    /// Score by the operator's keys, summed in the order of their names.
    pub system: f64,
    /// True if that score is above the threshold of the round.
    pub passed: bool,
    /// Score by the customer's keys.
    pub customer: f64,
    /// The terms of both scores; empty unless asked for.
    pub terms: [Vec<KeyTerm>; 2],
}

/// Order in which machines get their nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MachineOrder {
    /// As in the document.
    #[default]
    Document,
    /// By memory, largest first.
    Ram,
}

/// Detail of a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChoiceDetail {
    /// Scores.
    Scores,
    /// Scores and their terms.
    Terms,
}

/// Chooses a node for every machine that has none, one after another: each sees the machines placed before it.
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

/// The machines in the same order, except that a machine that others must be with comes before these.
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
        // A stack of machines to continue with when their partners are done. A chain may be as long as the fleet is
        // large.
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

/// Chooses a node for a machine on the nodes in their present state. The machine itself, if it runs, is treated as
/// absent.
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

/// The possible nodes, best first. If any of them are excluded, the first of the rest is the one that would be chosen
/// then. Nodes are ordered by the round in which they pass, then by the customer's keys, then by the tie-break.
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
    rounds.into_values().flat_map(|equal| preferred_by_customer(equal, customer)).collect()
}

/// Nodes by the customer's score, highest first. Among those that tie with the best remaining one, the order in `nodes`
/// decides.
fn preferred_by_customer(nodes: Vec<usize>, customer: impl Fn(&usize) -> f64) -> Vec<usize> {
    let mut falling: Vec<(usize, usize)> = nodes.into_iter().enumerate().collect();
    falling.sort_by(|(_, one), (_, other)| (customer(other) + 0.0).total_cmp(&(customer(one) + 0.0)));
    let (mut ranked, mut taken) = (Vec::with_capacity(falling.len()), HashSet::new());
    // The nodes that tie with the best one, by their order.
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

/// The first round in which some candidate's score is above the threshold.
fn first_round<'v>(
    options: &AffinityOptions,
    candidates: impl Iterator<Item = &'v NodeVerdict>,
) -> Option<u32> {
    first_round_of(options, candidates.map(|verdict| verdict.system).max_by(f64::total_cmp)?)
}

/// The first round in which a score is above the threshold.
pub(super) fn first_round_of(options: &AffinityOptions, best: f64) -> Option<u32> {
    // Thresholds only fall, so a binary search finds the first that is low enough.
    let rounds: u32 = options.msav_steps.max(1);
    let (mut low, mut high) = (1, rounds + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_greater(best, options.threshold(middle)) { high = middle } else { low = middle + 1 }
    }
    (low <= rounds).then_some(low)
}

/// Tells if a score is above a threshold, both rounded to nine decimals.
fn is_greater(score: f64, threshold: f64) -> bool {
    let rounded = |number: f64| (number * 1e9).round();
    rounded(score) > rounded(threshold)
}

/// Of the nodes that passed, the one with the highest customer's score. Ties are broken by the smallest name, or at
/// random.
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

/// Tells if a customer's score ties with the best one: such small differences may come from rounding. Fleets that are
/// not from a document can have keys whose sum is not a number; it ties with itself.
fn is_tie(score: f64, best: f64) -> bool {
    (best - score).abs() < 1e-9 || score == best || score.total_cmp(&best).is_eq()
}

/// A machine that would be started on another node today.
#[derive(Debug, Clone, PartialEq)]
pub struct Misplaced {
    /// Position of the machine.
    pub machine: usize,
    /// Position of the node where it runs.
    pub at: usize,
    /// Position of the node that would be chosen.
    pub node: Option<usize>,
    /// Gain of that node by the operator's and by the customer's keys; `None` if there is no such node.
    pub gain: Option<(f64, f64)>,
}

impl MachineChoice {
    /// Tells if a node is as good as the chosen one: no machine moves because of a tie-break.
    fn is_best(&self, node: usize) -> bool {
        let here = &self.verdicts[node];
        let ties = |best: usize| here.passed && is_tie(here.customer, self.verdicts[best].customer);
        self.node == Some(node) || self.node.is_some_and(ties)
    }
}

/// The running machines that would be started on another node, or nowhere, if each were started anew. A machine whose
/// node ties with the chosen one stays.
pub fn misplaced(fleet: &Fleet) -> Vec<Misplaced> {
    misplaced_among(fleet, &Occupancy::of(fleet))
}

/// The same with the nodes in their present state.
pub(super) fn misplaced_among(fleet: &Fleet, occupancy: &Occupancy) -> Vec<Misplaced> {
    let machines = (0..fleet.machines.len()).into_par_iter();
    machines.filter_map(|machine| misplacement(fleet, occupancy, machine)).collect()
}

/// The place where a machine would be started now, if its present node is worse.
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

/// Nodes by their worth to a machine, best first: passed ones, then by the customer's keys, the operator's keys, and
/// the name.
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
