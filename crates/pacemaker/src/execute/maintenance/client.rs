//! Interface to a cluster whose nodes are maintained.

use super::{CibCallError, ClusterVotes};
use crate::execute::client::CibClient;
use crate::execute::programs::{LIMIT, LocalCluster, good};
use htools_ganeti::execute::program::{ProgramCall, ProgramProblem};

/// The transient node attribute by which a node that has left the cluster is told from one that has not.
pub const MARK: &str = "htools-maintenance";

/// Access to a Pacemaker cluster whose nodes are maintained. Every call may fail, and may have taken effect all the same.
pub trait CibMaintenanceClient: CibClient {
    /// The node on which this program runs; `None` if it runs on none.
    ///
    /// # Errors
    /// Fails if that cannot be found out.
    fn own_node(&mut self) -> Result<Option<String>, CibCallError>;

    /// The votes of the cluster; `None` if only its document tells.
    ///
    /// # Errors
    /// Fails if the cluster does not answer.
    fn votes(&mut self) -> Result<Option<ClusterVotes>, CibCallError>;

    /// Sets the [`MARK`] of a node, which the cluster forgets once the node leaves.
    ///
    /// # Errors
    /// Fails if it was refused, or if its fate is not known.
    fn set_mark(&mut self, node: &str, value: &str) -> Result<(), CibCallError>;
}

/// The answer of a program, whatever its exit status; `None` if it is not installed.
fn answer(words: &[&str]) -> Result<Option<String>, CibCallError> {
    let call = ProgramCall { words, input: "", limit: LIMIT, most: 1 << 20 };
    match call.run() {
        Ok(answer) => Ok(Some(answer.text)),
        Err(error) => match &error.problem {
            ProgramProblem::Start(why) if why.kind() == std::io::ErrorKind::NotFound => Ok(None),
            _ => Err(error.into()),
        },
    }
}

impl CibMaintenanceClient for LocalCluster {
    fn own_node(&mut self) -> Result<Option<String>, CibCallError> {
        let name = answer(&["crm_node", "-n"])?.unwrap_or_default();
        Ok(Some(name.trim().to_owned()).filter(|name| !name.is_empty()))
    }

    fn votes(&mut self) -> Result<Option<ClusterVotes>, CibCallError> {
        match answer(&["corosync-quorumtool", "-s"])? {
            None => Ok(None),
            Some(text) => ClusterVotes::parse(&text).map(Some).ok_or_else(|| {
                CibCallError::Nonsense("corosync-quorumtool does not tell the votes".to_owned())
            }),
        }
    }

    fn set_mark(&mut self, node: &str, value: &str) -> Result<(), CibCallError> {
        let (node, value) = (format!("--node={node}"), format!("--update={value}"));
        good(&["attrd_updater", "--name", MARK, &node, &value], "")?;
        Ok(())
    }
}
