//! gRPC over HTTP/2.
