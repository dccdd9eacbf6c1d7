"""What cards this machine has, and which model goes on which of them."""
