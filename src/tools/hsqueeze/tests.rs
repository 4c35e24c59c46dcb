use super::*;
use crate::search::squeeze::Reach;
use crate::tools::cli::testing::*;

#[test]
fn defaults_and_values() {
    let options = SPEC.parse(&words(&[])).unwrap();
    assert_eq!((options.minimal(), options.target(), options.reach), (2.0, 2.0, Reach::External));
    // These abbreviations work in the reference.
    let options = SPEC.parse(&words(&["--m=1.5", "--ta", "3", "--no"])).unwrap();
    assert_eq!((options.minimal, options.target, options.output.no_headers), (Some(1.5), Some(3.0), true));
    // The default of the target follows the minimum.
    assert_eq!(SPEC.parse(&words(&["--minimal-resources=4"])).unwrap().target(), 4.0);
    for (target, minimal) in [("0", 0.0), ("1", 1.0), ("3", 2.0)] {
        let options = SPEC.parse(&words(&["--target-resources", target])).unwrap();
        assert_eq!(options.minimal(), minimal, "{target}");
    }
    for (line, reach) in [(&["--all", "--drbd"], Reach::All), (&["--drbd", "--drbd"], Reach::Drbd)] {
        assert_eq!(SPEC.parse(&words(line)).unwrap().reach, reach);
    }
    assert!(SPEC.parse(&words(&["--max-nodes=-1"])).is_err());
}

#[test]
fn load_and_rules_of_balancing() {
    let line = [
        "-U",
        "u",
        "--ignore-dynu",
        "--mond=yes",
        "--mond-data",
        "m",
        "--mond-xen",
        "--exit-on-missing-mond-data",
        "--exclusion-tags=a,b",
        "--exclude-instances=x",
        "--restricted-migration",
    ];
    let HsqueezeOptions { load, rules, .. } = SPEC.parse(&words(&line)).unwrap();
    assert_eq!((load.utilisation, load.mond_data), (Some("u".into()), Some("m".into())));
    assert!(load.mond && load.mond_xen && load.exit_on_missing_mond_data && load.merge.ignore_dynu);
    assert_eq!(
        (load.merge.exclusion_tags, load.merge.exclude_instances),
        (vec!["a".to_owned(), "b".to_owned()], vec!["x".to_owned()])
    );
    assert!(rules.restricted_migration);
}

#[test]
fn a_target_below_the_minimum_is_refused() {
    let check = |line: &[&str]| run::check_reserves(&SPEC.parse(&words(line)).unwrap());
    assert!(check(&["--minimal-resources=2", "--target-resources=1.9"]).is_err());
    assert!(check(&["--target-resources=NaN"]).is_err());
    assert!(check(&["--target-resources=1.9"]).is_ok());
    assert!(check(&["--minimal-resources=3"]).is_ok());
    assert!(check(&["--minimal-resources=3", "--target-resources=3"]).is_ok());
}
