//! The data model.

pub mod booking;
pub mod customer;
pub mod flight;
