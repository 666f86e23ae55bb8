"""An attempt into words and features for whoever proposes next."""
