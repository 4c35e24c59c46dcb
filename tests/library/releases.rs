//! The releases of Pacemaker: answers of crm_simulate 3.0.0 on clusters that show one of its rules each.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use htools::pacemaker::cib::GuestReading;
use htools::pacemaker::cib::change::with_release;
use htools::pacemaker::working_set::WorkingSet;
use htools::pacemaker::{Release, ResourceChange, cib, place, transition};
use htools::report::pacemaker::crm_simulate;

/// The lines of scores and capacities in an answer.
fn score_lines(answer: &str) -> Vec<String> {
    let is_score = |line: &&str| {
        let begins = |beginning: &&str| line.trim_start_matches("  * ").starts_with(beginning);
        ["Original: ", "Remaining: ", "pcmk__"].iter().any(begins) || line.contains(" promotion score ")
    };
    answer.lines().filter(is_score).map(str::to_owned).collect()
}

/// The lines that hplace prints.
fn own_lines(set: &WorkingSet) -> Vec<String> {
    let placed = place(set, set.strategy()).unwrap();
    let mut lines = Vec::new();
    let keep = |line: &str| -> Result<(), std::convert::Infallible> {
        lines.push(line.to_owned());
        Ok(())
    };
    crm_simulate::each_line(set, &placed, keep).unwrap();
    lines
}

/// The names of nodes by resource, as far as they have a place.
fn places(set: &WorkingSet) -> BTreeSet<(String, String)> {
    let placed = place(set, set.strategy()).unwrap();
    let place = |resource| {
        let host = placed.host(resource)?;
        Some((set.resource(resource).id.clone(), set.host(host).name.clone()))
    };
    set.resource_indices().filter_map(place).collect()
}

/// A cluster read with its guest nodes.
fn with_guests(text: &str, name: &str) -> WorkingSet {
    cib::read_with(text.as_bytes(), name, GuestReading::Followed).unwrap()
}

/// The recorded clusters of Pacemaker 3.0.
pub fn of_pacemaker_3() -> BTreeSet<PathBuf> {
    crate::pacemaker::recorded("release-3.0", 41)
}

/// The recorded clusters of Pacemaker 3.0 with guest nodes.
pub fn of_pacemaker_3_with_guests() -> BTreeSet<PathBuf> {
    crate::pacemaker::recorded("release-3.0-guests", 1)
}

/// The recorded clusters of Pacemaker 3.0 with bundles.
pub fn of_pacemaker_3_with_bundles() -> BTreeSet<PathBuf> {
    crate::pacemaker::recorded("release-3.0-bundles", 12)
}

#[test]
fn same_scores_as_pacemaker_3() {
    let files = [of_pacemaker_3(), of_pacemaker_3_with_guests(), of_pacemaker_3_with_bundles()];
    let files = files.into_iter().flatten();
    let mut with_other_scores = 0;
    let mut elsewhere = 0;
    for file in files {
        let name = file.display().to_string();
        let text = fs::read_to_string(&file).unwrap();
        let set = with_guests(&text, &name);
        assert_eq!((set.release, set.unknown_feature_set.as_deref()), (Release::V3_0_0, None), "{name}");
        assert_eq!(set.unsupported, [], "{name}");
        let theirs = score_lines(&fs::read_to_string(file.with_extension("txt")).unwrap());
        assert!(theirs.len() > 3, "{name}");
        assert_eq!(own_lines(&set), theirs, "{name}");
        // The other release answers differently, or the cluster would show no rule.
        let older = with_release(&text, &name, Release::V2_1_5).unwrap();
        let older = with_guests(&older, &name);
        assert_eq!(older.release, Release::V2_1_5, "{name}");
        let bare = |line: &String| {
            let line = line.trim_start_matches("  * ");
            let line =
                line.replace("clone_allocate", "clone_assign").replace("bundle_allocate", "bundle_assign");
            line.replace("finalize_assignment", "assign_resource")
        };
        let [older_lines, newer_lines] =
            [own_lines(&older), theirs].map(|lines| lines.iter().map(bare).collect::<Vec<_>>());
        with_other_scores += usize::from(older_lines != newer_lines);
        elsewhere += usize::from(places(&older) != places(&set));
    }
    // Three clusters show exceptions from rules, and eight show rules of actions and their order.
    assert_eq!((with_other_scores, elsewhere), (42, 19));
}

