"""Kinesis, Spark, Cassandra and S3 before and behind the platform, each by its own client."""
