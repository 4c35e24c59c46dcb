//! Parts of a step, measured separately: `cargo bench --bench search`.

use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BatchSize, BenchmarkGroup, Criterion, criterion_group, criterion_main};
use htools::generate::{ClusterSpec, TemplateMix};
use htools::load::merge::{MergeOptions, finish, merge};
use htools::load::{RawCluster, text};
use htools::model::{Cluster, Draft, Mib, Move};
use htools::score::Board;
use htools::score::interval::Running;
use htools::search::moves::Trial;
use htools::search::{BalanceOptions, Balancer, MoveRules};
use htools::tools::generate::GeneratedText;

fn clusters(criterion: &mut Criterion) {
    for (nodes, instances) in [(100, 1000), (400, 4000)] {
        let mut group = criterion.benchmark_group(format!("{nodes}-{instances}"));
        let made = GeneratedText::new(&ClusterSpec::new(nodes, instances, TemplateMix::Drbd, 1))
            .expect("it can be made");
        loading(&mut group, &made.text);
        let mut cluster = Draft::from(loaded(parsed(&made.text)));
        scoring(&mut group, &cluster);
        let all = cluster.all_nodes();
        let balancer = Balancer::new(&mut cluster, &all, BalanceOptions::default());
        group.bench_function("one step", |b| b.iter(|| balancer.peek()));
    }
}

fn loading(group: &mut BenchmarkGroup<'_, WallTime>, text: &str) {
    group.bench_function("parse", |b| b.iter(|| parsed(black_box(text))));
    let raw = parsed(text);
    group.bench_function("merge", |b| {
        b.iter_batched(|| raw.clone(), loaded, BatchSize::LargeInput);
    });
}

fn scoring(group: &mut BenchmarkGroup<'_, WallTime>, cluster: &Cluster) {
    let all = cluster.all_nodes();
    group.bench_function("board", |b| b.iter(|| Board::new(cluster, &all)));

    let board = Board::new(cluster, &all);
    let running = Running::of(&board);
    let rules = MoveRules::default();
    // A move that touches three nodes.
    let outcome = cluster.instances.iter().find_map(|instance| {
        let trial = Trial::new(cluster, instance, &rules);
        all.iter().find_map(|node| trial.run(Move::ReplaceAndFailover(*node)).ok())
    });
    let outcome = outcome.expect("some instance can move somewhere");
    let spread = board.spread().surplus();
    group.bench_function("exact score", |b| {
        b.iter(|| board.score_with(black_box(outcome.touched()), 0));
    });
    group.bench_function("score interval", |b| {
        b.iter(|| running.interval(&board, black_box(outcome.touched()), spread));
    });
}

fn parsed(text: &str) -> RawCluster {
    text::parse(text, "text").expect("the generator's text is correct")
}

fn loaded(raw: RawCluster) -> Cluster {
    let mut cluster = merge(raw, &MergeOptions::default()).expect("nothing is selected by name");
    finish(&mut cluster, Mib::ZERO);
    cluster
}

criterion_group! {
    name = benches;
    config = Criterion::default().measurement_time(Duration::from_secs(3)).warm_up_time(Duration::from_secs(1));
    targets = clusters
}
criterion_main!(benches);
