//! Configuration files in the tools.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

const SAMPLE: &str = "data/unbalanced-drbd.data";

/// A directory with a configuration file, for runs with it.
struct Place {
    directory: TempDir,
    file: PathBuf,
}

impl Place {
    fn with(text: &str) -> Place {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("htools.toml");
        fs::write(&file, text).unwrap();
        Place { directory, file }
    }

    /// Status, standard output and standard error.
    fn run(&self, words: &[&str]) -> (i32, String, String) {
        ran(&[("HTOOLS_CONFIG", self.file.to_str().unwrap())], words)
    }
}

fn ran(variables: &[(&str, &str)], words: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    command.env_remove("HTOOLS").envs(variables.iter().copied());
    let output = command.args(words).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

const NONE: [(&str, &str); 1] = [("HTOOLS_CONFIG", "")];

#[test]
fn what_a_file_says_is_as_if_it_were_typed() {
    let place = Place::with("[weights]\nfree_mem_cv = 3\n[hbal]\nmax-length = 2\n[hcheck]\nmax-length = 1\n");
    let words = ["hbal", "-t", SAMPLE];
    let typed = ["hbal", "-t", SAMPLE, "--weights=free_mem_cv=3", "-l2"];
    assert_eq!(place.run(&words).1, ran(&NONE, &typed).1);
    assert_ne!(place.run(&words).1, ran(&NONE, &words).1);
    // Options on the command line win.
    assert_eq!(
        place.run(&[&words[..], &["-l3", "--weights="]].concat()).1,
        ran(&NONE, &[&words[..], &["-l3"]].concat()).1
    );
    assert_eq!(place.run(&[&words[..], &["--no-config"]].concat()).1, ran(&NONE, &words).1);
    let checked = ["hcheck", "-t", SAMPLE, "--weights", "free_mem_cv=3", "-l1"];
    assert_eq!(place.run(&checked[..3]).1, ran(&NONE, &checked).1);
}

#[test]
fn clusters_have_names() {
    let place = Place::with("[clusters.prod]\nfile = 'lab.data'\n");
    fs::copy(SAMPLE, place.directory.path().join("lab.data")).unwrap();
    let found = place.run(&["hinfo", "-m", "@prod"]);
    assert_eq!((found.0, found.1), (0, ran(&NONE, &["hinfo", "-t", SAMPLE]).1));
    assert_eq!(place.run(&["hinfo", "-m", "@prod", "--no-config"]).0, 0);
    let (status, _, said) = place.run(&["hinfo", "-m", "@prd"]);
    assert_eq!(status, 1);
    assert_eq!(
        said,
        "Error: there is no cluster 'prd' in the configuration, did you mean 'prod'?\nHint: htools config show lists the clusters\n"
    );
}

#[test]
fn a_file_that_is_wrong_ends_a_tool_with_one_line() {
    let place = Place::with("[weights]\n\nn1_cmt = 1\n");
    let (status, out, said) = place.run(&["hbal", "-t", SAMPLE]);
    let problem =
        format!("{}, line 3: there is no metric 'n1_cmt', did you mean 'n1_cnt'?", place.file.display());
    assert_eq!((status, out.as_str(), said), (1, "", format!("Error: {problem}\n")));
    // Help is still available.
    assert_eq!(place.run(&["hbal", "--help"]).0, 0);
    // Ganeti gets an answer.
    let (status, out, _) = place.run(&["hail", "data/allocate.json"]);
    let answer: Value = serde_json::from_str(&out).unwrap();
    let info = format!("Request failed: configuration file {problem}");
    assert_eq!((status, &answer), (0, &serde_json::json!({"success": false, "info": info, "result": []})));
    let (status, out, said) = place.run(&["config", "check"]);
    assert_eq!((status, out.as_str(), said), (1, "", format!("Error: {problem}\n")));
}

#[test]
fn others_must_not_write_to_it() {
    let place = Place::with("[weights]\n");
    fs::set_permissions(&place.file, fs::Permissions::from_mode(0o664)).unwrap();
    let (status, _, said) = place.run(&["hinfo", "-t", SAMPLE]);
    assert_eq!(status, 1);
    assert!(
        said.contains(
            ": other users can write to it (mode 0664)\nHint: chmod go-w takes the right from other users\n"
        ),
        "{said}"
    );
    fs::remove_file(&place.file).unwrap();
    let (status, _, said) = place.run(&["hinfo", "-t", SAMPLE]);
    assert!(status == 1 && said.contains("htools.toml: cannot be read: "), "{said}");
    // A pipe does not block the program.
    let made = std::process::Command::new("mkfifo").arg(&place.file).status().unwrap();
    assert!(made.success());
    let (status, _, said) = place.run(&["hinfo", "-t", SAMPLE]);
    assert!(status == 1 && said.ends_with("htools.toml: not a regular file\n"), "{said}");
}

#[test]
fn the_users_file_is_found() {
    let place = Place::with("[hbal]\nmax-length = 1\n");
    let directory = place.directory.path().to_str().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    command.env_remove("HTOOLS").env_remove("HTOOLS_CONFIG").env("XDG_CONFIG_HOME", directory);
    let output = command.args(["config", "show", "--json"]).output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let files: Vec<&str> =
        found["files"].as_array().unwrap().iter().map(|f| f["path"].as_str().unwrap()).collect();
    assert_eq!(files, ["/etc/htools.toml", place.file.to_str().unwrap()]);
    let said = |setting: &&Value| setting["said_in"]["file"] == place.file.to_str().unwrap();
    assert_eq!(found["settings"].as_array().unwrap().iter().filter(said).count(), 1);
}

#[test]
fn what_holds_is_shown() {
    let place = Place::with(
        "[clusters.lab]\nfile = '/x/lab.data'\n[weights]\nn1_cnt = 0\n[defaults]\nmin-disk = 0.1\n[hbal]\nmin-disk = 0.2\n",
    );
    let (status, out, said) = place.run(&["config", "show"]);
    assert_eq!((status, said.as_str()), (0, ""));
    let file = place.file.display();
    let lines: Vec<String> =
        out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        lines,
        [
            format!("{file}: read"),
            String::new(),
            "Cluster Where Said in".to_owned(),
            format!("@lab /x/lab.data {file}:1"),
            String::new(),
            "Key Value Said in Holds for".to_owned(),
            format!(
                "weights.n1_cnt 0 {file}:4 hail, harep, hbal, hcheck, hgroup, hinfo, hscan, hspace, hsqueeze"
            ),
            format!("defaults.min-disk 0.1 {file}:6 hcheck, hgroup, hspace"),
            format!("hbal.min-disk 0.2 {file}:8 hbal"),
        ]
    );
    let document: Value = serde_json::from_str(&place.run(&["config", "show", "--json"]).1).unwrap();
    let schema: Value =
        serde_json::from_str(&fs::read_to_string("docs/schema/htools.config-1.json").unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert_eq!(errors, [""; 0]);
    assert_eq!(document["settings"][1]["tools"], serde_json::json!(["hcheck", "hgroup", "hspace"]));
    let checked = place.run(&["config", "check"]).1;
    assert_eq!(checked, format!("{file}: read\n3 settings, 1 cluster, no error\n"));
    assert_eq!(place.run(&["config", "cheque"]).0, 2);
}

/// A plan is made again with its original options, regardless of the present files.
#[test]
fn saved_plans_are_not_for_files_to_change() {
    let place = Place::with("[weights]\nfree_disk_cv = 6\nn1_cnt = 0\n[hbal]\nmax-length = 4\n");
    let path = |name: &str| place.directory.path().join(name).to_str().unwrap().to_owned();
    let (plan, end) = (path("plan"), path("end"));
    assert_eq!(place.run(&["hbal", "-t", SAMPLE, "--save-plan", &plan]).0, 0);
    let saved: Value = serde_json::from_str(&fs::read_to_string(&plan).unwrap()).unwrap();
    let words = ["--weights=free_disk_cv=6", "--weights=n1_cnt=0", "--max-length=4"];
    assert_eq!(saved["options"], serde_json::json!(words));
    ran(&NONE, &["hbal", "-t", SAMPLE, "-l1", "-S", &end]);
    let end = format!("{end}.balanced");
    let again = ["apply", "--replan", "-t", &end, &plan];
    let expected = ran(&NONE, &[&["hbal", "-t", end.as_str()], &words[..]].concat()).1;
    assert_eq!(ran(&NONE, &again).1, expected);
    fs::write(&place.file, "[weights]\ncpu_load_cv = 0\n[hbal]\nmax-length = 1\n").unwrap();
    assert_eq!(place.run(&again).1, expected);
}
