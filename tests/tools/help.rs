//! Help texts, commands and former spellings, as users meet them.

use std::process::{Command, Output};

use htools::tools::{TOOLS, launcher};

/// Runs a line of words.
fn ran(line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    command.env_remove("HTOOLS").env("HTOOLS_CONFIG", "").args(line.split_whitespace()).output().unwrap()
}

/// Exit status, standard output, standard error.
fn told(line: &str) -> (i32, String, String) {
    let output = ran(line);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// The words that all programs are called with.
fn programs() -> Vec<String> {
    let tools = TOOLS.iter().chain(launcher::COMMANDS).map(|tool| tool.spec);
    let names = tools.flat_map(|spec| {
        let commands = spec.commands().into_iter().map(|command| command.name());
        commands.chain([spec.name()]).collect::<Vec<_>>()
    });
    names.map(|name| name.trim_start_matches("htools ").to_owned()).chain([String::new()]).collect()
}

#[test]
fn a_short_help_is_one_screen_and_a_full_one_is_more() {
    for name in programs() {
        let (status, short, error) = told(&format!("{name} -h"));
        assert_eq!((status, error.as_str()), (0, ""), "{name}");
        assert!(short.lines().count() <= 24, "{name}: {short}");
        assert!(short.lines().all(|line| line.chars().count() <= 80), "{name}: {short}");
        assert_eq!(short.lines().filter(|line| line.starts_with("Usage: ")).count(), 1, "{short}");
        let (status, full, _) = told(&format!("{name} --help"));
        assert_eq!(status, 0, "{name}");
        assert!(full.contains("\nGeneral:\n") && full.contains("\nExamples:\n"), "{name}: {full}");
        assert!(!full.contains('\u{1b}'), "{name}");
        assert_eq!(told(&format!("{name} -h --help")).1, full, "{name}");
    }
}

#[test]
fn commands_have_their_own_options() {
    let (_, survive, _) = told("hplace survive --help");
    assert!(survive.contains("      --nodes=N ") && !survive.contains("--keep-reserve"), "{survive}");
    let (_, place, _) = told("hplace --help");
    assert!(place.contains("\nCommands:\n  why ") && !place.contains("      --nodes=N "), "{place}");
    let refused = told("hplace why -x data/pacemaker-small.xml --keep-reserve 1 rsc-large");
    let wanted = "Error: option --keep-reserve does not apply to `hplace why'\nHint: --keep-reserve belongs to `hplace fit'\n";
    assert_eq!(refused, (1, String::new(), wanted.to_owned()));
    let (status, _, error) = told("show --replan plan.json");
    let wanted = "Command line error: unrecognized option `--replan', which belongs to `htools apply'\nTry 'htools show --help'.\n";
    assert_eq!((status, error.as_str()), (2, wanted));
    let (status, _, error) = told("hplace optimal x");
    assert_eq!((status, error.as_str()), (1, "Error: hplace optimal takes no other words\n"));
}

/// Lines of which both say the same, the former one first.
const SPELLINGS: &[(&str, &str)] = &[
    ("hplace -x data/pacemaker-small.xml --strategy optimal", "hplace optimal -x data/pacemaker-small.xml"),
    (
        "hplace -x data/pacemaker-small.xml --strategy optimal --steps 1000 --json",
        "hplace optimal -x data/pacemaker-small.xml --effort 1000 --json",
    ),
    (
        "hplace --strategy optimal --max-moves 1 --commands pcs -x data/pacemaker-small.xml",
        "hplace -x data/pacemaker-small.xml optimal --max-moves 1 --commands pcs",
    ),
    ("hplace --strategy affinity -j data/affinity.json", "hplace affinity -j data/affinity.json"),
    ("hplace -j data/affinity.json --explain", "hplace affinity --with-reasons -j data/affinity.json"),
    (
        "hplace --strategy affinity -t data/keys.data --plan --print-plan json",
        "hplace affinity -t data/keys.data --plan --print-plan json",
    ),
    ("hplace -x data/pacemaker-small.xml --dot", "hplace -x data/pacemaker-small.xml --transition-dot"),
    ("hplace -x data/pacemaker-small.xml --explain", "hplace -x data/pacemaker-small.xml --with-reasons"),
    (
        "hplace fit -x data/pacemaker-small.xml --survive 1 cpu=1",
        "hplace fit -x data/pacemaker-small.xml --keep-reserve 1 cpu=1",
    ),
    (
        "hplace survive -x data/pacemaker-small.xml --priority 5",
        "hplace survive -x data/pacemaker-small.xml --min-priority 5",
    ),
    (
        "hbal -t data/unbalanced-drbd.data --deep --effort 2000 --move-cost 0.1",
        "hbal -t data/unbalanced-drbd.data --deep --effort 2000 --min-move-gain 0.1",
    ),
    ("hgroup balance -t data/groups.data --move-cost 2", "hgroup balance -t data/groups.data --copy-cost 2"),
    ("hgroup compress -t data/groups.data --evacuate", "hgroup compress -t data/groups.data --empty-one"),
    ("hgroup -t data/groups.data status --dot", "hgroup status -t data/groups.data --dot"),
];

#[test]
fn former_spellings_say_the_same() {
    for (former, new) in SPELLINGS {
        let (was, is) = (told(former), told(new));
        assert_eq!(was, is, "{former}: {new}");
        assert!(!is.1.is_empty(), "{new}: {}", is.2);
    }
}

#[test]
fn the_program_alone_says_where_to_begin() {
    let (status, out, error) = told("");
    assert_eq!((status, out.as_str()), (2, ""));
    assert!(error.starts_with("htools: plan ") && !error.contains("error"), "{error}");
    for part in ["\n  hbal      ", "\nCommands: apply, completion, ", "\n  htools help tour "] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert_eq!(told("-h").1, error);
    let (_, full, _) = told("--help");
    assert!(full.contains("\nTools:\n  hail ") && full.contains("\nCommands:\n  apply "), "{full}");
}
