//! All placements of a small cluster that at most one move per instance can reach.

use std::collections::HashSet;

use crate::common::clusters::{Dice, Recipe, Style};
use htools::model::{Cluster, Draft, Instance, InstanceIdx, Mirroring, Move, NodeIdx, Placement};
use htools::search::moves::{Repertoire, perform};
use htools::search::{BalanceOptions, MoveRules};

/// Larger sets of placements are not tried.
const MOST_PLACEMENTS: usize = 3000;

/// A small cluster of any style, with options.
pub fn case(seed: u64) -> (Cluster, BalanceOptions) {
    let mut dice = Dice::new(seed);
    let style = dice.of(&[Style::Mixed, Style::Tight, Style::Symmetric, Style::Stranded]);
    let recipe = Recipe { style, nodes: 2 + dice.below(4), instances: 1 + dice.below(8), seed };
    let rules = MoveRules {
        disk_moves: !dice.chance(10),
        instance_moves: !dice.chance(10),
        restricted_migration: dice.chance(15),
        ignore_soft_errors: dice.chance(15),
    };
    (recipe.cluster(), BalanceOptions { rules, evacuate: dice.chance(15), ..BalanceOptions::default() })
}

/// The single moves of an instance: those of the greedy search, and those that change both nodes.
pub fn moves(cluster: &Cluster, nodes: &[NodeIdx], instance: InstanceIdx, rules: &MoveRules) -> Vec<Move> {
    let i = cluster.instance(instance);
    let usable = |n: NodeIdx| nodes.contains(&n) && !cluster.node(n).spec.offline;
    let targets: Vec<NodeIdx> =
        nodes.iter().copied().filter(|n| usable(*n) && *n != i.primary && Some(*n) != i.secondary).collect();
    let repertoire = Repertoire::of(cluster, i, i.mirror().is_some_and(usable), rules);
    let mut moves: Vec<Move> = repertoire.failover.then_some(Move::Failover).into_iter().collect();
    moves.extend(targets.iter().flat_map(|t| repertoire.to_target.iter().map(|kind| kind(*t))));
    let free = rules.disk_moves && rules.instance_moves && !rules.restricted_migration;
    if i.template.mirroring() == Mirroring::Internal && free {
        let p_offline = cluster.node(i.primary).spec.offline;
        for t in &targets {
            for u in targets.iter().filter(|u| *u != t) {
                match p_offline {
                    false => moves.push(Move::ReplaceBoth(*t, *u)),
                    true if i.mirror().is_some_and(usable) => {
                        moves.push(Move::FailoverAndReplaceBoth(*t, *u))
                    }
                    true => {}
                }
            }
        }
    }
    moves
}

/// Visits every placement that moves of these nodes' instances can reach, with the number of moved instances. The
/// first is the present one. Returns false if there are too many.
pub fn visit_all(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    options: &BalanceOptions,
    see: &mut dyn FnMut(&Draft, usize),
) -> bool {
    let mobile = |i: &&Instance| {
        let offline = i.nodes().any(|n| cluster.node(n).spec.offline);
        nodes.contains(&i.primary)
            && i.is_movable()
            && i.auto_balance
            && i.template.is_movable()
            && (!options.evacuate || offline)
    };
    let mobiles: Vec<InstanceIdx> = cluster.instances.iter().filter(mobile).map(|i| i.idx).collect();
    let seats = |i: &InstanceIdx| 1 + moves(cluster, nodes, *i, &options.rules).len();
    let all = mobiles.iter().try_fold(1_usize, |all, i| all.checked_mul(seats(i)));
    if !all.is_some_and(|all| (2..=MOST_PLACEMENTS).contains(&all)) {
        return false;
    }
    let mut draft = Draft::of(cluster);
    Every { nodes, options, mobiles: &mobiles, known: HashSet::new(), see }.visit(&mut draft, 0);
    true
}

struct Every<'a> {
    nodes: &'a [NodeIdx],
    options: &'a BalanceOptions,
    mobiles: &'a [InstanceIdx],
    known: HashSet<Vec<Placement>>,
    see: &'a mut dyn FnMut(&Draft, usize),
}

impl Every<'_> {
    fn visit(&mut self, draft: &mut Draft, moved: u32) {
        let at = |i: &InstanceIdx| {
            let i = draft.instance(*i);
            i.placement()
        };
        let key: Vec<Placement> = self.mobiles.iter().map(at).collect();
        if !self.known.insert(key) {
            return;
        }
        (self.see)(draft, moved.count_ones() as usize);
        for (bit, instance) in self.mobiles.iter().enumerate().filter(|(bit, _)| moved & (1 << bit) == 0) {
            for mv in moves(draft, self.nodes, *instance, &self.options.rules) {
                let mark = draft.mark();
                if perform(draft, *instance, mv, &self.options.rules).is_ok() {
                    self.visit(draft, moved | 1 << bit);
                }
                draft.back_to(mark);
            }
        }
    }
}
