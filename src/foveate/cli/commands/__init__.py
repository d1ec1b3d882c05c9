"""What the commands do: read the arguments, call the library, print."""
