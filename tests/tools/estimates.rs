//! hspace where Ganeti's crashes, and properties shared by its two allocations.

use std::collections::HashMap;
use std::fs;

use assert_cmd::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_htools");

/// Standard output of a successful run of hspace.
fn hspace(words: &[&str]) -> String {
    let mut command = Command::new(PROGRAM);
    let run = command.env_remove("HTOOLS").arg("hspace").args(words).assert().code(0);
    String::from_utf8(run.get_output().stdout.clone()).unwrap()
}

/// The values of a complete machine-readable run.
fn values(words: &[&str]) -> HashMap<String, String> {
    let text = hspace(&[words, &["--machine-readable"]].concat());
    assert!(text.ends_with("\nHTS_OK=1\n"), "{words:?}");
    let value = |line: &str| {
        let (key, value) = line.strip_prefix("HTS_").unwrap().split_once('=').unwrap();
        (key.to_owned(), value.trim_matches('\'').to_owned())
    };
    text.lines().map(value).collect()
}

/// Standard error of a run.
fn said(words: &[&str]) -> String {
    let mut command = Command::new(PROGRAM);
    let run = command.env_remove("HTOOLS").arg("hspace").args(words).assert().code(0);
    String::from_utf8(run.get_output().stderr.clone()).unwrap()
}

/// If no group allows the first template of the cluster's policy, this is reported at once. The answer is the
/// reference's.
#[test]
fn template_allowed_nowhere() {
    let sample = ["-t", "data/groups.data"];
    let nowhere = "Note: the policy of no node group with usable nodes allows disk template 'diskless'\n";
    assert_eq!(said(&sample), nowhere);
    let asked = said(&[&sample[..], &["--disk-template", "diskless"]].concat());
    assert_eq!(asked, nowhere);
    assert_eq!(said(&[&sample[..], &["--disk-template", "ext", "-q"]].concat()), "");
    let values = values(&sample);
    let value = |key: &str| values[key].as_str();
    assert_eq!((value("TRL_INST_CNT"), value("ALLOC_INSTANCES")), ("14", "0"));
    assert_eq!(value("ALLOC_FAIL_REASON"), "FAILMEM");
}

/// A time limit that is over at once still gives the whole output.
#[test]
fn time_limit() {
    let words = ["--simulate", "p,20,8T,64g,16", "--disk-template", "ext", "--time-limit", "1e-9"];
    let text = hspace(&words);
    assert!(text.contains("Tiered allocation results:\n  - no instances allocated\n"), "{text}");
    assert!(text.contains("  -   0 instances allocated\n"), "{text}");
    let said = said(&words);
    for what in ["tiered", "standard"] {
        let line = format!("The time limit ended the {what} allocation after 0 instances\n");
        assert!(said.contains(&line), "{said}");
    }
    let document = hspace(&[&words[..], &["--json"]].concat());
    assert_eq!(document.matches("\"stopped\": \"time-limit\"").count(), 2, "{document}");
}

/// A limit of zero: the reference crashes before the reason.
#[test]
fn limit_zero() {
    let nodes = ["--simulate", "p,2,100g,4g,4", "--disk-template", "plain"];
    let nothing = "  - most likely failure reason: FailMem
  - initial cluster score: 0.00000000
  -   final cluster score: 0.00000000
  - memory usage efficiency:  0.00%
  -   disk usage efficiency:  0.00%
  -   vcpu usage efficiency:  6.25%
";
    let text = hspace(&[&nodes[..], &["-l", "0"]].concat());
    assert!(text.contains(&format!("  - no instances allocated\n{nothing}")), "{text}");
    assert!(text.ends_with(&format!("  -   0 instances allocated\n{nothing}")), "{text}");
    for limit in ["-2", "-9223372036854775808"] {
        let text = hspace(&[&nodes[..], &["-l", limit]].concat());
        assert!(text.contains(&format!("  - no instances allocated\n{nothing}")), "{text}");
        assert!(text.contains("  -  30 instances allocated\n"), "{text}");
    }
}

/// Forthcoming instances: the reference crashes before the final state.
#[test]
fn forthcoming_instances_do_not_count() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("c.data");
    let rows = "a|65536|0|61440|409600|405504|16|M|u|1\nb|65536|0|65536|409600|405504|16|N|u|1\n\n\
                old|4096|4096|1|running|Y|a|b|drbd||1|1|N\nplanned|4096|4096|1|running|Y|b|a|drbd||1|1|Y\n";
    fs::write(&file, format!("g|u|preferred||\n\n{rows}\n\n")).unwrap();
    let words = ["-t", file.to_str().unwrap(), "--disk-template", "drbd", "-l", "3"];
    let values = values(&words);
    let value = |key: &str| values[key].as_str();
    assert_eq!((value("INI_INST_CNT"), value("FIN_INST_CNT"), value("ALLOC_INSTANCES")), ("1", "4", "3"));
    assert_eq!(value("ALLOC_USAGE"), "0.25000000");
    assert!(hspace(&words).contains("There are 1 initial instances on the cluster.\n"));
}

