//! Access to JSON by a pointer such as `/metadata/labels/app`, as the simulated server does it:
//! without allocating a string for each component. The judge and the driver read fields of
//! upstream's types some hundred times for each request.

pub use kube_apiserver_sim::pointer::JsonPointer;
