//! Load from Prometheus: a small server of the tests gives good answers and bad ones.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use tempfile::TempDir;

use crate::rapi::{Server, response};

const PASSWORD: &str = "s3cr3t";
const CLUSTER: &str = "\
g|u1|preferred||
h|u2|preferred||

n1|9000|0|5000|90000|80000|9|M|u1|1
n2|9000|0|9000|90000|90000|9|N|u1|1
n3|9000|0|9000|90000|90000|9|N|u2|1

a.example.com|1000|1000|1|running|Y|n1||ext||1|-
b.example.com|1000|1000|1|running|Y|n1||ext||1|-
c.example.com|1000|1000|1|running|Y|n1||ext||1|-
d.example.com|1000|1000|1|running|Y|n1||ext||1|-
e.example.com|1000|1000|1|running|Y|n3||ext||1|-
f.example.com|1000|1000|1|ADMIN_down|Y|n1||ext||1|-

";

pub fn run(place: &Path, tool: &str, args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    command.env("HTOOLS", tool).env("NO_PROXY", "*").args(args).current_dir(place);
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn place() -> TempDir {
    let place = TempDir::new().unwrap();
    fs::write(place.path().join("cluster"), CLUSTER).unwrap();
    place
}

pub fn vector(series: &[(&str, &str, &str)]) -> String {
    let one = |(label, name, value): &(&str, &str, &str)| {
        format!(r#"{{"metric":{{"{label}":"{name}"}},"value":[1,"{value}"]}}"#)
    };
    let all: Vec<String> = series.iter().map(one).collect();
    let result = all.join(",");
    format!(r#"{{"status":"success","data":{{"resultType":"vector","result":[{result}]}}}}"#)
}

/// A server that gives the same series for every resource.
fn server(series: &'static [(&str, &str, &str)]) -> Server {
    Server::new(|_| response("200 OK", &vector(series)))
}

/// The file with the loads of some instances on three nodes of 9 CPUs and 9000 MiB, in shares of such a node. `kinds` are
/// those with this load; of disk and network, half of a node is in use on average.
pub fn shares(loads: &[(&str, f64)], kinds: [bool; 4]) -> String {
    let total: f64 = loads.iter().map(|(_, load)| load).sum();
    let full = [9.0, 9000.0 * 1_048_576.0, total / 3.0 / 0.5, total / 3.0 / 0.5];
    let line = |(name, load): &(&str, f64)| {
        let share = |at: usize| if kinds[at] { load / full[at] } else { 0.0 };
        format!("{name}.example.com {} {} {} {}\n", share(0), share(1), share(2), share(3))
    };
    loads.iter().map(line).collect()
}

/// Output with measured load, and with the load in a file.
fn both(series: &'static [(&str, &str, &str)], options: &[&str], file: &str) -> [(i32, String, String); 2] {
    let (server, place) = (server(series), place());
    fs::write(place.path().join("load"), file).unwrap();
    let source = format!("prometheus:{}", server.url());
    let words = ["-t", "cluster", "-C", "-G", "g", "-v", "-v"];
    let measured = [&words[..], &["--load-from", &source], options].concat();
    let given = [&words[..], &["-U", "load"]].concat();
    [run(place.path(), "hbal", &measured), run(place.path(), "hbal", &given)]
}

#[test]
fn what_is_measured_counts_as_if_it_were_in_a_file() {
    const SERIES: &[(&str, &str, &str)] = &[
        ("domain", "a", "1"),
        ("domain", "b.example.com", "2"),
        ("domain", "c.example.com", "3.5"),
        ("domain", "d.example.com", "NaN"),
        ("domain", "e.example.com", "100"),
        ("domain", "other.example.com", "7"),
    ];
    let mut loads = [("a", 1.0), ("b", 2.0), ("c", 3.5), ("d", 2.0), ("e", 100.0), ("f", 0.0)];
    let [measured, given] = both(SERIES, &[], &shares(&loads, [true; 4]));
    let warning = "Warning: not all load was measured for 1 instance, which has the median of its group: d.example.com\n";
    assert!(measured.0 == 0 && measured.2.contains(warning), "{}", measured.2);
    assert_eq!((measured.0, &measured.1), (given.0, &given.1));
    loads[3].1 = 0.0;
    let [measured, given] = both(SERIES, &["--load-missing=zero"], &shares(&loads, [true; 4]));
    assert_eq!(measured.1, given.1);
    let [measured, _] = both(SERIES, &["--load-missing=fail"], "");
    assert_eq!(
        (measured.0, measured.2.as_str()),
        (
            1,
            "Error: cannot use the measured load: no load was measured for instance 'd.example.com' and 0 more\nHint: --load-missing=median takes the median of their group\n"
        )
    );
}

#[test]
fn the_unit_of_disk_and_network_load_does_not_matter() {
    const SMALL: &[(&str, &str, &str)] = &[
        ("domain", "a", "1"),
        ("domain", "b", "2"),
        ("domain", "c", "3"),
        ("domain", "d", "6"),
        ("domain", "e", "0"),
    ];
    const LARGE: &[(&str, &str, &str)] = &[
        ("domain", "a", "1e9"),
        ("domain", "b", "2e9"),
        ("domain", "c", "3e9"),
        ("domain", "d", "6e9"),
        ("domain", "e", "0"),
    ];
    let options = ["--load-query=disk=x", "--load-query=network=y"];
    let [small, large] = [SMALL, LARGE].map(|series| both(series, &options, "")[0].1.clone());
    // 12 on the first of three nodes, of which the average one is half in use.
    assert!(small.contains("   disk_load_cv             0.75000000  x1.00\n"), "{small}");
    assert_eq!(small, large);
}

#[test]
fn thresholds_of_the_processor_load_are_about_each_node() {
    const SERIES: &[(&str, &str, &str)] =
        &[("domain", "a", "2"), ("domain", "b", "2"), ("domain", "c", "2"), ("domain", "e", "1")];
    let (server, place) = (server(SERIES), place());
    // The nodes differ: 9, 9 and 3 CPUs.
    fs::write(place.path().join("cluster"), CLUSTER.replace("90000|9|N|u2", "90000|3|N|u2")).unwrap();
    let source = format!("prometheus:{}", server.url());
    let words = ["-t", "cluster", "-G", "g", "--load-query=cpu=x", "--load-from", &source];
    let ask = |condition: &str| run(place.path(), "hbal", &[&words[..], &["--only-if", condition]].concat());
    let above = ask("cpu>88");
    assert!(above.2.contains("cpu>88 holds: n1 cpu 88.9 %\n"), "{}", above.2);
    let below = ask("cpu>89");
    assert!(below.2.contains("Nothing to do: cpu>89 does not hold\n"), "{}", below.2);
}

#[test]
fn labels_and_expressions_are_chosen() {
    const SERIES: &[(&str, &str, &str)] = &[
        ("vm", "kvm-a.example.com", "1"),
        ("vm", "kvm-b.example.com", "2"),
        ("vm", "kvm-c.example.com", "3"),
        ("vm", "kvm-d.example.com", "4"),
        ("vm", "kvm-e.example.com", "5"),
        ("vm", "host", "99"),
    ];
    let options = [
        "--load-query=cpu=rate(x[{range}])",
        "--load-label=vm",
        "--load-pattern=^kvm-(.*)",
        "--load-window=1d",
    ];
    let loads = [("a", 1.0), ("b", 2.0), ("c", 3.0), ("d", 4.0), ("e", 5.0), ("f", 0.0)];
    let [measured, given] = both(SERIES, &options, &shares(&loads, [true, false, false, false]));
    assert_eq!((measured.0, &measured.1), (given.0, &given.1), "{}", measured.2);
    let asked = server(SERIES);
    let source = format!("prometheus:{}/", asked.url());
    let place = place();
    let words = [&["-t", "cluster", "--load-from", &source][..], &options].concat();
    assert_eq!(run(place.path(), "hinfo", &words).0, 0);
    let requests = asked.requests.lock().unwrap();
    let wanted = "GET /api/v1/query?query=quantile_over_time%280.95%2C%20%28sum%20by%20%28vm%29%20%28rate%28x%5B514s%5D%29%29%29%5B86400s%3A514s%5D%29 HTTP/1.1\r\n";
    assert!(requests.len() == 1 && requests[0].starts_with(wanted), "{requests:?}");
}

/// The error with an answer, without its beginning.
fn refused(answer: impl Fn(&str) -> Vec<u8> + Send + 'static, options: &[&str]) -> String {
    let (server, place) = (Server::new(answer), place());
    let source = format!("prometheus:{}", server.url());
    let words = [&["-t", "cluster", "--load-from", &source][..], options].concat();
    let (status, out, error) = run(place.path(), "hcheck", &words);
    assert_eq!((status, out.as_str()), (1, ""), "{error}");
    assert!(!error.contains(PASSWORD) && !error.contains("panicked"), "{error}");
    error.replace(&server.url(), "URL")
}

#[test]
fn bad_answers_are_refused() {
    let fails = |status: &'static str, body: &'static str| refused(move |_| response(status, body), &[]);
    let parse =
        fails("400 Bad Request", r#"{"status":"error","errorType":"bad_data","error":"parse error: no"}"#);
    assert_eq!(
        parse,
        "Error: cannot read the measured load: URL/api/v1/query: parse error: no (400 Bad Request)\n"
    );
    assert!(fails("404 Not Found", "").contains("there is no Prometheus at this address"));
    assert!(fails("401 Unauthorized", "").contains("the server wants a user and a password"));
    assert!(fails("200 OK", "hello").contains("the answer is not JSON"));
    assert!(fails("200 OK", r#"{"data":{"resultType":"matrix","result":[]}}"#).contains("has no vector"));
    let none = fails(
        "200 OK",
        r#"{"data":{"resultType":"vector","result":[{"metric":{"domain":"x"},"value":[1,"1"]}]}}"#,
    );
    let wanted = "Error: cannot use the measured load: no series of the load of cpu has the name of an instance; the labels name x\n";
    assert!(none.starts_with(wanted), "{none}");
    let many = |_: &str| {
        let body = " ".repeat(65 << 20);
        response("200 OK", &body)
    };
    assert!(refused(many, &[]).contains("more than 67108864 bytes"));
}

#[test]
fn passwords_come_from_files_and_stay_secret() {
    let place = place();
    let file = place.path().join("login");
    fs::write(&file, format!("user:{PASSWORD}\n")).unwrap();
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let login = file.to_str().unwrap().to_owned();
    let wrong = refused(|_| response("401 Unauthorized", ""), &["--load-credentials", &login]);
    assert!(wrong.contains("the user or the password is wrong"), "{wrong}");
    let source = format!("prometheus:http://user:{PASSWORD}@localhost:1");
    let (status, _, error) = run(place.path(), "hbal", &["-t", "cluster", "--load-from", &source]);
    assert!(status == 1 && error.contains("--load-credentials FILE") && !error.contains(PASSWORD), "{error}");
    for other in [&["-U", "load"][..], &["--ignore-dynu"], &["--mond"]] {
        fs::write(place.path().join("load"), "").unwrap();
        let words = [&["-t", "cluster", "--load-from", "prometheus:http://localhost:1"][..], other].concat();
        let (status, _, error) = run(place.path(), "hbal", &words);
        assert!(status == 1 && error.contains("exclude each other"), "{error}");
    }
    let (status, _, error) = run(place.path(), "hbal", &["-t", "cluster", "--load-window=1d"]);
    assert!(status == 1 && error.contains("need --load-from"), "{error}");
}

#[test]
fn a_configuration_names_the_source_for_all_tools() {
    const SERIES: &[(&str, &str, &str)] =
        &[("vm", "a", "1"), ("vm", "b", "2"), ("vm", "c", "3"), ("vm", "e", "4")];
    let (server, place) = (server(SERIES), place());
    let login = place.path().join("login");
    fs::write(&login, format!("user:{PASSWORD}\n")).unwrap();
    fs::set_permissions(&login, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let file = format!(
        "[defaults]\nload-from = \"prometheus:{}\"\nload-label = \"vm\"\nload-credentials = \"login\"\n\
         load-query = \"\"\"\ncpu = rate(x[{{range}}])\nmemory = y\n\"\"\"\n",
        server.url()
    );
    fs::write(place.path().join("htools.toml"), file).unwrap();
    let configured = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
        let config = place.path().join("htools.toml");
        command.env("HTOOLS_CONFIG", config).env("HTOOLS", "hbal").env("NO_PROXY", "*");
        let output = command.args(args).current_dir(place.path()).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let asked = || server.requests.lock().unwrap().len();
    let (status, error) = configured(&["-t", "cluster", "-G", "g"]);
    assert!(status == 0 && error.contains("Warning: not all load was measured for 1 instance"), "{error}");
    assert_eq!(asked(), 2);
    assert!(server.requests.lock().unwrap().iter().all(|request| request.contains("uthorization: Basic ")));
    fs::write(place.path().join("load"), "").unwrap();
    for without in [&["-U", "load"][..], &["--no-config"]] {
        assert_eq!(configured(&[&["-t", "cluster", "-G", "g"], without].concat()).0, 0);
    }
    assert_eq!(asked(), 2, "the command line names another source, or none");
}
