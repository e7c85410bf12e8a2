"""Groups of commands, one module each; `toolkit.cli` mounts them."""
