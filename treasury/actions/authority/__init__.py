"""Decides who may propose, approve and send an action, from the policy and the journal."""
