//! Second-order cone programs, solved by the crate `clarabel`.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SupportedConeT};

/// Maximum number of steps of the solver.
const MOST_ITERATIONS: u32 = 60;
/// Accuracy of the solver. No bound depends on it: each is proved apart from the solver, so it need not be high.
const ACCURACY: f64 = 1e-7;

/// The rows of a program: `coefficients x + s = constants`, with `s` in the cones.
#[derive(Default)]
pub(super) struct ProgramRows {
    row: Vec<usize>,
    column: Vec<usize>,
    value: Vec<f64>,
    constants: Vec<f64>,
    pub(super) cones: Vec<SupportedConeT<f64>>,
}

/// The answer of the solver: an optimum or a point near it.
pub(super) struct ProgramSolution {
    /// The values of the variables.
    pub(super) values: Vec<f64>,
    /// The prices of the rows.
    pub(super) prices: Vec<f64>,
}

impl ProgramRows {
    /// Sets a coefficient of the row that is being written.
    pub(super) fn put(&mut self, column: usize, value: f64) {
        self.row.push(self.constants.len());
        self.column.push(column);
        self.value.push(value);
    }

    /// Ends a row.
    pub(super) fn end(&mut self, constant: f64) {
        self.constants.push(constant);
    }

    /// Number of complete rows.
    pub(super) fn height(&self) -> usize {
        self.constants.len()
    }

    /// Minimises `objective`; `None` if the solver finds no numbers.
    pub(super) fn solve(self, objective: &[f64]) -> Option<ProgramSolution> {
        let (height, width) = (self.constants.len(), objective.len());
        let coefficients = CscMatrix::new_from_triplets(height, width, self.row, self.column, self.value);
        let settings = DefaultSettings {
            verbose: false,
            max_iter: MOST_ITERATIONS,
            tol_gap_abs: ACCURACY,
            tol_gap_rel: ACCURACY,
            tol_feas: ACCURACY,
            ..DefaultSettings::default()
        };
        let no_squares = CscMatrix::zeros((width, width));
        let mut solver =
            DefaultSolver::new(&no_squares, objective, &coefficients, &self.constants, &self.cones, settings)
                .ok()?;
        solver.solve();
        let (values, prices) = (solver.solution.x, solver.solution.z);
        let is_finite = values.iter().chain(&prices).all(|number| number.is_finite());
        is_finite.then_some(ProgramSolution { values, prices })
    }
}
