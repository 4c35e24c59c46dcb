//! Tells if a cluster is at work at the time of its document.

use super::document::{self, child, children};
use htools_ganeti::input::error::Result;

/// Status of an operation that has not ended, as in the history.
const PENDING: &str = "-1";

/// Returns true if an operation is under way on a member node; `source` names the document in errors.
///
/// # Errors
/// Fails if it is no document of a cluster.
pub(crate) fn is_busy(text: &str, source: &str) -> Result<bool> {
    let document = document::parse(text, source)?;
    let states = child(document.root_element(), "status")
        .into_iter()
        .flat_map(|status| children(status, "node_state"));
    // Operations of a lost node do not go on.
    let mut members = states.filter(|state| state.attribute("join") == Some("member"));
    Ok(members.any(|state| {
        let mut operations = state.descendants().filter(|node| node.has_tag_name("lrm_rsc_op"));
        operations.any(|operation| operation.attribute("op-status") == Some(PENDING))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_members_are_at_work() {
        let document = |join: &str, status: &str| {
            format!(
                r#"<cib><status><node_state join="{join}"><lrm><lrm_resources><lrm_resource><lrm_rsc_op op-status="0"/><lrm_rsc_op op-status="{status}"/></lrm_resource></lrm_resources></lrm></node_state></status></cib>"#
            )
        };
        for (join, status, busy) in [("member", "-1", true), ("member", "0", false), ("down", "-1", false)] {
            assert_eq!(is_busy(&document(join, status), "t"), Ok(busy), "{join} {status}");
        }
        assert_eq!(is_busy("<cib/>", "t"), Ok(false));
    }
}