#[test]
fn the_feature_set_tells_the_release() {
    let cluster = Path::new("tests/fixtures/pacemaker/release-3.0/chain.xml");
    let text = fs::read_to_string(cluster).unwrap();
    let known = |features: &str| {
        let text = text.replace(r#"crm_feature_set="3.20.0""#, features);
        let set = cib::parse(&text, "x").unwrap();
        (set.release, set.unknown_feature_set)
    };
    let of = |features: &str| known(&format!(r#"crm_feature_set="{features}""#));
    let unknown = |features: &str| Some(features.to_owned());
    assert_eq!(known(""), (Release::V2_1_5, None));
    assert_eq!(of("3.0.14"), (Release::V2_1_5, None));
    assert_eq!(of("3.16.1"), (Release::V2_1_5, None));
    assert_eq!(of("3.17.4"), (Release::V2_1_5, unknown("3.17.4")));
    assert_eq!(of("3.20.0"), (Release::V3_0_0, None));
    assert_eq!(of("3.20.1"), (Release::V3_0_2, None));
    assert_eq!(of("3.21.0"), (Release::V3_0_2, unknown("3.21.0")));
}

#[test]
fn a_document_of_another_release_is_read_as_of_the_named_one() {
    let text = r#"<cib crm_feature_set="3.16.1" epoch="1"><configuration/></cib>"#;
    let with = |text: &str, release| with_release(text, "x", release).unwrap();
    assert_eq!(with(text, Release::V2_1_5), text);
    let newer = with(text, Release::V3_0_0);
    assert_eq!(newer, text.replace("3.16.1", "3.20.0"));
    assert_eq!(with(&newer, Release::V2_1_5), text);
    let without = r#"<cib epoch="1"/>"#;
    assert_eq!(with(without, Release::V2_1_5), without);
    assert_eq!(with(without, Release::V3_0_0), r#"<cib crm_feature_set="3.20.0" epoch="1"/>"#);
}

/// These rules are known from the answers of 3.0.2 to Pacemaker's own tests.
#[test]
fn containers_with_a_resource_inside_are_redefined_since_3_0_2() {
    let file = "tests/fixtures/pacemaker/bundles-in-order/goes-on-without-quorum.xml";
    let text = fs::read_to_string(file).unwrap();
    let read = |text: &str, release| with_guests(&with_release(text, file, release).unwrap(), file);
    let restarted = |set: &WorkingSet| -> Vec<String> {
        let placed = place(set, set.strategy()).unwrap();
        let changes = transition(set, set.strategy(), &placed).changes;
        let restarts = |one: &_| matches!(changes.get(*one), ResourceChange::Restart(_));
        set.resource_indices().filter(restarts).map(|one| set.resource(one).id.clone()).collect()
    };
    let shows_node = |set: &WorkingSet| own_lines(set).iter().any(|line| line.contains("b-0 capacity:"));
    let [older, newer] = [Release::V3_0_0, Release::V3_0_2].map(|release| read(&text, release));
    assert_eq!((older.unsupported.as_slice(), newer.unsupported.as_slice()), (&[][..], &[][..]));
    assert_eq!((restarted(&older).as_slice(), shows_node(&older)), (&[][..], true));
    assert_eq!(restarted(&newer), ["b-podman-0", "b-0", "p:0"]);
    assert!(!shows_node(&newer));

    let nothing_inside = fs::read_to_string("tests/fixtures/pacemaker/bundles/nothing-inside.xml").unwrap();
    let nothing_inside = read(&nothing_inside, Release::V3_0_2);
    assert_eq!((nothing_inside.unsupported.as_slice(), restarted(&nothing_inside).len()), (&[][..], 0));
    let has_active = |one| nothing_inside.resource(one).active.is_some();
    assert!(nothing_inside.resource_indices().any(has_active));

    let noted = r#"operation_key="b-podman-0_start_0" operation="start" crm_feature_set="3.16.1""#;
    let noted_later = text.replace(noted, &noted.replace("3.16.1", "3.20.1"));
    assert_ne!(noted_later, text);
    let refused = read(&noted_later, Release::V3_0_2).unsupported;
    assert!(refused.iter().any(|one| one.reason.contains("started by a Pacemaker after 3.0.0")));
}

#[test]
fn several_nodes_are_fenced_at_once_since_3() {
    let concurrent = |features: &str, option: &str| {
        let text = format!(
            r#"<cib crm_feature_set="{features}"><configuration><crm_config><cluster_property_set id="o">{option}</cluster_property_set></crm_config><nodes/><resources/><constraints/></configuration><status/></cib>"#
        );
        cib::parse(&text, "x").unwrap().concurrent_fencing
    };
    let option = r#"<nvpair id="c" name="concurrent-fencing" value="false"/>"#;
    assert!(!concurrent("3.16.1", "") && concurrent("3.20.0", "") && !concurrent("3.20.0", option));
}
