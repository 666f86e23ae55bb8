"""The door for coding agents: the Model Context Protocol over stdio."""
