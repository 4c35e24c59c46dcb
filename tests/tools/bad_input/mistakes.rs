//! Typical mistakes of users, and the messages with the cause and the remedy.

use std::fs;

use super::{Place, sample};

/// A command line, its exit status, and the last line on standard error.
type Mistake = (&'static str, i32, &'static str);

/// Files of a kind that the option does not read.
const FILES: &[Mistake] = &[
    (
        "hbal -t cib.xml",
        1,
        "cib.xml: this is a Pacemaker CIB\nHint: use -x (hplace, hbal, hspace, hsqueeze, hcheck)",
    ),
    (
        "hinfo -t cib.xml",
        1,
        "cib.xml: this is a Pacemaker CIB\nHint: use -x (hplace, hbal, hspace, hsqueeze, hcheck)",
    ),
    (
        "hspace -t request.json",
        1,
        "request.json: this is an allocator request\nHint: give it to hail, or use -I for the cluster in it",
    ),
    ("hbal -t keys.json", 1, "keys.json: this is a document with affinity keys\nHint: use hplace -j"),
    ("hbal -t plan.json", 1, "plan.json: this is a saved plan\nHint: use htools show or htools apply"),
    ("hbal -x c.data", 1, "Error: c.data: this is a cluster in the text format\nHint: use -t"),
    ("hspace -x c.data", 1, "Error: c.data: this is a cluster in the text format\nHint: use -t"),
    ("hplace -x c.data", 1, "Error: c.data: this is a cluster in the text format\nHint: use -t"),
    ("hplace lint -x c.data", 1, "Error: c.data: this is a cluster in the text format\nHint: use -t"),
    (
        "hplace -x request.json",
        1,
        "Error: request.json: this is an allocator request\nHint: give it to hail, or use -I for the cluster in it",
    ),
    (
        "hplace -x keys.json",
        1,
        "Error: keys.json: this is a document with affinity keys\nHint: use hplace -j",
    ),
    (
        "hplace -t cib.xml",
        1,
        "cib.xml: this is a Pacemaker CIB\nHint: use -x (hplace, hbal, hspace, hsqueeze, hcheck)",
    ),
    (
        "hplace --strategy affinity -j cib.xml",
        1,
        "Error: cib.xml: this is a Pacemaker CIB\nHint: use -x (hplace, hbal, hspace, hsqueeze, hcheck)",
    ),
    ("hail c.data", 1, "Error: c.data: this is a cluster in the text format\nHint: use -t"),
    (
        "hail cib.xml",
        1,
        "Error: cib.xml: this is a Pacemaker CIB\nHint: use -x (hplace, hbal, hspace, hsqueeze, hcheck)",
    ),
    ("hbal -I c.data", 1, "c.data: this is a cluster in the text format\nHint: use -t"),
    ("hbal -t nofile", 1, "cannot read file 'nofile': No such file or directory (os error 2)"),
    ("hbal -t .", 1, "cannot read file '.': Is a directory (os error 21)"),
    ("hail nofile", 1, "Error: cannot read file 'nofile': No such file or directory (os error 2)"),
    ("hbal c.data", 1, "Hint: 'c.data' is a file; if it describes the cluster, use -t c.data"),
    (
        "hplace cib.xml",
        1,
        "Error: 'cib.xml' is a file, not a command\nHint: use -x for a Pacemaker CIB, or -t for a Ganeti cluster",
    ),
];

