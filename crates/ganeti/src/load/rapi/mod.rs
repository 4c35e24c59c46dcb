//! Loading from the remote API (RAPI) of a cluster, over HTTP or from a directory of saved answers (`-m`, and the
//! arguments of hscan).

mod fetch;

use super::fields::{Fields, SpelledObject, Spelling};
use super::live::{ClusterPart, LiveSource, read_cluster};
use super::raw::{Detail, RawCluster};
use crate::input::error::Result;
use crate::input::json::{self, Body, Budget, JsonPath, Object, WantedParts, Weight, keys};
use crate::remote::rapi::{Access, Address, FetchLimits};

/// Answer of one resource: its name for messages, and its bytes if there are any.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceAnswer {
    /// URL or file, without passwords.
    pub source: String,
    /// The body, or the error.
    pub body: Result<Vec<u8>>,
}

/// The answers of the four resources that describe a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct RapiAnswers {
    /// `/2/groups?bulk=1`
    pub groups: ResourceAnswer,
    /// `/2/nodes?bulk=1`
    pub nodes: ResourceAnswer,
    /// `/2/instances?bulk=1`
    pub instances: ResourceAnswer,
    /// `/2/info`
    pub info: ResourceAnswer,
}

/// Loads the cluster at an address: groups, nodes, instances, info, one after another. Each is parsed while it arrives,
/// and nothing more is requested after a failure.
///
/// # Errors
/// The first failed or invalid answer, in this order.
pub fn load(address: &Address, access: &Access, detail: Detail) -> Result<RawCluster> {
    load_in(address, access, detail, FetchLimits::default())
}

/// The same with other limits.
///
/// # Errors
/// See [`load`].
pub fn load_in(
    address: &Address,
    access: &Access,
    detail: Detail,
    manner: FetchLimits,
) -> Result<RawCluster> {
    let place = fetch::Fetcher::of(address, access, manner)?;
    read(|part| place.open(part), detail)
}

/// Reads the cluster from the answers, in the least detail.
///
/// # Errors
/// See [`load`].
pub fn parse(answers: &RapiAnswers) -> Result<RawCluster> {
    parse_detailed(answers, Detail::Usual)
}

/// Reads the cluster from the answers, in the given detail. The answers are always the same; unwanted parts are
/// skipped.
///
/// # Errors
/// See [`load`].
pub fn parse_detailed(answers: &RapiAnswers, detail: Detail) -> Result<RawCluster> {
    let open = |part| {
        let answer = match part {
            ClusterPart::Groups => &answers.groups,
            ClusterPart::Nodes => &answers.nodes,
            ClusterPart::Instances => &answers.instances,
            ClusterPart::Info => &answers.info,
        };
        let bytes = answer.body.as_ref().map_err(Clone::clone)?;
        Ok(Body { source: answer.source.clone(), bytes: Box::new(bytes.as_slice()) })
    };
    read(open, detail)
}

/// The resources of a cluster; `open` opens one of them.
struct Resources<F> {
    open: F,
    budget: Budget,
}

fn read<'a>(open: impl Fn(ClusterPart) -> Result<Body<'a>>, detail: Detail) -> Result<RawCluster> {
    read_cluster(&Resources { open, budget: Budget::new(Budget::CLUSTER) }, detail)
}

impl<'a, F: Fn(ClusterPart) -> Result<Body<'a>>> LiveSource for Resources<F> {
    fn each<T: Weight>(
        &self,
        part: ClusterPart,
        mut read: impl FnMut(&str, &dyn Fields<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        (self.open)(part)?.each_described(part.kind(), shape(part), &self.budget, |name, object| {
            read(name, &SpelledObject { object, spelling: &SPELLING })
        })
    }

    fn info<T>(&self, read: impl FnOnce(&Object<'_, '_>) -> Result<T>) -> Result<T> {
        let answer = (self.open)(ClusterPart::Info)?;
        let source = answer.source.clone();
        let document = json::read(answer, shape(ClusterPart::Info), &self.budget)?;
        read(&Object::new(&document, JsonPath::source(&source))?)
    }
}

const SPELLING: Spelling = Spelling {
    names: &[("ndp", "ndparams"), ("be", "beparams")],
    optional: &["vm_capable", "group.uuid", "spfree", "dtotal", "dfree"],
    has_silence: true,
};

/// Wanted parts of an answer.
fn shape(part: ClusterPart) -> WantedParts {
    const GROUP: WantedParts =
        WantedParts::Checked(&keys(["name", "uuid", "alloc_policy", "ipolicy", "diskparams", "tags"]));
    const NODE: WantedParts = WantedParts::Keys(&keys([
        "name",
        "offline",
        "drained",
        "vm_capable",
        "ndparams",
        "group.uuid",
        "sptotal",
        "spfree",
        "mtotal",
        "mnode",
        "mfree",
        "dtotal",
        "dfree",
        "ctotal",
        "cnos",
        "tags",
    ]));
    const INSTANCE: WantedParts = WantedParts::Keys(&keys([
        "name",
        "disk_usage",
        "disk.sizes",
        "disk.spindles",
        "oper_ram",
        "beparams",
        "pnode",
        "snodes",
        "status",
        "tags",
        "disk_template",
        "forthcoming",
    ]));
    const INFO: WantedParts =
        WantedParts::Checked(&keys(["name", "master", "tags", "ipolicy", "default_hypervisor"]));
    match part {
        ClusterPart::Groups => GROUP,
        ClusterPart::Nodes => NODE,
        ClusterPart::Instances => INSTANCE,
        ClusterPart::Info => INFO,
    }
}

#[cfg(test)]
mod tests;
