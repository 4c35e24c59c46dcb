use super::keys::{CLUSTER_KEYS, KEYS};
use super::*;
use crate::tools::cli::getopt::canonicalise;
use crate::tools::cli::testing::words;
use crate::tools::hbal::HbalOptions;
use crate::tools::{TOOLS, hbal, hgroup, hinfo};

fn parsed(text: &str) -> Result<Configuration, Vec<String>> {
    let problems = |all: Vec<ConfigError>| all.iter().map(|error| error.complaint().lines()).collect();
    read::read(Path::new("/d/c.toml"), text).map_err(problems)
}

fn problem(text: &str) -> String {
    let problems = parsed(text).err().unwrap();
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems[0].clone()
}

/// The options that the configuration adds to these typed words, as they would be typed.
fn given(found: &Configuration, spec: &dyn Program, typed: &[&str]) -> Vec<String> {
    let words = canonicalise(&spec.options(), &words(typed));
    let command = words.positional.first().and_then(|word| word.to_str()).unwrap_or_default();
    found.given(spec, &words, [command; 2]).iter().map(|given| given.typed().again()).collect()
}

#[test]
fn mistakes_are_told_with_line_and_key() {
    for (text, wanted) in [
        ("x", "/d/c.toml, line 1: not TOML: "),
        (
            "\n[weights]\nfree_mem = 2\n",
            "/d/c.toml, line 3: there is no metric 'free_mem', did you mean 'free_mem_cv'?",
        ),
        ("[weights]\nn1_cnt = '2'\n", "line 2: weights.n1_cnt: expected a number, found a text"),
        (
            "[weights]\nn1_cnt = -1\n",
            "line 2: weights.n1_cnt: 'n1_cnt=-1' is not 0 or a weight from 1e-6 to 1e6",
        ),
        ("[weights]\nn1_cnt = nan\n", "line 2: weights.n1_cnt: 'n1_cnt=NaN' is not 0 or a weight"),
        ("[weights]\nn1_cnt = inf\n", "line 2: weights.n1_cnt: 'n1_cnt=Infinity' is not 0 or a weight"),
        ("[weight]\nn1_cnt = 1\n", "line 1: there is no section 'weight', did you mean 'weights'?"),
        ("[hbl]\n", "line 1: there is no section 'hbl', did you mean 'hbal'?"),
        ("min-gain = 1\n", "line 1: key 'min-gain' is in no section"),
        ("[defaults]\nmin-gian = 1\n", "line 2: there is no key 'min-gian', did you mean 'min-gain'?"),
        ("[hbal]\nmin-gain = true\n", "line 2: hbal.min-gain: expected a number, found true or false"),
        (
            "[defaults]\nno-disk-moves = 1\n",
            "line 2: defaults.no-disk-moves: expected true or false, found a whole number",
        ),
        (
            "[limits]\nmax-parallel = 1.5\n",
            "line 2: limits.max-parallel: expected a whole number, found a real number",
        ),
        ("[limits]\nmax-parallel = 0\n", "line 2: limits.max-parallel: '0' is not a whole number, 1 or more"),
        (
            "[limits]\nuntil = '25:00'\n",
            "line 2: limits.until: '25:00' is not a time of the day such as 06:00",
        ),
        ("[limits]\nuntil = 2020-01-01\n", "line 2: limits.until: expected a text, found a date or time"),
        ("[limits]\npriority = 'highest'\n", "line 2: limits.priority: Unknown priority 'highest'"),
        (
            "[limits]\nmin-disk = 1\n",
            "line 2: key 'min-disk' does not belong in [limits]\nHint: 'min-disk' belongs in [defaults]\n",
        ),
        ("[defaults]\nmin-gain = 1\n", "\nHint: 'min-gain' belongs in [hbal] or [hcheck] or [hgroup]\n"),
        ("[hinfo]\nmin-gain = 1\n", "line 2: hinfo has no option --min-gain"),
        ("[hbal]\nexec = true\n", "line 2: 'exec' can be set only on the command line (--exec)"),
        ("[defaults]\nyes = true\n", "line 2: 'yes' can be set only on the command line"),
        ("[hsqueeze]\npower-command = 'x'\n", "line 2: 'power-command' can be set only on the command line"),
        (
            "[clusters]\nprod = 'x'\n",
            "line 2: 'prod' is not a cluster\nHint: clusters are sections: [clusters.prod]\n",
        ),
        ("[clusters.prod]\n", "line 1: clusters.prod: exactly one of address, socket and file is needed"),
        (
            "[clusters.a]\naddress = 'a'\nfile = 'b'\n",
            "line 1: clusters.a: exactly one of address, socket and file",
        ),
        (
            "[clusters.a]\nfile = 'b'\ncredentials = 'c'\n",
            "line 1: clusters.a: credentials and certificate apply only to an address",
        ),
        ("[clusters.a]\naddress = 'a'\ncert = 'c'\n", "line 3: there is no key of a cluster 'cert'"),
        ("[clusters.a]\naddress = ''\n", "line 2: clusters.a.address: expected a text, found an empty text"),
        ("[clusters.'a b']\naddress = 'a'\n", "line 1: the name of a cluster can have only letters, digits"),
        (
            "[clusters.a]\naddress = 'h'\npassword = 'secret'\n",
            "line 3: 'password' is not allowed in the configuration\nHint: name a file",
        ),
        (
            "[clusters.a]\naddress = 'https://u:secret@h:5080'\n",
            "line 2: clusters.a.address: a password is not allowed in the address\nHint: name a file",
        ),
        (
            "[clusters.a]\naddress = 'u%3Asecret@h'\n",
            "line 2: clusters.a.address: a password is not allowed in the address\nHint: name a file",
        ),
    ] {
        let found = problem(text);
        assert!(found.contains(wanted), "{text}: {found}");
        assert!(!found.contains("secret"), "{found}");
    }
}

