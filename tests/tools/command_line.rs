//! The program as its users start it: the choice of the tool, valid command lines, the streams of its output, and the
//! exit status.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command as Process, Stdio};

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use predicates::prelude::*;
use predicates::str::{contains, ends_with, starts_with};
use proptest::prelude::*;

const PROGRAM: &str = env!("CARGO_BIN_EXE_htools");

fn htools(args: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.env_remove("HTOOLS").args(args);
    command
}

/// A tool chosen by the environment variable.
fn tool(name: &str, args: &[&str]) -> Assert {
    htools(args).env("HTOOLS", name).assert()
}

fn hbal(args: &[&str]) -> Assert {
    tool("hbal", args)
}

/// Checks that the options are accepted: only the version is printed.
fn accepted(args: &[&str]) {
    let args = [&["-V"], args].concat();
    hbal(&args).code(0).stderr("").stdout(starts_with("hbal (htools) version "));
}

fn syntax_error(args: &[&str], complaint: &str) {
    hbal(args).code(2).stdout("").stderr(format!("Command line error: {complaint}\nTry 'hbal --help'.\n"));
}

fn value_error(args: &[&str], option: &str, value: &str) {
    let wanted = format!("Error while parsing command line arguments:\noption --{option}: ");
    hbal(args).code(1).stdout("").stderr(starts_with(wanted).and(contains(format!("'{value}'"))));
}

// --- typed options

#[test]
fn short_options() {
    accepted(&["-vqpname"]);
    accepted(&["-tFILE", "-t", "FILE", "-qtFILE", "-t=x"]);
    accepted(&["-t", "-x", "-t", "--", "-q"]);
    accepted(&["-p", "-pname,idx", "-p+amem", "-C", "-C-", "-CFILE", "-L", "-L/socket"]);
    accepted(&["-l-5", "-l", "-5", "-l", "( 5 )"]);
}

#[test]
fn long_options() {
    accepted(&["--text-data=FILE", "--text-data", "FILE", "--text-data="]);
    accepted(&["--print-nodes", "--print-nodes=", "--print-nodes=fqdn", "--mond", "--mond=no"]);
    accepted(&["--print-n", "--res", "--q", "--mast=x", "--exe", "--min-gain-l=1", "--min-gain=1"]);
}

#[test]
fn options_that_ganeti_lacks() {
    accepted(&["--json", "--explain=i", "--explain", "j", "--simulate=p,1,1,1,1", "--jo=f", "--sim", "x"]);
    accepted(&["--time-limit=0.5", "--time-limit", "2", "--ti=1e3", "--time-limit=( 1 )"]);
    syntax_error(&["--json=x"], "option `--json' doesn't allow an argument");
    syntax_error(&["--time"], "option `--time' requires an argument SECONDS");
    // The meaning of these abbreviations in the reference.
    accepted(&["--t", "f", "--te=f"]);
}

#[test]
fn positional_words() {
    for args in [&["x"][..], &["-v", "x", "-q"], &["-"], &["", "x"], &["--", "-V"], &["-v-", "-V"]] {
        hbal(args).code(1).stdout("").stderr("Error: This program doesn't take any arguments.\n");
    }
    accepted(&["x", "--", "y"]);
    let hint = "Hint: to make 'out.sh' the option's argument, join them: -Cout.sh\n";
    let wanted = format!("Error: This program doesn't take any arguments.\n{hint}");
    hbal(&["-t", "x", "-C", "out.sh"]).code(1).stdout("").stderr(wanted);
    hbal(&["Cargo.toml"]).code(1).stdout("").stderr(contains("use -t Cargo.toml\n"));
}

