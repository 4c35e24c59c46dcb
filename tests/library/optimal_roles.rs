//! The strategy `optimal` chooses the instances that are promoted: proof by brute force on small random clusters.

use std::fmt::Write as _;

use htools::generate::random::Random;
use htools::pacemaker::optimal::{PlacingLimits, ThenGoal};
use htools::pacemaker::{AllPlaced, PlacingEvent, WorkingSet, cib, optimal, place, transition};
use htools::search::Deadline;

const HOSTS: usize = 3;
const MONITORED: &str = r#"operation="monitor" rc-code="7""#;

/// A resource beside the clone.
struct Dependent {
    priority: usize,
    cpu: usize,
    /// Score of its colocation with the promoted role, if it has one.
    with_promoted: Option<&'static str>,
}

/// A cluster with a promotable clone that runs on every host.
struct RoleCluster {
    cpus: Vec<usize>,
    promoted_max: usize,
    wishes: Vec<Option<usize>>,
    promoted: Option<usize>,
    dependents: Vec<Dependent>,
}

impl RoleCluster {
    fn random(number: u64) -> RoleCluster {
        let random = &mut Random::stream(77, number);
        let wish = |random: &mut Random| *random.pick(&[None, Some(1), Some(2), Some(2), Some(7)]);
        let dependent = |random: &mut Random| Dependent {
            priority: *random.pick(&[0, 0, 5]),
            cpu: *random.pick(&[1, 2, 3]),
            with_promoted: *random.pick(&[None, Some("INFINITY"), Some("INFINITY"), Some("-INFINITY")]),
        };
        let wishes: Vec<Option<usize>> = (0..HOSTS).map(|_| wish(random)).collect();
        let asked: Vec<usize> = (0..HOSTS).filter(|host| wishes[*host].is_some()).collect();
        RoleCluster {
            cpus: (0..HOSTS).map(|_| *random.pick(&[1, 2, 4, 6])).collect(),
            promoted_max: *random.pick(&[1, 1, 2]),
            promoted: (!asked.is_empty()).then(|| *random.pick(&asked)),
            wishes,
            dependents: (0..4).map(|_| dependent(random)).collect(),
        }
    }

