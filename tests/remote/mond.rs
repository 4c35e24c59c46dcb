//! Monitoring daemons: small servers of the tests on loopback addresses, which are also the names of the nodes.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use htools::load::mond::{MonitorLimits, ask};
use htools::load::monitoring::{Collector, CollectorReport};

const CPU: Collector = Collector::CpuAvgLoad;

/// A daemon at an address that runs as long as the test. The port is always the same, so each test has addresses of
/// its own.
fn daemon(address: &str, answer: impl Fn(TcpStream, &str) + Send + 'static) {
    let listener = TcpListener::bind((address, 1815)).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
                head.push(byte[0]);
            }
            answer(stream, &String::from_utf8_lossy(&head));
        }
    });
}

fn says(address: &str, status: &'static str, body: String) {
    daemon(address, move |mut stream, _| {
        let _ = stream.write_all(
            format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nLocation: /\r\n\r\n{body}", body.len())
                .as_bytes(),
        );
    });
}

fn report(name: &str, data: &str) -> String {
    format!(
        r#"{{"name":"{name}","version":"B","format_version":1,"timestamp":1,"category":null,"kind":0,"data":{data}}}"#
    )
}

fn cpu(total: f64) -> String {
    report("cpu-avg-load", &format!(r#"{{"cpu_number":4,"cpus":[],"cpu_total":{total}}}"#))
}

/// Addresses for a test that no other process uses.
fn addresses(test: u8) -> [String; 4] {
    let id = std::process::id();
    std::array::from_fn(|i| format!("127.{}.{}.{}", 1 + id / 200 % 200, 1 + id % 200, test * 4 + i as u8 + 1))
}

/// Exit status, standard output, standard error of a tool on a cluster of these nodes.
fn run(tool: &str, nodes: &[&str], options: &[&str]) -> (i32, String, String) {
    let rows: String = nodes
        .iter()
        .enumerate()
        .map(|(i, node)| {
            format!(
                "{node}|16384|0|15872|409600|408576|16|{}|u|1||N|0|1|1.0\n",
                if i == 0 { 'M' } else { 'N' }
            )
        })
        .collect();
    let instances: String =
        nodes.iter().map(|node| format!("i-{node}|512|1024|2|running|Y|{node}||ext||1|-\n")).collect();
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("c.data"), format!("g|u|preferred||\n\n{rows}\n{instances}\n\n")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    command
        .env("HTOOLS", tool)
        .env("NO_PROXY", "*")
        .current_dir(dir.path())
        .args(["-t", "c.data"])
        .args(options);
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_load_of_all_nodes() {
    let [a, b, c, _] = addresses(0);
    says(&a, "200 OK", cpu(1.5));
    // Neither the name nor a redirect matters.
    says(&b, "200 OK", cpu(3.0).replace("cpu-avg", "x"));
    says(&c, "302 Found", cpu(0.75));
    let (status, stdout, stderr) = run("hinfo", &[&a, &b, &c], &["--mond", "-pname,cload"]);
    assert_eq!((status, stderr.contains("MonD")), (0, false), "{stdout}");
    for (node, load) in [(&a, "1.500"), (&b, "3.000"), (&c, "0.750")] {
        assert!(stderr.lines().any(|line| line.contains(node.as_str()) && line.ends_with(load)), "{stderr}");
    }
    let data = ask(&[&a, &b], CPU, MonitorLimits::default()).data;
    assert_eq!(data.report(&b, CPU), Some(&CollectorReport::Node(3.0)));
}

#[test]
fn the_load_of_instances() {
    let [a, b, ..] = addresses(1);
    for (node, load) in [(&a, 0.5), (&b, 2.0)] {
        let data = format!(r#"{{"i-{node}":{load}}}"#);
        daemon(node, move |mut stream, head| {
            assert!(head.starts_with("GET /1/report/default/xen-cpu-avg-load HTTP/1.1\r\n"), "{head}");
            let body = report("xen-cpu-avg-load", &data);
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        });
    }
    let (status, stdout, stderr) =
        run("hbal", &[&a, &b], &["--mond=yes", "--mond-xen", "-pname,cload", "-l0"]);
    assert_eq!((status, stderr.contains("MonD")), (0, false), "{stdout}");
    assert!(stderr.contains(" 0.500\n") && stderr.contains(" 2.000\n"), "{stderr}");
}

#[test]
fn a_daemon_that_is_missing() {
    let [a, b, c, d] = addresses(2);
    says(&b, "200 OK", cpu(1.0));
    says(&c, "404 Not Found", cpu(1.0));
    says(&d, "200 OK", "nonsense".into());
    let nodes = [a.as_str(), &b, &c, &d];
    let wanted = format!(
        "Failed to contact node's {a} MonD for DC cpu-avg-load\n\
         Failed to contact node's {c} MonD for DC cpu-avg-load\n\
         Didn't receive an answer by all MonDs, cpu-avg-load's data will be ignored.\n"
    );
    let (status, stdout, stderr) = run("hbal", &nodes, &["--mond"]);
    assert_eq!((status, stderr.as_str()), (0, wanted.as_str()));
    assert_eq!(stdout, run("hbal", &nodes, &[]).1);
    let (status, stdout, stderr) = run("hbal", &nodes, &["--mond", "--exit-on-missing-mond-data"]);
    assert_eq!((status, stdout.lines().count()), (1, 0), "{stdout}");
    assert_eq!(stderr, format!("{wanted}Error: Not all required data available\n"));
    // No daemon is asked.
    assert_eq!(run("hbal", &nodes, &["--mond", "--ignore-dynu"]).2, "");
}

#[test]
fn daemons_that_never_end() {
    let [a, b, c, d] = addresses(3);
    daemon(&a, |stream, _| std::mem::forget(stream));
    daemon(&b, |mut stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        thread::spawn(move || while stream.write_all(&[b' '; 4096]).is_ok() {});
    });
    daemon(&c, |mut stream, _| {
        thread::spawn(move || {
            while stream.write_all(b"H").is_ok() {
                thread::sleep(Duration::from_millis(20));
            }
        });
    });
    daemon(&d, |mut stream, _| drop(stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{")));
    let limits = MonitorLimits {
        connect: Duration::from_secs(1),
        answer: Duration::from_millis(500),
        size: 1 << 16,
        ..MonitorLimits::default()
    };
    let start = Instant::now();
    let heard = ask(&[&a, &b, &c, &d, "u@127.0.0.1", ""], CPU, limits);
    assert_eq!(heard.unreachable, [0, 1, 2, 3, 4, 5]);
    assert!(start.elapsed() < Duration::from_secs(20));
}

/// Sends a head, and then these bytes one by one until the client has gone.
fn trickles(address: &str, head: &'static [u8], byte: &'static [u8]) {
    daemon(address, move |mut stream, _| {
        thread::spawn(move || {
            let _ = stream.write_all(head);
            while stream.write_all(byte).is_ok() {
                thread::sleep(Duration::from_millis(50));
            }
        });
    });
}

#[test]
fn a_byte_now_and_then_gives_no_more_time() {
    let [a, b, c, d] = addresses(4);
    trickles(&a, b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b" ");
    trickles(&b, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n");
    trickles(&c, b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n");
    says(&d, "200 OK", cpu(1.0));
    let limits = MonitorLimits { answer: Duration::from_millis(700), ..MonitorLimits::default() };
    let start = Instant::now();
    let heard = ask(&[&a, &b, &c, &d], CPU, limits);
    assert_eq!(heard.unreachable, [0, 1, 2]);
    assert_eq!(heard.data.report(&d, CPU), Some(&CollectorReport::Node(1.0)));
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn all_daemons_together_have_a_limit() {
    let [a, ..] = addresses(5);
    trickles(&a, b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b" ");
    // A daemon answers one request at a time, so there are many rounds.
    let nodes = vec![a.as_str(); 32 * 40];
    let limits = MonitorLimits { all: Duration::from_secs(1), ..MonitorLimits::default() };
    let start = Instant::now();
    let heard = ask(&nodes, CPU, limits);
    assert_eq!(heard.unreachable.len(), nodes.len());
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}
