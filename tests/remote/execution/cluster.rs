//! The cluster behind the servers: answers to queries, and changes by jobs.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// Path of a recorded answer.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// The messages of a recording, in one direction.
pub fn messages(name: &str, direction: &str) -> Vec<String> {
    let text = fs::read_to_string(fixture(name)).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let wanted = lines.filter(|line| line["dir"] == direction);
    wanted.map(|line| line["message"].as_str().unwrap().to_owned()).collect()
}

/// A cluster, in the answers of the master daemon and of the remote API.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// Results over LUXI: nodes, instances, the cluster, groups.
    pub luxi: [Value; 4],
    /// Results over RAPI: nodes, instances, the cluster, groups.
    pub rapi: [Value; 4],
    /// Nodes that are off.
    pub without_power: Vec<String>,
    /// Nodes whose power cannot be switched and that do not answer.
    pub stuck: Vec<String>,
}

const NODE: usize = 0;
const INSTANCE: usize = 1;
const INFO: usize = 2;
const GROUP: usize = 3;

impl Cluster {
    /// The recorded cluster: 6 nodes and 16 instances, far from balanced.
    pub fn unbalanced() -> Cluster {
        let answers = messages("luxi/unbalanced.jsonl", "S>C");
        let luxi = answers.iter().map(|text| serde_json::from_str::<Value>(text).unwrap()["result"].take());
        let rapi = ["nodes", "instances", "info", "groups"].map(|name| {
            let text = fs::read_to_string(fixture(&format!("exec/rapi/{name}.json"))).unwrap();
            serde_json::from_str(&text).unwrap()
        });
        let luxi = luxi.collect::<Vec<_>>().try_into().unwrap();
        Cluster { luxi, rapi, without_power: Vec::new(), stuck: Vec::new() }
    }

    /// Moves some nodes to a second group, which differs from the first only in its identity.
    pub fn split(&mut self, nodes: &[&str]) {
        self.split_as("second", nodes);
    }

    /// The same with a group of this name.
    pub fn split_as(&mut self, name: &str, nodes: &[&str]) {
        let uuid = format!("11111111-2222-3333-4444-{:0>12}", name.len());
        for node in nodes {
            self.row(NODE, node)[12][1] = json!(uuid);
            self.object(NODE, node)["group.uuid"] = json!(uuid);
        }
        let rows = self.luxi[GROUP]["data"].as_array_mut().unwrap();
        let mut row = rows[0].clone();
        (row[0][1], row[1][1]) = (json!(uuid), json!(name));
        rows.push(row);
        let objects = self.rapi[GROUP].as_array_mut().unwrap();
        let mut object = objects[0].clone();
        (object["uuid"], object["name"]) = (json!(uuid), json!(name));
        objects.push(object);
    }

    /// The groups in the remote API.
    pub fn groups(&self) -> &[Value] {
        self.rapi[GROUP].as_array().unwrap()
    }

    /// Lets a group export a Ceph pool.
    pub fn export(&mut self, group: &str, pool: &str) {
        self.object(GROUP, group)["diskparams"]["rbd"]["pool"] = json!(pool);
    }

    /// Puts all instances on Ceph, which all groups are made to allow.
    pub fn put_on_ceph(&mut self) {
        for (name, ..) in self.places() {
            let instance = format!("{name}.vc.test");
            let row = self.row(INSTANCE, &instance);
            (row[6][1], row[9][1]) = (json!([]), json!("rbd"));
            let object = self.object(INSTANCE, &instance);
            (object["snodes"], object["disk_template"]) = (json!([]), json!("rbd"));
        }
        let templates = json!(["rbd"]);
        for row in self.luxi[GROUP]["data"].as_array_mut().unwrap() {
            row[3][1]["disk-templates"] = templates.clone();
        }
        for object in self.rapi[GROUP].as_array_mut().unwrap() {
            object["ipolicy"]["disk-templates"] = templates.clone();
        }
    }

    fn row(&mut self, table: usize, name: &str) -> &mut Value {
        let rows = self.luxi[table]["data"].as_array_mut().unwrap();
        rows.iter_mut().find(|row| row[0][1] == name).unwrap_or_else(|| panic!("no {name}"))
    }

