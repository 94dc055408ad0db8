"""How nodes become hardware."""
