use super::*;
use crate::tools::cli::testing::*;
use crate::tools::options::CommandTarget;

#[test]
fn every_option_means_something() {
    for given in one_of_each(&SPEC) {
        let mut options = HrollerOptions::default();
        assert_eq!(options.apply(&given), Ok(true), "{}", given.option.long);
        assert_ne!(options, HrollerOptions::default(), "{}", given.option.long);
    }
}

#[test]
fn defaults_and_values() {
    let parsed = |args: &[&str]| parse(&words(args)).unwrap();
    assert_eq!(parsed(&[]), HrollerOptions::default());
    assert_eq!(parsed(&["--node-tags=a,b"]).node_tags, Some(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(parsed(&["--node-tags", ""]).node_tags, Some(Vec::new()));
    assert_eq!(parsed(&["-C"]).commands, Some(CommandTarget::Stdout));
    assert_eq!(parsed(&["-Cx"]).commands, Some(CommandTarget::File("x".into())));
}

#[test]
fn abbreviations_mean_what_they_did() {
    let parsed = |args: &[&str]| parse(&words(args)).unwrap();
    assert!(parsed(&["--p"]).print_moves && parsed(&["--pri"]).commands.is_none());
    assert_eq!(parsed(&["--m", "x"]).load.source.rapi.as_deref(), Some("x"));
    assert!(parsed(&["--mi"]).rolling.migrate_shared && parsed(&["--ho"]).rolling.honour_run_state);
    assert!(matches!(parse(&words(&["--no"])), Err(Stop::Syntax(_))));
}
