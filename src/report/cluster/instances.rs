//! The instance list (`--print-instances`).

use super::nodes::text::load;
use crate::model::{Cluster, InstanceIdx};
use crate::report::form::table::{Align, Table};

pub(crate) fn instance_list(cluster: &Cluster, instances: &[InstanceIdx]) -> Vec<String> {
    let left = ["F", "Name", "Pri_node", "Sec_node", "Auto_bal"].map(|h| (h, Align::Left));
    let right = ["vcpu", "mem", "dsk", "lCpu", "lMem", "lDsk", "lNet"].map(|h| (h, Align::Right));
    let mut table = Table::new(left.into_iter().chain(right));
    for instance in instances {
        let i = cluster.instance(*instance);
        let node = |n| cluster.node(n).spec.name.clone();
        let mark = |yes: bool, text: &str, other: &str| (if yes { text } else { other }).to_owned();
        table.push(vec![
            mark(i.status.is_running(), "R", " "),
            i.name.clone(),
            node(i.primary),
            i.secondary.map_or_else(String::new, node),
            mark(i.auto_balance, "Y", "N"),
            format!("{:3}", i.vcpus),
            format!("{:5}", i.mem.0),
            format!("{:5}", i.disk.gib_floor()),
            load(i.util.cpu),
            load(i.util.mem),
            load(i.util.disk),
            load(i.util.net),
        ]);
    }
    table.lines("")
}
