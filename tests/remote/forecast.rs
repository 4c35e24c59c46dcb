//! Forecasts from the histories of Prometheus: `--forecast`, and `hspace --runway`.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::prometheus::{run, shares, vector};
use crate::rapi::{Server, response};

const HOUR: i64 = 3600;
const WEEK: i64 = 168 * HOUR;
const CLUSTER: &str = "\
g|u1|preferred||

n1|9000|0|5000|90000|80000|9|M|u1|1
n2|9000|0|9000|90000|90000|9|N|u1|1
n3|9000|0|9000|90000|90000|9|N|u1|1

a.example.com|1000|1000|1|running|Y|n1||ext||1|-
b.example.com|1000|1000|1|running|Y|n1||ext||1|-
c.example.com|1000|1000|1|running|Y|n1||ext||1|-

";

fn place() -> TempDir {
    let place = TempDir::new().unwrap();
    fs::write(place.path().join("cluster"), CLUSTER).unwrap();
    place
}

/// A number in the query of a request.
fn number(path: &str, key: &str) -> i64 {
    let after = path.split_once(&format!("{key}=")).unwrap().1;
    after.split('&').next().unwrap().parse().unwrap()
}

/// Value of a series at a time, in seconds since 1970.
type SeriesValue = fn(i64) -> f64;

