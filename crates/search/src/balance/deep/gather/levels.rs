//! Levels of the reserves that a limited number of moves can reach.

use std::cmp::Ordering;
use std::collections::{BTreeSet, BinaryHeap};

use crate::balance::deep::ledgers::Ledgers;
use crate::balance::deep::terrain::Terrain;

/// Room for secondaries that a plan counts on.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlannedRoom {
    /// Maximum number of secondaries on a node without primaries.
    pub crowd: usize,
    /// Number of secondaries for which each primary takes the room.
    pub for_primary: f64,
}

/// Levels of the reserves, and the mobiles that move so that the nodes reach them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LevelPlan {
    /// By slot, the most that the node keeps for one other node, in MiB.
    pub level: Vec<i64>,
    /// The mobiles that move because their secondary is above the level of its node.
    pub lowered: Vec<u32>,
    /// The mobiles that move because their primary takes the room of secondaries. Their secondary stays.
    pub relieved: BTreeSet<u32>,
    /// By slot, the number of secondaries that the node can have.
    pub rooms: Vec<i64>,
    /// By slot, the number of secondaries whose instance does not move.
    pub staying: Vec<i64>,
}

/// The ways to lower the reserve of one node: with each step one more secondary leaves.
struct Descent {
    slot: u32,
    /// The reserve after each number of steps, in MiB.
    levels: Vec<i64>,
    /// The secondaries in the order in which they leave.
    leavers: Vec<u32>,
    /// Number of steps made.
    made: usize,
    /// Number of secondaries that the node can have.
    room: i64,
    /// The needs of all its secondaries, ascending.
    needs: Vec<i64>,
}

/// Several steps of a descent at once.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stretch {
    /// Average decrease of the reserve for each step, as a share of the node's memory.
    gain: f64,
    /// Index of the descent.
    at: usize,
    /// Number of steps made after the stretch.
    until: usize,
}

impl Eq for Stretch {}

impl PartialOrd for Stretch {
    fn partial_cmp(&self, other: &Stretch) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Stretch {
    fn cmp(&self, other: &Stretch) -> Ordering {
        self.gain.total_cmp(&other.gain).then(other.at.cmp(&self.at)).then(self.until.cmp(&other.until))
    }
}

impl Descent {
    /// `secondaries` are the mobiles with a need that have their secondary on the slot, largest first.
    fn of(terrain: &Terrain<'_>, ledgers: &Ledgers, slot: u32, secondaries: &[u32], room: i64) -> Descent {
        let need = |mobile: &u32| terrain.mobiles[*mobile as usize].need;
        let peer = |mobile: &u32| terrain.mobiles[*mobile as usize].home.primary;
        let peers: BTreeSet<u32> = secondaries.iter().map(peer).collect();
        let mut kept: Vec<(i64, u32)> =
            peers.into_iter().map(|peer| (ledgers.peer(slot, peer), peer)).collect();
        let (mut left, mut levels, mut leavers) = (secondaries.to_vec(), Vec::new(), Vec::new());
        while let Some(most) = kept.iter_mut().max() {
            levels.push(most.0);
            // The largest secondary goes, of those with the primary node for which most is kept.
            let Some(at) = left.iter().position(|mobile| peer(mobile) == most.1) else { break };
            let mobile = left.remove(at);
            most.0 -= need(&mobile);
            leavers.push(mobile);
        }
        if levels.is_empty() {
            levels.push(0);
        }
        leavers.truncate(levels.len() - 1);
        let mut needs: Vec<i64> = secondaries.iter().map(need).collect();
        needs.sort_unstable();
        Descent { slot, levels, leavers, made: 0, room, needs }
    }

    /// The next steps, at most `most`, that gain most for each step.
    fn next(&self, terrain: &Terrain<'_>, at: usize, most: usize) -> Option<Stretch> {
        let (made, mem) = (self.made, terrain.spec(self.slot).mem_total);
        let last = self.leavers.len().min(made.saturating_add(most));
        let stretch = |until: usize| {
            let lowered = (self.levels[made] - self.levels[until]) as f64 / mem;
            Stretch { gain: lowered / (until - made) as f64, at, until }
        };
        (made + 1..=last).map(stretch).filter(|stretch| stretch.gain > 0.0).max()
    }
}

/// The room that the secondaries of each size have on the nodes whose level is high enough.
struct RoomByNeed {
    /// The different needs, ascending.
    needs: Vec<i64>,
    /// For each need, the room on nodes with such a level, less the smaller secondaries at home there.
    room: Vec<i64>,
    /// For each need, the number of secondaries with at least that need.
    must: Vec<i64>,
}

impl RoomByNeed {
    /// `of_all` are the needs of all secondaries.
    fn of(of_all: &[i64], descents: &[Descent]) -> RoomByNeed {
        let mut sorted = of_all.to_vec();
        sorted.sort_unstable();
        let mut needs = sorted.clone();
        needs.dedup();
        let least = |need: &i64| (sorted.len() - sorted.partition_point(|other| other < need)) as i64;
        let must = needs.iter().map(least).collect();
        let mut by_need = RoomByNeed { room: vec![0; needs.len()], needs, must };
        for descent in descents {
            for (at, room) in by_need.rooms(descent, 0, descent.levels[0]) {
                by_need.room[at] += room;
            }
        }
        by_need
    }

