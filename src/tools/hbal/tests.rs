use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::options::{CommandTarget, LoadOptions, Priority};
use super::*;
use crate::model::Mib;
use crate::tools::cli::Stop;
use crate::tools::cli::testing::{self, words};

fn parsed(args: &[&str]) -> HbalOptions {
    testing::parsed(&SPEC, args)
}

fn refused(args: &[&str]) -> String {
    testing::refused(&SPEC, args)
}

#[test]
fn defaults() {
    let options = parsed(&[]);
    assert_eq!(options, HbalOptions::default());
    assert_eq!((options.balance.max_length, options.balance.min_score), (-1, 1e-9));
    assert_eq!((options.balance.min_gain, options.balance.min_gain_limit), (0.01, 0.1));
    assert_eq!((options.load.verbosity, options.load.static_kvm_node_memory), (1, Mib(4096)));
}

#[test]
fn the_last_value_wins_and_lists_are_replaced() {
    let options = parsed(&["-l1", "-l2", "--select-instances=a,b", "--select-instances", "c,", "-Cx", "-C"]);
    assert_eq!(options.balance.max_length, 2);
    assert_eq!(options.load.merge.select_instances, ["c", ""]);
    assert_eq!(options.output.commands, Some(CommandTarget::Stdout));
    assert!(
        parsed(&["--exclude-instances=a", "--exclude-instances="]).load.merge.exclude_instances.is_empty()
    );
    assert_eq!(parsed(&["--mond", "--mond=no"]).load, LoadOptions::default());
}

#[test]
fn cumulative_options() {
    let options =
        parsed(&["-Oa", "--offline", "b", "--simulate=x", "--simulate=y", "--explain=i", "--explain=j"]);
    assert_eq!(options.load.nodes.offline, ["a", "b"]);
    assert_eq!(options.load.source.simulate, ["x", "y"]);
    assert_eq!(options.explain, ["i", "j"]);
}

#[test]
fn verbosity_counts_and_may_become_negative() {
    assert_eq!(parsed(&["-vvq"]).load.verbosity, 2);
    assert_eq!(parsed(&["-qqq", "--verbose"]).load.verbosity, -1);
    assert_eq!(parsed(&["-E", "-E"]), parsed(&["-E"]));
}

#[test]
fn optional_arguments() {
    assert_eq!(parsed(&["-p"]).output.print_nodes.as_deref(), Some(""));
    assert_eq!(parsed(&["-pname", "--print-nodes="]).output.print_nodes.as_deref(), Some(""));
    assert_eq!(parsed(&["-p+plist,idx"]).output.print_nodes.as_deref(), Some("+plist,idx"));
    let problem = "option --print-nodes: there is no field 'nmae', did you mean 'name'?";
    assert_eq!(refused(&["-pidx,nmae"]), problem);
    assert_eq!(refused(&["-p+,"]), "option --print-nodes: there is no field ''");
    let Err(Stop::Value(error)) = SPEC.parse(&words(&["-pidx,nmae"])) else { panic!() };
    assert!(error.problem.hint().unwrap().starts_with("the valid words are idx, name, fqdn, "), "{error}");
    assert_eq!(parsed(&["-C-"]).output.commands, Some(CommandTarget::Stdout));
    assert_eq!(parsed(&["-C="]).output.commands, Some(CommandTarget::File("=".into())));
    assert_eq!(parsed(&["--luxi"]).load.source.luxi, Some(None));
    assert_eq!(parsed(&["-L/s"]).load.source.luxi, Some(Some(PathBuf::from("/s"))));
}

#[test]
fn an_empty_address_is_not_given() {
    assert_eq!(parsed(&["-mx", "-m", ""]).load.source.rapi, None);
}

#[test]
fn a_path_need_not_be_text() {
    let path = OsString::from_vec(b"-t\xff\xfe".to_vec());
    let options = SPEC.parse(&[path]).unwrap();
    assert_eq!(
        options.load.source.text_data.as_deref(),
        Some(Path::new(&OsString::from_vec(vec![255, 254])))
    );
    let group = OsString::from_vec(b"-G\xff".to_vec());
    assert!(matches!(SPEC.parse(&[group]), Err(Stop::Value(_))));
}

#[test]
fn values_are_checked_and_named() {
    assert_eq!(refused(&["-l", "abc"]), "option --max-length: 'abc' is not a whole number");
    assert_eq!(refused(&["-e", "1e"]), "option --min-score: '1e' is not a number");
    assert_eq!(refused(&["--max-cpu=0"]), "option --max-cpu: '0' is not a ratio above 0");
    assert_eq!(
        refused(&["--priority=x"]),
        "option --priority: Unknown priority 'x', pass one of 'low', 'normal' or 'high'"
    );
    assert!(refused(&["--mond="]).contains("Unknown mond ''"));
    assert_eq!(parsed(&["--priority", "high"]).execution.priority, Some(Priority::High));
}

#[test]
fn times_are_above_zero_and_finite() {
    let limit = |value: &str| parsed(&["--time-limit", value]).limits.time_limit;
    assert_eq!(limit("2"), Some(Duration::from_secs(2)));
    assert_eq!(limit("0.25"), Some(Duration::from_millis(250)));
    assert_eq!((limit("1e-99"), limit("1e99")), (Some(Duration::ZERO), Some(Duration::MAX)));
    for value in ["0", "-0", "-1", "NaN", "Infinity", "-Infinity", "1e999"] {
        let wanted = format!("option --time-limit: '{value}' is not a time in seconds, above 0");
        assert_eq!(refused(&["--time-limit", value]), wanted);
    }
    assert_eq!(refused(&["--time-limit=soon"]), "option --time-limit: 'soon' is not a number");
}

#[test]
fn the_first_unusable_value_is_reported_even_with_help() {
    assert!(refused(&["-h", "-gx", "-lx"]).contains("min-gain:"));
}

#[test]
fn help_before_version_before_completion_before_arguments() {
    let text = |args: &[&str]| match SPEC.parse(&words(args)) {
        Err(Stop::Text(text)) => text,
        Err(Stop::Help(lines)) => lines.into_iter().map(|(_, line)| line + "\n").collect(),
        other => panic!("{other:?}"),
    };
    assert!(text(&["x", "--help-completion", "-V", "-h"]).contains("\nUsage: hbal [OPTION...]\n"));
    assert!(text(&["x", "--help-completion", "-V"]).starts_with("hbal (htools) version "));
    assert!(text(&["x", "--help-completion"]).starts_with("-p,--print-nodes none\n"));
    assert!(matches!(SPEC.parse(&words(&["x"])), Err(Stop::Positional(..))));
}