#[test]
fn all_mistakes_are_told_in_order() {
    let problems = parsed("[weights]\nx = 1\ny = 2\n[defaults]\nz = 1\n").err().unwrap();
    let lines: Vec<&str> = problems.iter().map(|problem| &problem[..18]).collect();
    assert_eq!(lines, ["/d/c.toml, line 2:", "/d/c.toml, line 3:", "/d/c.toml, line 5:"]);
}

#[test]
fn what_is_said_of_a_tool_wins_over_what_is_said_of_all() {
    let found = parsed("[hbal]\nmin-disk = 0.5\n[defaults]\nmin-disk = 2\nno-disk-moves = true\n").unwrap();
    assert_eq!(given(&found, &hbal::SPEC, &[]), ["--no-disk-moves", "--min-disk=0.5"]);
    assert_eq!(given(&found, &hinfo::SPEC, &[]), [""; 0]);
    // Options on the command line win over both.
    assert_eq!(given(&found, &hbal::SPEC, &["--min-disk", "3"]), ["--no-disk-moves"]);
    let found = parsed("[defaults]\nno-disk-moves = true\n[hbal]\nno-disk-moves = false\n").unwrap();
    assert_eq!(given(&found, &hbal::SPEC, &[]), [""; 0]);
}

#[test]
fn weights_are_put_together_metric_by_metric() {
    let found = parsed("[weights]\nn1_cnt = 0\nfree_mem_cv = 2.5\n").unwrap();
    let mut options = HbalOptions::default();
    let words = canonicalise(&hbal::SPEC.options(), &words(&["--weights=n1_cnt=3"]));
    for given in found.given(&hbal::SPEC, &words, [""; 2]).iter().chain(&words.options) {
        hbal::SPEC.set(&mut options, given).unwrap();
    }
    let chosen: Vec<_> =
        options.load.merge.weights.chosen().map(|(metric, weight)| (metric.name, weight)).collect();
    assert_eq!(chosen, [("free_mem_cv", 2.5), ("n1_cnt", 3.0)]);
}

#[test]
fn limits_count_where_there_is_something_to_limit() {
    let found = parsed("[limits]\nmax-parallel = 4\nuntil = 06:00:00\n").unwrap();
    assert_eq!(given(&found, &hbal::SPEC, &[]), [""; 0]);
    assert_eq!(given(&found, &hbal::SPEC, &["-X"]), ["--until=06:00"]);
    assert_eq!(given(&found, &hbal::SPEC, &["-X", "--stream"]), ["--max-parallel=4", "--until=06:00"]);
    let found = parsed("[limits]\nmax-parallel = 4\nstream = true\n").unwrap();
    assert_eq!(given(&found, &hbal::SPEC, &[]), [""; 0]);
    assert_eq!(given(&found, &hbal::SPEC, &["-X"]), ["--stream", "--max-parallel=4"]);
    // harep always executes what it finds and has no --exec, so the condition does not apply to it.
    let found = parsed("[defaults]\nreason = 'night'\n").unwrap();
    assert_eq!(given(&found, &crate::tools::harep::SPEC, &[]), ["--reason=night"]);
    assert_eq!(given(&found, &hbal::SPEC, &[]), [""; 0]);
    // hgroup gets an option only if its command takes it.
    let found = parsed("[hgroup]\nmin-gain = 1\n").unwrap();
    assert_eq!(given(&found, &hgroup::SPEC, &["balance"]), ["--min-gain=1"]);
    assert_eq!(given(&found, &hgroup::SPEC, &["status"]), [""; 0]);
}

