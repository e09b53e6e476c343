"""The HTTP interface: one module a resource; they translate, and decide nothing."""
