//! The replay of a week: every quarter of an hour, instances come and leave, the contender moves some, and the load of
//! the nodes is noted.

use anyhow::{Context, bail};
use htools::model::{Draft, Move, NodeIdx};
use htools::search::MoveRules;
use htools::search::moves::perform;

use super::contenders::{Contender, Relocation};
use super::figures::Figures;
use super::measured::Measured;
use super::slot::{HOUR, Slot, a_day};
use super::week::{CORES, MEMORY, NODES, TOO_BUSY, Week};
use super::world::{DemandIdx, World};

/// Time in which moving an instance again is counted.
const SOON: usize = a_day();

/// A migration that was made.
struct Migration {
    instance: DemandIdx,
    from: NodeIdx,
    slot: Slot,
}

/// Replays a week.
///
/// # Errors
/// If a contender makes a move that is not possible.
pub fn replay(week: &Week, contender: &mut dyn Contender) -> anyhow::Result<Figures> {
    let mut world = World::new();
    let mut figures = Figures::default();
    let mut made: Vec<Migration> = Vec::new();
    let mut coming: Vec<DemandIdx> = Vec::new();
    for slot in week.slots() {
        arrivals(week, slot, &mut world, &mut coming)?;
        let cluster = world.cluster()?;
        let moves = contender.decide(&cluster, &Measured::until(slot, week, &world), slot)?;
        let mut draft = Draft::of(&cluster);
        for relocation in moves {
            let from = draft.instance(relocation.instance).primary;
            migrate(&mut draft, relocation)
                .with_context(|| format!("{}, day {}, hour {}", contender.name(), slot.day(), slot.hour()))?;
            let migration = Migration { instance: world.there()[relocation.instance.get()], from, slot };
            figures.gib += draft.instance(relocation.instance).mem.as_f64() / 1024.0;
            note(&migration, relocation.to, &made, &mut figures);
            made.push(migration);
        }
        made.retain(|migration| slot.0 - migration.slot.0 < SOON);
        world.adopt(&draft)?;
        observe(week, slot, &world, &mut figures);
    }
    Ok(figures)
}

/// Instances that find no room wait in `coming` and try again.
fn arrivals(week: &Week, slot: Slot, world: &mut World, coming: &mut Vec<DemandIdx>) -> anyhow::Result<()> {
    for (at, demand) in week.demands.iter().enumerate() {
        if demand.gone == slot {
            world.leave(DemandIdx(at));
            coming.retain(|idx| idx.0 != at);
        }
        if demand.born == slot || (slot == week.start && demand.exists(slot)) {
            coming.push(DemandIdx(at));
        }
    }
    let mut waiting = Vec::new();
    for idx in coming.drain(..) {
        if !world.come(idx, &week.demands[idx.0])? {
            waiting.push(idx);
        }
    }
    *coming = waiting;
    Ok(())
}

/// Makes a move, which is checked by the library's rules.
fn migrate(draft: &mut Draft, relocation: Relocation) -> anyhow::Result<()> {
    let step = Move::FailoverTo(relocation.to);
    if let Err(refusal) = perform(draft, relocation.instance, step, &MoveRules::default()) {
        bail!("a move is not possible: {refusal:?}");
    }
    Ok(())
}

/// Counts a migration. `made` has those of the last day.
fn note(migration: &Migration, to: NodeIdx, made: &[Migration], figures: &mut Figures) {
    let earlier = || {
        made.iter().filter(|one| one.instance == migration.instance && migration.slot.0 - one.slot.0 < SOON)
    };
    figures.migrations += 1;
    figures.back += usize::from(earlier().any(|one| one.from == to));
    figures.again += usize::from(earlier().next().is_some());
}

/// Notes which nodes are too busy in a slot.
fn observe(week: &Week, slot: Slot, world: &World, figures: &mut Figures) {
    let mut cores = [0.0; NODES];
    let mut memory = [0.0; NODES];
    for (idx, node) in world.nodes() {
        let demand = &week.demands[idx.0];
        cores[node.get()] += demand.at(slot);
        memory[node.get()] += demand.mem.as_f64();
    }
    let hours = 1.0 / HOUR as f64;
    let is_full = |node: usize| memory[node] > TOO_BUSY * MEMORY.as_f64();
    let is_busy = |node: usize| cores[node] > TOO_BUSY * CORES || is_full(node);
    let count = |holds: &dyn Fn(usize) -> bool| (0..NODES).filter(|node| holds(*node)).count() as f64;
    figures.busy += hours * count(&is_busy);
    figures.memory += hours * count(&is_full);
    figures.full += hours * count(&|node| cores[node] > CORES);
}