/// Names of groups, nodes, instances and resources.
const NAMES: &[Mistake] = &[
    (
        "hbal -t groups.data",
        1,
        "Error: Aborting.\nHint: choose a group with -G NAME, or use --worst-group or --all-groups",
    ),
    (
        "hbal -t groups.data -G rack-c",
        1,
        "Error: Aborting.\nHint: -G needs the name or UUID of one of these groups, did you mean 'rack-a'?",
    ),
    (
        "hbal -t groups.data -G rack",
        1,
        "Error: Aborting.\nHint: -G needs the name or UUID of one of these groups; these names begin so: rack-a, rack-b",
    ),
    (
        "hsqueeze -t groups.data -G rakc-a",
        1,
        "Error: option --group: 'rakc-a' is not the name or UUID of exactly one node group, did you mean 'rack-a'?",
    ),
    (
        "hroller -t groups.data -G rack",
        1,
        "Error: option --group: 'rack' is not the name or UUID of exactly one node group; these names begin so: rack-a, rack-b",
    ),
    (
        "hgroup compress -t groups.data -G archiv",
        1,
        "Error: option --group: 'archiv' is not the name or UUID of exactly one node group, did you mean 'archive'?",
    ),
    (
        "hbal -t c.data -O nodd1",
        1,
        "Error: wrong node name(s) set as offline: nodd1, did you mean 'node1.example.com'?",
    ),
    (
        "hbal -t c.data -O node",
        1,
        "Error: wrong node name(s) set as offline: node; these names begin so: node1.example.com, node2.example.com, node3.example.com, node4.example.com",
    ),
    (
        "hbal -t c.data --select-instances wbe1",
        1,
        "Error: failed to load data, aborting: Unknown instance(s): [\"wbe1\"], did you mean 'web1.example.com'?",
    ),
    (
        "hbal -t c.data --exclude-instances web1.example.org",
        1,
        "Error: failed to load data, aborting: Unknown instance(s): [\"web1.example.org\"], did you mean 'web1.example.com'?",
    ),
    (
        "hbal -t c.data --explain wbe1",
        1,
        "Error: --explain: there is no instance 'wbe1', did you mean 'web1.example.com'?",
    ),
    (
        "hbal -t c.data --evacuate nodd1",
        1,
        "Error: --evacuate: there is no node 'nodd1', did you mean 'node1.example.com'?",
    ),
    (
        "hbal -t twins.data --evacuate node1",
        1,
        "Error: --evacuate: 'node1' is the beginning of several nodes: node1.a, node1.b",
    ),
    (
        "hcheck -t c.data --without-node nodd1",
        1,
        "Error: --without-node: there is no node 'nodd1', did you mean 'node1.example.com'?",
    ),
    ("hplace evacuate -x cib.xml nod1", 1, "Error: cib.xml: there is no node 'nod1', did you mean 'node1'?"),
    (
        "hplace why -x cib.xml rsc-lage",
        1,
        "Error: there is no resource 'rsc-lage', did you mean 'rsc-large'?",
    ),
];

/// Commands, options and their values.
const WORDS: &[Mistake] = &[
    ("hplace balanced", 1, "Error: 'balanced' is a strategy, not a command\nHint: use --strategy balanced"),
    (
        "hplace whyy web",
        1,
        "Error: there is no command 'whyy', did you mean 'why'?\nHint: the commands are why, survive, fit, lint, evacuate, simulate, optimal, affinity",
    ),
    ("hplace why", 1, "Error: hplace why needs the name of a resource"),
    ("hplace fit -x cib.xml", 1, "Error: hplace fit needs a size, such as cpu=2,memory=4096"),
    ("hplace -x cib.xml --nodes 2", 1, "Hint: --nodes belongs to `hplace survive'"),
    (
        "hgroup compres -t groups.data",
        1,
        "Error: 'compres' is not a command, did you mean 'compress'?\nHint: the commands are status, redistribute, compress and balance",
    ),
    ("hbal -t c.data -l abc", 1, "option --max-length: 'abc' is not a whole number"),
    ("hbal -t c.data -l 5x", 1, "option --max-length: '5x' is not a whole number"),
    ("hbal -t c.data --min-gain little", 1, "option --min-gain: 'little' is not a number"),
    ("hbal -t c.data --until 25:00", 1, "option --until: '25:00' is not a time of the day such as 06:00"),
    (
        "hspace -t c.data --standard-alloc 1,2",
        1,
        "option --standard-alloc: '1,2' is not a size as DISK,MEMORY,CPUS[,SPINDLES]",
    ),
    ("hbal -t c.data -C out.sh", 1, "Hint: to make 'out.sh' the option's argument, join them: -Cout.sh"),
    ("hbal -t c.data -L", 1, "Error: Only one of the rapi, luxi, and data files options should be given."),
    (
        "hbal",
        1,
        "No backend selected! Exiting.\nHint: name a cluster with -t FILE, -m ADDRESS (RAPI) or -L (LUXI)",
    ),
    (
        "hplace",
        1,
        "Error: no cluster is named\nHint: name a Pacemaker cluster with -x FILE or --live, or a Ganeti cluster with -t FILE, -m ADDRESS or -L",
    ),
    ("hbal -t c.data -X", 1, "Error: hbal: Execution of commands possible only on LUXI"),
    ("hbal -X", 1, "Error: hbal: Execution of commands possible only on LUXI"),
    (
        "hbal -x cib.xml -X",
        1,
        "Error: option --exec needs a live cluster\nHint: use --live on a node of the cluster",
    ),
    (
        "hbal -x cib.xml -t c.data",
        1,
        "Error: the options name a Pacemaker cluster and a Ganeti cluster; only one cluster can be named",
    ),
    (
        "hbal -Lnosocket",
        1,
        "nosocket: there is no such socket; this machine is probably not the master of a cluster",
    ),
];

