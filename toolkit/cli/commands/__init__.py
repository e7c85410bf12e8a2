"""Groups of commands, one module each; `toolkit.cli.app` mounts them."""
