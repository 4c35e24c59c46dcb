use std::path::PathBuf;

use super::request::FillRequest;
use super::*;
use crate::model::{Cluster, DiskTemplate, Mib};
use crate::search::fill::Size;
use crate::tools::cli::Stop;
use crate::tools::cli::testing::{self, words};
use htools_testkit::cluster;

fn parsed(args: &[&str]) -> HspaceOptions {
    testing::parsed(&SPEC, args)
}

fn refused(args: &[&str]) -> String {
    testing::refused(&SPEC, args)
}

#[test]
fn defaults_and_values() {
    let options = parsed(&[]);
    assert_eq!(options, HspaceOptions::default());
    assert!(!options.limits.no_capacity_checks && options.limit().is_none());
    assert_eq!(parsed(&["--disk-template=drbd"]).disk_template, Some(DiskTemplate::Drbd));
    assert_eq!(parsed(&["--spindle-use", "(2)"]).spindle_use, Some(2));
    assert_eq!(parsed(&["-S", "x"]).output.save, Some(PathBuf::from("x")));
    let shell = |args: &[&str]| parsed(args).output.machine_readable;
    assert!(shell(&["--machine-readable"]) && shell(&["--machine-readable=yes"]));
    assert!(!shell(&["--machine-readable", "--machine-readable=no"]));
}

#[test]
fn only_minus_one_is_no_limit() {
    let limit = |value: &str| parsed(&["-l", value]).limit();
    assert_eq!((limit("-1"), limit("0"), limit("7"), limit("-2")), (None, Some(0), Some(7), Some(-2)));
}

#[test]
fn sizes() {
    let size = |text: &str| parsed(&["--tiered-alloc", text]).tiered.unwrap();
    let wanted = Size { disk: Mib(10240), memory: Mib(953), vcpus: 3, spindles: 1 };
    assert_eq!(size("10g,1G,3"), wanted);
    assert_eq!(size("10 GiB,953, 3,(4)"), Size { spindles: 4, ..wanted });
    assert_eq!(size("-5,-5,-5,-5"), Size { disk: Mib(-5), memory: Mib(-5), vcpus: -5, spindles: -5 });
}

#[test]
fn unusable_sizes_are_named() {
    for text in ["", "1", "1,2", "1,2,3,4,5"] {
        let wanted =
            format!("option --standard-alloc: '{text}' is not a size as DISK,MEMORY,CPUS[,SPINDLES]");
        assert_eq!(refused(&["--standard-alloc", text]), wanted);
    }
    for (text, wanted) in [
        ("1q,2q,x,x", "disk: Unknown unit 'q'"),
        ("1,2q,x,x", "memory: Unknown unit 'q'"),
        ("1,x,1", "memory: Can't parse string 'x'"),
        ("1,2,x", "cpus: cannot parse string 'x'"),
        ("1,2,1g", "cpus: leftover characters when parsing '1g': 'g'"),
        ("1,2,1,", "spindles: cannot parse string ''"),
        ("99999999999999999999,1,1", "disk: '99999999999999999999' does not fit into 64 bits"),
    ] {
        assert_eq!(refused(&["--tiered-alloc", text]), format!("option --tiered-alloc: {wanted}"));
    }
}

#[test]
fn other_unusable_values() {
    assert_eq!(refused(&["--spindle-use=-1"]), "option --spindle-use: '-1' is not a number from 0 on");
    assert_eq!(refused(&["--spindle-use=1.5"]), "option --spindle-use: '1.5' is not a whole number");
    assert!(
        refused(&["--disk-template=Drbd"])
            .starts_with("option --disk-template: Unknown disk-template 'Drbd'")
    );
    assert!(refused(&["--machine-readable="]).contains("pass one of 'yes' or 'no'"));
}

#[test]
fn simulate_is_no_addition_here() {
    assert_eq!(parsed(&["--si", "x"]).load.source.simulate, ["x"]);
    assert!(matches!(SPEC.parse(&words(&["--s", "x"])), Err(Stop::Syntax(_))));
    assert!(matches!(SPEC.parse(&words(&["--t", "x"])), Err(Stop::Syntax(_))));
    assert!(parsed(&["--j"]).output.json);
}

fn with_policy(change: impl FnOnce(&mut Cluster)) -> Cluster {
    let mut cluster = cluster(&[], &[], &[]);
    change(&mut cluster);
    cluster
}

#[test]
fn the_policy_completes_the_options() {
    let cluster = with_policy(|c| c.policy.disk_templates = vec![DiskTemplate::Rbd, DiskTemplate::Drbd]);
    let request = FillRequest::of(&parsed(&[]), &cluster).unwrap();
    assert_eq!((request.settings.template, request.settings.spindle_use), (DiskTemplate::Rbd, 1));
    assert_eq!(request.standard, Size { memory: Mib(128), disk: Mib(1024), vcpus: 1, spindles: 1 });
    let largest = Size { memory: Mib(32768), disk: Mib(1_048_576), vcpus: 8, spindles: 12 };
    assert_eq!(request.tiered, [largest]);
    request.check_sizes().unwrap();

    let options = parsed(&["--tiered-alloc=1,2,3,4", "--standard-alloc=5,6,7,8", "--spindle-use=9", "-l-2"]);
    let request = FillRequest::of(&options, &cluster).unwrap();
    assert_eq!(request.tiered, [Size { disk: Mib(1), memory: Mib(2), vcpus: 3, spindles: 4 }]);
    assert_eq!(request.standard, Size { disk: Mib(5), memory: Mib(6), vcpus: 7, spindles: 8 });
    assert_eq!(request.settings.spindle_use, 9);
    assert_eq!((request.tiered_limit, request.standard_limit), (Some(-2), None));
}

#[test]
fn a_policy_may_not_be_enough() {
    let bare = with_policy(|c| c.policy.disk_templates.clear());
    assert!(FillRequest::of(&parsed(&["--disk-template=drbd"]), &bare).is_err());
    let unlimited = with_policy(|c| c.policy.ranges.clear());
    assert!(FillRequest::of(&parsed(&[]), &unlimited).unwrap().check_sizes().is_err());
    FillRequest::of(&parsed(&["--tiered-alloc=1,2,3"]), &unlimited).unwrap().check_sizes().unwrap();
}