#[test]
fn malformed_command_lines() {
    syntax_error(&["-t"], "option `-t' requires an argument FILE");
    syntax_error(&["-vqt"], "option `-t' requires an argument FILE");
    syntax_error(&["--text-data"], "option `--text-data' requires an argument FILE");
    syntax_error(&["--text-d"], "option `--text-d' requires an argument FILE");
    syntax_error(&["--evac=3"], "option `--evac' doesn't allow an argument");
    syntax_error(&["--bogus"], "unrecognized option `--bogus'");
    syntax_error(&["--bogus=3"], "unrecognized option `--bogus=3'");
    syntax_error(&["--explian=x"], "unrecognized option `--explian=x', did you mean `--explain'?");
    syntax_error(&["-v=3"], "unrecognized option `-='\nunrecognized option `-3'");
    syntax_error(&["-Zt"], "option `-t' requires an argument FILE\nunrecognized option `-Z'");
    syntax_error(
        &["-Z", "--evac=3", "-h"],
        "option `--evac' doesn't allow an argument\nunrecognized option `-Z'",
    );
    // Malformed options are reported before bad values.
    syntax_error(&["-lx", "-Z"], "unrecognized option `-Z'");
}

#[test]
fn ambiguous_abbreviations_list_the_candidates() {
    hbal(&["--ver=1"]).code(2).stdout("").stderr(
        starts_with("Command line error: option `--ver' is ambiguous; could be one of:\n  -v, --verbose  ")
            .and(contains("\n  -V, --version  ")),
    );
    // Without short forms, the first column is empty.
    hbal(&["--no"]).code(2).stderr(contains("could be one of:\n      --no-disk-moves      "));
}

// --- meaning of options

#[test]
fn unusable_values() {
    value_error(&["-l", "abc"], "max-length", "abc");
    value_error(&["-l", "1.5"], "max-length", "1.5");
    value_error(&["-h", "-l", ""], "max-length", "");
    value_error(&["-V", "-e.5"], "min-score", ".5");
    value_error(&["--max-cpu=0"], "max-cpu", "0");
    value_error(&["--max-cpu", "-1"], "max-cpu", "-1");
    value_error(&["--min-disk=x"], "min-disk", "x");
    value_error(&["--static-kvm-node-memory=4g"], "static-kvm-node-memory", "4g");
    value_error(&["--mond=maybe"], "mond", "maybe");
    value_error(&["--mond="], "mond", "");
    value_error(&["--priority=urgent"], "priority", "urgent");
    for value in ["0", "0.0", "-1", "-0.5", "NaN", "Infinity", "1e999", "soon", "", ".5", "5s"] {
        value_error(&["--time-limit", value], "time-limit", value);
    }
    value_error(&["x", "-gA", "-lB"], "min-gain", "A");
}

#[test]
fn help_wins_over_version_over_completion() {
    let help =
        starts_with("hbal: balance ").and(contains("\nUsage: hbal [OPTION...]\n\n  -t, --text-data=FILE  "));
    hbal(&["--help-completion", "-V", "-h", "x"]).code(0).stderr("").stdout(help);
    hbal(&["--help-completion", "-V"]).code(0).stderr("").stdout(starts_with("hbal (htools) version "));
    tool("HInfo", &["--version"]).code(0).stdout(starts_with("hinfo (htools) version "));
}

#[test]
fn completion_list() {
    hbal(&["--help-completion", "x"]).code(0).stderr("").stdout(
        starts_with(
            "-p,--print-nodes none\n--print-instances none\n-C,--print-commands none\n-t,--text-data file\n",
        )
        .and(contains("\n--mond choices=yes,no\n"))
        .and(contains(
            "\n--priority choices=low,normal,high\n--simulate string\n--weights string\n--affinity-weight float\n--json none\n--metrics none\n--report none\n--summary none\n--colour choices=always,never,auto\n--explain none\n\
             --prices none\n--without-step integer\n--deep none\n--max-moves integer\n--max-data string\n\
                 --min-move-gain float\n--pareto none\n--svg none\n--effort integer\n--repair-only none\n--evacuate onenode\n--merge none\n\
                 --allow-interruptions none\n--allow-overcommit-during-migration none\n\
                 --only-if string\n--rounds integer\n--until-below none\n--margin float\n--cooldown string\n--no-return string\n\
                 --moves-per-day integer\n--history file\n--pay-back string\n--time-limit float\n--yes none\n--journal file\n--resume file\n--json-events file\n\
             --print-plan choices=text,json,dot,svg\n--save-plan file\n--stream none\n--max-parallel integer\n\
             --max-out-per-node integer\n--max-in-per-node integer\n--max-syncs integer\n--max-per-group integer\n\
             --on-failure choices=stop,continue,replan\n--replans integer\n--max-duration string\n--until string\n\
             --bandwidth float\n--sync-rate float\n--durations-from file\n\
                 --threads integer\n--no-config none\n-V,--version none\n-h,--help none\n--help-completion none\n",
        )),
    );
}

