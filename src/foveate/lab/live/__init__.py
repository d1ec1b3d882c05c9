"""Worker processes of the lab: live training, fitting and text models."""
