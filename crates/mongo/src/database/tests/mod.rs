//! Commands and their answers. `rig`: a database and commands as people write them; `reads`, `writes`, `indexes`, `aggregation`, `drivers`.

mod aggregation;
mod drivers;
mod indexes;
mod reads;
mod rig;
mod writes;