/// An answer with the history of some series; values that are not finite are left out.
fn matrix(path: &str, label: &str, series: &[(&str, SeriesValue)]) -> Vec<u8> {
    let (start, end, step) = (number(path, "start"), number(path, "end"), number(path, "step"));
    let one = |(name, value): &(&str, SeriesValue)| {
        let times = (0..).map(|at| start + at * step).take_while(|time| *time <= end);
        let known = times.map(|time| (time, value(time))).filter(|(_, value)| value.is_finite());
        let values: Vec<String> = known.map(|(time, value)| format!("[{time},\"{value}\"]")).collect();
        format!(r#"{{"metric":{{"{label}":"{name}"}},"values":[{}]}}"#, values.join(","))
    };
    let all: Vec<String> = series.iter().map(one).collect();
    let result = all.join(",");
    response(
        "200 OK",
        &format!(r#"{{"status":"success","data":{{"resultType":"matrix","result":[{result}]}}}}"#),
    )
}

/// Busy on one day of the week, which is longer than a day ahead for some, and always growing.
fn weekly(time: i64) -> f64 {
    let hour = time.rem_euclid(WEEK) / HOUR;
    time as f64 / 1e9 + if hour % 24 < 8 { 0.0 } else { hour as f64 }
}

fn twice(time: i64) -> f64 {
    2.0 * weekly(time)
}

/// The last time that was asked for.
fn last_time(server: &Server) -> i64 {
    let requests = server.requests.lock().unwrap();
    requests.iter().map(|head| number(head.split(' ').nth(1).unwrap(), "end")).max().unwrap()
}

#[test]
fn the_load_is_that_of_the_coming_hours() {
    const SERIES: &[(&str, SeriesValue)] =
        &[("a", weekly), ("b", twice), ("c", |_| 30.0), ("other", |_| 9e9)];
    let (server, place) = (Server::new(|path| matrix(path, "domain", SERIES)), place());
    let source = format!("prometheus:{}", server.url());
    let words = ["-t", "cluster", "-C", "-v", "-v"];
    let from = ["--load-from", &source, "--load-quantile=100"];
    let forecast = run(place.path(), "hbal", &[&words[..], &from, &["--forecast=6h"]].concat());
    let last = last_time(&server);
    let most = |value: SeriesValue| (1..=6).map(|ahead| value(last + ahead * HOUR)).fold(0.0, f64::max);
    let loads = shares(&[("a", most(weekly)), ("b", most(twice)), ("c", 30.0)], [true; 4]);
    fs::write(place.path().join("load"), loads).unwrap();
    let given = run(place.path(), "hbal", &[&words[..], &["-U", "load"]].concat());
    assert_eq!((forecast.0, &forecast.1), (given.0, &given.1), "{}", forecast.2);
    for resource in ["cpu", "memory", "disk", "network"] {
        let said = format!(
            "Forecast of {resource} for 6h: half of 21 back-tests were off by at most 0.0 %, nine of ten by at most 0.0 % of the mean load\n"
        );
        assert!(forecast.2.contains(&said), "{}", forecast.2);
    }
    // Four weeks of hours, in parts, for each of four resources.
    let asked = server.requests.lock().unwrap().len();
    assert_eq!(asked, 4 * 8);
    let quiet = run(place.path(), "hbal", &[&words[..3], &from, &["--forecast=6h", "-q"]].concat());
    assert!(!quiet.2.contains("Forecast"), "{}", quiet.2);
}

/// Three nodes of 9 CPUs. n1 is too busy; n2 has less to do now than n3.
const BUSY: &str = "\
g|u1|preferred||

n1|9000|0|6000|90000|90000|9|M|u1|1
n2|9000|0|8000|90000|90000|9|N|u1|1
n3|9000|0|8000|90000|90000|9|N|u1|1

a.example.com|1000|1000|1|running|Y|n1||ext||1|-
b.example.com|1000|1000|1|running|Y|n1||ext||1|-
c.example.com|1000|1000|1|running|Y|n1||ext||1|-
d.example.com|1000|1000|1|running|Y|n2||ext||1|-
e.example.com|1000|1000|1|running|Y|n3||ext||1|-

";

/// The node to which hbal moves an instance of n1, with standard error. `coming` is the load of d at all times but now, and
/// `others` that of e.
fn target(coming: SeriesValue, others: SeriesValue, options: &[&str]) -> (String, String) {
    let now: &[(&str, &str, &str)] = &[
        ("domain", "a", "3"),
        ("domain", "b", "3"),
        ("domain", "c", "2.5"),
        ("domain", "d", "0.5"),
        ("domain", "e", "2"),
    ];
    let server = Server::new(move |path| match path.contains("query_range") {
        true => {
            let all: [(&str, SeriesValue); 5] =
                [("a", |_| 3.0), ("b", |_| 3.0), ("c", |_| 2.5), ("d", coming), ("e", others)];
            matrix(path, "domain", &all)
        }
        false => response("200 OK", &vector(now)),
    });
    let place = place();
    fs::write(place.path().join("cluster"), BUSY).unwrap();
    let source = format!("prometheus:{}", server.url());
    let words = ["-t", "cluster", "--load-query=cpu=x", "--load-label=domain", "--load-from", &source];
    let steady = ["--only-if=cpu>85", "--until-below"];
    let (status, out, error) = run(place.path(), "hbal", &[&words[..], &steady, options].concat());
    assert_eq!(status, 0, "{error}");
    let steps: Vec<&str> = out.lines().filter(|line| line.contains(" => ")).collect();
    assert_eq!(steps.len(), 1, "{out}");
    (steps[0].split(" => ").nth(1).unwrap()[..2].to_owned(), error)
}

#[test]
fn no_target_is_expected_to_be_overloaded() {
    let (to, error) = target(|_| 8.0, |_| 2.0, &[]);
    assert!(to == "n2" && !error.contains("Forecast"), "{error}");
    let (to, error) = target(|_| 8.0, |_| 2.0, &["--forecast=24h"]);
    assert!(to == "n3" && error.contains("Forecast of cpu for 1d: half of 35 back-tests"), "{error}");
    assert_eq!(target(|_| 1.0, |_| 2.0, &["--forecast=24h"]).0, "n2");
    // The overload ends now, if it can end nowhere for good.
    let (to, error) = target(|_| 8.0, |_| 8.0, &["--forecast=24h"]);
    let note = "Note: the overload only ends on nodes that are expected to be above the limit within 1d\n";
    assert!(to == "n2" && error.contains(note), "{error}");
    let place = place();
    let words = ["-t", "cluster", "--only-if=vcpus>1", "--forecast=24h"];
    for (more, wanted) in [
        (&[][..], "Error: option --forecast needs --load-from\n"),
        (
            &["--load-from=prometheus:http://localhost:1"],
            "Error: option --forecast with --only-if needs --until-below\n",
        ),
    ] {
        let (status, _, error) = run(place.path(), "hbal", &[&words[..], more].concat());
        assert_eq!((status, error.as_str()), (1, wanted));
    }
}

#[test]
fn short_histories_have_the_measured_load() {
    // c was made 20 hours ago, by the server's answers up to then.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let born = i64::try_from(now).unwrap() - 20 * HOUR;
    let server = Server::new(move |path| {
        let (start, end) = (number(path, "start"), number(path, "end"));
        let all: &[(&str, SeriesValue)] = &[("a", |_| 1.0), ("b", |_| 2.0), ("c", |_| 3.0)];
        // Parts of half a week: only the last one has the third series, shorter than two days.
        if end > born && start <= end {
            let from = start.max(born / HOUR * HOUR);
            let path = format!("?start={start}&end={end}&step={}", number(path, "step"));
            let answer = String::from_utf8(matrix(&path, "domain", &all[..2])).unwrap();
            let new = format!("?start={from}&end={end}&step={HOUR}");
            let new = String::from_utf8(matrix(&new, "domain", &all[2..])).unwrap();
            let series = |answer: &str| {
                let inside = answer.split_once("\"result\":[").unwrap().1;
                inside.strip_suffix("]}}").unwrap().to_owned()
            };
            let both = format!("{},{}", series(&answer), series(&new));
            return response("200 OK", &format!(r#"{{"data":{{"resultType":"matrix","result":[{both}]}}}}"#));
        }
        matrix(path, "domain", &all[..2])
    });
    let place = place();
    let source = format!("prometheus:{}", server.url());
    let words = ["-t", "cluster", "-C", "-v", "-v"];
    let forecast =
        run(place.path(), "hbal", &[&words[..], &["--load-from", &source, "--forecast=1d"]].concat());
    let loads = [("a", 1.0), ("b", 2.0), ("c", 3.0)];
    fs::write(place.path().join("load"), shares(&loads, [true; 4])).unwrap();
    let given = run(place.path(), "hbal", &[&words[..], &["-U", "load"]].concat());
    assert_eq!((forecast.0, &forecast.1), (given.0, &given.1), "{}", forecast.2);
    let warning = "Warning: the history of 1 instance is too short for a forecast; the load is the quantile of what was measured\n";
    assert!(forecast.2.contains(warning), "{}", forecast.2);
}

/// The error with an answer.
fn refused(tool: &str, answer: impl Fn(&str) -> Vec<u8> + Send + 'static, options: &[&str]) -> String {
    let (server, place) = (Server::new(answer), place());
    let source = format!("prometheus:{}", server.url());
    let words = [&["-t", "cluster", "--load-from", &source][..], options].concat();
    let (status, out, error) = run(place.path(), tool, &words);
    assert_eq!((status, out.as_str()), (1, ""), "{error}");
    assert!(!error.contains("panicked"), "{error}");
    error.replace(&server.url(), "URL")
}

#[test]
fn bad_histories_are_refused() {
    let fails = |body: &'static str| refused("hcheck", move |_| response("200 OK", body), &["--forecast=1d"]);
    let start = "Error: cannot read the history of the load of cpu: ";
    for (body, why) in [
        ("hello", "the answer is not JSON"),
        (
            r#"{"data":{"resultType":"vector","result":[]}}"#,
            "the answer has no history: is this a Prometheus server?",
        ),
        (r#"{"data":{"resultType":"matrix","result":[{"metric":7}]}}"#, "invalid type"),
        (r#"{"data":{"resultType":"matrix","result":[{"values":[[1]]}]}}"#, "invalid length"),
    ] {
        let error = fails(body);
        assert!(error.starts_with(start) && error.contains(why), "{error}");
    }
    let none = fails(r#"{"data":{"resultType":"matrix","result":[]}}"#);
    assert!(
        none.contains("no series of the load of cpu has the name of an instance; there are no series"),
        "{none}"
    );
    let large = refused("hcheck", |_| response("200 OK", &" ".repeat(65 << 20)), &["--forecast=1d"]);
    assert!(large.contains("more than 67108864 bytes"), "{large}");
    // Many short series need much memory.
    let many = |path: &str| {
        let one = |at: u32| {
            format!(r#"{{"metric":{{"domain":"{at}"}},"values":[[{},"1"]]}}"#, number(path, "start"))
        };
        let all: Vec<String> = (0..100_000).map(one).collect();
        response("200 OK", &format!(r#"{{"data":{{"resultType":"matrix","result":[{}]}}}}"#, all.join(",")))
    };
    let error = refused("hcheck", many, &["--forecast=1d"]);
    assert!(error.contains("its content needs more than 384 MiB of memory"), "{error}");
    let status = refused(
        "hcheck",
        |_| response("400 Bad Request", r#"{"error":"parse error: no"}"#),
        &["--forecast=1d"],
    );
    assert!(status.contains("URL/api/v1/query_range: parse error: no (400 Bad Request)"), "{status}");
    let place = place();
    for (options, why) in [
        (&["--forecast=1d"][..], "option --forecast needs --load-from"),
        (&["--forecast=15d"], "option --forecast: '15d' is not a time of at most 14d"),
        (&["--forecast=0"], "option --forecast: '0' is not a time above 0"),
    ] {
        let (status, _, error) = run(place.path(), "hbal", &[&["-t", "cluster"][..], options].concat());
        assert!(status == 1 && error.contains(why), "{error}");
    }
}

/// Metrics of `htools exporter`: memory is used up in 50 days, disk space never, there is one CPU less each day, and
/// nothing is known about tiered instances of the group h.
fn exported(path: &str) -> Vec<u8> {
    const DAY: f64 = 86_400.0;
    // Growth since the last full hour, with which the history ends.
    fn at(time: i64) -> f64 {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        (time as f64 - (now / 3600 * 3600) as f64) / DAY
    }
    let series: &[(&str, SeriesValue)] = match path {
        _ if path.contains("memory_used") => {
            &[("g", |time| (150.0 + at(time)) * 1073741824.0), ("h", |_| f64::NAN)]
        }
        _ if path.contains("memory_size") => &[("g", |_| 200.0 * 1073741824.0)],
        _ if path.contains("disk_used") => &[("g", |_| 5e11), ("h", |time| 1e12 + 1e9 * at(time))],
        _ if path.contains("disk_size") => &[("g", |_| 6e11), ("h", |_| 1e12)],
        _ if path.contains("vcpus_used") => &[("g", |time| 100.0 - at(time))],
        _ if path.contains("vcpus_limit") => &[("g", |_| 300.0)],
        _ if path.contains("space_instances") => &[("g", |time| 10.0 - at(time) / 2.0)],
        _ => &[],
    };
    matrix(path, "group", series)
}

#[test]
fn capacities_last_for_some_days() {
    let (server, place) = (Server::new(exported), place());
    let source = format!("prometheus:{}", server.url());
    let words = ["-t", "cluster", "--runway", "--load-from", &source];
    let (status, out, error) = run(place.path(), "hspace", &words);
    assert_eq!((status, error.as_str()), (0, ""), "{out}");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "Runway of cluster cluster, by its growth in the last 90 days:");
    let cells: Vec<String> =
        lines[2..7].iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for (cells, wanted) in cells.iter().zip([
        "g memory 149.5 GiB 200 GiB +1 GiB 50 50 50 90 d",
        "g disk 465.7 GiB 558.8 GiB 0 never never never 90 d",
        "g cpu 100.5 300 -1 never never never 90 d",
        "g tiered 10.2 0 -0.5 20 20 20 90 d",
        "h disk 930.9 GiB 931.3 GiB +954 MiB 0 0 0 90 d",
    ]) {
        assert_eq!(cells, wanted, "{out}");
    }
    let (status, json, _) = run(place.path(), "hspace", &[&words[..], &["--json"]].concat());
    assert_eq!(status, 0);
    let document: Value = serde_json::from_str(&json).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let schema = fs::read_to_string(root.join("docs/schema/htools.runway-1.json")).unwrap();
    let validator = jsonschema::draft202012::new(&serde_json::from_str(&schema).unwrap()).unwrap();
    let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}\n{json}");
    assert_eq!(document["capacities"].as_array().unwrap().len(), 5);
    let expected = document["capacities"][0]["days"]["expected"].as_f64().unwrap();
    assert!((50.0..51.0).contains(&expected), "{expected}");
    let asked = server.requests.lock().unwrap()[0].clone();
    let wanted = "GET /api/v1/query_range?query=max%20by%20%28group%29%20%28htools_group_memory_used_bytes%7Bcluster%3D%22cluster%22%7D%29&start=";
    assert!(asked.starts_with(wanted), "{asked}");
}

#[test]
fn a_runway_needs_a_history() {
    let nothing = |path: &str| matrix(path, "group", &[]);
    let error = refused("hspace", nothing, &["--runway=prod"]);
    let wanted = "Error: the server has no history of a cluster 'prod'\nHint: --runway=CLUSTER names it as in the metrics of htools exporter\n";
    assert_eq!(error, wanted);
    let place = place();
    let (status, _, error) = run(place.path(), "hspace", &["-t", "cluster", "--runway"]);
    assert!(
        status == 1
            && error.contains("option --runway needs the history of the cluster")
            && error.contains("(--luxi or --master)"),
        "{error}"
    );
    for other in ["--proof", "--make-room=1g", "-p", "--machine-readable"] {
        let words = ["-t", "cluster", "--runway", "--load-from=prometheus:http://localhost:1", other];
        let (status, _, error) = run(place.path(), "hspace", &words);
        assert!(status == 1 && error.contains("has no effect with --runway"), "{error}");
    }
}
