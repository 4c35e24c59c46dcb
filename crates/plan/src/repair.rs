//! Execution of repairs, as opcodes and notes.

use super::opcode::{Opcode, ReplaceMode, job};
use htools_model::autorepair::{DiskSide, RepairKind, RepairNote, RepairStep};
use htools_model::{Cluster, Instance, Move, NodeIdx};

/// A repair that an instance needs.
#[derive(Debug, Clone, PartialEq)]
pub struct WantedRepair {
    /// Its kind.
    pub kind: RepairKind,
    /// Opcodes of the repair.
    pub opcodes: Vec<Opcode>,
    /// True if this is another attempt after a failed one.
    pub again: bool,
}

/// Wish for an instance that has no repair under way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RepairWish<'a> {
    /// Nothing to do.
    Nothing,
    /// A repair.
    Repair(&'a WantedRepair),
    /// Add a tag with a note, unless there is one.
    Note(RepairNote),
}

impl<'a> RepairWish<'a> {
    /// A repair if there is one, or else a note, or nothing.
    pub fn of(wanted: Option<&'a WantedRepair>, note: Option<RepairNote>) -> RepairWish<'a> {
        wanted.map(RepairWish::Repair).or(note.map(RepairWish::Note)).unwrap_or(RepairWish::Nothing)
    }
}

/// The job that repairs an instance; `runs` tells if it should run. Names are full names.
pub fn repair_job(cluster: &Cluster, instance: &Instance, steps: &[RepairStep], runs: bool) -> Vec<Opcode> {
    steps.iter().flat_map(|step| opcodes(cluster, instance, step, runs)).collect()
}

fn opcodes(cluster: &Cluster, instance: &Instance, step: &RepairStep, runs: bool) -> Vec<Opcode> {
    let instance_name = instance.name.clone();
    let node = |n: NodeIdx| cluster.node(n).spec.name.clone();
    let opcode = match step {
        RepairStep::Activate => Opcode::ActivateDisks { instance_name, wait_for_sync: false },
        RepairStep::Renew(side, disks) => Opcode::ReplaceDisks {
            instance_name,
            early_release: false,
            ignore_ipolicy: false,
            mode: match side {
                DiskSide::Primary => ReplaceMode::OnPrimary,
                DiskSide::Secondary => ReplaceMode::OnSecondary,
            },
            disks: disks.clone(),
            remote_node: None,
        },
        RepairStep::Migrate(mv) => {
            let mut opcodes = job(cluster, instance, &[*mv]);
            for opcode in &mut opcodes {
                if let Opcode::Migrate { allow_failover, .. } = opcode {
                    // A permission for migrations does not allow stopping a running instance.
                    *allow_failover = !runs;
                }
            }
            return opcodes;
        }
        // It cannot be migrated away from its node.
        RepairStep::Move(Move::Failover) => Opcode::failover(&instance_name, None),
        RepairStep::Move(Move::FailoverTo(to)) => Opcode::failover(&instance_name, Some(node(*to))),
        RepairStep::Move(mv) => return job(cluster, instance, &[*mv]),
        RepairStep::Stop if runs => {
            Opcode::Shutdown { instance_name, timeout: 120, ignore_offline_nodes: Some(true) }
        }
        RepairStep::Start if runs => Opcode::startup(&instance_name),
        RepairStep::Stop | RepairStep::Start => return Vec::new(),
        RepairStep::Recreate(to) => {
            Opcode::RecreateDisks { instance_name, disks: Vec::new(), nodes: to.nodes().map(node).collect() }
        }
        RepairStep::Reinstall => Opcode::Reinstall { instance_name, force_variant: false },
    };
    vec![opcode]
}
