use super::*;
use crate::tools::cli::Stop;
use crate::tools::cli::testing::{self, words};
use crate::tools::options::CommandTarget;

#[test]
fn defaults_and_values() {
    let parsed = |args| testing::parsed(&SPEC, args);
    assert_eq!(parsed(&[]), HrollerOptions::default());
    assert_eq!(parsed(&["--node-tags=a,b"]).node_tags, Some(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(parsed(&["--node-tags", ""]).node_tags, Some(Vec::new()));
    assert_eq!(parsed(&["-C"]).output.commands, Some(CommandTarget::Stdout));
    assert_eq!(parsed(&["-Cx"]).output.commands, Some(CommandTarget::File("x".into())));
}

#[test]
fn abbreviations_mean_what_they_did() {
    let parsed = |args| testing::parsed(&SPEC, args);
    assert!(parsed(&["--p"]).print_moves && parsed(&["--pri"]).output.commands.is_none());
    assert_eq!(parsed(&["--m", "x"]).load.source.rapi.as_deref(), Some("x"));
    assert!(parsed(&["--migrate-s"]).rolling.migrate_shared && parsed(&["--ho"]).rolling.honour_run_state);
    assert!(matches!(SPEC.parse(&words(&["--no"])), Err(Stop::Syntax(_))));
}
