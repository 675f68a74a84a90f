//! How every reference application serves: where it listens, with how many threads and connections, and how it ends.

mod error;
mod limited;
mod listening;
mod until;

pub use error::ServingError;
pub use limited::Limited;
pub use listening::Listening;
pub use until::{say, until_told};
