use super::*;
use proptest::prelude::*;

fn plainly(numbers: &[f64]) -> f64 {
    numbers.iter().fold(0.0, |sum, x| sum + x)
}

fn numbers(runs: &[Run]) -> Vec<f64> {
    runs.iter().flat_map(|r| std::iter::repeat_n(r.value, r.count)).collect()
}

/// Compares every position with plain addition.
fn check(runs: &[Run]) {
    let numbers = numbers(runs);
    assert_eq!(sum(runs).to_bits(), plainly(&numbers).to_bits(), "{runs:?}");
    let mut expected = Vec::new();
    let mut at = 0;
    for run in runs {
        for position in at..at + run.count {
            if let Some(y) = run.replaced {
                let mut changed = numbers.clone();
                changed[position] = y;
                expected.push((position, plainly(&changed)));
            }
        }
        at += run.count;
    }
    let pieces = sums_with_one_replaced(runs);
    let found: Vec<(usize, f64)> = pieces.iter().flat_map(|p| (p.from..p.to).map(|at| (at, p.sum))).collect();
    assert_eq!(found, expected, "{runs:?}");
}

#[test]
fn long_rows_have_few_results() {
    let runs = [
        Run { value: 0.1f64 * 0.1, count: 3000, replaced: Some(0.81) },
        Run { value: 0.9f64 * 0.9, count: 500, replaced: None },
        Run { value: 0.1f64 * 0.1, count: 1500, replaced: Some(0.81) },
    ];
    check(&runs);
    assert!(sums_with_one_replaced(&runs).len() < 100);
}

/// Squares of distances from a mean, as the score adds them, and other values.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        (0i32..400).prop_map(|k| f64::from(k) / 16.0),
        (0u32..1 << 20).prop_map(|k| { (f64::from(k) / f64::from(1 << 20) - 0.3).powi(2) }),
        (0u32..100, 1u32..1000).prop_map(|(a, b)| (f64::from(a) / f64::from(b)).powi(2)),
        Just(0.0),
        (-40i32..40).prop_map(|e| 2f64.powi(e)),
        (-1000i32..1000).prop_map(|k| f64::from(k) / 7.0),
        // Few significant bits make sums lie exactly between two doubles.
        (1u64..8, -60i32..-45).prop_map(|(k, e)| k as f64 * 2f64.powi(e)),
    ]
}

proptest! {
    #[test]
    fn every_position_has_the_sum_of_plain_addition(
        runs in prop::collection::vec(
            (value(), 1usize..60, prop::option::of(value()))
                .prop_map(|(value, count, replaced)| Run { value, count, replaced }),
            1..6,
        )
    ) {
        check(&runs);
    }

    #[test]
    fn two_values_in_any_order(a in value(), b in value(), counts in prop::collection::vec(1usize..200, 1..5)) {
        let run = |(at, count): (usize, &usize)| match at % 2 {
            0 => Run { value: a, count: *count, replaced: Some(b) },
            _ => Run { value: b, count: *count, replaced: None },
        };
        let runs: Vec<Run> = counts.iter().enumerate().map(run).collect();
        check(&runs);
    }

    #[test]
    fn rows_of_two_levels_as_the_score_adds_them_up(
        counts in prop::collection::vec(1usize..400, 1..6),
        levels in (0u32..64, 1u32..5, prop_oneof![Just(1.0), Just(16.0), Just(512.0), Just(0.3)]),
    ) {
        let (low, step, unit) = levels;
        let values = [f64::from(low) / unit, f64::from(low + step) / unit];
        let n: usize = counts.iter().sum();
        let at = |k: usize| values[k % 2];
        let all: f64 = counts.iter().enumerate().map(|(k, count)| at(k) * *count as f64).sum();
        let mean = (all - values[0] + values[1]) / n as f64;
        let squares = values.map(|x| (x - mean) * (x - mean));
        let run = |(k, count): (usize, &usize)| Run {
            value: squares[k % 2],
            count: *count,
            replaced: (k % 2 == 0).then_some(squares[1]),
        };
        check(&counts.iter().enumerate().map(run).collect::<Vec<_>>());
    }

    #[test]
    fn mixes_have_the_sums_of_their_runs(
        values in prop::collection::vec(value(), 1..=MOST_VALUES),
        runs in prop::collection::vec((0usize..MOST_VALUES, 1usize..80), 1..40),
        y in value(),
    ) {
        let mut runs: Vec<(usize, usize)> = runs.iter().map(|r| (r.0 % values.len(), r.1)).collect();
        runs.dedup_by_key(|r| r.0);
        let which = runs[0].0;
        let plain: Vec<Run> = runs
            .iter()
            .map(|(k, count)| Run { value: values[*k], count: *count, replaced: (*k == which).then_some(y) })
            .collect();
        let mix = Mix::new(runs.iter().copied());
        let found = mix.sums_with_one_replaced(&values, which, y);
        let mut at = 0;
        let expected = sums_with_one_replaced(&plain);
        for (k, count) in &runs {
            for position in at..at + count {
                if *k == which {
                    let sum_of = |pieces: &[Piece]| {
                        pieces.iter().find(|p| (p.from..p.to).contains(&position)).map(|p| p.sum.to_bits())
                    };
                    prop_assert_eq!(sum_of(&found), sum_of(&expected), "position {}", position);
                }
            }
            at += count;
        }
    }
}