/// The reference crashes when it looks at the groups of instances with nodes in two groups.
#[test]
fn split_instances() {
    let words = ["-t", "data/groups.data", "-l", "3", "--tiered-alloc", "10g,1g,1", "--independent-groups"];
    assert!(hspace(&words).contains("There are 14 initial instances on the cluster.\n"));
}

/// If all groups are excluded because they could not lose a node, nothing is placed, and the answer is complete.
#[test]
fn no_group_left() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("c.data");
    // Without b, no node has room for its instance.
    let rows = "a|4000|0|1000|9000|9000|9|M|u\nb|4000|0|1000|9000|9000|9|N|u\n\n\
                i|3000|0|1|running|Y|a||ext|\nj|3000|0|1|running|Y|b||ext|\n\n";
    fs::write(&file, format!("g|u|preferred||\n\n{rows}\n\n")).unwrap();
    let words = ["-t", file.to_str().unwrap(), "--disk-template", "ext", "--independent-groups"];
    let values = values(&words);
    let value = |key: &str| values[key].as_str();
    assert_eq!((value("ALLOC_INSTANCES"), value("ALLOC_FAIL_REASON")), ("0", "FAILN1"));
    assert_eq!((value("FIN_INST_CNT"), value("TSPEC")), ("2", ""));
    assert!(hspace(&words).contains("  - no instances allocated\n"));
}

/// The state saved after an allocation contains its result. (The score may differ: the reported free memory stays
/// unchanged, and so does the memory that forthcoming instances could have.)
#[test]
fn saved_states_hold_the_new_instances() {
    let directory = tempfile::tempdir().unwrap();
    let prefix = directory.path().join("state");
    let saved = prefix.to_str().unwrap();
    let sample = ["-t", "data/unbalanced-drbd.data", "--disk-template", "drbd", "-l", "4", "--max-cpu", "2"];
    let sized = ["--tiered-alloc", "40g,16g,4", "--standard-alloc", "20g,4g,2", "-S", saved];
    let before = values(&[&sample[..], &sized].concat());
    for (name, state) in [("tiered", "TRL"), ("standard", "FIN")] {
        let file = format!("{saved}.{name}");
        let after = values(&["-t", &file, "-l", "0", "--max-cpu", "2"]);
        for key in ["INST_CNT", "MEM_FREE", "MEM_AVAIL", "DSK_FREE", "CPU_INST", "CPU_EFF"] {
            assert_eq!(after[&format!("INI_{key}")], before[&format!("{state}_{key}")], "{name} {key}");
        }
    }
}

/// The three shares add up to the capacity.
#[test]
fn shares_of_the_capacity() {
    for sample in ["unbalanced-drbd", "mixed-templates", "offline-nodes"] {
        let file = format!("data/{sample}.data");
        let values = values(&["-t", &file, "-l", "5", "--disk-template", "drbd"]);
        for (key, whole) in [("CPU", "VCPU"), ("MEM", "MEM"), ("DSK", "DSK"), ("SPN", "SPN")] {
            let number = |key: String| values[&key].parse::<i64>().unwrap();
            let shares: i64 = ["USED", "POOL", "UNAV"].iter().map(|s| number(format!("KM_{s}_{key}"))).sum();
            assert_eq!(shares, number(format!("CLUSTER_{whole}")), "{sample} {key}");
        }
    }
}

/// With `--proof`, the fixed size gets an upper bound in each form. Nothing else changes.
#[test]
fn bound_of_the_fixed_size() {
    let words = ["--simulate", "p,6,2t,64g,16", "--disk-template", "drbd", "--standard-alloc", "20g,4g,2"];
    let with = |more: &[&'static str]| [&words[..], more].concat();
    let text = hspace(&with(&["--proof"]));
    let line = "  - no placement holds more than 75 more instances (gap 4.0%)\n";
    assert!(text.contains(&format!("  -  72 instances allocated\n{line}")), "{text}");
    assert_eq!(text.replace(line, ""), hspace(&words));
    let shell = hspace(&with(&["--proof", "--machine-readable"]));
    let lines = "HTS_ALLOC_BOUND=75\nHTS_ALLOC_GAP=0.04000000\n";
    assert!(shell.ends_with(&format!("{lines}HTS_OK=1\n")), "{shell}");
    assert_eq!(shell.replace(lines, ""), hspace(&with(&["--machine-readable"])));
    let document: serde_json::Value = serde_json::from_str(&hspace(&with(&["--proof", "--json"]))).unwrap();
    assert_eq!(document["standard"]["proof"]["bound"], 75);
    assert_eq!(document["standard"]["proof"]["gap"], 0.04);
    assert!(document["tiered"].get("proof").is_none());
}
