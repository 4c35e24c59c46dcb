use proptest::prelude::*;

use super::*;

fn tag(text: &str) -> String {
    format!("{AUTOREPAIR}{text}")
}

/// Describes the history that the tags give; the tags come without their common prefix.
fn state(tags: &[&str]) -> String {
    let tags: Vec<String> = tags.iter().map(|text| tag(text)).collect();
    let short = |tag: &RepairTag| tag.to_string().replace(AUTOREPAIR, "");
    match RepairHistory::of(&tags) {
        Err(why) => format!("{} before {}", short(&why.older), short(&why.newer)),
        Ok(RepairHistory { state, outdated }) => {
            let state = match state {
                RepairState::Healthy(None) => "healthy".to_owned(),
                RepairState::Healthy(Some(tag)) => format!("healthy by {}", short(&tag)),
                RepairState::Pending(tag) => format!("pending by {}", short(&tag)),
                RepairState::Failure(tag) => format!("failed by {}", short(&tag)),
            };
            let outdated: Vec<String> = outdated.iter().map(|tag| format!(", not {}", short(tag))).collect();
            state + &outdated.concat()
        }
    }
}

/// Tags are read as the reference reads them.
#[test]
fn states_by_tags() {
    let [success, failure] = ["result:failover:u1:100:success:1", "result:failover:u1:100:failure:1"];
    for (tags, said) in [
        (&[][..], "healthy"),
        (
            &[success, "pending:failover:u1:50:2"],
            "healthy by result:failover:u1:100:success:1, not pending:failover:u1:50:2",
        ),
        (&[failure, "result:failover:u2:200:success:2"], "failed by result:failover:u1:100:failure:1"),
        (
            &[success, "result:failover:u2:200:failure:2"],
            "failed by result:failover:u2:200:failure:2, not result:failover:u1:100:success:1",
        ),
        (
            &[success, "pending:failover:u2:200:2"],
            "pending by pending:failover:u2:200:2, not result:failover:u1:100:success:1",
        ),
        (&[failure, "pending:failover:u2:200:2"], "failed by result:failover:u1:100:failure:1"),
        (
            &["result:failover:u2:200:success:2", success],
            "healthy by result:failover:u2:200:success:2, not result:failover:u1:100:success:1",
        ),
        (
            &["result:failover:u1:300:enoperm:", "result:failover:u1:200:success:3+4"],
            "healthy by result:failover:u1:200:success:3+4, not result:failover:u1:300:enoperm:",
        ),
        (&["pending:failover:u1:100:"], "pending by pending:failover:u1:100:"),
        (
            &["pending:failover:u1:100:1", "result:failover:u2:200:success:2"],
            "pending:failover:u1:100:1 before result:failover:u2:200:success:2",
        ),
        // Malformed tags.
        (
            &[
                "pending:nothing:u1:100:1",
                "pending:failover:u1:100:x",
                "pending:failover:u1:100:1+",
                "pending:failover:u1::1",
                "pending:failover:u1:100",
                "pending:failover:u1:100:1:2",
                "result:failover:u1:100:perhaps:1",
                "result:failover:u1:100:1",
            ],
            "healthy",
        ),
    ] {
        assert_eq!(state(tags), said, "{tags:?}");
    }
}

fn any_tag() -> impl Strategy<Value = RepairTag> {
    let kind = prop::sample::select(RepairKind::ALL);
    let result = prop::option::of(prop::sample::select(RepairResult::ALL));
    let jobs = prop::collection::vec((0u64..9).prop_map(JobId), 0..3);
    (kind, "[a-c]", -3i64..9, result, jobs).prop_map(|(kind, id, time, result, jobs)| RepairTag {
        kind,
        id,
        time,
        result,
        jobs,
    })
}

proptest! {
    #[test]
    fn tags_are_read_as_they_are_written(tag in any_tag()) {
        prop_assert_eq!(RepairTag::parse(&tag.to_string()), Some(tag));
    }

    #[test]
    fn anything_may_stand_there(text in "\\PC{0,30}", fields in "[:a-z0-9+-]{0,40}") {
        for text in [text, tag(&fields), tag(&format!("pending:{fields}")), tag(&format!("result:{fields}"))] {
            let read = RepairTag::parse(&text);
            prop_assert!(read.is_none_or(|tag| RepairTag::parse(&tag.to_string()) == Some(tag)));
        }
    }

    /// The order in which Ganeti lists tags does not matter.
    #[test]
    fn the_order_of_tags_means_nothing(tags in prop::collection::vec(any_tag(), 0..7).prop_shuffle()) {
        // Make sure that no two tags of a repair carry the same weight.
        let mut written: Vec<String> = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        for tag in &tags {
            if seen.insert((tag.id.clone(), tag.time, tag.result, tag.jobs.len())) {
                written.push(tag.to_string());
            }
        }
        let mut sorted = written.clone();
        sorted.sort();
        let read = |tags: &[String]| {
            RepairHistory::of(tags).map(|mut history| {
                history.outdated.sort_by_key(RepairTag::to_string);
                history
            })
        };
        prop_assert_eq!(read(&written), read(&sorted));
    }

    /// No repair begins while another one may be under way, or after one has failed.
    #[test]
    fn a_failure_or_what_is_under_way_is_never_overlooked(tags in prop::collection::vec(any_tag(), 0..7)) {
        let written: Vec<String> = tags.iter().map(RepairTag::to_string).collect();
        let last = |id: &str| tags.iter().filter(|tag| tag.id == id).map(|tag| tag.result).max();
        let open = ["a", "b", "c"].iter().any(|id| matches!(last(id), Some(None | Some(RepairResult::Failure))));
        let healthy = matches!(RepairHistory::of(&written), Ok(RepairHistory { state: RepairState::Healthy(_), .. }));
        prop_assert_eq!(healthy, !open);
    }
}