#[test]
fn each_mistake_is_answered_by_the_way_out() {
    let place = Place::new();
    for (name, from) in [
        ("c.data", "balanced.data"),
        ("groups.data", "groups.data"),
        ("cib.xml", "pacemaker-small.xml"),
        ("request.json", "allocate.json"),
        ("keys.json", "affinity.json"),
    ] {
        place.write(name, fs::read(sample(from)).unwrap());
    }
    place.write("plan.json", r#"{"schema": "htools.saved-plan-1"}"#);
    let instance = "w|1|1|1|running|Y|node1.a||plain||1";
    let nodes = "node1.a|9|0|9|9|9|1|N|u|1\nnode1.b|9|0|9|9|9|1|N|u|1";
    place.write("twins.data", format!("g|u|preferred||\n\n{nodes}\n\n{instance}\n\n\n"));
    let tables = [FILES, NAMES, WORDS];
    assert_eq!(tables.iter().map(|table| table.len()).sum::<usize>(), 57);
    for (line, status, wanted) in tables.into_iter().flatten() {
        let words: Vec<&str> = line.split(' ').collect();
        let run = place.run(&words);
        assert_eq!(run.status, Some(*status), "{line}: {}", run.stderr);
        let wanted = format!("{wanted}\n");
        let from = if wanted.starts_with("Error: ") { "\n" } else { "" };
        let found = format!("\n{}", run.stderr);
        assert!(found.ends_with(&format!("{from}{wanted}")), "{line}: {}", run.stderr);
    }
}

#[test]
fn an_empty_last_word_is_no_argument() {
    let place = Place::new();
    let good = sample("balanced.data");
    for tool in ["hbal", "hinfo", "hspace", "hcheck"] {
        let plain = place.run(&[tool, "-t", &good]);
        let run = place.run(&[tool, "-t", &good, ""]);
        assert_eq!((run.status, run.stdout), (plain.status, plain.stdout), "{tool}");
        place.fails(&[tool, "-t", &good, "", "x"], "This program doesn't take any arguments.");
    }
}

#[test]
fn values_that_cannot_be_true_are_named() {
    let place = Place::new();
    let node = "16384|512|8192|100000|50000|8|N|u|1||N|1|0";
    let instance = "2048|10240|1|running|Y|n1|n2|drbd||1|-";
    let cluster = |first: &str, second: &str, instances: &str| {
        format!("g|u|preferred||\n\n{first}\n{second}\n\n{instances}\n\n\n")
    };
    let good = format!("n1|{node}|1.0");
    let doubt = |what: &str| format!("Warning: c.data, line {what}");
    for (second, instances, wanted) in [
        (
            format!("n2|{node}|NaN"),
            format!("a|{instance}"),
            "4, node 'n2': CPU speed: NaN is not more than 0",
        ),
        (format!("n2|{node}|0"), format!("a|{instance}"), "4, node 'n2': CPU speed: 0 is not more than 0"),
        (
            format!("n2|{}|1.0", node.replace("|8|N|", "|0|N|")),
            format!("a|{instance}"),
            "4, node 'n2': total CPUs: 0 is not more than 0",
        ),
        (
            format!("n2|{}|1.0", node.replace("16384", "-1")),
            format!("a|{instance}"),
            "4, node 'n2': total memory: -1 is not a size",
        ),
        (
            format!("n2|{}|1.0", node.replace("8192", "99999")),
            format!("a|{instance}"),
            "4, node 'n2': free memory: 99999 MiB is more than the total of 16384 MiB",
        ),
        (
            format!("n2|{node}|1.0\nn2|{node}|1.0"),
            format!("a|{instance}"),
            "5, node 'n2': name: an earlier one has the same name",
        ),
        (
            format!("n2|{node}|1.0"),
            format!("a|{instance}\na|{instance}"),
            "7, instance 'a': name: an earlier one has the same name",
        ),
        (format!("n2|{node}|1.0"), format!("|{instance}"), "6, instance '': name: it is empty"),
        (
            format!("n2|{node}|1.0"),
            format!("a|{}", instance.replace("2048", "-2048")),
            "6, instance 'a': memory: -2048 MiB is negative",
        ),
    ] {
        place.write("c.data", cluster(&good, &second, &instances));
        let run = place.run(&["hbal", "-t", "c.data"]);
        assert_eq!(run.status, Some(0), "{}", run.stderr);
        assert!(run.stderr.lines().any(|line| line == doubt(wanted)), "{wanted}: {}", run.stderr);
        let run = place.run(&["hcheck", "--monitor", "-t", "c.data"]);
        assert_eq!(run.status, Some(3), "{wanted}");
        let first = run.stdout.lines().next().unwrap();
        assert_eq!(first, format!("HTOOLS UNKNOWN - the data cannot be true: c.data, line {wanted}"));
    }
    // An offline node may have no resources.
    let off = "n2|0|0|0|0|0|0|Y|u|0||N|0|0|1.0";
    place.write("c.data", cluster(&good, off, ""));
    let run = place.run(&["hbal", "-t", "c.data"]);
    assert!(!run.stderr.contains(", line "), "{}", run.stderr);
}
