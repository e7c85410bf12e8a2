"""Groups of commands, one module each; `toolkit.cli.main` mounts them."""
