use proptest::prelude::*;

use super::*;
use htools_model::MovedMeanwhile;
use htools_testkit::cluster;

/// Lists of neighbours with repetitions and loops, as instances give them.
fn graph(size: usize, edges: &[(usize, usize)]) -> ConflictGraph {
    let mut lists = vec![Vec::new(); size];
    for (a, b) in edges {
        lists[*a].push(*b);
        if a != b {
            lists[*b].push(*a);
        }
    }
    ConflictGraph::of_lists(lists)
}

fn graphs() -> impl Strategy<Value = ConflictGraph> {
    (1_usize..90).prop_flat_map(|size| {
        proptest::collection::vec((0..size, 0..size), 0..size * 8).prop_map(move |edges| graph(size, &edges))
    })
}

/// The reference's method of finding the next vertex: it looks at all of them.
fn plainly(algorithm: Algorithm, graph: &ConflictGraph) -> Vec<usize> {
    let mut colour: Vec<Option<usize>> = vec![None; graph.len()];
    for _ in 0..graph.len() {
        let urgency = |v: usize| {
            let mut near: Vec<usize> = graph.neighbours(v).filter_map(|n| colour[n]).collect();
            match algorithm {
                Algorithm::LargestFirst => 0,
                Algorithm::ColouredDegree => near.len(),
                Algorithm::Saturation => {
                    near.sort_unstable();
                    near.dedup();
                    near.len()
                }
            }
        };
        let open = (0..graph.len()).filter(|v| colour[*v].is_none());
        let Some(next) = open.max_by_key(|v| (urgency(*v), graph.degree(*v), *v)) else { break };
        let free = (0..).find(|c| graph.neighbours(next).all(|n| colour[n] != Some(*c)));
        colour[next] = free;
    }
    colour.into_iter().flatten().collect()
}

proptest! {
    #[test]
    fn colourings_keep_neighbours_apart_and_colour_all(graph in graphs()) {
        for algorithm in Algorithm::ALL.iter().copied() {
            let classes = algorithm.colour(&graph).classes;
            let mut colour = vec![None; graph.len()];
            for (number, class) in classes.iter().enumerate() {
                prop_assert!(class.windows(2).all(|pair| pair[0] < pair[1]));
                for vertex in class {
                    prop_assert_eq!(colour[*vertex].replace(number), None);
                }
            }
            for vertex in 0..graph.len() {
                prop_assert!(colour[vertex].is_some());
                prop_assert!(graph.neighbours(vertex).all(|n| n == vertex || colour[n] != colour[vertex]));
            }
        }
    }

    #[test]
    fn queues_find_what_looking_at_all_vertices_finds(graph in graphs()) {
        for algorithm in Algorithm::ALL.iter().copied() {
            let colours = plainly(algorithm, &graph);
            for (number, class) in algorithm.colour(&graph).classes.iter().enumerate() {
                prop_assert!(class.iter().all(|v| colours[*v] == number), "{}", algorithm.as_str());
            }
        }
    }
}

#[test]
fn a_clique_needs_as_many_colours_as_it_has_nodes() {
    for size in [1, 2, 7, 70, 130] {
        let edges: Vec<_> = (0..size).flat_map(|a| (0..a).map(move |b| (a, b))).collect();
        for algorithm in Algorithm::ALL.iter().copied() {
            assert_eq!(algorithm.colour(&graph(size, &edges)).classes.len(), size);
        }
    }
}

const NODES: [&str; 4] = [
    "n0|9000|0|8000|90000|50000|9|M|u|1",
    "n1|9000|0|8000|90000|50000|9|N|u|1",
    "n2|9000|0|8000|90000|50000|9|N|u|1",
    "n3|9000|0|9000|90000|90000|9|Y|u|1",
];

/// Nodes of a part, and its moves as they are printed.
type Shown = (Vec<usize>, Vec<String>);

fn plan(instances: &[&str], options: RollingOptions) -> Result<Vec<Shown>, NoPlan> {
    let cluster = cluster(&NODES, instances, &[]);
    let selected: Vec<NodeIdx> = cluster.all_nodes().into_iter().take(3).collect();
    let parts = Conflicts::among(&cluster, &selected, &options)?.plan(&cluster, &options)?;
    let shown = |part: &Part| {
        let nodes = part.nodes.iter().map(|n| n.get()).collect();
        (nodes, moves(&cluster, part))
    };
    Ok(parts.iter().map(shown).collect())
}

/// Places of the instances while a part is down: name, primary and secondary of each.
fn moves(cluster: &Cluster, part: &Part) -> Vec<String> {
    let name = |node| cluster.node(node).spec.name.as_str();
    let line = |moved: &MovedMeanwhile| {
        let instance = cluster.instance(moved.instance);
        let secondary = moved.to.secondary.filter(|_| instance.template.has_secondary());
        let nodes: Vec<&str> = [Some(moved.to.primary), secondary].into_iter().flatten().map(name).collect();
        format!("  {} {}", instance.name, nodes.join(" "))
    };
    part.moves.iter().map(line).collect()
}

#[test]
fn nothing_in_the_way() {
    assert_eq!(plan(&[], RollingOptions::default()), Ok(vec![(vec![1, 2, 0], vec![])]));
    let none = Conflicts::among(&cluster(&[], &[], &[]), &[], &RollingOptions::default());
    assert_eq!(none.unwrap_err(), NoPlan::NoNodes);
}

#[test]
fn shared_instances_go_where_most_is_left_if_asked_to() {
    let instances = ["a|100|1|1|running|Y|n0||ext|", "b|2000|1|1|running|Y|n1||plain|"];
    let ignoring = RollingOptions { ignore_non_redundant: true, ..RollingOptions::default() };
    assert_eq!(plan(&instances, ignoring), Ok(vec![(vec![1, 2, 0], vec![])]));
    // An instance that migrates is redundant, so it moves instead of being ignored.
    let shared = RollingOptions { migrate_shared: true, ..ignoring };
    let live = plan(&instances, shared).unwrap();
    assert!(live.iter().any(|(_, moves)| *moves == ["  a n2"]), "{live:?}");
}

#[test]
fn stopped_instances_are_not_in_the_way_if_asked() {
    let instances = ["a|100|1|1|ADMIN_down|Y|n0|n1|drbd|", "b|100|1|1|USER_down|Y|n2||plain|"];
    let offline = RollingOptions { offline_maintenance: true, ..RollingOptions::default() };
    let apart = plan(&instances, offline).unwrap();
    assert_eq!(apart.len(), 2);
    let honour = RollingOptions { honour_run_state: true, ..offline };
    assert_eq!(plan(&instances, honour).unwrap(), [(vec![1, 2, 0], vec![])]);
    // Data leaves whether its instance runs or not.
    let all = RollingOptions { full_evacuation: true, ..honour };
    let moves: Vec<String> = plan(&instances, all).unwrap().into_iter().flat_map(|p| p.1).collect();
    assert!(moves.iter().any(|m| m.starts_with("  b ")), "{moves:?}");
}

#[test]
fn what_cannot_be_moved_is_named() {
    let big = ["a|100|60000|1|running|Y|n1||plain|"];
    let refused = plan(&big, RollingOptions::default()).unwrap_err();
    assert_eq!(refused, NoPlan::NonRedundant { node: NodeIdx::new(1) });
}
