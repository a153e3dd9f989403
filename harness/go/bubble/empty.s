// The functions of bubble.go without a body are linked to the runtime; this file lets the compiler accept them.
