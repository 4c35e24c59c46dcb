//! Files of dynamic data: utilisation, and reports of monitoring daemons.

use htools::generate::random::Random;
use htools::load::raw::RawCluster;
use serde_json::{Value, json};

/// A utilisation file (`-U`) with odd numbers, unknown names and repetitions, and sometimes a line that is refused.
pub fn utilisation(raw: &RawCluster, random: &mut Random) -> String {
    let mut lines = Vec::new();
    for instance in &raw.instances {
        if random.chance(0.8) {
            let mut line = instance.name.clone();
            for _ in 0..4 {
                line.push(' ');
                line.push_str(&number(random));
            }
            lines.push(line);
        }
    }
    if random.chance(0.2) {
        lines.push("no-such-instance 1 2 3 4".into());
    }
    if random.chance(0.2)
        && let Some(first) = raw.instances.first()
    {
        lines.push(format!("{} 0.5 1 0.25 2", first.name));
    }
    if random.chance(0.04) {
        lines.push(random.pick(&["", "short 1 2", "x  1 2 3 4", "x 1 2 3 .5", "x 1 2 3 4 "]).to_string());
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn number(random: &mut Random) -> String {
    match random.below(12) {
        0 => "0".into(),
        1 => format!("{}", random.between(0, 5)),
        2 => format!("{}e-1", random.between(1, 20)),
        3 => format!("({:.2})", random.unit()),
        4 => "0x1".into(),
        5 => "1.0".into(),
        // Seventeen digits, so that sums differ in the last bit.
        6..=8 => format!("{:?}", random.unit() * 3.0),
        _ => format!("{:.3}", random.unit() * 2.0),
    }
}

/// A file of monitoring reports (`--mond-data`) from both collectors. Some lack a node or an instance.
pub fn reports(raw: &RawCluster, random: &mut Random) -> String {
    let gaps = if random.chance(0.25) { 0.15 } else { 0.0 };
    let report = |name: &str, data: Value| {
        json!({
            "name": name, "version": "B", "format_version": 1,
            "timestamp": 1_379_507_272_000_000_000_i64, "category": null, "kind": 0, "data": data,
        })
    };
    let mut list = Vec::new();
    for (i, node) in raw.nodes.iter().enumerate() {
        if random.chance(gaps) {
            continue;
        }
        let total = (random.unit() * 4.0 * 1000.0).round() / 1000.0;
        let mut guests = serde_json::Map::new();
        for instance in raw.instances.iter().filter(|x| x.primary.get() == i) {
            if !random.chance(gaps / 4.0) {
                guests.insert(instance.name.clone(), json!((random.unit() * 100.0).round() / 64.0));
            }
        }
        let cpus = json!({"cpu_number": 2, "cpus": [total / 2.0, total / 2.0], "cpu_total": total});
        let mut reports = vec![report("cpu-avg-load", cpus), report("xen-cpu-avg-load", guests.into())];
        if random.chance(0.3) {
            reports.insert(0, report("diskstats", json!([1, "x"])));
        }
        list.push(json!({"node": node.name, "reports": reports}));
    }
    list.push(json!({"node": "elsewhere", "reports": []}));
    random.shuffle(&mut list);
    Value::Array(list).to_string()
}
