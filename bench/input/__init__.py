"""How fast the input pipeline is: against every peer, against its own floor, on photographs that anyone can install."""
