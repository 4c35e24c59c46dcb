use super::*;

fn primitive(id: &str, utilization: &[(&str, i64)]) -> SizedPrimitive {
    SizedPrimitive {
        id: id.to_owned(),
        domain: None,
        utilization: utilization.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect(),
        is_replicated: false,
        runs: true,
    }
}

fn load(resource: LoadResource, series: &[(&str, f64)]) -> MeasuredLoad {
    let series = series.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    MeasuredLoad { values: [(resource, series)].into(), warnings: Vec::new() }
}

fn measured(
    primitives: &[SizedPrimitive],
    series: &[(&str, f64)],
    missing: MissingSeries,
) -> Result<MeasuredUtilization, UtilizationMismatch> {
    let attributes = ["cpu=cpu".parse().unwrap()];
    measured_utilization(primitives, &load(LoadResource::Cpu, series), &attributes, missing)
}

fn raised(found: &MeasuredUtilization) -> Vec<(&str, i64, i64)> {
    found.raised.iter().map(|one| (one.primitive.as_str(), one.configured, one.counted)).collect()
}

#[test]
fn amounts_only_grow() {
    let all = [primitive("a", &[("cpu", 4)]), primitive("b", &[("cpu", 2)]), primitive("c", &[("ram", 1)])];
    let found =
        measured(&all, &[("a", 3.9), ("b", 2.1), ("c", 9.0), ("d", 9.0)], MissingSeries::Fail).unwrap();
    assert_eq!((raised(&found), found.measured), (vec![("b", 2, 3)], 2));
    assert!(found.without.is_empty() && found.replicated.is_empty());
}

#[test]
fn primitives_without_series_take_the_median_if_they_run() {
    let mut all: Vec<SizedPrimitive> = ["a", "b", "c", "d"].map(|id| primitive(id, &[("cpu", 1)])).to_vec();
    all[3].runs = false;
    let series = [("a", 3.0), ("b", 6.0)];
    let found = measured(&all, &series, MissingSeries::Median).unwrap();
    assert_eq!(raised(&found), [("a", 1, 3), ("b", 1, 6), ("c", 1, 5)]);
    assert_eq!((found.measured, found.without), (2, vec!["c".to_owned()]));
    let zero = measured(&all, &series, MissingSeries::Zero).unwrap();
    assert_eq!(raised(&zero), [("a", 1, 3), ("b", 1, 6)]);
    let fails = measured(&all, &series, MissingSeries::Fail).unwrap_err();
    assert_eq!(fails.to_string(), "no load was measured for primitive 'c' and 0 more");
}

#[test]
fn domains_come_before_ids() {
    let mut all = ["a", "b", "c"].map(|id| primitive(id, &[("cpu", 1)]));
    all[0].domain = Some("vm".to_owned());
    all[1].domain = Some("a".to_owned());
    all[2].domain = Some("x".to_owned());
    // The series of `a` is that of the second, although it is the id of the first.
    let found = measured(&all, &[("a", 7.0), ("c", 3.0)], MissingSeries::Zero).unwrap();
    assert_eq!(raised(&found), [("b", 1, 7), ("c", 1, 3)]);
}

#[test]
fn clones_stay_as_they_are_configured() {
    let mut all =
        [primitive("a", &[("cpu", 1)]), primitive("b", &[("cpu", 1)]), primitive("c", &[("cpu", 1)])];
    all[1].is_replicated = true;
    all[2].is_replicated = true;
    let found = measured(&all, &[("a", 2.0), ("b", 9.0)], MissingSeries::Fail).unwrap();
    assert_eq!((raised(&found), &found.replicated), (vec![("a", 1, 2)], &vec!["b".to_owned()]));
}

#[test]
fn load_of_nobody_is_refused() {
    let all = [primitive("a", &[("cpu", 1)])];
    let error = measured(&all, &[("x", 1.0)], MissingSeries::Zero).unwrap_err().to_string();
    let wanted = "no series of the load of cpu has the name of a primitive with the utilization attribute 'cpu'; the labels name x";
    assert_eq!(error, wanted);
    let error = measured(&all, &[], MissingSeries::Zero).unwrap_err().to_string();
    assert!(error.ends_with("; there are no series"), "{error}");
    let other = [primitive("a", &[("cpus", 1)])];
    let error = measured(&other, &[("a", 1.0)], MissingSeries::Zero).unwrap_err().to_string();
    assert!(
        error.starts_with("no primitive outside of clones and bundles has the utilization attribute 'cpu'")
    );
    assert!(error.contains("cpus"), "{error}");
}
