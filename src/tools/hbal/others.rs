//! Jobs of others that a balancing run must not disturb.

use crate::execute::{JobClient, OpenJob};
use crate::model::shown::shown_name;

/// Beginnings of the names of operations that change where instances are, or what nodes can hold.
const CHANGES: [&str; 4] = ["OP_INSTANCE_", "OP_NODE_", "OP_GROUP_", "OP_OOB_"];
/// Operations of such names that change nothing of that kind.
const HARMLESS: [&str; 4] = ["OP_INSTANCE_QUERY", "OP_INSTANCE_CONSOLE", "OP_NODE_QUERY", "OP_GROUP_QUERY"];

/// The first job under way that changes the cluster, in words; none if there is none.
///
/// # Errors
/// If the queue cannot be read.
pub(super) fn under_way(client: &mut dyn JobClient) -> anyhow::Result<Option<String>> {
    Ok(client.open_jobs()?.iter().find_map(text))
}

fn text(job: &OpenJob) -> Option<String> {
    let changes = |kind: &str| {
        let begins = |with: &[&str]| with.iter().any(|start| kind.starts_with(start));
        begins(&CHANGES) && !begins(&HARMLESS)
    };
    let (kind, subject) = job.operations.iter().find(|(kind, _)| changes(kind))?;
    let of = subject.as_ref().map_or_else(String::new, |name| format!(" of {}", shown_name(name)));
    Some(format!("job {} is under way ({}{of})", job.id, shown_name(kind)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::JobId;

    #[test]
    fn only_changes_of_the_cluster_count() {
        let job = |kinds: &[(&str, Option<&str>)]| {
            let operation =
                |(kind, name): &(&str, Option<&str>)| ((*kind).to_owned(), name.map(str::to_owned));
            text(&OpenJob { id: JobId(7), operations: kinds.iter().map(operation).collect() })
        };
        let wanted = "job 7 is under way (OP_INSTANCE_MIGRATE of web1)";
        assert_eq!(
            job(&[("OP_TAGS_SET", None), ("OP_INSTANCE_MIGRATE", Some("web1"))]).as_deref(),
            Some(wanted)
        );
        assert_eq!(job(&[("OP_GROUP_EVACUATE", None)]).unwrap(), "job 7 is under way (OP_GROUP_EVACUATE)");
        for harmless in ["OP_TEST_DELAY", "OP_INSTANCE_QUERY_DATA", "OP_CLUSTER_VERIFY", "OP_BACKUP_EXPORT"] {
            assert_eq!(job(&[(harmless, Some("x"))]), None, "{harmless}");
        }
    }
}
