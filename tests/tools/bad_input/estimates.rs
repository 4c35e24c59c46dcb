//! Estimates of odd clusters.

use super::Place;

/// Odd runs that are accepted, as in the reference.
#[test]
fn odd_estimates() {
    let place = Place::new();
    let huge = "1000000000000000000";
    let sizes = [format!("{huge},{huge},{huge},{huge}"), "0,0,0,0".into(), "-5,-5,-5,-5".into()];
    let least = i64::MIN.to_string();
    let mut runs: Vec<Vec<&str>> = Vec::new();
    for number in ["NaN", "Infinity", "1e300", "1e-300"] {
        runs.push(vec!["--max-cpu", number, "--min-disk", number]);
        runs.push(vec!["--max-cpu", number, "--min-disk=-1e300"]);
    }
    for size in &sizes {
        runs.push(vec!["--standard-alloc", size]);
        runs.push(vec!["--standard-alloc", size, "--no-capacity-checks", "--spindle-use", huge]);
    }
    // These sizes would have to shrink more than 10^16 times.
    let most = i64::MAX.to_string();
    let all = |size: &str| [size; 4].join(",");
    let sizes_of_tiers = [
        "0,0,0,0".to_owned(),
        "-5,-5,-5,-5".to_owned(),
        "-1000000000000000000,1g,1".to_owned(),
        all(huge),
        all(&most),
        all(&least),
        "1g,1000g,1".to_owned(),
        "4t,1g,1".to_owned(),
    ];
    for size in &sizes_of_tiers {
        runs.push(vec!["--tiered-alloc", size]);
    }
    let clusters =
        ["p,2,1t,16g,4".to_owned(), format!("p,3,{huge},{huge},{huge},{huge}"), "p,2,0,0,0,0,True".into()];
    for cluster in &clusters {
        for (run, template) in runs.iter().zip(["plain", "drbd", "ext"].into_iter().cycle()) {
            let sized = run.contains(&"--tiered-alloc");
            let tiered = if sized { &[][..] } else { &["--tiered-alloc", "4g,2g,2"] };
            let views: [&[&str]; 3] = [&["-v", "-v", "-v", "-p"], &["--machine-readable"], &["--json"]];
            for view in views {
                let words = ["hspace", "--simulate", cluster, "--disk-template", template, "-l", "3"];
                let words = [&words[..], run, tiered, view].concat();
                let run = place.run(&words);
                assert_eq!(run.status, Some(0), "{words:?}: {}", run.stderr);
            }
        }
    }
    for limit in ["0", "-2", &least, "9223372036854775807"] {
        let words = ["hspace", "--simulate", "p,2,1t,2g,4", "--standard-alloc=1g,1g,1", "-l", limit];
        let run = place.run(&words);
        assert_eq!(run.status, Some(0), "{words:?}: {}", run.stderr);
        assert!(run.stdout.contains("\nNormal (fixed-size) allocation results:\n"), "{words:?}");
    }
}

#[test]
fn clusters_that_cannot_be_filled() {
    let place = Place::new();
    let policy = |templates: &str, ranges: &str| {
        place.write(
            "c.data",
            format!(
                "g|u|preferred||\n\nn1|1|0|1|1|1|1|N|u|1\n\n\n\n|1,1,1,1,1,1|{ranges}|{templates}|4.0|32.0\n"
            ),
        );
    };
    policy("", "1,1,1,1,1,1;2,2,2,2,2,2");
    for more in [&[][..], &["--disk-template=plain"], &["--json"], &["--machine-readable"]] {
        let words = [&["hspace", "-t", "c.data"], more].concat();
        assert_eq!(place.fails(&words, "the cluster's policy lists no disk templates").stdout, "");
    }
    policy("drbd", "");
    let words = ["hspace", "-q", "-t", "c.data"];
    let message = "the cluster's policy has no maximum instance size\nHint: give a size with --tiered-alloc";
    let summary = "The cluster has 1 nodes and the following resources:\n  MEM 1, DSK 1, CPU 1, VCPU 4.\n\
                   There are no initial instances on the cluster.\n";
    assert_eq!(place.fails(&words, message).stdout, summary);
    // The earlier output remains.
    let words = [&words[..], &["--tiered-alloc=1,1,1"]].concat();
    let message = "new instances have no allowed nodes: no group has two online nodes";
    assert_eq!(place.fails(&words, message).stdout, summary);
    assert_eq!(place.fails(&[&words[..], &["--json"]].concat(), message).stdout, "");
    let words = [&words[..], &["--disk-template=ext", "-O", "n1"]].concat();
    place.fails(&words, "new instances have no allowed nodes: no node is online");
}
