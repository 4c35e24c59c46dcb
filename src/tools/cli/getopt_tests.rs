use super::super::option::{ArgumentKind, OptionDef, Rows};
use super::super::program::{Program, Spec};
use super::super::testing::words;
use super::super::usage::complaints;
use super::*;
use crate::tools::hbal::HbalOptions;
use crate::tools::options::catalogue::*;

static TABLE: &[&dyn Rows<HbalOptions>] = &[
    &PRINT_NODES,
    &PRINT_INSTANCES,
    &PRINT_COMMANDS,
    &TEXT_DATA,
    &EVAC_MODE,
    &LUXI,
    &VERBOSE,
    &QUIET,
    &MOND,
    &MOND_DATA,
    &SAVE,
    &SIMULATE,
    &OptionDef::<HbalOptions>::new("explain", "")
        .takes("INSTANCE", ArgumentKind::None, |_, _| Ok(()))
        .added(),
    &TIME_LIMIT,
    &VERSION,
    &HELP,
];

static TOOL: Spec<HbalOptions> = Spec { name: "tool", options: TABLE, ..Spec::PLAIN };

/// The options as `name` or `name=value`, then `|` and the positional words.
fn canonical(args: &[&str]) -> String {
    let found = canonicalise(&TOOL.options(), &words(args));
    assert_eq!(found.errors, [], "{args:?}");
    let options = found.options.iter().map(|given| match &given.value {
        Some(value) => format!("{}={}", given.option.long, value.to_string_lossy()),
        None => given.option.long.to_owned(),
    });
    let positional = found.positional.iter().map(|word| word.to_string_lossy().into_owned());
    format!("{}|{}", options.collect::<Vec<_>>().join(" "), positional.collect::<Vec<_>>().join(" "))
}

fn errors(args: &[&str]) -> String {
    let text = complaints(&TOOL, &canonicalise(&TOOL.options(), &words(args)).errors);
    text.strip_suffix("Try 'tool --help'.\n").expect("where to read on").to_owned()
}

#[test]
fn letters_bundle() {
    assert_eq!(canonical(&["-vqpname"]), "verbose quiet print-nodes=name|");
    assert_eq!(canonical(&["-qtFILE", "-t", "F", "-tG"]), "quiet text-data=FILE text-data=F text-data=G|");
    assert_eq!(canonical(&["-t=x"]), "text-data==x|");
    assert_eq!(canonical(&["-pv", "-p-h", "-C-"]), "print-nodes=v print-nodes=-h print-commands=-|");
}

#[test]
fn a_dash_in_a_bundle_starts_a_long_option() {
    assert_eq!(canonical(&["-v-help"]), "verbose help|");
    assert_eq!(canonical(&["-v-", "-q"]), "verbose|-q");
    assert_eq!(canonical(&["-v-text", "f"]), "verbose text-data=f|");
}

#[test]
fn long_options_take_arguments_after_equals_or_as_the_next_word() {
    assert_eq!(canonical(&["--text-data=a=b", "--text-data", "c"]), "text-data=a=b text-data=c|");
    assert_eq!(canonical(&["--text-data", "-v", "-t", "--", "-v"]), "text-data=-v text-data=-- verbose|");
    assert_eq!(canonical(&["--text-data="]), "text-data=|");
}

#[test]
fn optional_arguments_are_attached() {
    assert_eq!(canonical(&["-p", "name"]), "print-nodes|name");
    assert_eq!(canonical(&["--print-nodes", "name"]), "print-nodes|name");
    assert_eq!(canonical(&["--print-nodes=name", "--luxi="]), "print-nodes=name luxi=|");
}

#[test]
fn positional_words_mix_with_options() {
    assert_eq!(canonical(&["a", "-v", "-", "", "--", "-q", "--"]), "verbose|a -  -q --");
}

#[test]
fn abbreviations() {
    assert_eq!(
        canonical(&["--print-n=x", "--te", "f", "--mond-=y"]),
        "print-nodes=x text-data=f mond-data=y|"
    );
    assert_eq!(canonical(&["--mond", "--q"]), "mond quiet|");
    assert!(
        errors(&["--mon=x"])
            .starts_with("Command line error: option `--mon' is ambiguous; could be one of:\n")
    );
}

#[test]
fn added_options_never_disturb_an_abbreviation() {
    assert_eq!(canonical(&["--e"]), "evac-mode|");
    assert_eq!(canonical(&["--t=x", "--ti=1"]), "text-data=x time-limit=1|");
    assert_eq!(canonical(&["--s=x", "--si=y", "--ex", "z"]), "save=x simulate=y explain=z|");
}

#[test]
fn unknown_options_are_reported_last() {
    assert_eq!(
        errors(&["-Zt"]),
        "Command line error: option `-t' requires an argument FILE\nunrecognized option `-Z'\n"
    );
    assert_eq!(
        errors(&["--bogus=3", "-aé", "--evac=3", "--text-d"]),
        "Command line error: option `--evac' doesn't allow an argument\n\
         option `--text-d' requires an argument FILE\n\
         unrecognized option `--bogus=3'\n\
         unrecognized option `-a'\n\
         unrecognized option `-é'\n"
    );
}

#[test]
fn ambiguity_shows_the_candidates_in_columns() {
    let text = errors(&["--ver"]);
    assert!(text.contains("\n  -v, --verbose  ") && text.contains("\n  -V, --version  "), "{text}");
    let text = errors(&["--"]);
    assert_eq!(text, "Command line error: ");
    let text = errors(&["--="]);
    assert!(text.contains("option `--' is ambiguous") && !text.contains("--simulate"), "{text}");
}

#[test]
fn bytes_that_are_no_text() {
    let args = [OsString::from_vec(b"-v\xff\xfeq".to_vec()), OsString::from_vec(b"--\xff=1".to_vec())];
    let found = canonicalise(&TOOL.options(), &args);
    assert_eq!(found.options.len(), 2);
    assert_eq!(found.errors.len(), 3);
}
