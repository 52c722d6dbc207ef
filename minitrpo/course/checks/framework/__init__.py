"""How a check is registered, how an answer is compared with the solution, and how a mistake is recognised and named."""