#[test]
fn options_of_hspace() {
    let hspace = |args: &[&str]| tool("hspace", args);
    let own = "--disk-template choices=diskless,file,sharedfile,plain,blockdev,drbd,rbd,ext,gluster\n\
               --spindle-use float\n--simulate string\n-m,--master host\n";
    hspace(&["--help-completion"]).code(0).stderr("").stdout(contains(own).and(contains(
        "\n--machine-readable choices=yes,no\n--max-cpu float\n-l,--max-length integer\n--min-disk float\n\
         --standard-alloc string\n--tiered-alloc string\n--proof none\n--make-room string\n--runway string\n-C,--print-commands none\n-S,--save none\n--load-from string\n--load-preset choices=libvirt,node,process,recorded,recorded-hourly\n--load-query string\n--load-label string\n--load-pattern string\n--load-window string\n--load-quantile float\n--load-missing choices=median,zero,fail\n--load-credentials file\n--load-cacert file\n--forecast string\n--static-kvm-node-memory integer\n\
         --time-limit float\n--weights string\n--json none\n--metrics none\n",
    )));
    let last = "--static-kvm-node-memory integer\n--time-limit float\n--weights string\n--json none\n--metrics none\n";
    hspace(&["--help-completion"]).code(0).stdout(contains(last));
    hspace(&["--sta"]).code(2).stdout("").stderr(contains("\n      --standard-alloc=STDSPEC  "));
    for (args, message) in [
        (
            &["--disk-template=raid"][..],
            "disk-template: Unknown disk-template 'raid', pass one of 'diskless', ",
        ),
        (&["--spindle-use", "-1"], "spindle-use: '-1' is not a number from 0 on\n"),
        (&["--machine-readable=maybe"], "machine-readable: Unknown machine-readable 'maybe'"),
        (&["--standard-alloc", "1g"], "standard-alloc: '1g' is not a size as DISK,MEMORY,CPUS[,SPINDLES]\n"),
        (&["-h", "--tiered-alloc", "1g,1x,1"], "tiered-alloc: memory: Unknown unit 'x'\n"),
    ] {
        let wanted = format!("Error while parsing command line arguments:\noption --{message}");
        hspace(args).code(1).stdout("").stderr(starts_with(wanted));
    }
    hspace(&["x"]).code(1).stdout("").stderr("Error: This program doesn't take any arguments.\n");
}

