"""The HTTP application: who may ask, how much, and what is answered."""