    /// The room of a node for each need above `from`, up to `to`.
    fn rooms(&self, descent: &Descent, from: i64, to: i64) -> Vec<(usize, i64)> {
        let low = self.needs.partition_point(|need| *need <= from);
        let high = self.needs.partition_point(|need| *need <= to);
        let smaller = |need: i64| descent.needs.partition_point(|own| *own < need) as i64;
        (low..high).map(|at| (at, (descent.room - smaller(self.needs[at])).max(0))).collect()
    }

    /// Takes the room away that a node loses by a stretch. Returns false, without any change, if too little is left.
    fn lower(&mut self, descent: &Descent, until: usize) -> bool {
        let less = self.rooms(descent, descent.levels[until], descent.levels[descent.made]);
        let enough = less.iter().all(|(at, room)| self.room[*at] - room >= self.must[*at]);
        if enough {
            less.iter().for_each(|(at, room)| self.room[*at] -= room);
        }
        enough
    }
}

impl LevelPlan {
    /// Plans at most `most` moves: first those that lower the reserves, the largest gain for each move first, as long as
    /// there is room for the secondaries. `mirrored` are the mobiles with secondaries that need memory, largest first.
    pub(super) fn of(
        terrain: &Terrain<'_>,
        ledgers: &Ledgers,
        mirrored: &[u32],
        planned: PlannedRoom,
        most: usize,
    ) -> LevelPlan {
        let home = |mobile: &u32| terrain.mobiles[*mobile as usize].home;
        let mut secondaries = vec![Vec::new(); terrain.nodes.len()];
        let mut rooms = vec![planned.crowd as f64; terrain.nodes.len()];
        for mobile in mirrored {
            secondaries[home(mobile).secondary as usize].push(*mobile);
            rooms[home(mobile).primary as usize] -= planned.for_primary;
        }
        let rooms: Vec<i64> = rooms.into_iter().map(|room| room as i64).collect();
        let descent = |slot: &u32| {
            Descent::of(terrain, ledgers, *slot, &secondaries[*slot as usize], rooms[*slot as usize])
        };
        let mut descents: Vec<Descent> = terrain.online.iter().map(descent).collect();
        let needs: Vec<i64> = mirrored.iter().map(|mobile| terrain.mobiles[*mobile as usize].need).collect();
        let by_need = RoomByNeed::of(&needs, &descents);
        descend(terrain, &mut descents, by_need, most);
        let staying = secondaries.iter().map(|of_slot| of_slot.len() as i64).collect();
        let level = vec![0; terrain.nodes.len()];
        let (lowered, relieved) = (Vec::new(), BTreeSet::new());
        let mut plan = LevelPlan { level, lowered, relieved, rooms, staying };
        for descent in &descents {
            plan.level[descent.slot as usize] = descent.levels[descent.made];
            plan.staying[descent.slot as usize] -= descent.made as i64;
            plan.lowered.extend(&descent.leavers[..descent.made]);
        }
        plan.relieve(terrain, mirrored, most - plan.lowered.len());
        plan
    }

    /// Adds up to `most` mobiles whose primary is on a node with a level, where secondaries need the room.
    fn relieve(&mut self, terrain: &Terrain<'_>, mirrored: &[u32], most: usize) {
        let home = |mobile: &u32| terrain.mobiles[*mobile as usize].home;
        let lowered: BTreeSet<u32> = self.lowered.iter().copied().collect();
        let mut primaries: Vec<Vec<u32>> = vec![Vec::new(); terrain.nodes.len()];
        // Smallest first, so that the largest is taken from the end.
        for mobile in mirrored.iter().rev().filter(|mobile| !lowered.contains(mobile)) {
            if self.level[home(mobile).primary as usize] > 0 {
                primaries[home(mobile).primary as usize].push(*mobile);
            }
        }
        let mut queue: BinaryHeap<(usize, u32)> =
            terrain.online.iter().map(|slot| (primaries[*slot as usize].len(), *slot)).collect();
        for _ in 0..most {
            let Some((_, slot)) = queue.pop() else { break };
            let Some(mobile) = primaries[slot as usize].pop() else { break };
            self.staying[home(&mobile).secondary as usize] -= 1;
            self.relieved.insert(mobile);
            queue.push((primaries[slot as usize].len(), slot));
        }
    }
}

/// Makes at most `most` steps, those that gain most first.
fn descend(terrain: &Terrain<'_>, descents: &mut [Descent], mut by_need: RoomByNeed, most: usize) {
    let mut left = most;
    let first = |(at, descent): (usize, &Descent)| descent.next(terrain, at, left);
    let mut queue: BinaryHeap<Stretch> = descents.iter().enumerate().filter_map(first).collect();
    while let Some(Stretch { at, until, .. }) = queue.pop() {
        let descent = &mut descents[at];
        let steps = until - descent.made;
        if steps > left {
            queue.extend(descent.next(terrain, at, left));
        } else if by_need.lower(descent, until) {
            left -= steps;
            descent.made = until;
            queue.extend(descent.next(terrain, at, left));
        } else {
            // A shorter stretch may leave enough room.
            queue.extend(descent.next(terrain, at, steps - 1));
        }
    }
}
