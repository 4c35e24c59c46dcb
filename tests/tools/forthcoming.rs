//! hgroup with a forthcoming instance, which cannot be moved, planned on an offline node.

use std::fs;

use assert_cmd::Command;
use serde_json::{Value, json};

fn hgroup(instances: &str, words: &[&str]) -> (i32, String) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("c.data");
    let nodes = "a1|9000|0|9000|9000|9000|8|M|u\na2|9000|0|9000|9000|9000|8|Y|u\n\
                 b1|9000|0|9000|9000|9000|8|N|v\nb2|9000|0|9000|9000|9000|8|N|v";
    let text = format!("a|u|preferred||\nb|v|preferred||\n\n{nodes}\n\n{instances}\n\n");
    fs::write(&file, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    let run = command.env_remove("HTOOLS").arg("hgroup").args(words).arg("-t").arg(&file).assert();
    let output = run.get_output();
    (output.status.code().unwrap(), String::from_utf8(output.stdout.clone()).unwrap())
}

const THERE: &str = "i|500|2048|1|running|Y|a1|a2|drbd||1|-|N";
const SOON: &str = "soon|500|2048|1|running|Y|a1|a2|drbd||1|-|Y";

#[test]
fn what_is_planned_on_offline_nodes_is_named() {
    let both = format!("{THERE}\n{SOON}\n");
    let (status, text) = hgroup(&both, &["redistribute"]);
    assert_eq!(status, 1, "{text}");
    for line in [
        "Group a is unhealthy: 1 instance on offline nodes, 1 node could not be emptied, 1 forthcoming instance planned on offline nodes\n",
        "  After 1 move all that exists is well:\n",
        "    soon (drbd, 500 MiB memory, 2048 MiB disk, 1 vcpus): it does not exist yet\n",
        "The group can be repaired, with 1 move. 1 forthcoming instance is planned on offline nodes.\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let (_, text) = hgroup(&both, &["redistribute", "--json"]);
    let document: Value = serde_json::from_str(&text).unwrap();
    let repair = &document["repairs"][0];
    assert_eq!((&repair["repaired"], &repair["moves"]), (&json!(false), &json!(1)));
    assert_eq!(repair["blocked"][0]["instance"], "soon");
    let (_, text) = hgroup(&both, &["status"]);
    assert!(text.contains("Forthcoming instances planned on offline nodes of group a: soon\n"), "{text}");

    let (status, text) = hgroup(SOON, &["redistribute"]);
    let wanted = "Group a is healthy, but: 1 forthcoming instance planned on offline nodes\n  \
                  Nothing moves what is only planned:\n    \
                  soon (drbd, 500 MiB memory, 2048 MiB disk, 1 vcpus): it does not exist yet\n\
                  The group cannot be repaired. 1 forthcoming instance is planned on offline nodes.\n";
    assert_eq!((status, text.as_str()), (1, wanted));
    let (status, text) = hgroup(THERE, &["redistribute"]);
    assert!(status == 0 && text.contains("  It is healthy after 1 move:\n"), "{text}");
}
