//! hbal with default options, on the same load as `-U` or `--load-from` would give it.

use htools::model::{Cluster, Draft, Instance, Step, Utilisation};
use htools::search::{BalanceOptions, balance};

use super::{Contender, Relocation};
use crate::measured::{Measured, quantile};
use crate::slot::{HOUR, Slot, a_day};
use crate::week::{CORES, MEMORY};

/// Quantile of the measured values that is the load, as by default with `--load-from`.
const QUANTILE: f64 = 0.95;

/// The load that hbal sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadWindow {
    /// None: each instance counts 1.
    Unknown,
    /// The 95th percentile of the last slots.
    Slots(usize),
}

/// Unit of the processor load. The score adds deviations as they are, so the unit is a weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CpuUnit {
    /// Cores, as exporters measure.
    Cores,
    /// Share of the cores of a node, like the other metrics of the score.
    ShareOfNode,
}

/// hbal, run to its end every time.
pub struct Hbal {
    /// The load that it sees.
    pub window: LoadWindow,
    /// Unit of the processor load.
    pub unit: CpuUnit,
}

impl Hbal {
    fn load(&self, cores: f64, instance: &Instance) -> Utilisation {
        let cpu = match self.unit {
            CpuUnit::Cores => cores,
            CpuUnit::ShareOfNode => cores / CORES,
        };
        Utilisation { cpu, mem: instance.mem.as_f64() / MEMORY.as_f64(), disk: 0.0, net: 0.0 }
    }
}

impl Contender for Hbal {
    fn name(&self) -> String {
        let unit = if self.unit == CpuUnit::Cores { " in cores" } else { "" };
        match self.window {
            LoadWindow::Unknown => "hbal, load not measured".into(),
            LoadWindow::Slots(slots) if slots > a_day() => {
                format!("hbal, load of {} days{unit}", slots / a_day())
            }
            LoadWindow::Slots(slots) => format!("hbal, load of {} h{unit}", slots / HOUR),
        }
    }

    fn decide(
        &mut self,
        cluster: &Cluster,
        measured: &Measured<'_>,
        _: Slot,
    ) -> anyhow::Result<Vec<Relocation>> {
        let mut draft = match self.window {
            LoadWindow::Unknown => Draft::of(cluster),
            LoadWindow::Slots(slots) => {
                let cores = measured.loads(slots, |values| quantile(values, QUANTILE));
                let loads = cores.into_iter().zip(&cluster.instances);
                Draft::from(measured.loaded(loads.map(|(cores, i)| self.load(cores, i)).collect())?)
            }
        };
        let nodes = draft.all_nodes();
        let found = balance::run(&mut draft, &nodes, BalanceOptions::default());
        let relocation = |step: &Step| step.mv.target().map(|to| Relocation { instance: step.instance, to });
        Ok(found.steps.iter().filter_map(relocation).collect())
    }
}
