"""Matching on Apache Spark: the same steps, checks and rows, on the cluster."""

from treasury.matching.spark.spark_matching import SparkMatches, match_references

__all__ = ["SparkMatches", "match_references"]
