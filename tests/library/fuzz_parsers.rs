//! Every parser gets arbitrary bytes and mutilated documents. No parser panics, and every error is one short line
//! that is safe on a terminal.

use htools::input;
use htools::load::merge::{MergeOptions, finish, merge};
use htools::load::rapi::{RapiAnswers, ResourceAnswer};
use htools::load::{self, Detail, LoadError};
use htools::model::Mib;
use htools::report::allocator::{Response, WishedAdditions};
use htools::search::requests::{Settings, answer};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::RngSeed;

const TEXT: &str = "\
g1|u1|preferred|a,b|net1\ng2|u2|last_resort|\n\n\
n1|16384|0|8192|409600.5|1024|8|M|u1|1||N|0|1|1.0\n\
n2|1e4|- 5|(0x10)|?|1024|8|N|u2\n\
n3|Infinity|512|0o17|1.5e3|-1024|8|Y|u1|2|a,,b|Y|1|3|0.8|more\n\n\
i1|100|1024|1|running|Y|n1|n2|drbd|\n\
i2|100|1024|1|ADMIN_down|N|n3||plain|x,y|2|3|Y\n\n\
htools:iextags:service\n\n\
|128,1,1024,1,1,1|128,1,512,1,1,1;1024,8,1048576,16,8,12|drbd,plain|4.0|32.0\n\
g1|128,1,1024,1,1,1||drbd|1.0e-2|0x10\n";

const IALLOCATOR: &str = include_str!("../../crates/ganeti/src/load/iallocator/example.json");

const MONITORING: &str = r#"[
{"node":"n1","reports":[{"name":"cpu-avg-load","version":"B","format_version":1,"timestamp":1379507272000000000,
"category":null,"kind":0,"data":{"cpu_number":4,"cpus":[0.04,0.05],"cpu_total":0.2}}]},
{"node":"n2","reports":[{"name":"xen-cpu-avg-load","version":"B","format_version":1,"timestamp":1,
"category":"hypervisor","kind":1,"data":{"i1":0.5,"i2":2}}]}]"#;

const RAPI_NODES: &str = r#"[
{"name":"n1","mtotal":16384,"mnode":0,"mfree":15360.5,"dtotal":null,"dfree":408448,"ctotal":16,"cnos":1,
"offline":false,"drained":false,"vm_capable":true,"group.uuid":"u1","tags":["a"],"sptotal":1,"spfree":null,
"ndparams":{"spindle_count":1,"exclusive_storage":false}},
{"name":"n2","mtotal":null,"offline":true,"drained":false,"group.uuid":"u1","tags":[],"ndparams":
{"spindle_count":1,"exclusive_storage":true}}]"#;

const RAPI_INSTANCES: &str = r#"[
{"name":"i1","disk_usage":1152,"disk.sizes":[1024,2],"disk.spindles":[null,3],"oper_ram":null,
"beparams":{"vcpus":1,"auto_balance":true,"spindle_use":1,"maxmem":128},"forthcoming":null,
"pnode":"n1","snodes":["n2"],"status":"running","tags":["a:b"],"disk_template":"drbd"}]"#;

const RAPI_GROUPS: &str = r#"[
{"name":"g1","uuid":"u1","alloc_policy":"preferred","tags":["t"],"diskparams":{"plain":{},
"rbd":{"pool":"ssd"},"gluster":{"host":"h","port":24008,"volume":"v"}},"ipolicy":
{"minmax":[],"std":{"memory-size":128,"cpu-count":1,"disk-size":1024,"disk-count":1,"nic-count":1,"spindle-use":1},
"disk-templates":["drbd"],"vcpu-ratio":4.0,"spindle-ratio":32.0}}]"#;

const RAPI_INFO: &str = r#"
{"master":"n1","tags":["c"],"default_hypervisor":"kvm","ipolicy":
{"minmax":[],"std":{"memory-size":128,"cpu-count":1,"disk-size":1024,"disk-count":1,"nic-count":1,"spindle-use":1},
"disk-templates":["drbd"],"vcpu-ratio":4.0,"spindle-ratio":32.0}}"#;

const LUXI_GROUPS: &str = r#"{"success":true,"result":{"fields":[{"name":"uuid"}],"data":[
[[0,"u1"],[0,"g1"],[0,"preferred"],[0,
{"minmax":[],"std":{"memory-size":128,"cpu-count":1,"disk-size":1024,"disk-count":1,"nic-count":1,"spindle-use":1},
"disk-templates":["drbd"],"vcpu-ratio":4.0,"spindle-ratio":32.0}],[0,["t"]],
[0,{"rbd":{"pool":"ssd"},"gluster":{"host":"h","port":24008,"volume":"v"}}]]]}}"#;

