//! The five services.

pub mod auth;
pub mod booking;
pub mod customer;
pub mod flight;
pub mod front;
