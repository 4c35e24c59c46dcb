//! Malformed options.

use super::{Place, sample};

#[test]
fn names_in_options() {
    let place = Place::new();
    let good = sample("unbalanced-drbd.data");
    let hbal = |options: &[&str], message: &str| {
        place.fails(&[&["hbal", "-t", &good], options].concat(), message);
    };
    for tool in ["hbal", "hinfo", "hspace", "hcheck", "hroller"] {
        place.fails(
            &[tool, "-t", &good, "-O", "node1", "-O", "nope", "-O", "nix"],
            "wrong node name(s) set as offline: nix,nope",
        );
    }
    let unknown = "failed to load data, aborting: Unknown instance(s): ";
    hbal(&["--select-instances", "web1,nope,nix"], &format!("{unknown}[\"nope\",\"nix\"]"));
    hbal(
        &["--exclude-instances", "web"],
        &format!(
            "{unknown}[\"web\"]; these names begin so: web1.example.com, web2.example.com, web3.example.com, web4.example.com"
        ),
    );
    hbal(&["--explain", "nope"], "--explain: there is no instance 'nope'");
    for name in ["nope", ""] {
        let message = format!("--without-node: there is no node '{name}'");
        place.fails(&["hcheck", "-t", &good, "--without-node=node1", "--without-node", name], &message);
    }
    // The groups are listed, so that the user can correct the option.
    let run = place.run(&["hbal", "-t", &good, "-G", "nope"]);
    let list = "Node group nope not found. Node group list is:\n  default\nError: Aborting.\nHint: -G needs the name or UUID of one of these groups\n";
    assert_eq!((run.status, run.stderr.as_str()), (Some(1), list));
    let run = place.run(&["hbal", "-t", &sample("groups.data"), "--json"]);
    let list = "Found multiple node groups:\n  rack-a\n  rack-b\n  archive\nError: Aborting.\nHint: choose a group with -G NAME, or use --worst-group or --all-groups\n";
    assert_eq!((run.status, run.stderr.as_str(), run.stdout.as_str()), (Some(1), list, ""));
}

#[test]
fn what_this_version_cannot_do() {
    let place = Place::new();
    let good = sample("unbalanced-drbd.data");
    for tool in ["hbal", "hinfo", "hspace", "hcheck", "hroller"] {
        let missing = "failed to load data, aborting: nosuch/groups.json: cannot be read: No such file or directory (os error 2)";
        place.fails(&[tool, "-m", "file://nosuch"], missing);
        let no_socket = "failed to load data, aborting: nosuch: there is no such socket; \
             this machine is probably not the master of a cluster";
        place.fails(&[tool, "-Lnosuch"], no_socket);
        place.fails(
            &[tool],
            "failed to load data, aborting: No backend selected! Exiting.\n\
             Hint: name a cluster with -t FILE, -m ADDRESS (RAPI) or -L (LUXI)",
        );
        place.fails(
            &[tool, "-t", &good, "-m", "x"],
            "Only one of the rapi, luxi, and data files options should be given.",
        );
        place.fails(&[tool, "-t", &good, "word"], "This program doesn't take any arguments.");
    }
    // This is reported before any request, and no password is sent.
    let overheard = "failed to load data, aborting: http://user:***@192.0.2.1:5080: the password would be sent as plain text, \
         which others in the network can read\nHint: use https://, or allow plain text with --insecure-http";
    place.fails(&["hinfo", "-m", "http://user:secret@192.0.2.1:5080"], overheard);
    let run = place.fails(&["hbal", "-t", &good, "-X"], "hbal: Execution of commands possible only on LUXI");
    assert_eq!(run.stdout, "", "before the search");
}

#[test]
fn malformed_command_lines() {
    let place = Place::new();
    // Two lines name the option and the problem.
    for (option, value, problem) in [
        ("max-length", "x", "'x' is not a whole number"),
        ("max-length", "1.5", "'1.5' is not a whole number"),
        ("min-disk", "", "'' is not a number"),
        ("max-cpu", "-1", "'-1' is not a ratio above 0"),
        ("mond", "maybe", "Unknown mond 'maybe', pass one of 'yes' or 'no'"),
        ("priority", "urgent", "Unknown priority 'urgent', pass one of 'low', 'normal' or 'high'"),
    ] {
        let run = place.run(&["hbal", &format!("--{option}={value}")]);
        let start = format!("Error while parsing command line arguments:\noption --{option}: ");
        assert!(run.stderr.starts_with(&start), "{}", run.stderr);
        assert_eq!((run.status, run.stderr.lines().count(), run.stdout.as_str()), (Some(1), 2, ""));
        if option != "priority" {
            assert_eq!(run.stderr, format!("{start}{problem}\n"));
        }
    }
    // It also says where to read more.
    for (words, complaint) in [
        (&["hbal", "--bogus"][..], "unrecognized option `--bogus'"),
        (&["hinfo", "-X"], "unrecognized option `-X'"),
        (&["hbal", "-t"], "option `-t' requires an argument FILE"),
        (&["hbal", "--quiet=yes"], "option `--quiet' doesn't allow an argument"),
    ] {
        let run = place.run(words);
        let wanted = format!("Command line error: {complaint}\nTry '{} --help'.\n", words[0]);
        assert_eq!(run.stderr, wanted);
        assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""));
    }
}
