"""tritongym: one loop of attempts and feedback, in five workflows, one file each, listed in `tritongym.table`."""
