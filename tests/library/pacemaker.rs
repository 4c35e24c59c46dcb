//! Pacemaker's own answers, as its crm_simulate gave them for the clusters in tests/fixtures/pacemaker.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use htools::placement::{cib, place};
use htools::report::placement::crm_simulate;

/// The clusters, by the paths of their documents: whole ones, and one for each rule.
pub(crate) fn clusters() -> Vec<PathBuf> {
    let (whole, rules) = (documents("tests/fixtures/pacemaker"), documents("tests/fixtures/pacemaker/rules"));
    assert_eq!((whole.len(), rules.len()), (40, 38));
    whole.into_iter().chain(rules).collect()
}

/// Clusters in which operations failed, or had not ended.
pub(crate) fn with_failures() -> BTreeSet<PathBuf> {
    let clusters = documents("tests/fixtures/pacemaker/failures");
    assert_eq!(clusters.len(), 44);
    clusters
}

/// Clusters in which resources run on several nodes.
pub(crate) fn on_several_nodes() -> BTreeSet<PathBuf> {
    let clusters = documents("tests/fixtures/pacemaker/several");
    assert_eq!(clusters.len(), 14);
    clusters
}

/// Clusters with clones.
pub(crate) fn with_clones() -> BTreeSet<PathBuf> {
    let clones = documents("tests/fixtures/pacemaker/clones");
    assert_eq!(clones.len(), 25);
    clones
}

/// Clusters whose documents say things by reference, in other units, or for several at once.
pub(crate) fn in_other_words() -> BTreeSet<PathBuf> {
    let clusters = documents("tests/fixtures/pacemaker/notation");
    assert_eq!(clusters.len(), 6);
    clusters
}

/// Clusters whose configuration has changed since their resources were started.
pub(crate) fn changed() -> BTreeSet<PathBuf> {
    let clusters = documents("tests/fixtures/pacemaker/changed");
    assert_eq!(clusters.len(), 36);
    clusters
}

/// The documents in a directory.
fn documents(directory: &str) -> BTreeSet<PathBuf> {
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|file| file.extension().is_some_and(|end| end == "xml")).collect()
}

#[test]
fn same_scores_same_places_same_order() {
    let others = [with_clones(), with_failures(), on_several_nodes(), in_other_words(), changed()];
    for file in clusters().into_iter().chain(others.into_iter().flatten()) {
        let name = file.display().to_string();
        let set = cib::parse(&fs::read_to_string(&file).unwrap(), &name).unwrap();
        assert_eq!(set.outside, [], "{name}");
        let allocation = place(&set, set.strategy()).unwrap();
        let answer = fs::read_to_string(file.with_extension("txt")).unwrap();
        let is_answer = |line: &&str| {
            ["Original: ", "Remaining: ", "pcmk__"].iter().any(|beginning| line.starts_with(beginning))
        };
        let theirs: Vec<&str> = answer.lines().filter(is_answer).collect();
        assert!(theirs.len() > 3, "{name}");
        let mut ours = Vec::new();
        let keep = |line: &str| -> Result<(), std::convert::Infallible> {
            ours.push(line.to_owned());
            Ok(())
        };
        crm_simulate::each_line(&set, &allocation, keep).unwrap();
        assert_eq!(ours, theirs, "{name}");
        assert!(allocation.records.iter().all(|record| !record.order_dependent), "{name}");
    }
}

/// What Pacemaker's newer versions call `fencing-enabled`, 2.1 calls `stonith-enabled`.
#[test]
fn newer_names_of_options_mean_the_same() {
    let mut renamed = 0;
    for file in clusters().into_iter().chain(with_failures()) {
        let name = file.display().to_string();
        let text = fs::read_to_string(&file).unwrap();
        let newer = text.replace(r#"name="stonith-enabled""#, r#"name="fencing-enabled""#);
        let [older, newer] = [&text, &newer].map(|text| format!("{:?}", cib::parse(text, &name).unwrap()));
        assert_eq!(older, newer, "{name}");
        renamed += usize::from(text.contains(r#"name="stonith-enabled""#));
    }
    assert!(renamed > 20, "{renamed}");
}
