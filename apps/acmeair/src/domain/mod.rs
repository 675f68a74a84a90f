//! What the services keep in their databases.

pub mod booking;
pub mod customer;
pub mod flight;