#[test]
fn options_of_hroller() {
    let hroller = |args: &[&str]| tool("hroller", args);
    hroller(&["--help-completion"]).code(0).stderr("").stdout(
        "-L,--luxi file\n-m,--master host\n--rapi-credentials file\n--rapi-cacert file\n\
         --insecure-http none\n-t,--text-data file\n-I,--ialloc-src file\n-O,--offline onenode\n\
         -x,--xml-file file\n--live none\n--skip-unsupported none\n\
         --commands choices=cib,pcs,crmsh,crm_resource\n--offline-maintenance none\n-v,--verbose none\n\
         -q,--quiet none\n--no-headers none\n--node-tags string\n-S,--save none\n-G,--group onegroup\n\
         --print-moves none\n--full-evacuation none\n--skip-non-redundant none\n\
         --ignore-non-redundant none\n-f,--force none\n--one-step-only none\n\
         --static-kvm-node-memory integer\n--migrate-shared none\n--honour-run-state none\n\
         -C,--print-commands none\n--max-down integer\n--upgrade-order none\n\
         --migrate-to choices=newer,any\n-X,--exec none\n--node-command string\n\
         --reboot-by choices=oob\n--wait-for-operator none\n--no-reboot none\n--skip-when string\n\
         --only-when string\n--health-command string\n--master-command string\n--skip-master none\n\
         --canary integer\n--soak string\n--on-failure choices=stop,skip,continue\n\
         --mark choices=drained,offline\n--return choices=home,stay\n--command-timeout string\n\
         --check-timeout string\n--boot-timeout string\n--yes none\n--journal file\n--resume file\n\
         --json-events file\n--save-plan file\n--max-parallel integer\n--max-out-per-node integer\n\
         --max-in-per-node integer\n--max-syncs integer\n--max-per-group integer\n\
         --max-duration string\n--until string\n--reason none\n--priority choices=low,normal,high\n\
         --metrics none\n--json none\n--report none\n--print-plan choices=text,json,dot,svg\n\
         --bandwidth float\n--sync-rate float\n--durations-from file\n--reboot-time string\n\
         --threads integer\n--no-config none\n-V,--version none\n-h,--help none\n\
         --help-completion none\n",
    );
    hroller(&["--off"]).code(2).stdout("").stderr(contains("--offline-maintenance"));
    hroller(&["x"]).code(1).stdout("").stderr("Error: This program doesn't take any arguments.\n");
}

#[test]
fn options_of_hcheck() {
    let hcheck = |args: &[&str]| tool("hcheck", args);
    let all = "-t,--text-data file\n--no-disk-moves none\n-U,--dynu-file file\n--ignore-dynu none\n--load-from string\n--load-preset choices=libvirt,node,process,recorded,recorded-hourly\n--load-query string\n--load-label string\n--load-pattern string\n--load-window string\n--load-quantile float\n--load-missing choices=median,zero,fail\n--load-credentials file\n--load-cacert file\n--forecast string\n-E,--evac-mode none\n\
               --exclude-instances manyinstances\n--exclusion-tags string\n-I,--ialloc-src file\n--no-target onenode\n--exclude-tag string\n\
               --no-instance-moves none\n-L,--luxi file\n--machine-readable choices=yes,no\n--max-cpu float\n\
               -l,--max-length integer\n--min-disk float\n-g,--min-gain float\n--min-gain-limit float\n\
               -e,--min-score float\n--ignore-soft-errors none\n--no-simulation none\n-O,--offline onenode\n\
               -q,--quiet none\n-m,--master host\n--rapi-credentials file\n--rapi-cacert file\n--insecure-http none\n-x,--xml-file file\n--live none\n--skip-unsupported none\n--allow-restarts none\n--select-instances manyinstances\n--no-capacity-checks none\n\
               -v,--verbose none\n--simulate string\n--list-problems none\n--without-node onenode\n--survive integer\n--top integer\n\
               --monitor none\n--severity string\n--deep none\n--effort integer\n--weights string\n--json none\n--metrics none\n--report none\n--detailed-status none\n--time-limit float\n\
               --threads integer\n--no-config none\n-V,--version none\n-h,--help none\n--help-completion none\n";
    hcheck(&["--help-completion"]).code(0).stderr("").stdout(all);
    for word in ["-p", "--print-instances", "-G", "--mond"] {
        hcheck(&[word]).code(2).stdout("").stderr(starts_with("Command line error: "));
    }
    // Words that the reference accepts keep their meaning, whatever was added.
    tool("hcheck", &["--l", "--help"]).code(0).stderr("");
    hcheck(&["x"]).code(1).stdout("").stderr("Error: This program doesn't take any arguments.\n");
}

