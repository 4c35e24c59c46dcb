//! Files that are not clusters, and clusters with mistakes.

use std::fs;

use super::{Place, changed, sample};

#[test]
fn files_that_are_no_text() {
    let place = Place::new();
    place.refuses("", ": 0 sections instead of 4 or more");
    place.refuses(b"\x7fELF\x02\x01\x01\0\0\0\xc3\x28\n\n\n\n", ", line 1: not UTF-8 text (byte 0xc3)");
    place.refuses(b"\xff\xfe\n", ", line 1: not UTF-8 text (byte 0xff)");
    place.refuses(b"g|u|preferred||\n\nn\xe9\n", ", line 3: not UTF-8 text (byte 0xe9)");
    place.refuses("\0\0\0\0", ": 1 sections instead of 4 or more");
    place.refuses(vec![b'x'; 10_000_000], ": 1 sections instead of 4 or more");
    let long = [vec![b'x'; 10_000_000], b"\n\n\n\n\n".to_vec()].concat();
    place.write("c.data", long);
    let run = place.run(&["hbal", "-t", "c.data"]);
    assert_eq!((run.status, run.stderr.lines().count()), (Some(1), 1));
    assert!(run.stderr.starts_with("Error: failed to load data, aborting: c.data, line 1"), "{}", run.stderr);
}

#[test]
fn files_that_lack_parts() {
    let place = Place::new();
    place.refuses("\n", ": 2 sections instead of 4 or more");
    place.refuses("default|u|preferred||\n\nn1|1|1|1|1|1|1|N|u\n", ": 2 sections instead of 4 or more");
    let text = fs::read_to_string(sample("unbalanced-drbd.data")).unwrap();
    let cut = &text[..text.find("\n\nweb1").unwrap()];
    place.refuses(cut, ": 2 sections instead of 4 or more");
    place.refuses(
        text.replace('\n', "\r\n"),
        ": 1 sections instead of 4 or more; the lines end in CR LF instead of LF",
    );
}

#[test]
fn files_that_cannot_be_read() {
    let place = Place::new();
    fs::create_dir(place.path("directory")).unwrap();
    place.write("file", "");
    let cases = [
        ("directory", "Is a directory (os error 21)"),
        ("absent", "No such file or directory (os error 2)"),
        ("file/x", "Not a directory (os error 20)"),
        ("", "No such file or directory (os error 2)"),
    ];
    let good = sample("unbalanced-drbd.data");
    for (name, reason) in cases {
        let reading = format!("cannot read file '{name}': {reason}");
        let loading = format!("failed to load data, aborting: {reading}");
        for tool in ["hbal", "hinfo"] {
            place.fails(&[tool, "-t", name], &loading);
            place.fails(&[tool, "-I", name], &loading);
            place.fails(&["hspace", "-t", name], &loading);
            place.fails(&[tool, "-t", &good, "--mond", "--mond-data", name], &reading);
        }
        place.fails(&["hbal", "-t", &good, "-U", name], &reading);
    }
}

#[test]
fn malformed_values() {
    let place = Place::new();
    let node = ", line 5, node 'node3.example.com': ";
    let instance = ", line 11, instance 'web1.example.com': ";
    let states = "running, ADMIN_down, ADMIN_offline, ERROR_down, ERROR_up, ERROR_nodedown, ERROR_nodeoffline, \
                  ERROR_wrongnode, USER_down";
    let templates = "diskless, file, sharedfile, plain, blockdev, drbd, rbd, ext, gluster";
    let cases = [
        ("node3.example.com|49152", "node3.example.com|", format!("{node}total memory: cannot parse string ''")),
        ("node3.example.com|49152", "node3.example.com|x", format!("{node}total memory: cannot parse string 'x'")),
        ("node3.example.com|49152|1024", "node3.example.com|1|1e3", format!("{node}node memory: cannot parse string '1e3'")),
        ("node3.example.com|49152|1024", "node3.example.com|1|NaN", format!("{node}node memory: cannot parse string 'NaN'")),
        (
            "node3.example.com|49152|1024",
            "node3.example.com|1|99999999999999999999",
            format!("{node}node memory: '99999999999999999999' does not fit into 64 bits"),
        ),
        (
            "web1.example.com|4096",
            "web1.example.com|4096x",
            format!("{instance}memory: leftover characters when parsing '4096x': 'x'"),
        ),
        ("web1.example.com|4096|41088", "web1.example.com|4096|1.5", format!("{instance}disk: cannot parse string '1.5'")),
        ("|2|running|", "|two|running|", format!("{instance}virtual CPUs: cannot parse string 'two'")),
        ("|running|", "|walking|", format!("{instance}status: 'walking' is not one of {states}")),
        ("|running|Y|", "|running|y|", format!("{instance}auto_balance: 'y' is neither 'Y' nor 'N'")),
        ("|drbd|", "|drbd8|", format!("{instance}disk template: 'drbd8' is not one of {templates}")),
        ("|drbd||1|-|N", "|drbd||x|-|N", format!("{instance}spindle use: cannot parse string 'x'")),
        ("|drbd||1|-|N", "|drbd||1|-|?", format!("{instance}forthcoming: '?' is neither 'Y' nor 'N'")),
        (
            "|N|0|1|1.0\n",
            "|n|0|1|1.0\n",
            ", line 3, node 'node1.example.com': exclusive storage: 'n' is neither 'Y' nor 'N'".into(),
        ),
        (
            "|preferred|",
            "|favourite|",
            ", line 1, group 'default': allocation policy: 'favourite' is not one of preferred, last_resort, \
             unallocable"
                .into(),
        ),
    ];
    for (from, to, message) in cases {
        place.refuses(changed(from, to), &message);
    }
    // A row that is too short.
    place.write("c.data", changed("|drbd||1|-|N", ""));
    let run = place.run(&["hbal", "-t", "c.data"]);
    assert_eq!(run.status, Some(1));
    assert!(run.stderr.contains("c.data, line 11, instance 'web1.example.com'"), "{}", run.stderr);
}

