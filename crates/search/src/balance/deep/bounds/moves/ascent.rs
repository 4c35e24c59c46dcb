//! Ascent on a smooth concave function by the method of Broyden, Fletcher, Goldfarb and Shanno with limited memory.
//! Numbers that must be in a range are clamped to it.

use std::collections::VecDeque;

use super::super::vectors::dot;

/// Number of steps from which the curvature is estimated.
const MEMORY: usize = 12;

/// A step is long enough if it gains this share of what the slope promises.
const ENOUGH: f64 = 1e-4;

/// Factor by which a step that is too long is shortened, and the shortest step.
const SHORTER: f64 = 0.4;
const SHORTEST: f64 = 1e-6;

/// A step, and by how much the gradient fell on it.
struct Step {
    moved: Vec<f64>,
    fell: Vec<f64>,
    product: f64,
}

/// Raises `point` in at most `most` evaluations. `evaluate` returns the value and writes the gradient; `range` is that of a
/// number by its position.
pub(super) fn ascend(
    point: &mut Vec<f64>,
    most: usize,
    range: impl Fn(usize) -> (f64, f64),
    mut evaluate: impl FnMut(&[f64], &mut [f64]) -> f64,
) {
    let mut gradient = vec![0.0; point.len()];
    let mut value = evaluate(point, &mut gradient);
    let mut steps: VecDeque<Step> = VecDeque::new();
    let mut evaluations = 1;
    let mut next_gradient = vec![0.0; point.len()];
    while evaluations < most {
        let direction = direction(point, &gradient, &steps, &range);
        let slope = dot(&direction, &gradient);
        if !(slope > 0.0) {
            if steps.is_empty() {
                return;
            }
            steps.clear();
            continue;
        }
        let mut length = 1.0;
        let mut found = None;
        while evaluations < most && length > SHORTEST && found.is_none() {
            let along = point.iter().zip(&direction).enumerate();
            let next: Vec<f64> = along
                .map(|(at, (x, d))| {
                    let (low, high) = range(at);
                    (x + length * d).clamp(low, high)
                })
                .collect();
            let higher = evaluate(&next, &mut next_gradient);
            evaluations += 1;
            let moved: Vec<f64> = next.iter().zip(point.iter()).map(|(next, x)| next - x).collect();
            if higher >= value + ENOUGH * dot(&gradient, &moved) {
                found = Some((next, moved, higher));
            }
            length *= SHORTER;
        }
        let Some((next, moved, higher)) = found else {
            if steps.is_empty() {
                return;
            }
            steps.clear();
            continue;
        };
        let fell: Vec<f64> = gradient.iter().zip(&next_gradient).map(|(old, new)| old - new).collect();
        let product = dot(&moved, &fell);
        if product > 1e-12 * dot(&fell, &fell) {
            steps.push_back(Step { moved, fell, product });
            if steps.len() > MEMORY {
                steps.pop_front();
            }
        }
        *point = next;
        value = higher;
        std::mem::swap(&mut gradient, &mut next_gradient);
    }
}

/// The direction of the next step: the gradient times an estimate of the inverse curvature.
fn direction(
    point: &[f64],
    gradient: &[f64],
    steps: &VecDeque<Step>,
    range: &impl Fn(usize) -> (f64, f64),
) -> Vec<f64> {
    let is_free = |at: usize| {
        let (low, high) = range(at);
        !(point[at] <= low && gradient[at] < 0.0 || point[at] >= high && gradient[at] > 0.0)
    };
    let masked = |(at, x): (usize, &f64)| if is_free(at) { *x } else { 0.0 };
    let mut direction: Vec<f64> = gradient.iter().enumerate().map(masked).collect();
    let mut shares = Vec::with_capacity(steps.len());
    for step in steps.iter().rev() {
        let share = dot(&step.moved, &direction) / step.product;
        add(&mut direction, -share, &step.fell);
        shares.push(share);
    }
    let size = match steps.back() {
        Some(last) => last.product / dot(&last.fell, &last.fell),
        None => 1.0 / dot(&direction, &direction).sqrt().max(f64::MIN_POSITIVE),
    };
    direction.iter_mut().for_each(|x| *x *= size);
    for (step, share) in steps.iter().zip(shares.iter().rev()) {
        let other = dot(&step.fell, &direction) / step.product;
        add(&mut direction, share - other, &step.moved);
    }
    direction.iter().enumerate().map(masked).collect()
}

fn add(to: &mut [f64], factor: f64, what: &[f64]) {
    to.iter_mut().zip(what).for_each(|(to, what)| *to += factor * what);
}
