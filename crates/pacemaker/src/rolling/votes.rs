//! Votes of the nodes, by which a cluster has quorum.

use crate::working_set::WorkingSet;

/// Votes of a cluster now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterVotes {
    /// Votes of the members, and of a quorum device.
    pub total: usize,
    /// Votes that are needed for quorum.
    pub quorum: usize,
    /// Most votes of one node.
    pub most: usize,
}

impl ClusterVotes {
    /// The votes by a document alone, which does not have them: one for each node. Two nodes count as corosync's
    /// `two_node`, in which one is enough.
    pub fn of(set: &WorkingSet) -> ClusterVotes {
        let members = || set.hosts.iter().filter(|host| host.is_member());
        let all = members().count();
        let total = members().filter(|host| host.state.online && !host.state.joining).count();
        let quorum = if set.ignores_quorum || all <= 2 { 1 } else { all / 2 + 1 };
        ClusterVotes { total, quorum, most: 1 }
    }

    /// Reads the answer of `corosync-quorumtool -s`; `None` if it makes no sense.
    pub fn parse(answer: &str) -> Option<ClusterVotes> {
        let number = |title: &str| {
            let line = answer.lines().find_map(|line| line.trim_start().strip_prefix(title))?;
            line.split_whitespace().next()?.parse::<usize>().ok()
        };
        let (total, quorum) = (number("Total votes:")?, number("Quorum:")?);
        let members = answer.lines().skip_while(|line| !line.trim_start().starts_with("Nodeid"));
        let votes = members.skip(1).filter_map(|line| line.split_whitespace().nth(1)?.parse::<usize>().ok());
        Some(ClusterVotes { total, quorum, most: votes.max().unwrap_or(1).max(1) })
    }

    /// Number of member nodes that can leave while the others keep quorum. At least one node stays.
    pub fn spare_nodes(self) -> usize {
        self.total.saturating_sub(self.quorum.max(1)) / self.most.max(1)
    }
}