#[test]
fn options_of_harep() {
    let harep = |args: &[&str]| tool("harep", args);
    harep(&["--help-completion"]).code(0).stderr("").stdout(
        "-L,--luxi file\n-m,--master host\n--rapi-credentials file\n--rapi-cacert file\n--insecure-http none\n-t,--text-data file\n\
         --job-delay float\n--reason none\n--dry-run none\n--simulate-failure onenode\n--limit integer\n--max-per-node integer\n\
         --backoff integer\n--no-disk-check none\n--journal file\n-v,--verbose none\n-q,--quiet none\n--weights string\n--json none\n--metrics none\n\
         --detailed-status none\n--threads integer\n--no-config none\n-V,--version none\n-h,--help none\n--help-completion none\n",
    );
    // Words that the reference accepts keep their meaning, whatever was added.
    for short in ["--j=1", "--d", "--r=x", "--l=s"] {
        harep(&[short, "--help"]).code(0).stderr("");
    }
    harep(&["x"]).code(1).stdout("").stderr("Error: this program doesn't take any arguments.\n");
    let sample = ["-t", "data/repairs.data"];
    let says = |more: &[&str], status: i32, error: &str| {
        harep(&[&sample, more].concat()).code(status).stderr(starts_with(error.to_owned()));
    };
    says(&[], 1, "Error: harep: repairs are possible only on LUXI or RAPI\nHint: use --dry-run ");
    says(
        &["--dry-run", "--journal=j"],
        1,
        "Error: option --journal does not apply to --dry-run and --simulate-failure, which change nothing\n",
    );
    says(&["--simulate-failure=nosuch"], 1, "Error: ");
    says(
        &["--dry-run", "--backoff=21"],
        1,
        "Error while parsing command line arguments:\noption --backoff: ",
    );
    says(&["--dry-run", "--detailed-status"], 3, "");
    harep(&["-t", "data/balanced.data", "--dry-run", "--detailed-status"]).code(0);
}

// --- choice of the tool

#[test]
fn the_variable_decides_first() {
    tool("HBAL", &["-V"]).code(0).stdout(starts_with("hbal "));
    for unknown in ["", "htools", "hbal.exe", "hcheck9"] {
        tool(unknown, &["--version"]).code(1).stdout("").stderr(
            starts_with(format!(
                "Unrecognised personality '{unknown}'.\n\
                 This program must be installed under one of the following names:\n hail     - "
            ))
            .and(predicates::str::ends_with(
                "\n\nError: Please either rename/symlink the program or set\n\
                 the environment variable HTOOLS to the desired role.\n",
            )),
        );
    }
}

#[test]
fn then_the_name_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    for (name, status, text) in [
        ("hbal", 0, "hbal (htools)"),
        ("HInfo", 0, "hinfo (htools)"),
        ("HTOOLS", 0, "htools version"),
        ("h", 1, ""),
    ] {
        let link = directory.path().join(name);
        symlink(PROGRAM, &link).unwrap();
        Command::new(link).env_remove("HTOOLS").arg("-V").assert().code(status).stdout(starts_with(text));
    }
}

#[test]
fn then_the_first_argument() {
    htools(&["hbal", "-V"]).assert().code(0).stdout(starts_with("hbal (htools) version "));
    htools(&["HINFO", "-X"]).assert().code(2).stderr(contains("Try 'hinfo --help'"));
    htools(&["hbal", "hinfo"]).assert().code(1).stderr(contains("doesn't take any arguments"));
}

#[test]
fn the_executable_under_its_own_name() {
    htools(&["--list"])
        .assert()
        .code(0)
        .stderr("")
        .stdout(starts_with("hail     ").and(contains("\nhinfo    ")).and(contains("\nhspace   ")));
    htools(&["-V"]).assert().code(0).stdout(starts_with("htools version "));
    htools(&["--help"])
        .assert()
        .code(0)
        .stdout(contains("Usage: htools TOOL [OPTION...]\n       htools COMMAND [OPTION...]\n"));
    for args in [&["nosuch"][..], &["--force"], &["--list", "x"], &["--list", "--force"]] {
        let complaint = starts_with("Command line error: ").and(ends_with("\nTry 'htools --help'.\n"));
        htools(args).assert().code(2).stdout("").stderr(complaint);
    }
    for args in [&["install-links"][..], &["completion", "a", "b"], &["help", "a", "b"]] {
        let end = format!("\nTry 'htools {} --help'.\n", args[0]);
        htools(args)
            .assert()
            .code(2)
            .stdout("")
            .stderr(starts_with("Command line error: ").and(ends_with(end)));
    }
    htools(&["hbla"]).assert().stderr(contains("no tool or command `hbla', did you mean 'hbal'?\n"));
}

