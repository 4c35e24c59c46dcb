//! What the options of `hspace` mean.

use std::path::PathBuf;
use std::time::Duration;

use super::{LoadOptions, node_fields, time_above_zero};
use crate::load::number::parse_int;
use crate::load::units::parse_size;
use crate::model::DiskTemplate;
use crate::search::fill::Size;
use crate::tools::cli::value::split_list;
use crate::tools::cli::{Given, ValueError};

/// What `hspace` is asked to do.
#[derive(Debug, Clone, PartialEq)]
pub struct HspaceOptions {
    /// Reading the cluster.
    pub load: LoadOptions,
    /// `-p`: the fields as typed; empty for the usual ones.
    pub print_nodes: Option<String>,
    /// `--disk-template`; none: the first one of the cluster's policy.
    pub disk_template: Option<DiskTemplate>,
    /// `--spindle-use`, from 0 on; none: as the cluster's policy says.
    pub spindle_use: Option<i64>,
    /// `--independent-groups`
    pub independent_groups: bool,
    /// `--accept-existing-errors`
    pub accept_existing_errors: bool,
    /// Whether every node has to stay expendable; not with
    /// `--no-capacity-checks`.
    pub capacity_checks: bool,
    /// `--machine-readable`
    pub machine_readable: bool,
    /// `-l`: the most instances that each allocation places; none with -1. Other
    /// negative numbers are Ganeti's: see [`crate::tools::hspace`].
    pub limit: Option<i64>,
    /// `--standard-alloc`; none: the standard size of the cluster's policy.
    pub standard: Option<Size>,
    /// `--tiered-alloc`; none: the largest sizes of the cluster's policy.
    pub tiered: Option<Size>,
    /// `-S`: what the names of the saved files start with.
    pub save: Option<PathBuf>,
    /// `--json`
    pub json: bool,
    /// `--time-limit`
    pub time_limit: Option<Duration>,
}

impl Default for HspaceOptions {
    fn default() -> Self {
        HspaceOptions {
            load: LoadOptions::default(),
            print_nodes: None,
            disk_template: None,
            spindle_use: None,
            independent_groups: false,
            accept_existing_errors: false,
            capacity_checks: true,
            machine_readable: false,
            limit: None,
            standard: None,
            tiered: None,
            save: None,
            json: false,
            time_limit: None,
        }
    }
}

impl HspaceOptions {
    /// Takes an option; false if it means nothing to this tool.
    pub fn apply(&mut self, given: &Given) -> Result<bool, ValueError> {
        match given.option.long {
            "print-nodes" => self.print_nodes = Some(node_fields(given)?),
            "disk-template" => self.disk_template = given.choice()?.parse().ok(),
            "spindle-use" => self.spindle_use = Some(weight(given)?),
            "independent-groups" => self.independent_groups = true,
            "accept-existing-errors" => self.accept_existing_errors = true,
            "no-capacity-checks" => self.capacity_checks = false,
            "machine-readable" => {
                self.machine_readable = given.value.is_none() || given.choice()? == "yes";
            }
            "max-length" => self.limit = Some(given.int()?).filter(|limit| *limit != -1),
            "standard-alloc" => self.standard = Some(size(given)?),
            "tiered-alloc" => self.tiered = Some(size(given)?),
            "save" => self.save = given.path(),
            "json" => self.json = true,
            "time-limit" => self.time_limit = Some(time_above_zero(given)?),
            _ => return self.load.apply(given),
        }
        Ok(true)
    }
}

fn weight(given: &Given) -> Result<i64, ValueError> {
    let weight = given.int()?;
    if weight < 0 { Err(given.out_of_range("a number from 0 on")) } else { Ok(weight) }
}

/// The spindles of a disk when none are given.
const SPINDLES: &str = "1";

fn size(given: &Given) -> Result<Size, ValueError> {
    let parts = split_list(given.text()?);
    let (disk, memory, cpus, spindles) = match parts.as_slice() {
        [disk, memory, cpus] => (disk, memory, cpus, SPINDLES),
        [disk, memory, cpus, spindles] => (disk, memory, cpus, spindles.as_str()),
        _ => return Err(given.out_of_range("a size as DISK,MEMORY,CPUS[,SPINDLES]")),
    };
    Ok(Size {
        disk: parse_size(disk).map_err(|e| given.wrong_part("disk", e))?,
        memory: parse_size(memory).map_err(|e| given.wrong_part("memory", e))?,
        vcpus: parse_int(cpus).map_err(|e| given.wrong_part("cpus", e))?,
        spindles: parse_int(spindles).map_err(|e| given.wrong_part("spindles", e))?,
    })
}