#[test]
fn names_that_mean_nothing() {
    let place = Place::new();
    let instance = ", line 11, instance 'web1.example.com': ";
    let uuid = "a7f3c1d2-0b4e-4c5a-9d61-3e8f27b90c14";
    let cases = [
        (
            "|running|Y|node1.example.com",
            "|running|Y|node9.example.com",
            format!("{instance}primary node: Unknown node 'node9.example.com' for instance web1.example.com"),
        ),
        (
            "|node2.example.com|drbd",
            "|node2|drbd",
            format!("{instance}secondary node: Unknown node 'node2' for instance web1.example.com"),
        ),
        (
            "|node2.example.com|drbd",
            "|node1.example.com|drbd",
            format!("{instance}secondary node: 'node1.example.com' is the primary node, too"),
        ),
        (
            &format!("default|{uuid}"),
            "default|other",
            format!(", line 3, node 'node1.example.com': group: no group has the UUID '{uuid}'"),
        ),
        (
            "\ndefault|128",
            "\nnobody|128",
            ", line 34, policy 'nobody': owner: no group has the name or UUID 'nobody'".into(),
        ),
        (
            "\ndefault|128,1",
            "\ndefault|128",
            ", line 34, policy 'default': standard spec: spindle use: missing in '128,1024,1,1,1'".into(),
        ),
        (
            &format!("default|{uuid}|preferred||\n"),
            "",
            format!(", line 2, node 'node1.example.com': group: no group has the UUID '{uuid}'"),
        ),
    ];
    for (from, to, message) in cases {
        place.refuses(changed(from, to), &message);
    }
    let text = changed("", " ");
    let without_nodes: String =
        text[1..].split_inclusive('\n').filter(|line| !line.starts_with("node")).collect();
    place.refuses(
        without_nodes,
        ", line 4, instance 'web1.example.com': primary node: Unknown node 'node1.example.com' for instance web1.example.com",
    );
}

#[test]
fn odd_clusters_that_are_clusters() {
    let place = Place::new();
    let rows = ["node3.example.com|49152|1024|31744|2097152|1041408|16"];
    for value in ["NaN", "Infinity", "1e400", "-5", "0", "0x10", "9e99"] {
        for (at, _) in rows[0].match_indices('|') {
            let rest = &rows[0][at + 1..];
            let end = rest.find('|').unwrap_or(rest.len());
            let row = format!("{}{value}{}", &rows[0][..=at], &rest[end..]);
            let content = changed(rows[0], &row);
            place.write("c.data", &content);
            let run = place.run(&["hinfo", "-t", "c.data", "-q"]);
            if run.status == Some(0) {
                place.accepts(&content);
            } else {
                // An integer is expected.
                assert!(run.stderr.contains("c.data, line 5, node 'node3.example.com': "), "{}", run.stderr);
            }
        }
    }
    for (from, to) in [
        ("web1.example.com|4096|41088|2|", "web1.example.com|-4096|-41088|-2|"),
        (
            "web1.example.com|4096|41088|2|",
            "web1.example.com|9223372036854775807|9223372036854775807|9223372036854775807|",
        ),
        ("web1.example.com|4096|41088|2|", "web1.example.com|-9223372036854775808|0|0|"),
        ("web1.example.com|", "web2.example.com|"),
        ("web1.example.com|", "|"),
        ("|4.0|32.0", "|0|0"),
        ("\ndefault|128", "\n|128"),
        ("|4.0|32.0\ndefault", "|NaN|-1\ndefault"),
    ] {
        place.accepts(&changed(from, to));
    }
    // Of two nodes with the same name, the later one counts; here it is empty.
    place.accepts(&changed("node7.example.com", "node6.example.com"));
    // No nodes, no groups, or nothing at all.
    for content in ["g|u|preferred||\n\n\n\n", "\n\n\n\n\n", "\n\n\n\n", "g|u|preferred||\n\n\n\ntag\n\n"] {
        place.accepts(content);
        place.write("c.data", content);
        let run = place.run(&["hbal", "-t", "c.data"]);
        assert_eq!((run.stdout.as_str(), run.status), ("Cluster is empty, exiting.\n", Some(0)));
    }
}

#[test]
fn names_of_any_length() {
    let place = Place::new();
    let text = fs::read_to_string(sample("unbalanced-drbd.data")).unwrap();
    place.write("c.data", text.replace("node1.example.com", &"n".repeat(70_000)));
    for words in [&["hbal", "-t", "c.data", "-l1"][..], &["hbal", "-t", "c.data", "--explain=db1"]] {
        assert_eq!(place.run(words).status, Some(0), "{words:?}");
    }
    // Ganeti has no names of this length.
    assert_eq!(place.run(&["hbal", "-t", "c.data", "-C"]).status, Some(1));
}
