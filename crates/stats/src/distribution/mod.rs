//! The distribution functions behind intervals and critical values: normal, Student t, beta, F and Dunnett's.
//!
//! All but erfc and ln Γ, which are libm's, are implemented here, so that every figure can be traced to its source, and all are
//! tested against vectors made with SciPy (`reference/distributions.py`).

mod beta;
mod dunnett;
mod normal;
mod root;
mod student;

pub use beta::{f_cdf, f_quantile, incomplete_beta};
pub(crate) use dunnett::mean_over_residual;
pub use dunnett::{Contrasts, power_two_sided};
pub use libm::{erfc, lgamma as ln_gamma};
pub use normal::{normal_cdf, normal_quantile};
pub(crate) use root::find_root;
pub use student::{student_cdf, student_quantile};
