"""Studies of snell21: word knowledge before attention, agreement, copying, alignment."""