    fn document(&self) -> String {
        let mut text = r#"<cib crm_feature_set="3.16.1" have-quorum="1" dc-uuid="1"><configuration><crm_config><cluster_property_set id="o"><nvpair id="o1" name="stonith-enabled" value="false"/><nvpair id="o2" name="placement-strategy" value="utilization"/></cluster_property_set></crm_config><nodes>"#.to_owned();
        for (host, cpu) in self.cpus.iter().enumerate() {
            write!(text, r#"<node id="{host}" uname="n{host}"><utilization id="u{host}"><nvpair id="uc{host}" name="cpu" value="{cpu}"/></utilization></node>"#).unwrap();
        }
        write!(text, r#"</nodes><resources><clone id="c"><meta_attributes id="m"><nvpair id="m1" name="promotable" value="true"/><nvpair id="m2" name="promoted-max" value="{}"/></meta_attributes><primitive id="p" class="ocf" provider="pacemaker" type="Stateful"/></clone>"#, self.promoted_max).unwrap();
        let mut constraints = String::new();
        for (at, one) in self.dependents.iter().enumerate() {
            write!(text, r#"<primitive id="d{at}" class="ocf" provider="pacemaker" type="Dummy"><meta_attributes id="dm{at}"><nvpair id="dp{at}" name="priority" value="{}"/></meta_attributes><utilization id="du{at}"><nvpair id="dc{at}" name="cpu" value="{}"/></utilization></primitive>"#, one.priority, one.cpu).unwrap();
            let Some(score) = one.with_promoted else { continue };
            write!(constraints, r#"<rsc_colocation id="k{at}" rsc="d{at}" with-rsc="c" with-rsc-role="Promoted" score="{score}"/>"#).unwrap();
            if score == "INFINITY" {
                write!(constraints, r#"<rsc_order id="r{at}" first="c" first-action="promote" then="d{at}" then-action="start"/>"#).unwrap();
            }
        }
        write!(text, "</resources><constraints>{constraints}</constraints></configuration><status>").unwrap();
        for host in 0..HOSTS {
            let wish = self.wishes[host].map_or_else(String::new, |wish| {
                format!(r#"<transient_attributes id="{host}"><instance_attributes id="t{host}"><nvpair id="w{host}" name="master-p" value="{wish}"/></instance_attributes></transient_attributes>"#)
            });
            let role = if self.promoted == Some(host) { "promote" } else { "start" };
            write!(text, r#"<node_state id="{host}" uname="n{host}" in_ccm="true" crmd="online" join="member" expected="member">{wish}<lrm id="{host}"><lrm_resources><lrm_resource id="p" class="ocf" provider="pacemaker" type="Stateful"><lrm_rsc_op id="p{host}" operation="{role}" rc-code="0" op-status="0" call-id="5" interval="0"/></lrm_resource>"#).unwrap();
            for at in 0..self.dependents.len() {
                write!(text, r#"<lrm_resource id="d{at}" class="ocf" provider="pacemaker" type="Dummy"><lrm_rsc_op id="d{at}{host}" {MONITORED} op-status="0" call-id="6" interval="0" transition-key="1:1:7:x"/></lrm_resource>"#).unwrap();
            }
            text.push_str("</lrm_resources></lrm></node_state>");
        }
        text + "</status></cib>"
    }

    /// The numbers of dependents that can run, of priority 5 and of priority 0, if these hosts are promoted.
    fn most_running(&self, promoted: &[usize]) -> (usize, usize) {
        let choices = HOSTS + 1;
        let mut best = (0, 0);
        for number in 0..choices.pow(u32::try_from(self.dependents.len()).unwrap()) {
            let (mut rest, mut free, mut counts, mut fits) = (number, self.cpus.clone(), (0, 0), true);
            for one in &self.dependents {
                let host = rest % choices;
                rest /= choices;
                if host == HOSTS {
                    continue;
                }
                let is_promoted = promoted.contains(&host);
                fits &= one.with_promoted.is_none_or(|score| (score == "INFINITY") == is_promoted);
                fits &= free[host] >= one.cpu;
                free[host] = free[host].saturating_sub(one.cpu);
                if one.priority == 5 { counts.0 += 1 } else { counts.1 += 1 }
            }
            if fits {
                best = best.max(counts);
            }
        }
        best
    }
}

/// The promotion score of the instance on each host, by the cluster's own placement.
fn promotion_scores(set: &WorkingSet) -> Vec<i32> {
    let own = place(set, set.strategy()).unwrap();
    let mut by_host = vec![i32::MIN; HOSTS];
    for event in &own.events {
        let PlacingEvent::Promotion { scores, .. } = event else { continue };
        for one in scores {
            let host = set.host_indices().position(|host| Some(host) == one.host);
            by_host[host.unwrap()] = one.score.get();
        }
    }
    by_host
}

fn promoted_hosts(set: &WorkingSet, placed: &AllPlaced) -> Vec<usize> {
    let promoted = set.resource_indices().filter(|one| placed.promoted[one.get()]);
    let mut hosts: Vec<usize> = promoted
        .filter_map(|one| placed.host(one))
        .filter_map(|host| set.host_indices().position(|other| other == host))
        .collect();
    hosts.sort_unstable();
    hosts
}

#[test]
fn no_choice_of_promoted_instances_runs_more() {
    let (mut moved, mut two) = (0, 0);
    for number in 0..400 {
        let cluster = RoleCluster::random(number);
        let set = cib::parse(&cluster.document(), "random").unwrap();
        assert_eq!(set.unsupported, [], "{number}");
        let limits = PlacingLimits { steps: 5_000_000, moves: None, deadline: Deadline::never() };
        let placed = optimal(&set, ThenGoal::Balanced, &limits).unwrap();
        let scores = promotion_scores(&set);
        let eligible: Vec<usize> = (0..HOSTS).filter(|host| scores[*host] >= 0).collect();
        let count = cluster.promoted_max.min(eligible.len());
        let sets = (0..1usize << HOSTS)
            .map(|bits| (0..HOSTS).filter(|host| bits >> host & 1 == 1).collect::<Vec<usize>>())
            .filter(|set| set.len() == count && set.iter().all(|host| eligible.contains(host)));
        let worth = |hosts: &Vec<usize>| {
            let score: i64 = hosts.iter().map(|host| i64::from(scores[*host])).sum();
            (cluster.most_running(hosts), score)
        };
        let wanted = sets.map(|set| worth(&set)).max().unwrap();
        let ours = promoted_hosts(&set, &placed);
        assert_eq!((ours.len(), worth(&ours)), (count, wanted), "{number}: {ours:?}");
        let runs = |priority: usize| {
            let of = |at: &usize| cluster.dependents[*at].priority == priority;
            let named = |at: usize| {
                let id = format!("d{at}");
                set.resource_indices().find(|one| set.resource(*one).id == id)
            };
            (0..cluster.dependents.len())
                .filter(of)
                .filter(|at| placed.host(named(*at).unwrap()).is_some())
                .count()
        };
        assert_eq!((runs(5), runs(0)), wanted.0, "{number}");
        let plan = transition(&set, set.strategy(), &placed);
        let faults = htools::pacemaker::transition::checker::check(&set, set.strategy(), &placed, &plan);
        assert_eq!(faults, [], "{number}");
        let own = promoted_hosts(&set, &place(&set, set.strategy()).unwrap());
        moved += usize::from(own != ours);
        two += usize::from(count == 2);
    }
    assert!(moved > 20 && two > 20, "{moved} {two}");
}
