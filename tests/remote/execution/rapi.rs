//! The remote API over HTTP, with one connection per request.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::queue::{Job, State, World};
use super::server::Act;

/// A request.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    /// Including the query.
    pub path: String,
    pub head: String,
    pub body: Value,
}

/// A server that stops when it is dropped.
pub struct Rapi {
    pub port: u16,
    /// The requests that submit jobs.
    pub submissions: Arc<Mutex<Vec<Request>>>,
}

/// An answer.
pub fn response(status: &str, body: &Value) -> Vec<Act> {
    let body = body.to_string();
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    vec![Act::Send((head + &body).into_bytes())]
}

impl Rapi {
    pub fn new(world: &Arc<World>) -> Rapi {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let submissions = Arc::new(Mutex::new(Vec::new()));
        let (world, seen) = (Arc::clone(world), Arc::clone(&submissions));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (world, seen) = (Arc::clone(&world), Arc::clone(&seen));
                thread::spawn(move || serve(stream.unwrap(), &world, &seen));
            }
        });
        Rapi { port, submissions }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

fn serve(mut stream: TcpStream, world: &Arc<World>, seen: &Mutex<Vec<Request>>) {
    let Some(request) = read(&mut stream) else { return };
    let kind = match (request.method.as_str(), request.path.split(['/', '?']).nth(2).unwrap_or_default()) {
        ("GET", "jobs") if request.path.ends_with("/wait") => "wait",
        ("GET", "jobs") if request.path.starts_with("/2/jobs/") => "job",
        ("GET", "jobs") => "jobs",
        ("GET", _) => "get",
        _ => "submit",
    };
    if kind == "submit" {
        seen.lock().unwrap().push(request.clone());
        world.change(|state| state.submissions.push(request.path.clone()));
    }
    let acts = world.takes_instead(kind).unwrap_or_else(|| {
        let answer = answer(world, kind, &request);
        world.takes_after(kind).unwrap_or(answer)
    });
    for act in acts {
        match act {
            // The client may have gone.
            Act::Send(bytes) => drop(stream.write_all(&bytes)),
            Act::Pause(time) => thread::sleep(time),
            Act::Endless(bytes, pause) => {
                while stream.write_all(&bytes).is_ok() {
                    thread::sleep(pause);
                }
            }
            Act::Close => return,
        }
    }
}

fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let lower = head.to_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    let mut words = head.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Some(Request { method, path, head, body })
}

fn object(job: Option<(u64, &Job)>) -> Value {
    let Some((id, job)) = job else {
        return json!({"id": null, "status": null, "ops": null, "opresult": null});
    };
    json!({"id": id, "status": job.status, "ops": job.ops, "opresult": job.results, "oplog": [job.log]})
}

fn list(state: &State, bulk: bool) -> Value {
    let jobs = state.jobs.iter();
    let of = |(id, job): (&u64, &Job)| match bulk {
        true => object(Some((*id, job))),
        false => json!({"id": id, "uri": format!("/2/jobs/{id}")}),
    };
    jobs.map(of).collect()
}

fn answer(world: &Arc<World>, kind: &str, request: &Request) -> Vec<Act> {
    let good = |body: Value| response("200 OK", &body);
    let parts: Vec<&str> = request.path.split('?').next().unwrap().split('/').collect();
    let id = || parts[3].parse::<u64>().unwrap();
    match kind {
        "wait" => {
            let serial = request.body["previous_log_serial"].as_u64().unwrap_or(0);
            let before = &request.body["previous_job_info"][0];
            good(match world.change_of(id(), before, serial, Duration::from_secs(60)) {
                Some((status, log)) => json!({"job_info": [status], "log_entries": log}),
                None => Value::Null,
            })
        }
        "job" => good(object(world.lock().jobs.get(&id()).map(|job| (id(), job)))),
        "jobs" => good(list(&world.lock(), request.path.ends_with("?bulk=1"))),
        "submit" => submit(world, request, &parts),
        _ => match parts[2] {
            "groups" => {
                // This is the first request of a reading.
                world.read();
                good(world.lock().cluster.rapi[3].clone())
            }
            "nodes" if parts.len() > 3 => {
                let [primaries, secondaries] = world.lock().cluster.instances_on(parts[3]);
                let [offline, drained, _] = world.lock().cluster.flags(parts[3]);
                good(json!({
                    "name": parts[3], "pinst_list": primaries, "sinst_list": secondaries,
                    "offline": offline, "drained": drained,
                }))
            }
            "nodes" => good(world.lock().cluster.rapi[0].clone()),
            "instances" => good(world.lock().cluster.rapi[1].clone()),
            "info" => good(world.lock().cluster.rapi[2].clone()),
            _ => response("404 Not Found", &json!({"code": 404, "message": "Not Found"})),
        },
    }
}

fn submit(world: &Arc<World>, request: &Request, parts: &[&str]) -> Vec<Act> {
    if world.lock().drained.is_some() {
        let body = json!({"code": 503, "message": "Service Unavailable", "explain": "Job queue is drained, refusing job"});
        return response("503 Service Unavailable", &body);
    }
    let mut opcode = request.body.clone();
    let (wanted, name) = match parts[4] {
        "migrate" => ("PUT", "OP_INSTANCE_MIGRATE"),
        "failover" => ("PUT", "OP_INSTANCE_FAILOVER"),
        "replace-disks" => ("POST", "OP_INSTANCE_REPLACE_DISKS"),
        "modify" => ("POST", "OP_NODE_SET_PARAMS"),
        "tags" if request.method == "PUT" => ("PUT", "OP_TAGS_SET"),
        "tags" => ("DELETE", "OP_TAGS_DEL"),
        other => panic!("{other}"),
    };
    assert_eq!(request.method, wanted);
    let query = request.path.split_once('?').map_or("", |(_, query)| query);
    let decoded = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8().unwrap().into_owned();
    let values = |key: &str| -> Vec<String> {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(name, _)| *name == key).map(|(_, value)| decoded(&value.replace('+', " "))).collect()
    };
    if parts[4] == "tags" {
        // The comment has no other place.
        let reason = values("reason").remove(0);
        opcode = json!({"tags": values("tag"), "name": parts[3], "kind": "node", "comment": null, "reason": [["gnt:user", reason, 1]]});
    }
    if values("dry-run") == ["1"] {
        opcode["dry_run"] = json!(true);
    }
    opcode["OP_ID"] = json!(name);
    opcode["instance_name"] = json!(parts[3]);
    opcode["node_name"] = json!(parts[3]);
    let depends = opcode["depends"][0][0].as_u64();
    let ids = world.submit(vec![vec![opcode]], depends);
    response("200 OK", &json!(ids[0].as_ref().unwrap()))
}
