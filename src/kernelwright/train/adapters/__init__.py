"""The environment for other frameworks: Gymnasium, OpenEnv, verifiers, TRL's own reward functions, and verl's files.

Each adapter translates names and types and holds no logic of its own. Its framework is imported when it is asked for.
"""
