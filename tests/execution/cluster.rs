//! The cluster behind the servers: what queries tell, and what jobs change of it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// Where the recorded answers are.
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

/// A cluster, as the master daemon and the remote API tell of it.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// Results over LUXI: nodes, instances, the cluster itself, groups.
    pub luxi: [Value; 4],
    /// Nodes, instances and the cluster itself over RAPI, and its groups.
    pub rapi: [Value; 4],
}

const NODE: usize = 0;
const INSTANCE: usize = 1;
const INFO: usize = 2;

impl Cluster {
    /// The recorded one: 6 nodes, 16 instances, far from balanced.
    pub fn unbalanced() -> Cluster {
        let answers = messages("luxi/unbalanced.jsonl", "S>C");
        let luxi = answers.iter().map(|text| serde_json::from_str::<Value>(text).unwrap()["result"].take());
        let rapi = ["nodes", "instances", "info", "groups"].map(|name| {
            let text = fs::read_to_string(fixture(&format!("exec/rapi/{name}.json"))).unwrap();
            serde_json::from_str(&text).unwrap()
        });
        Cluster { luxi: luxi.collect::<Vec<_>>().try_into().unwrap(), rapi }
    }

    fn row(&mut self, table: usize, name: &str) -> &mut Value {
        let rows = self.luxi[table]["data"].as_array_mut().unwrap();
        rows.iter_mut().find(|row| row[0][1] == name).unwrap_or_else(|| panic!("no {name}"))
    }

    fn object(&mut self, table: usize, name: &str) -> &mut Value {
        let rows = self.rapi[table].as_array_mut().unwrap();
        rows.iter_mut().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name}"))
    }

    /// Another cluster with the same content.
    pub fn set_uuid(&mut self, uuid: &str) {
        self.luxi[INFO]["uuid"] = json!(uuid);
        self.rapi[INFO]["uuid"] = json!(uuid);
    }

    /// Primary and secondary, if there is one, of all instances, by short names.
    pub fn places(&self) -> Vec<(String, String, String)> {
        let short = |value: &Value| value.as_str().unwrap_or_default().split('.').next().unwrap().to_owned();
        let rows = self.luxi[INSTANCE]["data"].as_array().unwrap();
        let place = |row: &Value| (short(&row[0][1]), short(&row[5][1]), short(&row[6][1][0]));
        rows.iter().map(place).collect()
    }

    /// Moves an instance, with what it takes of its nodes.
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

    /// Does what an opcode says.
    pub fn carry_out(&mut self, opcode: &Value) {
        let instance = text(&opcode["instance_name"]);
        let row = self.row(INSTANCE, &instance);
        let (primary, secondary) = (text(&row[5][1]), text(&row[6][1][0]));
        match opcode["OP_ID"].as_str().unwrap() {
            "OP_INSTANCE_MIGRATE" => self.place(&instance, &secondary, &primary),
            "OP_INSTANCE_REPLACE_DISKS" => {
                let new = text(&opcode["remote_node"]);
                assert!(new != primary && new != secondary, "{opcode}");
                self.place(&instance, &primary, &new);
            }
            other => panic!("{other}"),
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
