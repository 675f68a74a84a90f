//! The distribution functions behind intervals and critical values: normal, Student t, beta, F and Dunnett's.
//!
//! All are implemented here, so that every figure can be traced to its source, and all are tested against vectors made
//! with SciPy (`reference/distributions.py`).

mod beta;
mod dunnett;
mod normal;
mod root;
mod student;

pub use beta::{f_cdf, f_quantile, incomplete_beta, ln_gamma};
pub(crate) use dunnett::mean_over_residual;
pub use dunnett::{Contrasts, power_two_sided};
pub use normal::{erfc, normal_cdf, normal_quantile};
pub(crate) use root::find_root;
pub use student::{student_cdf, student_quantile};