const LUXI_NODES: &str = r#"{"success":true,"result":{"fields":[],"data":[
[[0,"n1"],[0,16384],[0,0],[0,15360.5],[0,409600],[4,null],[0,16],[0,1],[0,false],[0,false],[0,true],[0,1],[0,"u1"],
[0,["a"]],[0,false],[3,null],[0,0],[0,1.0]],
[[0,"n2"],[2,null],[2,null],[2,null],[2,null],[2,null],[2,null],[2,null],[0,false],[0,false],[0,true],[0,1],[0,"u1"],
[0,[]],[0,true],[2,null],[2,null],[0,1]]]},"version":3}"#;

const LUXI_INSTANCES: &str = r#"{"success":true,"result":{"fields":null,"data":[
[[0,"i1"],[0,1152],[0,128],[0,1],[0,"running"],[0,"n1"],[0,["n2"]],[0,["a:b"]],[0,true],[0,"drbd"],[0,1],
[0,[1024,2]],[0,[null,3]],[0,false]]]}}"#;

const LUXI_INFO: &str = r#"{"success":true,"result":
{"master":"n1","tags":["c"],"default_hypervisor":"kvm","ipolicy":
{"minmax":[],"std":{"memory-size":128,"cpu-count":1,"disk-size":1024,"disk-count":1,"nic-count":1,"spindle-use":1},
"disk-templates":["drbd"],"vcpu-ratio":4.0,"spindle-ratio":32.0}}}"#;

const LUXI_REFUSAL: &str =
    r#"{"success":false,"result":["ConfigVerifyError",["what is wrong",["first","second"]]]}"#;

const UTILISATION: &str = "new-0 1 2 3 4\nnew-1 0.5 1e3 (-2) NaN\nnew-2 0 0 0 0\n";

const SPEC: &str = "p,3,100g,16 GiB,8,2,True";

fn as_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Gives the bytes to every parser and checks the errors.
fn feed(bytes: &[u8], source: &str) -> Result<(), TestCaseError> {
    let text = as_text(bytes);
    let results: [(&str, Result<(), LoadError>); 16] = [
        ("RAPI groups", rapi(0, bytes, source)),
        ("RAPI nodes", rapi(1, bytes, source)),
        ("RAPI instances", rapi(2, bytes, source)),
        ("RAPI info", rapi(3, bytes, source)),
        ("LUXI groups", luxi(0, &text, source)),
        ("LUXI nodes", luxi(1, &text, source)),
        ("LUXI instances", luxi(2, &text, source)),
        ("LUXI info", luxi(3, &text, source)),
        ("text bytes", load::text::parse_bytes(bytes, source).map(drop)),
        ("text", load::text::parse(&text, source).map(drop)),
        ("iallocator bytes", load::iallocator::parse_bytes(bytes, source).map(drop)),
        ("iallocator", load::iallocator::parse(&text, source).map(drop)),
        ("monitoring", load::monitoring::parse(&text, source).map(drop)),
        ("utilisation", load::utilisation::parse(bytes, source).map(drop)),
        ("json", input::json::parse(&text, source).map(drop)),
        ("simulate", simulate(&text)),
    ];
    for (parser, result) in results {
        if let Err(error) = result {
            let line = error.to_string();
            prop_assert!(line.chars().count() < 500, "{parser}: {line}");
            prop_assert!(!line.chars().any(char::is_control), "{parser}: {line:?}");
        }
    }
    // This error is also shown on a terminal, but as part of another message.
    let _ = load::units::parse_size(&text);
    Ok(())
}

/// Reads the example of RAPI's answers with these bytes for one of them.
fn rapi(which: usize, bytes: &[u8], source: &str) -> Result<(), LoadError> {
    let examples = [RAPI_GROUPS, RAPI_NODES, RAPI_INSTANCES, RAPI_INFO];
    let [groups, nodes, instances, info] = std::array::from_fn(|i| {
        let body = if i == which { bytes } else { examples[i].as_bytes() };
        ResourceAnswer { source: source.to_owned(), body: Ok(body.to_vec()) }
    });
    let mut raw =
        load::rapi::parse_detailed(&RapiAnswers { groups, nodes, instances, info }, Detail::Storage)?;
    load::anonymise::Anonymiser::default().replace(&mut raw);
    merge(raw, &MergeOptions::default()).map(drop)
}

