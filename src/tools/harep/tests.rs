use super::*;
use crate::tools::cli::testing::words;

#[test]
fn values() {
    let parsed =
        SPEC.parse(&words(&["--limit=3", "--max-per-node=2", "--backoff=4", "--job-delay=0.5"])).unwrap();
    assert_eq!(
        (parsed.repairs.all, parsed.repairs.per_node, parsed.repairs.most_failures),
        (Some(3), Some(2), Some(4))
    );
    assert_eq!(parsed.job_delay(), 0.5);
    assert_eq!(SPEC.parse(&words(&[])).unwrap().job_delay(), JOB_DELAY);
    for wrong in
        ["--limit=0", "--max-per-node=-1", "--backoff=0", "--backoff=21", "--job-delay=-1", "--job-delay=x"]
    {
        assert!(SPEC.parse(&words(&[wrong])).is_err(), "{wrong}");
    }
}
