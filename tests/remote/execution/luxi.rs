//! The master daemon: requests for the cluster and its jobs.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::queue::{Job, State, World};
use super::server::{Act, Server, message};

/// A daemon at a socket in a directory.
pub fn serve(world: &Arc<World>, directory: &Path) -> Server {
    let world = Arc::clone(world);
    Server::new(directory, move |_, request| answer(&world, request))
}

fn answer(world: &Arc<World>, text: &str) -> Vec<Act> {
    let request: Value = serde_json::from_str(text).unwrap();
    let (method, args) = (request["method"].as_str().unwrap(), &request["args"]);
    if world.lock().gone {
        return vec![Act::Close];
    }
    let kind = match args[0] == "job" {
        true => "Query job",
        false if args[1][0] == "pinst_list" => "Query instances of a node",
        false if args[1][0] == "offline" => "Query flags of a node",
        false => method,
    };
    if method == "SubmitManyJobs" {
        world.change(|state| state.submissions.push(text.to_owned()));
    }
    if let Some(acts) = world.takes_instead(kind) {
        return acts;
    }
    let answer = match method {
        "Query" if kind == "Query job" => Ok(job_table(&world.lock(), &args[2])),
        "Query" if args[1][0] == "pinst_list" => Ok(held(&world.lock(), &args[2])),
        "Query" if args[1][0] == "offline" => Ok(flags(&world.lock(), args)),
        "Query" if args[0] == "group" => Ok(groups(&world.lock(), &args[1])),
        "Query" => Ok(table(world, args[0].as_str().unwrap())),
        "QueryClusterInfo" => Ok(world.lock().cluster.luxi[2].clone()),
        "QueryJobs" => Ok(jobs(&world.lock(), &args[0], &args[1])),
        "SubmitManyJobs" => submit(world, &args[0]),
        "WaitForJobChange" => Ok(wait(world, args)),
        other => panic!("{other}"),
    };
    if world.lock().gone {
        return vec![Act::Close];
    }
    world.takes_after(kind).unwrap_or_else(|| match answer {
        Ok(result) => message(json!({"success": true, "result": result}).to_string()),
        Err(why) => message(json!({"success": false, "result": why}).to_string()),
    })
}

fn table(world: &World, what: &str) -> Value {
    match what {
        "node" => {
            world.read();
            world.lock().cluster.luxi[0].clone()
        }
        "instance" => world.lock().cluster.luxi[1].clone(),
        other => panic!("{other}"),
    }
}

/// The groups. Their disk parameters, if requested, are those of the remote API.
fn groups(state: &State, fields: &Value) -> Value {
    let mut table = state.cluster.luxi[3].clone();
    let more = &fields.as_array().unwrap()[5..];
    for (row, object) in table["data"].as_array_mut().unwrap().iter_mut().zip(state.cluster.groups()) {
        let cells = more.iter().map(|name| json!([0, object[name.as_str().unwrap()]]));
        row.as_array_mut().unwrap().extend(cells);
    }
    table
}

/// The instances of a node.
fn held(state: &State, filter: &Value) -> Value {
    assert_eq!((&filter[0], &filter[1]), (&json!("="), &json!("name")));
    let [primaries, secondaries] = state.cluster.instances_on(filter[2].as_str().unwrap());
    json!({"fields": [], "data": [[[0, primaries], [0, secondaries]]]})
}

/// The flags of a node.
fn flags(state: &State, args: &Value) -> Value {
    assert_eq!((&args[1], &args[2][1]), (&json!(["offline", "drained", "powered"]), &json!("name")));
    let [offline, drained, powered] = state.cluster.flags(args[2][2].as_str().unwrap());
    json!({"fields": [], "data": [[[0, offline], [0, drained], [0, powered]]]})
}

fn field(id: u64, job: &Job, name: &Value) -> Value {
    match name.as_str().unwrap() {
        "id" => json!(id),
        "status" => json!(job.status),
        "opresult" => json!(job.results),
        "ops" => json!(job.ops),
        "archived" => json!(false),
        "oplog" => json!([job.log]),
        other => panic!("{other}"),
    }
}

fn jobs(state: &State, ids: &Value, fields: &Value) -> Value {
    let fields = fields.as_array().unwrap();
    let row = |id: u64, job: &Job| -> Value { fields.iter().map(|name| field(id, job, name)).collect() };
    match ids.as_array() {
        None => state.jobs.iter().map(|(id, job)| row(*id, job)).collect(),
        Some(ids) => {
            let of = |id: u64| state.jobs.get(&id).map_or(Value::Null, |job| row(id, job));
            ids.iter().map(|id| of(id.as_u64().unwrap())).collect()
        }
    }
}

fn job_table(state: &State, filter: &Value) -> Value {
    assert_eq!((&filter[0], &filter[1]), (&json!(">"), &json!("id")));
    let after = filter[2].as_u64().unwrap();
    let row = |(id, job): (&u64, &Job)| json!([[0, id], [0, job.ops], [0, false]]);
    let rows: Vec<Value> = state.jobs.range(after + 1..).map(row).collect();
    json!({"fields": [], "data": rows})
}

fn submit(world: &Arc<World>, jobs: &Value) -> Result<Value, Value> {
    if let Some(why) = world.lock().drained.clone() {
        return Err(why);
    }
    let jobs = jobs.as_array().unwrap().iter().map(|job| job.as_array().unwrap().clone());
    let answers = world.submit(jobs.collect(), None).into_iter().map(|answer| match answer {
        Ok(id) => json!([true, id]),
        Err(why) => json!([false, why]),
    });
    Ok(answers.collect())
}

fn wait(world: &World, args: &Value) -> Value {
    let (id, before, serial) = (args[0].as_u64().unwrap(), &args[2][0], args[3].as_u64().unwrap_or(0));
    let time = Duration::from_secs(args[4].as_u64().unwrap());
    match world.change_of(id, before, serial, time) {
        Some((status, log)) => json!([[status], log]),
        None => json!("nochange"),
    }
}
