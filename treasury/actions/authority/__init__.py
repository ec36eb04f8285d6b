"""Who may propose, approve and send an action, by the workspace's policy and the journal."""