#[test]
fn names_stand_for_clusters() {
    let text = "[clusters.prod]\naddress = 'https://p:5080'\ncredentials = 'c'\ncertificate = '/x/k.pem'\n\
                [clusters.here]\nsocket = '/s'\n[clusters.lab]\nfile = 'lab.data'\n";
    let found = parsed(text).unwrap();
    let source = |typed: &[&str]| {
        let mut options = HbalOptions::default();
        for given in canonicalise(&hbal::SPEC.options(), &words(typed)).options {
            hbal::SPEC.set(&mut options, &given).unwrap();
        }
        let mut source = options.load.source;
        found.resolve(&mut source).map(|()| source)
    };
    let prod = source(&["-m", "@prod"]).unwrap();
    assert_eq!(prod.rapi.as_deref(), Some("https://p:5080"));
    let paths = |source: &SourceOptions| {
        let access = &source.rapi_access;
        [access.credentials.clone(), access.certificates.clone()]
            .map(|path| path.unwrap_or_default().display().to_string())
    };
    assert_eq!(paths(&prod), ["/d/c", "/x/k.pem"]);
    assert_eq!(paths(&source(&["-m", "@prod", "--rapi-credentials=mine"]).unwrap()), ["mine", "/x/k.pem"]);
    let here = source(&["-m@here"]).unwrap();
    assert_eq!((here.rapi, here.luxi), (None, Some(Some("/s".into()))));
    let lab = source(&["--master=@lab"]).unwrap();
    assert_eq!((lab.rapi, lab.text_data), (None, Some("/d/lab.data".into())));
    let wrong = source(&["-m", "@prd"]).unwrap_err();
    assert_eq!(wrong.problem(), "there is no cluster 'prd' in the configuration, did you mean 'prod'?");
}

#[test]
fn later_files_win() {
    let directory = tempfile::TempDir::new().unwrap();
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        ConfigPlace { path, named: true }
    };
    let one = file("one", "[hbal]\nmin-disk = 1\n[weights]\nn1_cnt = 2\n[clusters.a]\naddress = 'x'\n");
    let two = file("two", "[defaults]\nmin-disk = 2\n[clusters.a]\naddress = 'y'\n");
    let missing = |named| ConfigPlace { path: directory.path().join("none"), named };
    let found = load(&[one.clone(), missing(false), two]).unwrap();
    assert_eq!(given(&found, &hbal::SPEC, &[]), ["--weights=n1_cnt=2", "--min-disk=2"]);
    assert_eq!(
        found.clusters.iter().map(|cluster| cluster.address.as_deref()).collect::<Vec<_>>(),
        [Some("y")]
    );
    let all: Vec<&'static dyn Program> = TOOLS.iter().map(|tool| tool.spec).collect();
    let reaches = found.reaches(&all);
    let reach = |at: usize| (reaches[at].0.name.as_str(), reaches[at].1.as_slice());
    assert_eq!(reach(0), ("hbal.min-disk", &[][..]));
    assert_eq!(reach(2), ("defaults.min-disk", &["hbal", "hcheck", "hgroup", "hspace"][..]));
    assert!(load(&[missing(true)]).err().unwrap()[0].to_string().contains("none: cannot be read"));
}

#[test]
fn the_sample_has_every_key_and_is_right() {
    let text = std::fs::read_to_string("data/htools.toml").unwrap();
    // The sample's commented-out lines must be valid, too.
    let whole: String = text
        .lines()
        .map(|line| {
            line.strip_prefix("#")
                .filter(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase() || c == '['))
                .unwrap_or(line)
        })
        .map(|line| format!("{line}\n"))
        .collect();
    parsed(&text).unwrap();
    let found = parsed(&whole).unwrap();
    for key in &KEYS {
        let long = key.option.long;
        assert!(found.settings.iter().any(|setting| setting.given.option.long == long), "{long}");
    }
    for metric in crate::model::metrics::named() {
        assert!(
            found.settings.iter().any(|s| s.name == format!("weights.{}", metric.name)),
            "{}",
            metric.name
        );
    }
    for (key, _) in CLUSTER_KEYS {
        assert!(whole.contains(&format!("\n{key} = ")), "{key}");
    }
    let document = std::fs::read_to_string("docs/configuration.md").unwrap();
    for name in KEYS.iter().map(|key| key.option.long).chain(CLUSTER_KEYS.map(|key| key.0)) {
        assert!(document.contains(&format!("`{name}`")), "docs/configuration.md says nothing of {name}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_is_too_odd(text in "([a-z\\[\\]={}\"'.,0-9#-]|\\n| |é|\\PC){0,80}") {
        let _ = read::read(Path::new("x"), &text);
    }

    #[test]
    fn nor_is_a_changed_file(at in 0usize..4000, byte in 0u8..128) {
        let mut bytes = std::fs::read("data/htools.toml").unwrap();
        let at = at % bytes.len();
        bytes[at] = byte;
        if let Ok(text) = String::from_utf8(bytes) {
            let _ = read::read(Path::new("x"), &text);
        }
    }
}