/// Reads the example of a master daemon's answers with this text for one of them.
fn luxi(which: usize, text: &str, source: &str) -> Result<(), LoadError> {
    let examples = [LUXI_GROUPS, LUXI_NODES, LUXI_INSTANCES, LUXI_INFO];
    let [groups, nodes, instances, info] =
        std::array::from_fn(|i| Ok(if i == which { text } else { examples[i] }.to_owned()));
    let raw = load::luxi::parse(&load::luxi::LuxiAnswers {
        source: source.to_owned(),
        detail: Detail::Storage,
        groups,
        nodes,
        instances,
        info,
    })?;
    for warning in &raw.warnings {
        assert!(!warning.chars().any(char::is_control), "{warning:?}");
    }
    merge(raw, &MergeOptions::default()).map(drop)
}

/// A mutated spec may request a million nodes. That is allowed but slow, and other tests cover it.
fn simulate(spec: &str) -> Result<(), LoadError> {
    let digits = spec.split(',').nth(1).unwrap_or_default().len();
    if digits > 3 && digits < 8 {
        return Ok(());
    }
    load::simulate::parse_specs(&[spec.to_owned()]).map(drop)
}

/// The example with a request of each type, and one with an additional instance.
fn questions() -> Vec<String> {
    let new = r#""name":"new","required_nodes":2,"disk_space_total":1152,"disks":[{"size":1024,"spindles":1}],
        "memory":1024,"vcpus":2,"tags":["a"],"disk_template":"drbd","spindle_use":1,"nics":[{"network":"net1"}]"#;
    let end = IALLOCATOR.find('\n').unwrap_or_default();
    let ask = |question: String| format!("{{\"request\":{question},{}", &IALLOCATOR[end..]);
    vec![
        ask(format!(r#"{{"type":"allocate",{new}}}"#)),
        ask(format!(r#"{{"type":"allocate",{new},"group_name":"g1","restrict-to-nodes":["n1","n3"]}}"#)),
        ask(format!(r#"{{"type":"multi-allocate","instances":[{{{new}}},{{{new}}}]}}"#)),
        ask(r#"{"type":"relocate","name":"i1","required_nodes":1,"relocate_from":["n2"]}"#.to_owned()),
        ask(r#"{"type":"node-evacuate","instances":["i1"],"evac_mode":"all"}"#.to_owned()),
        ask(r#"{"type":"change-group","instances":["i1"],"target_groups":[]}"#.to_owned()),
        ask(r#"{"type":"allocate-secondary","name":"i1"}"#.to_owned()),
    ]
}

/// Answers a message, if it can be read. The answer must be one line.
fn answered(bytes: &[u8]) -> Result<bool, TestCaseError> {
    let Ok(message) = load::iallocator::parse_bytes(bytes, "request") else { return Ok(false) };
    let Ok(mut cluster) = merge(message.cluster, &MergeOptions::default()) else { return Ok(false) };
    finish(&mut cluster, Mib::ZERO);
    let settings = Settings { other_groups: true, explain: true, make_room: true, ..Settings::default() };
    let reply = answer(cluster, message.request, &settings);
    let line = Response::of(&reply, WishedAdditions { solutions: true, details: true }).line();
    let line = line.map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert!(line.ends_with('\n') && line.lines().count() == 1, "{line}");
    prop_assert!(input::json::parse(&line, "response").is_ok(), "{line}");
    Ok(true)
}

#[derive(Debug, Clone)]
enum Mutation {
    Truncate(Index),
    Flip(Index, u8),
    Insert(Index, Vec<u8>),
    Duplicate(Index),
    DeleteLine(Index),
    SwapPunctuation(Index, u8),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let place = any::<Index>;
    prop_oneof![
        1 => place().prop_map(Mutation::Truncate),
        3 => (place(), any::<u8>()).prop_map(|(i, b)| Mutation::Flip(i, b)),
        2 => (place(), vec(any::<u8>(), 0..200)).prop_map(|(i, b)| Mutation::Insert(i, b)),
        2 => place().prop_map(Mutation::Duplicate),
        2 => place().prop_map(Mutation::DeleteLine),
        // These bytes are more likely to pass the outermost checks.
        3 => (place(), prop::sample::select(b"0123456789|,;:?.-\"{}[]\n\r \x1b".to_vec()))
            .prop_map(|(i, b)| Mutation::SwapPunctuation(i, b)),
    ]
}

fn mutate(document: &[u8], mutation: &Mutation) -> Vec<u8> {
    let mut bytes = document.to_vec();
    if bytes.is_empty() {
        return bytes;
    }
    match mutation {
        Mutation::Truncate(at) => bytes.truncate(at.index(bytes.len())),
        Mutation::Flip(at, mask) => {
            let at = at.index(bytes.len());
            bytes[at] ^= mask;
        }
        Mutation::Insert(at, extra) => {
            let at = at.index(bytes.len());
            bytes.splice(at..at, extra.iter().copied());
        }
        Mutation::SwapPunctuation(at, with) => {
            let at = at.index(bytes.len());
            bytes[at] = *with;
        }
        Mutation::Duplicate(at) => return change_line(&bytes, at, 2),
        Mutation::DeleteLine(at) => return change_line(&bytes, at, 0),
    }
    bytes
}

/// The document with one line repeated `copies` times.
fn change_line(document: &[u8], at: &Index, copies: usize) -> Vec<u8> {
    let lines: Vec<&[u8]> = document.split_inclusive(|b| *b == b'\n').collect();
    let chosen = at.index(lines.len());
    let count = |i| if i == chosen { copies } else { 1 };
    lines.iter().enumerate().flat_map(|(i, line)| vec![*line; count(i)]).flatten().copied().collect()
}

fn document() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        TEXT,
        IALLOCATOR,
        MONITORING,
        UTILISATION,
        SPEC,
        RAPI_GROUPS,
        RAPI_NODES,
        RAPI_INSTANCES,
        RAPI_INFO,
        LUXI_GROUPS,
        LUXI_NODES,
        LUXI_INSTANCES,
        LUXI_INFO,
        LUXI_REFUSAL,
    ])
}

fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    let rng_seed = match config.rng_seed {
        RngSeed::Random => RngSeed::Fixed(1),
        fixed => fixed,
    };
    let cases = config.cases.saturating_mul(2);
    ProptestConfig { cases, rng_seed, failure_persistence: None, ..config }
}

proptest! {
    // The input is the same in every run; PROPTEST_RNG_SEED and PROPTEST_CASES vary and extend it.
    #![proptest_config(config())]

    #[test]
    fn arbitrary_bytes(bytes in vec(any::<u8>(), 0..2000), source in ".{0,300}") {
        feed(&bytes, &source)?;
    }

    #[test]
    fn arbitrary_text(text in "(\\PC|[|,;\n\r\t\u{1b}]){0,400}") {
        feed(text.as_bytes(), "source")?;
    }

    #[test]
    fn mutilated_documents(document in document(), mutations in vec(mutation(), 1..4)) {
        let bytes = mutations.iter().fold(document.as_bytes().to_vec(), |b, m| mutate(&b, m));
        feed(&bytes, "source")?;
    }

    #[test]
    fn mutilated_questions(question in prop::sample::select(questions()), mutations in vec(mutation(), 1..4)) {
        let bytes = mutations.iter().fold(question.into_bytes(), |b, m| mutate(&b, m));
        answered(&bytes)?;
    }

    #[test]
    fn sizes_and_numbers(text in "[ (]{0,3}-?(0x|0o)?[0-9a-fA-F]{0,25}[.eE]?[0-9]{0,4}[ )]{0,3}[a-zA-Z]{0,4}") {
        let _ = load::units::parse_size(&text);
        let int = load::number::parse_int(&text);
        let float = load::number::parse_float(&text);
        // Every integer is also a valid float with the same value.
        if let Ok(value) = int {
            prop_assert_eq!(float, Ok(value as f64));
        }
    }
}

#[test]
fn the_documents_are_valid() {
    assert!(load::text::parse(TEXT, "x").is_ok());
    assert!(load::iallocator::parse(IALLOCATOR, "x").is_ok());
    for question in questions() {
        assert!(answered(question.as_bytes()).unwrap(), "{question}");
    }
    for (i, example) in [RAPI_GROUPS, RAPI_NODES, RAPI_INSTANCES, RAPI_INFO].into_iter().enumerate() {
        assert_eq!(rapi(i, example.as_bytes(), "x"), Ok(()));
    }
    for (i, example) in [LUXI_GROUPS, LUXI_NODES, LUXI_INSTANCES, LUXI_INFO].into_iter().enumerate() {
        assert_eq!(luxi(i, example, "x"), Ok(()));
    }
    assert!(load::monitoring::parse(MONITORING, "x").is_ok());
    assert!(load::utilisation::parse(UTILISATION.as_bytes(), "x").is_ok());
    assert!(load::simulate::parse_specs(&[SPEC.to_owned()]).is_ok());
}

#[test]
fn documents_cut_off_anywhere() {
    let documents = [TEXT, IALLOCATOR, MONITORING, UTILISATION, SPEC, RAPI_NODES, RAPI_INSTANCES, RAPI_INFO];
    for document in documents.into_iter().chain([LUXI_NODES, LUXI_INSTANCES, LUXI_REFUSAL]) {
        for end in 0..document.len() {
            feed(&document.as_bytes()[..end], "source").unwrap();
        }
    }
}
