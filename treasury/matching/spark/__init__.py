"""Matching on Apache Spark: the same steps, checks and rows, where the rows are."""

from treasury.matching.spark.spark_matching import SparkMatches, match_references

__all__ = ["SparkMatches", "match_references"]
