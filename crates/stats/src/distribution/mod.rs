//! The distribution functions that intervals and critical values rest on: normal, Student t, beta, F and Dunnett's.
//!
//! All are written out here, since an instrument should be able to show where each of its figures comes from, and
//! all are tested against vectors made with SciPy (`reference/distributions.py`).

mod beta;
mod dunnett;
mod normal;
mod root;
mod student;

pub use beta::{f_cdf, f_quantile, incomplete_beta, ln_gamma};
pub(crate) use dunnett::over_residual;
pub use dunnett::{Contrasts, power_two_sided};
pub use normal::{erfc, normal_cdf, normal_quantile};
pub(crate) use root::rising;
pub use student::{student_cdf, student_quantile};