    fn object(&mut self, table: usize, name: &str) -> &mut Value {
        let rows = self.rapi[table].as_array_mut().unwrap();
        rows.iter_mut().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name}"))
    }

    /// Makes it another cluster with the same content.
    pub fn set_uuid(&mut self, uuid: &str) {
        self.luxi[INFO]["uuid"] = json!(uuid);
        self.rapi[INFO]["uuid"] = json!(uuid);
    }

    /// Primary and secondary (if any) of all instances, with short names.
    pub fn places(&self) -> Vec<(String, String, String)> {
        let short = |value: &Value| value.as_str().unwrap_or_default().split('.').next().unwrap().to_owned();
        let rows = self.luxi[INSTANCE]["data"].as_array().unwrap();
        let place = |row: &Value| (short(&row[0][1]), short(&row[5][1]), short(&row[6][1][0]));
        rows.iter().map(place).collect()
    }

    /// Moves an instance, with the resources that it uses on its nodes.
    pub fn place(&mut self, instance: &str, primary: &str, secondary: &str) {
        let row = self.row(INSTANCE, instance).clone();
        let (disk, mem) = (row[1][1].as_i64().unwrap(), row[2][1].as_i64().unwrap());
        let (old_primary, old_secondary) = (text(&row[5][1]), text(&row[6][1][0]));
        for (node, sign) in [(old_primary.as_str(), 1), (primary, -1)] {
            self.add(node, 3, "mfree", sign * mem);
            self.add(node, 5, "dfree", sign * disk);
        }
        for (node, sign) in [(old_secondary.as_str(), 1), (secondary, -1)] {
            self.add(node, 5, "dfree", sign * disk);
        }
        let row = self.row(INSTANCE, instance);
        (row[5][1], row[6][1]) = (json!(primary), json!([secondary]));
        let object = self.object(INSTANCE, instance);
        (object["pnode"], object["snodes"]) = (json!(primary), json!([secondary]));
    }

    /// Moves an instance with one node, with the resources that it uses.
    pub fn put(&mut self, instance: &str, node: &str) {
        let row = self.row(INSTANCE, instance).clone();
        let (disk, mem, old) = (row[1][1].as_i64().unwrap(), row[2][1].as_i64().unwrap(), text(&row[5][1]));
        let inside = ["plain", "file"].contains(&row[9][1].as_str().unwrap());
        for (node, sign) in [(old.as_str(), 1), (node, -1)] {
            self.add(node, 3, "mfree", sign * mem);
            self.add(node, 5, "dfree", if inside { sign * disk } else { 0 });
        }
        self.row(INSTANCE, instance)[5][1] = json!(node);
        self.object(INSTANCE, instance)["pnode"] = json!(node);
    }

    /// Removes memory from a node, in MiB.
    pub fn shrink(&mut self, node: &str, memory: i64) {
        self.add(node, 1, "mtotal", -memory);
        self.add(node, 3, "mfree", -memory);
    }

    fn add(&mut self, node: &str, field: usize, key: &str, amount: i64) {
        let cell = &mut self.row(NODE, node)[field][1];
        *cell = json!(cell.as_i64().unwrap() + amount);
        let value = &mut self.object(NODE, node)[key];
        *value = json!(value.as_i64().unwrap() + amount);
    }

    /// Marks a node as offline.
    pub fn set_offline(&mut self, node: &str) {
        self.row(NODE, node)[8][1] = json!(true);
        self.object(NODE, node)["offline"] = json!(true);
    }

    /// Executes an opcode. Returns its result, or the reason why it fails.
    pub fn carry_out(&mut self, opcode: &Value) -> Result<Value, String> {
        match opcode["OP_ID"].as_str().unwrap() {
            "OP_INSTANCE_MIGRATE"
            | "OP_INSTANCE_FAILOVER"
            | "OP_INSTANCE_MOVE"
            | "OP_INSTANCE_REPLACE_DISKS" => self.relocate(opcode),
            "OP_NODE_SET_PARAMS" => self.set_params(opcode),
            "OP_TAGS_SET" | "OP_TAGS_DEL" => self.change_tags(opcode),
            "OP_OOB_COMMAND" => Ok(self.switch(opcode)),
            other => panic!("{other}"),
        }
    }

    fn relocate(&mut self, opcode: &Value) -> Result<Value, String> {
        let instance = text(&opcode["instance_name"]);
        if let Some(target) = opcode["target_node"].as_str() {
            // It is on storage that every node reaches, or is copied.
            self.put(&instance, target);
            return Ok(Value::Null);
        }
        let row = self.row(INSTANCE, &instance);
        let (primary, secondary) = (text(&row[5][1]), text(&row[6][1][0]));
        if opcode["OP_ID"] != "OP_INSTANCE_REPLACE_DISKS" {
            self.place(&instance, &secondary, &primary);
        } else {
            let new = text(&opcode["remote_node"]);
            assert!(new != primary && new != secondary, "{opcode}");
            self.place(&instance, &primary, &new);
        }
        Ok(Value::Null)
    }

    fn set_params(&mut self, opcode: &Value) -> Result<Value, String> {
        let node = text(&opcode["node_name"]);
        if opcode["offline"] == false && !self.answers(&node) {
            return Err(format!("Node {node} is being de-offlined but fails to report its version"));
        }
        if opcode["dry_run"] == true {
            return Ok(Value::Null);
        }
        let mut changed = Vec::new();
        for (flag, field) in [("offline", 8), ("drained", 9)] {
            if let Some(value) = opcode[flag].as_bool() {
                // A node is never both.
                for (other, at) in [("offline", 8), ("drained", 9)] {
                    if at == field || value {
                        self.set_flag(&node, other, at, at == field && value);
                    }
                }
                changed.push(json!([flag, value.to_string()]));
            }
        }
        Ok(json!(changed))
    }

    /// Marks a node as drained.
    pub fn set_drained(&mut self, node: &str) {
        self.set_flag(node, "drained", 9, true);
    }

    fn set_flag(&mut self, node: &str, key: &str, field: usize, value: bool) {
        self.row(NODE, node)[field][1] = json!(value);
        self.object(NODE, node)[key] = json!(value);
    }

    fn change_tags(&mut self, opcode: &Value) -> Result<Value, String> {
        let node = text(&opcode["name"]);
        let mut tags = self.tags(&node);
        for tag in opcode["tags"].as_array().unwrap().iter().map(text) {
            let there = tags.iter().position(|other| *other == tag);
            match (opcode["OP_ID"] == "OP_TAGS_SET", there) {
                (true, None) => tags.push(tag),
                (true, Some(_)) => {}
                (false, Some(at)) => drop(tags.remove(at)),
                (false, None) => return Err(format!("Tag(s) '{tag}' not found")),
            }
        }
        self.row(NODE, &node)[13][1] = json!(tags);
        self.object(NODE, &node)["tags"] = json!(tags);
        Ok(Value::Null)
    }

    fn switch(&mut self, opcode: &Value) -> Value {
        let node = text(&opcode["node_names"][0]);
        if self.stuck.contains(&node) {
            return json!([[[0, node], [2, null]]]);
        }
        let off = opcode["command"] == "power-off";
        if off {
            assert!(self.is(&node, 8), "{node} loses its power while it is in use");
            assert!(self.instances_on(&node).concat().is_empty(), "{node} loses its power with instances");
        }
        self.set_power(&node, !off);
        json!([[[0, node], [0, null]]])
    }

    /// Effect of a node's power switch.
    pub fn set_power(&mut self, node: &str, on: bool) {
        self.without_power.retain(|other| other != node);
        self.without_power.extend((!on).then(|| node.to_owned()));
    }

    fn answers(&self, node: &str) -> bool {
        !self.without_power.iter().chain(&self.stuck).any(|other| other == node)
    }

    fn is(&mut self, node: &str, field: usize) -> bool {
        self.row(NODE, node)[field][1].as_bool().unwrap()
    }

    /// Gives a node a tag.
    pub fn tag(&mut self, node: &str, tag: &str) {
        let opcode = json!({"OP_ID": "OP_TAGS_SET", "name": node, "tags": [tag]});
        self.change_tags(&opcode).unwrap();
    }

    pub fn tags(&mut self, node: &str) -> Vec<String> {
        self.row(NODE, node)[13][1].as_array().unwrap().iter().map(text).collect()
    }

    /// Short names of the nodes that are offline, drained, and without power.
    pub fn idle_nodes(&mut self) -> [Vec<String>; 3] {
        let rows = self.luxi[NODE]["data"].as_array().unwrap().clone();
        let short = |name: &str| name.split('.').next().unwrap().to_owned();
        let with = |field: usize| {
            rows.iter()
                .filter(|row| row[field][1] == true)
                .map(|row| short(row[0][1].as_str().unwrap()))
                .collect()
        };
        let mut off: Vec<String> = self.without_power.iter().map(|name| short(name)).collect();
        off.sort();
        [with(8), with(9), off]
    }

    /// Tells if a node is offline, is drained, and has power.
    pub fn flags(&self, node: &str) -> [bool; 3] {
        let rows = self.luxi[NODE]["data"].as_array().unwrap();
        let row = rows.iter().find(|row| row[0][1] == node).unwrap();
        let off = self.without_power.iter().any(|other| other == node);
        [row[8][1] == true, row[9][1] == true, !off]
    }

    /// Primary and secondary instances of a node.
    pub fn instances_on(&self, node: &str) -> [Vec<String>; 2] {
        let rows = self.luxi[INSTANCE]["data"].as_array().unwrap();
        let with = |is_there: fn(&Value, &str) -> bool| -> Vec<String> {
            rows.iter().filter(|row| is_there(row, node)).map(|row| text(&row[0][1])).collect()
        };
        [with(|row, node| row[5][1] == node), with(|row, node| row[6][1][0] == node)]
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
