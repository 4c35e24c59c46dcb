use htools::load::merge::*;
use htools::load::simulate;
use htools::model::*;
use htools::search::fill::*;
use std::time::Instant;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let raw = simulate::parse_specs(&[args[1].clone()]).unwrap();
    let mut cluster = merge(raw, &MergeOptions::default()).unwrap();
    finish(&mut cluster, Mib(0));
    let template: DiskTemplate = args[2].parse().unwrap();
    let t = Instant::now();
    let g = Ground::of(
        &cluster,
        Settings {
            template,
            spindle_use: 1,
            accept_existing_errors: false,
            independent_groups: false,
            capacity_checks: args.get(4).is_none(),
        },
    );
    eprintln!("ground {:?}", t.elapsed());
    let p = &cluster.policy;
    let size = |s: &InstanceSpec| Size {
        memory: s.memory,
        disk: s.disk_size,
        vcpus: s.cpus,
        spindles: s.spindle_use,
    };
    let only = args.get(3).map(|s| s.as_str()).unwrap_or("both");
    if only != "std" {
        let t = Instant::now();
        let f = g.tiered(&cluster, &[size(&p.ranges[0].max)], None).unwrap();
        eprintln!("tiered {} {} {:?}", f.added.len(), f.failures, t.elapsed());
    }
    if only != "tiered" {
        let t = Instant::now();
        let f = g.standard(&cluster, size(&p.std), None).unwrap();
        eprintln!("standard {} {} {:?}", f.added.len(), f.failures, t.elapsed());
    }
}