#[test]
fn help_in_the_terminal() {
    htools(&["help"]).assert().code(0).stderr("").stdout(contains("\n  tour  ").and(contains("\n  hbal  ")));
    htools(&["help", "execution"])
        .assert()
        .code(0)
        .stderr("")
        .stdout(starts_with("Carrying plans out\n==================\n\n").and(contains("\n    $ htools ")));
    let options = htools(&["hbal", "--help"]).assert().code(0).get_output().stdout.clone();
    htools(&["help", "hbal"]).assert().code(0).stderr("").stdout(options);
    htools(&["help", "exection"])
        .assert()
        .code(1)
        .stdout("")
        .stderr(contains("no help on 'exection', did you mean 'execution'?"));
    htools(&["help", "tour", "x"])
        .assert()
        .code(2)
        .stdout("")
        .stderr(contains("wrong arguments for `htools help'"));
    // The lines fit into 80 columns, except for indented ones.
    let shown = htools(&["help", "differences"]).assert().code(0).get_output().stdout.clone();
    assert!(
        String::from_utf8(shown)
            .unwrap()
            .lines()
            .all(|line| line.chars().count() <= 80 || line.starts_with("    "))
    );
}

#[test]
fn completion_scripts() {
    for shell in ["bash", "zsh", "fish"] {
        htools(&["completion", shell])
            .assert()
            .code(0)
            .stderr("")
            .stdout(contains("print-instances").and(contains("hetero")));
    }
    htools(&["completion", "csh"])
        .assert()
        .code(1)
        .stdout("")
        .stderr(contains("'csh'").and(contains("bash")));
}

// --- install-links

fn install(directory: &Path, more: &[&str]) -> Assert {
    htools(&["install-links"]).arg(directory).args(more).assert()
}

/// Expects no output, unless the tests run in a place that is closed to other users.
fn said() -> impl Predicate<str> {
    predicate::str::is_empty().or(starts_with("Warning: ").and(contains(" is closed to other users: ")))
}

#[test]
fn links_are_made_once() {
    let directory = tempfile::tempdir().unwrap();
    let made = |name: &str| contains(format!("{} -> ", directory.path().join(name).display()));
    install(directory.path(), &[])
        .code(0)
        .stderr(said())
        .stdout(made("hbal").and(made("hinfo")).and(made("hspace")));
    install(directory.path(), &[]).code(0).stderr(said()).stdout("");
    Command::new(directory.path().join("hinfo")).arg("-V").assert().code(0).stdout(starts_with("hinfo "));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), htools::tools::TOOLS.len());
}

#[test]
fn other_files_are_replaced_only_on_request() {
    let directory = tempfile::tempdir().unwrap();
    let taken = directory.path().join("hinfo");
    fs::write(&taken, "precious").unwrap();
    install(directory.path(), &[])
        .code(1)
        .stdout("")
        .stderr(contains("hinfo exists").and(contains("--force")));
    assert!(!directory.path().join("hbal").exists(), "nothing is done by halves");
    assert_eq!(fs::read_to_string(&taken).unwrap(), "precious");
    install(directory.path(), &["--force"]).code(0).stdout(contains("hinfo -> "));
    assert!(taken.is_symlink());
    fs::remove_file(&taken).unwrap();
    symlink("nowhere", &taken).unwrap();
    install(directory.path(), &[]).code(1);
}

#[test]
fn directories_are_never_replaced() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("hbal")).unwrap();
    install(directory.path(), &["--force"]).code(1).stderr(contains("is a directory"));
    install(&directory.path().join("missing"), &[]).code(1).stderr(starts_with("Error: cannot make "));
}

// --- generate

fn generate(args: &str) -> Assert {
    htools(&["generate"]).args(args.split_whitespace()).assert()
}

