//! Malformed files other than the cluster's: utilisation, monitoring data, allocator messages, simulations.

use std::fs;

use super::{Place, sample};

#[test]
fn malformed_utilisation() {
    let place = Place::new();
    let good = sample("unbalanced-drbd.data");
    let cases: [(&[u8], &str); 6] = [
        (
            b"web1.example.com 1 2 3\n",
            ", line 1: Cannot parse line 'web1.example.com 1 2 3': not 'NAME CPU MEM DISK NET' with single blanks",
        ),
        (b"a 1 2 3 4\n\n", ", line 2: Cannot parse line '': not 'NAME CPU MEM DISK NET' with single blanks"),
        (
            b"a 1 2 3 4\r\n",
            ", line 1, instance 'a': network load: leftover characters when parsing '4\\r': '\\r'",
        ),
        (b"a 1 x 3 4\n", ", line 1, instance 'a': memory load: cannot parse string 'x'"),
        (b"a 1 2 .5 4\n", ", line 1, instance 'a': disk load: cannot parse string '.5'"),
        (b"a 1 2 3 4\n\xff\n", ", line 2: not UTF-8 text (byte 0xff)"),
    ];
    for (content, message) in cases {
        place.write("load", content);
        let message = format!("can't parse utilisation data: load{message}");
        place.fails(&["hbal", "-t", &good, "-U", "load"], &message);
    }
    place.write("load", "db1.example.com NaN Infinity -1 1e400\nnobody 1 1 1 1\n");
    assert_eq!(place.run(&["hbal", "-t", &good, "-U", "load", "-v", "-v", "-C"]).status, Some(0));
}

#[test]
fn malformed_monitoring_data() {
    let place = Place::new();
    let good = sample("unbalanced-drbd.data");
    let cases: [(&[u8], &str); 7] = [
        (b"", ", line 1, column 0: Invalid JSON: EOF while parsing a value"),
        (b"{\"a\"", ", line 1, column 4: Invalid JSON: EOF while parsing an object"),
        (b"{}", ": expected a list, found an object"),
        (b"[1]", ", item 1: Unable to read JSObject: expected an object, found 1"),
        (b"[{}]", ", item 1: key 'node' not found, object contains only []"),
        (b"[{\"node\":\"n\"}]", ", node 'n': key 'reports' not found, object contains only [\"node\"]"),
        (b"\xff", ", line 1: not UTF-8 text (byte 0xff)"),
    ];
    for (content, message) in cases {
        place.write("load", content);
        for tool in ["hbal", "hinfo"] {
            place.fails(
                &[tool, "-t", &good, "--mond", "--mond-data", "load"],
                &format!("can't parse MonD data: load{message}"),
            );
        }
    }
    // It is an error only on request; then there are two lines.
    place.write("load", "[]");
    let words = ["hbal", "-t", &good, "--mond", "--mond-data", "load"];
    let run = place.run(&words);
    let missing = "Didn't receive an answer by all MonDs, cpu-avg-load's data will be ignored.\n";
    assert_eq!((run.status, run.stderr.as_str()), (Some(0), missing));
    let run = place.run(&[&words[..], &["--exit-on-missing-mond-data"]].concat());
    assert_eq!(
        (run.status, run.stderr),
        (Some(1), format!("{missing}Error: Not all required data available\n"))
    );
    assert_eq!(run.stdout, "");
}

#[test]
fn malformed_allocator_messages() {
    let place = Place::new();
    let text = fs::read_to_string(sample("allocate.json")).unwrap();
    let node = "c.json, node 'node1.example.com': ";
    let cases = [
        ("", "", "c.json, line 1, column 0: Invalid JSON: EOF while parsing a value".to_owned()),
        ("\"request\"", "\"x\"", String::new()),
        ("\"allocate\"", "\"guess\"", String::new()),
        ("\"total_memory\": 49152", "\"total_memory\": \"much\"", format!("{node}key 'total_memory': ")),
        ("\"offline\": false", "\"offline\": 0", format!("{node}key 'offline': ")),
        ("[\"node1.example.com\", \"node2.example.com\"]", "[]", String::new()),
        ("[\"node1.example.com\", \"node2.example.com\"]", "[\"nowhere\"]", String::new()),
        ("\"xen-pvm\"", "\"abacus\"", String::new()),
    ];
    for (from, to, message) in cases {
        let content = if from.is_empty() { String::new() } else { text.replacen(from, to, 1) };
        assert_ne!(content, text);
        place.write("c.json", content);
        for tool in ["hbal", "hinfo"] {
            let run = place.run(&[tool, "-I", "c.json"]);
            let start =
                format!("Error: failed to load data, aborting: c.json{}", &message.replacen("c.json", "", 1));
            assert!(run.stderr.starts_with(&start), "{from}: {}", run.stderr);
            let lines = run.stderr.lines().count();
            assert_eq!((run.status, run.stdout.as_str(), lines), (Some(1), "", 1), "{from}: {}", run.stderr);
        }
    }
}

#[test]
fn malformed_simulations() {
    let place = Place::new();
    let start = "failed to load data, aborting: --simulate ";
    for (spec, message) in [
        (
            "p,1",
            "expected 5 to 7 comma-separated items (allocation policy, node count, disk size, memory size, number \
             of CPUs, spindles, exclusive storage) but got 2",
        ),
        (
            "q,1,1,1,1",
            "allocation policy: 'q' is not one of preferred, last_resort, unallocable (or p, a, u)",
        ),
        ("p,x,1,1,1", "node count: cannot parse string 'x'"),
        ("p,9999999,1,1,1", "node count: more than 1000000 nodes in all"),
        ("p,1,1q,1,1", "disk size: Unknown unit 'q'"),
        ("p,1,1,1.5,1", "memory size: Can't parse string '1.5'"),
    ] {
        for tool in ["hbal", "hinfo", "hspace", "hcheck"] {
            place.fails(&[tool, "--simulate", spec], &format!("{start}'{spec}': {message}"));
        }
    }
}
