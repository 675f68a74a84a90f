//! History: an index over the runs of a directory, series of their values, and where those changed.
//!
//! Run folders are the truth; the index can be deleted and is made again from them.