#[test]
fn made_up_clusters_can_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("cluster.data");
    for line in
        ["20 100 drbd", "12 60 mixed --groups=2 --hetero --skew=0.3 --fill=0.4 --tags --seed 8", "0 0 ext"]
    {
        let made = generate(line).code(0).stderr("").get_output().stdout.clone();
        assert_eq!(made, generate(line).get_output().stdout, "the same arguments, the same cluster");
        fs::write(&file, made).unwrap();
        let mut words = line.split(' ');
        let (nodes, instances) = (words.next().unwrap(), words.next().unwrap());
        htools(&["hinfo", "-t"])
            .arg(&file)
            .assert()
            .code(0)
            .stdout(contains(format!("Loaded {nodes} nodes, {instances} instances")));
    }
    assert_ne!(generate("5 9 ext").get_output().stdout, generate("5 9 ext --seed=2").get_output().stdout);
}

#[test]
fn instances_without_room_are_counted() {
    generate("2 500 drbd").code(0).stderr(contains(" of 500 instances found no room and were left out\n"));
}

#[test]
fn malformed_requests_for_clusters() {
    for (line, complaint) in [
        ("x 1 drbd", "NODES: 'x' is not a number from 0 to 1000000"),
        ("1 1000001 drbd", "INSTANCES: '1000001' is not a number from 0 to 1000000"),
        ("1 1.5 drbd", "INSTANCES: '1.5' is not a number from 0 to 1000000"),
        ("1 1 raid", "TEMPLATE: 'raid' is none of drbd, ext, plain, mixed"),
    ] {
        generate(line).code(1).stdout("").stderr(format!("Error: {complaint}\n"));
    }
    for (line, complaint) in [
        ("1 1 ext --seed=-1", "option --seed: '-1' is not a number from 0 on"),
        ("1 1 ext --seed=x", "option --seed: 'x' is not a whole number"),
        ("1 1 ext --groups=0", "option --groups: '0' is not a number of groups, 1 to 1000000"),
        ("1 1 ext --fill=2", "option --fill: '2' is not a share from 0 to 1"),
        ("1 1 ext --skew=NaN", "option --skew: 'NaN' is not a share from 0 to 1"),
    ] {
        let wanted = format!("Error while parsing command line arguments:\n{complaint}\n");
        generate(line).code(1).stdout("").stderr(wanted);
    }
    for (line, complaint) in [
        ("", "expected NODES, INSTANCES and TEMPLATE, got 0 word(s)\n"),
        ("1 2 drbd 4", "expected NODES, INSTANCES and TEMPLATE, got 4 word(s)\n"),
        ("1 2 drbd --bogus", "unrecognized option `--bogus'\n"),
    ] {
        let wanted = starts_with(format!("Command line error: {complaint}"));
        let rest = ends_with("\nTry 'htools generate --help'.\n");
        generate(line).code(2).stdout("").stderr(wanted.and(rest));
    }
    htools(&["--force", "generate", "1", "1", "ext"]).assert().code(2).stderr(contains("belong behind it"));
    generate("--help").code(0).stderr("").stdout(contains("--fill=F").and(contains("[0.55]")));
}

/// Standard input, and a plan of a few lines.
#[test]
fn a_cluster_from_standard_input() {
    let text = fs::read_to_string("data/unbalanced-drbd.data").unwrap();
    let run = |args: &[&str], text: &str| htools(args).write_stdin(text).assert();
    let words = ["hbal", "-t", "-", "-l2"];
    let plain = run(&words, &text).code(0).get_output().stdout.clone();
    let plain = String::from_utf8(plain).unwrap();
    let same =
        htools(&["hbal", "-t", "data/unbalanced-drbd.data", "-l2"]).assert().get_output().stdout.clone();
    assert_eq!(plain, String::from_utf8(same).unwrap());
    let summary = "\nSummary:\n  2 instances move with 3 migrations and 0 failovers; 0 moves of instances that had moved before\n";
    let more = run(&[&words[..], &["--summary"]].concat(), &text).code(0);
    more.stdout(
        starts_with(plain).and(contains(summary)).and(contains("\n  score               10.84128134 ")),
    );
    let said = |args: &[&str]| {
        let coloured = run(&[&words[..], args].concat(), &text).code(0).get_output().stdout.clone();
        String::from_utf8(coloured).unwrap()
    };
    assert!(!said(&["--summary"]).contains('\u{1b}'));
    let coloured = said(&["--summary", "--colour=always"]);
    assert!(coloured.contains("\u{1b}[1mSummary:\u{1b}[0m\n"), "{coloured}");
    assert_eq!(
        coloured
            .replace("\u{1b}[1m", "")
            .replace("\u{1b}[32m", "")
            .replace("\u{1b}[31m", "")
            .replace("\u{1b}[0m", ""),
        said(&["--summary"])
    );
    run(&["hinfo", "-t", "-"], "g|").code(1).stderr(starts_with("Error: failed to load data, aborting: -: "));
}

#[test]
fn an_unhealthy_cluster_is_no_error() {
    let hcheck = |args: &[&str]| tool("hcheck", args);
    for (file, status) in [("tags", 1), ("balanced", 0)] {
        let file = format!("data/{file}.data");
        hcheck(&["-q", "-t", &file]).code(status);
        hcheck(&["-q", "-t", &file, "--detailed-status"]).code(status).stderr("");
    }
    for error in
        [&["-t", "missing"][..], &["-l", "x"], &["word"], &["-t", "data/tags.data", "--without-node=x"]]
    {
        let plain = hcheck(error).code(1).get_output().stderr.clone();
        for words in [[error, &["--detailed-status"]].concat(), [&["--det"], error].concat()] {
            hcheck(&words).code(2).stdout("").stderr(plain.clone());
        }
    }
    hcheck(&["--detailed-status", "--help"]).code(0);
}

// --- streams

#[test]
fn a_closed_pipe_ends_the_program_quietly() {
    for args in
        [&["hbal", "--help"][..], &["--list"], &["completion", "bash"], &["generate", "5", "9", "drbd"]]
    {
        // A socket pair is a pipe whose reader can be closed before the program starts.
        let (reader, writer) = UnixStream::pair().unwrap();
        drop(reader);
        let child = Process::new(PROGRAM)
            .env_remove("HTOOLS")
            .args(args)
            .stdout(OwnedFd::from(writer))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
    }
}

#[test]
fn a_full_disk_is_an_error() {
    let Ok(full) = OpenOptions::new().write(true).open("/dev/full") else { return };
    let child = Process::new(PROGRAM)
        .env_remove("HTOOLS")
        .args(["hbal", "--help"])
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("Error: cannot write to standard output: "));
}

#[test]
fn an_error_that_nobody_can_read_keeps_its_status() {
    let Ok(full) = File::create("/dev/full") else { return };
    let status =
        Process::new(PROGRAM).env_remove("HTOOLS").args(["hbal", "--bogus"]).stderr(full).status().unwrap();
    assert_eq!(status.code(), Some(2));
}

// --- arbitrary words

/// Words that resemble options more often than random ones.
fn word() -> impl Strategy<Value = OsString> {
    let long = proptest::sample::select(htools::tools::find("hbal").expect("it exists").spec.options())
        .prop_flat_map(|option| (Just(option.long), 0..=option.long.len(), "(=.{0,4})?"))
        .prop_map(|(name, length, value)| format!("--{}{value}", &name[..length]).into());
    let bundle = "-[a-zA-Z=é-]{0,5}.{0,3}".prop_map(OsString::from);
    let bytes = proptest::collection::vec(any::<u8>(), 0..8).prop_map(OsString::from_vec);
    let dashed = proptest::collection::vec(any::<u8>(), 0..8)
        .prop_map(|tail| OsString::from_vec([b"-".to_vec(), tail].concat()));
    prop_oneof![long, bundle, bytes, dashed]
}

proptest! {
    #[test]
    fn no_command_line_makes_the_parser_panic(args in proptest::collection::vec(word(), 0..8)) {
        for tool in htools::tools::TOOLS {
            let _ = tool.spec.check(&args);
        }
    }
}
